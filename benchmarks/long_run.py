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
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import allworlds as aw
from allworlds.kernels.jit import lean_jit
from allworlds.kernels.random import uniform_pair
from allworlds.learners.tsallis_shannon_round import State, draw, update

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
    losses = np.empty(learner.n_arms)
    worst, lightest, spent = 0.0, 1.0, 0.0
    for phase, first, last in phases(rounds):
        if phase % 2 == 0:  # the next phase flips what this one does
            marked, favourite = mark(learner, state)
        while first <= last:
            stop = min(last, first + first // 100)
            begin = time.perf_counter()
            lightest = min(lightest, torment(state, phase, first, stop, seed, marked, favourite, losses))
            spent += time.perf_counter() - begin
            residual = learner.residual(state)
            worst = max(worst, residual) if math.isfinite(residual) else math.inf
            first = stop + 1
    estimates = learner.cumulative_losses(state)
    p = learner.distribution(state)
    constants = learner.constants_now(state)
    afresh = aw.solve_ftrl(learner.cover, estimates, constants.learning_rate(learner.round(state)), constants)
    counts = p > 1e-300
    difference = np.max(np.abs(p[counts] - afresh.distribution[counts]) / afresh.distribution[counts])
    finite = all(np.isfinite(array).all() for array in learner.pack(state).values())
    # a price is a difference of numbers as large as the losses, and is rounded like them
    limit = 1e-9 + 4e-15 * float(np.max(np.abs(estimates)))
    good = finite and worst <= limit and afresh.residual <= 1e-10 and difference <= 1e-9
    return {
        "constants": constants.label,
        "rounds": learner.round(state) - 1,
        "rounds_per_second": rounds / spent,
        "finite": bool(finite),
        "largest_residual": worst,
        "residual_limit": limit,
        "largest_weight": 1.0 / lightest,
        "largest_cumulative_loss": float(np.max(np.abs(estimates))),
        "smallest_probability": float(p.min()),
        "difference_from_solve_ftrl": float(difference),
        "holds": bool(good and math.isclose(p.sum(), 1.0, abs_tol=1e-9)),
    }


def phases(rounds: int) -> Iterator[tuple[int, int, int]]:
    """Number, first and last round of each phase."""
    phase, first, length = 0, 1, FIRST_PHASE * GROWTH
    while first <= rounds:
        last = min(rounds, first + int(length) - 1)
        yield phase, first, last
        phase, first, length = phase + 1, last + 1, length * GROWTH


def mark(learner: aw.TsallisShannon, state: State) -> tuple[int, NDArray[np.int64]]:
    """The likeliest clique, and the place of each clique's likeliest arm."""
    p = learner.distribution(state)
    favourite = np.array([np.argmax(p[clique]) for clique in learner.cover.cliques])
    return int(np.argmax(learner.clique_mass(state))), favourite


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


@lean_jit
def torment(
    state: State,
    phase: int,
    first: int,
    last: int,
    seed: int,
    marked: int,
    favourite: NDArray[np.int64],
    losses: NDArray[np.float64],
) -> float:
    """Play some rounds of one phase; the smallest mass that was drawn."""
    starts = state.starts
    lightest = 1.0
    for t in range(first, last + 1):
        one, two = uniform_pair(seed, STREAM, t, 0)
        ticket = draw(state, one, two)
        k = ticket.clique
        lightest = min(lightest, ticket.clique_probability)
        seen = losses[: starts[k + 1] - starts[k]]
        for j in range(seen.size):
            seen[j] = loss(phase, k == marked, j == favourite[k], uniform_pair(seed, STREAM, t, 1 + j)[0])
        update(state, ticket, seen)
    return lightest


@lean_jit
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


if __name__ == "__main__":
    raise SystemExit(main())
