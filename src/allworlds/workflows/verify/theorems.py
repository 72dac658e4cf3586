"""The regret theorems on real runs: the paper's, the sharp ones and those of the default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from allworlds import theory
from allworlds.theory import Bound, Check, clique_gaps, corruption_level, pseudo_regret
from allworlds.workflows.verify.instances import Instances
from allworlds.workflows.verify.statement import Outcome, Statement
from allworlds.workflows.verify.trajectories import WORLDS, Trajectory, World

Array = NDArray[np.float64]
Runs = list[Trajectory]


def _on_runs(
    which: str, bound: Callable[[World, Runs], Bound], world: World, regret: Callable[[Runs], float]
) -> Callable[[Instances], Iterable[Outcome]]:
    """Compare the regret of the runs in a world, their mean standing for the expectation, with a bound."""

    def check(instances: Instances) -> Iterator[Outcome]:
        runs = instances.long(which)[world]
        promise = bound(world, runs)
        if promise.applies:
            yield Outcome(Check("regret <= bound", "", regret(runs), promise.value), promise.vacuous)

    return check


def against_the_best(runs: Runs) -> float:
    """Pseudo-regret as the paper defines it: against the arm that is best on the losses as played."""
    return pseudo_regret([it.distributions for it in runs], [it.losses.played for it in runs])


def against_i_star(runs: Runs) -> float:
    """Regret against ``i*``, the best arm of the clean means, on the losses as played, as in Theorems B and C."""
    return float(np.mean([_lost(it) - it.losses.played[:, it.losses.best_arm].sum() for it in runs]))


def _lost(it: Trajectory) -> float:
    return float((it.distributions * it.losses.played).sum())


def _mean(arrays: list[Array]) -> Array:
    mean: Array = np.mean(arrays, axis=0)
    return mean


def _corruption(world: World, runs: Runs) -> float:
    """What was measured; losses that no fixed distribution made count as corrupted in every round."""
    if world == "adversarial":
        return float(len(runs[0].rates))
    return corruption_level([it.losses.played for it in runs], [it.losses.clean for it in runs])


def _theorem_1(world: World, runs: Runs) -> Bound:
    cover, horizon = runs[0].cover, len(runs[0].rates)
    gaps = clique_gaps(runs[0].losses.means, cover)
    return theory.theorem_1_bound(cover.n_arms, cover.n_cliques, horizon, gaps, _corruption(world, runs))


def _theorem_2(world: World, runs: Runs) -> Bound:
    return theory.theorem_2_bound(
        runs[0].cover.n_arms,
        _mean([it.clique_mass for it in runs]),
        _mean([it.others(it.distributions) for it in runs]),
        _mean([it.others(it.half_steps) for it in runs]),
        _best_clique(runs),
        largest_gap=_largest_gap(world, runs),
    )


def _general(which: str, world: World, runs: Runs) -> Bound:
    return bound_of(which, "general")(
        runs[0].cover.sizes,
        _mean([it.clique_mass for it in runs]),
        _mean([it.others(it.distributions) for it in runs]),
        _best_clique(runs),
        largest_gap=_largest_gap(world, runs),
    )


def _adversarial(which: str, world: World, runs: Runs) -> Bound:
    return bound_of(which, "adversarial")(runs[0].cover.sizes, len(runs[0].rates))


def _corrupted(which: str, world: World, runs: Runs) -> Bound:
    cover, horizon = runs[0].cover, len(runs[0].rates)
    gaps = clique_gaps(runs[0].losses.means, cover)
    best_clique, spent = _best_clique(runs), _corruption(world, runs)
    return bound_of(which, "corrupted")(cover.sizes, gaps, best_clique, horizon, spent)


def bound_of(which: str, part: str) -> Callable[..., Bound]:
    """A bound of Theorem B (``sharp``) or C (``practical``): they take the same numbers."""
    bound: Callable[..., Bound] = getattr(theory, f"{which}_{part}_bound")
    return bound


def _largest_gap(world: World, runs: Runs) -> float:
    """What a round can cost in the mean where the losses are stochastic; elsewhere it can cost 1."""
    means = runs[0].losses.means
    return float(np.ptp(means)) if world == "stochastic" else 1.0


def _best_clique(runs: Runs) -> int:
    return int(runs[0].cover.owner[runs[0].losses.best_arm])


def _statements(
    text: str,
    label: str,
    which: str,
    bound: Callable[[World, Runs], Bound],
    regret: Callable[[Runs], float] = against_the_best,
) -> Iterator[Statement]:
    """One statement a world, because the worlds are different promises of one theorem."""
    for world in WORLDS:
        yield Statement(f"{text}, {world}", f"{label}/{world}", _on_runs(which, bound, world, regret))


def _three_parts(name: str, which: str) -> Iterator[Statement]:
    """Theorem B or C."""
    text, label = f"Theorem {name}", f"theorem-{name.lower()}"
    yield from _statements(f"{text} (i), general", f"{label}-i", which, partial(_general, which), against_i_star)
    yield from _statements(f"{text} (ii), any losses", f"{label}-ii", which, partial(_adversarial, which))
    yield from _statements(
        f"{text} (iii), corrupted", f"{label}-iii", which, partial(_corrupted, which), against_i_star
    )


STATEMENTS = (
    *_statements("Theorem 2", "thm:graph-regret-bound", "paper", _theorem_2),
    *_statements("Theorem 1", "thm:reg-corrupted-full", "paper", _theorem_1),
    *_three_parts("B", "sharp"),
    *_three_parts("C", "practical"),
)
