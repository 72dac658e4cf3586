"""What the theory's functions compute, written out a second time: loops over arms, draws and points, no shortcuts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from allworlds.covers import CliqueCover
from allworlds.ftrl.constants import Constants
from allworlds.theory import Round, round_state
from allworlds.theory.regulariser import tsallis_shannon_hessian
from theory.states import cover_of


def few_rounds() -> list[Round]:
    """Small rounds with every kind of clique, losses between 0 and 1, early and late; few, so that they are fast."""
    rng = np.random.default_rng(11)
    rounds = []
    for sizes, eta, which in [
        ([2, 1], 0.5, "sharp"),
        ([1, 1, 1], 1.0, "sharp"),
        ([3, 2, 1], 0.3, "sharp"),
        ([3], 0.4, "sharp"),
        ([4, 3], 0.25, "sharp"),
        ([2, 2, 1], 0.1, "paper"),
    ]:
        cover = cover_of(sizes)
        constants = Constants.sharp(cover) if which == "sharp" else Constants.paper(cover, 1000)
        reach = 2.0 if which == "sharp" else 60.0
        cumulative = rng.random(cover.n_arms) * reach / eta
        losses = rng.random(cover.n_arms) * 0.8 + 0.1
        rounds.append(round_state(cover, cumulative, losses, eta, constants, int(cumulative.argmin())))
    return rounds


def mass(p: np.ndarray, clique: Sequence[int]) -> float:
    return math.fsum(float(p[i]) for i in clique)


def psi(p: np.ndarray, cover: CliqueCover, alphas: Sequence[float]) -> float:
    """``-sum_k sqrt(q_k) (alpha_k + H(y))``."""
    total = 0.0
    for clique, alpha in zip(cover.cliques, alphas, strict=True):
        q = mass(p, clique)
        entropy = -math.fsum(p[i] / q * math.log(p[i] / q) for i in clique if p[i] > 0.0)
        total -= math.sqrt(q) * (alpha + entropy)
    return total


def phi(p: np.ndarray, cover: CliqueCover, beta: float) -> float:
    return -beta * math.fsum(math.log(mass(p, clique)) for clique in cover.cliques)


def estimates(state: Round, drawn: int) -> np.ndarray:
    """``l_i / q_k`` on the drawn clique, 0 elsewhere."""
    values = np.zeros(state.cover.n_arms)
    for i in state.cover.cliques[drawn]:
        values[i] = state.losses[i] / mass(state.distribution, state.cover.cliques[drawn])
    return values


def shifted(state: Round, drawn: int) -> np.ndarray:
    return estimates(state, drawn) - state.losses[state.best_arm]


def segment(state: Round, drawn: int) -> list[np.ndarray]:
    """17 points from the step to the half step, both among them."""
    return [state.distribution + share / 16.0 * (state.half_steps[drawn] - state.distribution) for share in range(17)]


def dual_norm(g: np.ndarray, p: np.ndarray, cover: CliqueCover, alphas: Sequence[float]) -> float:
    return float(g @ np.linalg.solve(_hessian(p.tobytes(), cover, tuple(alphas)), g))


@functools.cache
def _hessian(p: bytes, cover: CliqueCover, alphas: tuple[float, ...]) -> np.ndarray:
    return tsallis_shannon_hessian(np.frombuffer(p), cover, np.asarray(alphas))


def expected(state: Round, value: Callable[[int], float]) -> float:
    """The mean over the drawn *arm* of what depends on its clique."""
    return math.fsum(float(state.distribution[i]) * value(int(state.cover.owner[i])) for i in range(state.cover.n_arms))


def best_clique(state: Round) -> int:
    return next(k for k, clique in enumerate(state.cover.cliques) if state.best_arm in clique)


def beside(state: Round, p: np.ndarray) -> float:
    """The mass of the best clique without the best arm."""
    return math.fsum(float(p[i]) for i in state.cover.cliques[best_clique(state)] if i != state.best_arm)


def root_sum(state: Round) -> float:
    """``s``: the roots of the masses of the other cliques."""
    roots = [math.sqrt(mass(state.distribution, clique)) for clique in state.cover.cliques]
    return math.fsum(roots) - roots[best_clique(state)]


def diagonal_form(state: Round, drawn: int, arms: Sequence[int]) -> float:
    """The largest ``sum sqrt(q~(V(i))) p~_i (lhat_i - l*)^2`` over these arms, on the segment of the draw."""
    g = shifted(state, drawn)
    clique_of = [state.cover.cliques[k] for k in state.cover.owner]
    return max(
        math.fsum(math.sqrt(mass(p, clique_of[i])) * p[i] * g[i] ** 2 for i in arms) for p in segment(state, drawn)
    )
