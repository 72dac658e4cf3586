"""Ten million rounds of hard losses: does the state stay finite, and the step exact?

The adversary looks at the learner. A phase begins by marking the likeliest clique, and the likeliest arm of each
clique. Until the phase ends the marked clique has the loss 1 and the others 0; in the next phase the sign
flips, so that what was ruined becomes the best. In between come phases in which only the marked arms lose, and
phases of fair coins. Phases grow without end, so masses fall to where importance weights are huge, and stay there.

Afterwards every number of the state must be finite, the largest residual of all rounds at most 1e-10, and the
distribution that of ``solve_ftrl`` on the same cumulative losses to 1e-9.

    python benchmarks/long_run.py [--rounds 10000000] [--json]
"""

from __future__ import annotations

import argparse
import json
import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import allworlds as aw
from allworlds.ftrl.solve import fill_distribution
from allworlds.kernels.jit import jit
from allworlds.kernels.random import uniform_pair
from allworlds.learners.tsallis_shannon import RESIDUAL, State, as_problem, draw, update

STREAM = 77
FIRST_PHASE = 500
GROWTH = 1.25
"""Each phase is so many times longer than the last."""


def learners(cover: aw.CliqueCover, rounds: int) -> dict[str, aw.TsallisShannon]:
    """The three settings, and one at the edge: no barrier, the least alpha, a large rate."""
    edge = tuple(aw.sharp_alpha(int(size), 0.0) + 1e-3 for size in cover.sizes)
    return {
        "practical": aw.TsallisShannon(cover),
        "sharp": aw.TsallisShannon(cover, aw.Constants.sharp(cover)),
        "paper": aw.TsallisShannon(cover, aw.Constants.paper(cover, rounds)),
        "edge": aw.TsallisShannon(cover, aw.Constants(edge, 0.0, 0.0, 10.0)),
    }


def run(learner: aw.TsallisShannon, rounds: int, seed: int = 1) -> dict[str, Any]:
    """Play the rounds and check the end."""
    state = learner.init()
    scratch = np.empty(learner.n_arms)
    torment(state, 2, seed, scratch)  # compiles
    state = learner.init()
    begin = time.perf_counter()
    worst, lightest = torment(state, rounds, seed, scratch)
    spent = time.perf_counter() - begin
    losses = learner.cumulative_losses(state)
    p = learner.distribution(state)
    constants = learner.constants_now(state)
    afresh = aw.solve_ftrl(learner.cover, losses, constants.learning_rate(learner.round(state)), constants)
    counts = p > 1e-300
    difference = np.max(np.abs(p[counts] - afresh.distribution[counts]) / afresh.distribution[counts])
    finite = all(np.isfinite(array).all() for array in learner.pack(state).values())
    good = finite and worst <= 1e-10 and afresh.residual <= 1e-10 and difference <= 1e-9
    return {
        "constants": constants.label,
        "rounds": learner.round(state) - 1,
        "rounds_per_second": rounds / spent,
        "finite": bool(finite),
        "largest_residual": worst,
        "largest_weight": 1.0 / lightest,
        "largest_cumulative_loss": float(np.max(np.abs(losses))),
        "smallest_probability": float(p.min()),
        "difference_from_solve_ftrl": float(difference),
        "holds": bool(good and math.isclose(p.sum(), 1.0, abs_tol=1e-12)),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10_000_000)
    parser.add_argument("--cliques", type=int, default=10)
    parser.add_argument("--size", type=int, default=10, help="arms of a clique")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one setting: practical, sharp, paper or edge")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    cover = aw.clique_cover(aw.graphs.disjoint_cliques(options.cliques, options.size))
    chosen = learners(cover, options.rounds)
    if options.only is not None and options.only not in chosen:
        parser.error(f"there is no setting {options.only!r}; there are {', '.join(chosen)}")
    results = {}
    for name, learner in chosen.items():
        if options.only in (None, name):
            results[name] = run(learner, options.rounds, options.seed)
            if not options.json:
                print(_sentence(name, results[name]), flush=True)
    if options.json:
        print(json.dumps(results))
    return 0 if all(result["holds"] for result in results.values()) else 1


def _sentence(name: str, result: dict[str, Any]) -> str:
    return (
        f"{name:>9}: {'holds' if result['holds'] else 'FAILS'}, {result['rounds']:,} rounds at "
        f"{result['rounds_per_second']:,.0f}/s, largest residual {result['largest_residual']:.1e}, largest weight "
        f"{result['largest_weight']:.1e}, largest loss {result['largest_cumulative_loss']:.1e}, difference "
        f"{result['difference_from_solve_ftrl']:.1e}"
    )


# --- kernels --------------------------------------------------------------------------------------------


@jit
def torment(state: State, rounds: int, seed: int, scratch: NDArray[np.float64]) -> tuple[float, float]:
    """Play against the adversary; the largest residual and the smallest mass that was drawn."""
    starts = state.starts
    favourite = np.zeros(starts.size - 1, dtype=np.int64)
    losses = np.empty(scratch.size)
    marked, phase, ends, length = 0, -1, 0, float(FIRST_PHASE)
    worst, lightest = 0.0, 1.0
    for t in range(1, rounds + 1):
        if t > ends:
            phase += 1
            length *= GROWTH
            ends = t + int(length)
            if phase % 2 == 0:  # the next phase flips what this one does
                marked = mark(state, scratch, favourite)
        first, second = uniform_pair(seed, STREAM, t, 0)
        ticket = draw(state, first, second)
        k = ticket.clique
        lightest = min(lightest, ticket.clique_probability)
        seen = losses[: starts[k + 1] - starts[k]]
        for j in range(seen.size):
            seen[j] = loss(phase, k == marked, j == favourite[k], uniform_pair(seed, STREAM, t, 1 + j)[0])
        update(state, ticket, seen)
        residual = state.clock[RESIDUAL]
        if not residual <= worst:  # also true of NaN
            worst = residual if residual == residual else math.inf
    return worst, lightest


@jit
def loss(phase: int, marked: bool, favourite: bool, coin: float) -> float:
    """Six kinds of phases, in turn."""
    kind = phase % 6
    if kind == 0:
        return 1.0 if marked else 0.0
    if kind == 1:
        return 0.0 if marked else 1.0
    if kind == 2:
        return 1.0 if favourite else 0.0
    if kind == 3:
        return 0.0 if favourite else 1.0
    if kind == 4:
        return 1.0 if marked or favourite else coin
    return 1.0 if coin < 0.5 else 0.0


@jit
def mark(state: State, scratch: NDArray[np.float64], favourite: NDArray[np.int64]) -> int:
    """The likeliest clique; the place of each clique's likeliest arm goes to ``favourite``."""
    fill_distribution(as_problem(state), state.masses, scratch)
    for k in range(favourite.size):
        favourite[k] = np.argmax(scratch[state.starts[k] : state.starts[k + 1]])
    return int(np.argmin(state.masses.temperature))


if __name__ == "__main__":
    raise SystemExit(main())
