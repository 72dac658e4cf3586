"""The same argmin by what a user would reach for: SciPy's solvers with the gradient, and cvxpy if it takes the problem.

The step is that of 10 x 10 after some rounds of a real run; the solvers start from the answer of the round before.

cvxpy accepts a problem only if its rules prove it convex. A clique's term is ``-(alpha q + S) / sqrt(q)`` where
``S = -sum p log(p / q)`` is concave. The rules know ``S``, and they know ``sqrt(q)``; but the quotient is convex only
because numerator and denominator belong together, which no rule sees. With a new variable ``u`` for the quotient and
``r = alpha q + S`` it needs ``u sqrt(q) <= r``, which is not a convex set. The forms tried are below; should a version
accept one, its row says so.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.ftrl.clock import RATE
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.solve import FTRLSolution, solve_ftrl
from allworlds.graphs import disjoint_cliques
from allworlds.kernels.random import uniform_pair
from allworlds.learners import TsallisShannon
from allworlds.worlds import one_good_arm
from speed.child import ChildFailed, ask
from speed.config import GAP, Scale
from speed.rows import Row, median_row

Floats = NDArray[np.float64]
LEAST = 1e-12
"""A bound that keeps logarithms finite."""
OPTIONS: dict[str, dict[str, Any]] = {
    "SLSQP": {"maxiter": 500, "ftol": 1e-12},
    "trust-constr": {"maxiter": 2000, "gtol": 1e-9, "xtol": 1e-12},
}


class Step:
    """One argmin: its losses, its constants, its answer, and the answer of the round before."""

    def __init__(self, cover: CliqueCover, rounds: int) -> None:
        learner = TsallisShannon(cover)
        world, state = one_good_arm(cover.n_arms, gap=GAP), learner.init()
        assert world.means is not None
        before = learner.distribution(state)
        for t in range(1, rounds + 1):
            before = learner.distribution(state) if t == rounds else before
            ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
            seen = learner.observes(ticket.arm)
            drawn = np.random.default_rng([1, t]).random(seen.size) < world.means[seen]
            learner.update(state, ticket, drawn.astype(np.float64))
        losses = learner.cumulative_losses(state)
        self.cover, self.start = cover, before
        self.losses: Floats = losses - losses.min()
        self.eta: float = float(state.clock[RATE])
        self.constants: Constants = learner.constants_now(state)

    def answer(self) -> FTRLSolution:
        """Ours, exact to rounding."""
        return solve_ftrl(self.cover, self.losses, self.eta, self.constants)

    def objective(self, p: Floats) -> tuple[float, Floats]:
        """``L·p + Psi(p) / eta + Phi(p)`` and its gradient; arms in clique order."""
        starts, sizes, c = self.cover.starts[:-1], self.cover.sizes, self.constants
        alpha = np.asarray(c.alpha)
        q = np.add.reduceat(p, starts)
        root, logs = np.sqrt(q), np.log(p / np.repeat(q, sizes))
        within = np.add.reduceat(p * logs, starts)
        rates = self.eta * c.rate_factors
        value = self.losses @ p + ((within / root - alpha * root) / rates).sum() - c.beta * np.log(q).sum()
        by_mass = -0.5 * (within / q + alpha) / (root * rates) - c.beta / q
        return float(value), self.losses + logs / np.repeat(root * rates, sizes) + np.repeat(by_mass, sizes)


def time_solvers(scale: Scale) -> Iterator[Row]:
    """Seconds of one step by each solver; cvxpy is asked whether it takes the problem at all."""
    for name in scale.solvers:
        try:
            if name == "cvxpy":
                yield Row("solvers", name, "10x10", "s/round", None, note=ask("solver", name, patience=scale.patience))
                continue
            spent, worst = [], 0.0
            for rounds in scale.solved:
                seconds, error = ask("solver", name, rounds, patience=scale.patience)
                spent.append(float(seconds))
                worst = max(worst, float(error))
            note = f"masses within {worst:.0e} of the exact ones"
            yield median_row("solvers", f"SciPy {name}", "10x10", "s/round", spent, note)
        except ChildFailed as failure:
            yield Row("solvers", name, "10x10", "s/round", None, note=f"skipped: {failure}")


def solve(name: str, rounds: str = "0") -> Any:
    """In a child: seconds and the largest relative error of a mass; or what cvxpy says."""
    if name == "cvxpy":
        return ask_cvxpy()
    step = Step(clique_cover(disjoint_cliques(10, 10)), int(rounds))
    run = scipy_solver(step, name)
    started = time.perf_counter()
    p = run()
    seconds = time.perf_counter() - started
    masses = np.add.reduceat(p, step.cover.starts[:-1])
    return seconds, float(np.abs(masses / step.answer().clique_mass - 1.0).max())


def scipy_solver(step: Step, method: str) -> Callable[[], Floats]:
    """SciPy's ``method`` on a step, ready to run."""
    from scipy.optimize import Bounds, LinearConstraint, minimize

    n_arms = step.cover.n_arms
    ones = np.ones(n_arms)
    simplex: Any = LinearConstraint(ones[None], 1.0, 1.0)
    if method == "SLSQP":
        simplex = {"type": "eq", "fun": lambda p: p.sum() - 1.0, "jac": lambda p: ones}
    asked = {
        "jac": True,
        "method": method,
        "bounds": Bounds(np.full(n_arms, LEAST), ones, keep_feasible=True),
        "constraints": [simplex],
        "options": OPTIONS[method],
    }

    def run() -> Floats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of steps that are clipped to the bounds
            found = minimize(step.objective, np.clip(step.start, 2.0 * LEAST, 1.0), **asked)
        return np.asarray(found.x, dtype=np.float64)

    return run


def ask_cvxpy() -> str:
    """Whether cvxpy's rules accept a clique's term, in any of three forms."""
    import cvxpy as cp

    p, alpha = cp.Variable(3, nonneg=True), 2.0
    q = cp.sum(p)
    spread = cp.sum(cp.rel_entr(p, q * np.ones(3)))
    forms = {
        "quotient": spread * cp.power(q, -0.5) - alpha * cp.sqrt(q),
        "product": -cp.sqrt(q) * (alpha - spread / q),
        "quotient of the whole": -(alpha * q - spread) * cp.power(q, -0.5),
    }
    taken = [name for name, form in forms.items() if form.is_convex()]
    if taken:
        return f"cvxpy {cp.__version__} accepts the form '{taken[0]}': it can be measured now"
    return f"cvxpy {cp.__version__} accepts none of {len(forms)} forms of the entropy: no rule of it proves them convex"
