"""The regret theorems on runs of the learner: the paper's, Theorems B (sharp), C (practical) and D (guarded).

Short runs are recorded whole, so that the general bounds, which need the play of every round, can be evaluated. Long
ones are played as users play them; there the bounds of Theorems B to D become smaller than the trivial one. The mean
over the runs stands for the expectation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from allworlds import theory
from allworlds.covers import CliqueCover, clique_cover
from allworlds.graphs import disjoint_cliques
from allworlds.learners import Guarded, TsallisShannon
from allworlds.simulation import Trace, play_many
from allworlds.theory import Bound, Check, clique_gaps, corruption_level, pseudo_regret
from allworlds.theory.practical_coefficients import numbers_of
from allworlds.workflows.verify.guarded import GuardedRun, long_runs
from allworlds.workflows.verify.instances import (
    WORLDS,
    Instances,
    Losses,
    Outcome,
    Statement,
    Trajectory,
    World,
    constants_of,
)
from allworlds.worlds import World as PlayedWorld
from allworlds.worlds import constrained_adversary, corrupted, one_good_arm

Array = NDArray[np.float64]


class Recorded(Protocol):
    """A run that was recorded; arrays have shape (T, N)."""

    @property
    def cover(self) -> CliqueCover:
        """The learner's."""
        ...

    @property
    def losses(self) -> Losses:
        """As played and clean."""
        ...

    @property
    def distributions(self) -> Array:
        """Of each round."""
        ...


Runs = Sequence[Recorded]

HORIZON = 200_000
GAP = 0.25
PLAYED_WORLDS: dict[str, Callable[[int, str], PlayedWorld]] = {
    "stochastic": lambda n, which: one_good_arm(n, GAP),
    "constrained adversary": lambda n, which: constrained_adversary(n, gap=GAP),
    "corrupted": lambda n, which: corrupted(one_good_arm(n, GAP), budget=1000, attack=attack_on(which)),
}


def attack_on(which: str) -> Literal["best-worst", "all-worst"]:
    """Under ``best-worst`` the guarded learner loses less than the best arm, and a regret below 0 tests no bound."""
    return "all-worst" if which == "guarded" else "best-worst"


class Facts(NamedTuple):
    """What every theorem must be told about some runs in one world."""

    cover: CliqueCover
    horizon: int
    means: Array
    corruption: float

    @property
    def best_clique(self) -> int:
        """The clique of the best arm of the clean means."""
        return int(self.cover.owner[self.means.argmin()])


def _theorem_1(at: Facts) -> Bound:
    gaps = clique_gaps(at.means, at.cover)
    return theory.theorem_1_bound(at.cover.n_arms, at.cover.n_cliques, at.horizon, gaps, at.corruption)


def _adversarial(which: str, at: Facts) -> Bound:
    return _bound_of(which, "adversarial")(at.cover.sizes, at.horizon)


def _corrupted(which: str, at: Facts) -> Bound:
    gaps = clique_gaps(at.means, at.cover)
    return _bound_of(which, "corrupted")(at.cover.sizes, gaps, at.best_clique, at.horizon, at.corruption)


def _bound_of(which: str, part: str) -> Callable[..., Bound]:
    """A bound of Theorem B (``sharp``), C (``practical``) or D (``guarded``): they take the same arguments."""
    bound: Callable[..., Bound] = getattr(theory, f"{which}_{part}_bound")
    return bound


# --- recorded runs -------------------------------------------------------------------------------------


def _theorem_2(world: World, runs: list[Trajectory]) -> Bound:
    half_others = np.mean([it.others(it.half_steps) for it in runs], axis=0)
    of = (*_mean_play(runs), half_others, _facts(world, runs).best_clique)
    return theory.theorem_2_bound(runs[0].cover.n_arms, *of, largest_gap=_largest_gap(world, runs))


def _general(which: str, world: World, runs: list[Trajectory]) -> Bound:
    of = (*_mean_play(runs), _facts(world, runs).best_clique)
    return _bound_of(which, "general")(runs[0].cover.sizes, *of, largest_gap=_largest_gap(world, runs))


def _general_guarded(world: World, runs: list[GuardedRun]) -> Bound:
    """Theorem D (i): the mean of the roots, before the handover and after it."""
    facts = _facts(world, runs)
    head_start = numbers_of(facts.cover.sizes).head_start
    before, after = (np.mean(of, axis=0) for of in zip(*(it.roots(head_start) for it in runs), strict=True))
    of = (facts.cover.sizes, before, after, facts.best_clique, facts.horizon)
    return theory.guarded_general_bound(*of, largest_gap=_largest_gap(world, runs))


def _mean_play(runs: list[Trajectory]) -> tuple[Array, Array]:
    """``E q`` and ``E x``."""
    others = np.mean([it.others(it.distributions) for it in runs], axis=0)
    return np.mean([it.clique_mass for it in runs], axis=0), others


def _largest_gap(world: World, runs: Runs) -> float:
    """The largest mean cost of a round: the gap where the losses are stochastic, 1 elsewhere."""
    return float(np.ptp(runs[0].losses.means)) if world == "stochastic" else 1.0


def _facts(world: World, runs: Runs) -> Facts:
    """The corruption is what was measured; losses from no fixed distribution count as corrupted in every round."""
    horizon = len(runs[0].distributions)
    spent = corruption_level([it.losses.played for it in runs], [it.losses.clean for it in runs])
    return Facts(runs[0].cover, horizon, runs[0].losses.means, float(horizon) if world == "adversarial" else spent)


def against_the_best(runs: Runs) -> float:
    """Pseudo-regret as the paper defines it: against the arm that is best on the losses as played."""
    return pseudo_regret([it.distributions for it in runs], [it.losses.played for it in runs])


def against_i_star(runs: Runs) -> float:
    """Regret against ``i*``, the best arm of the clean means, on the losses as played, as in Theorems B to D."""
    lost = [float((it.distributions * it.losses.played).sum()) for it in runs]
    return float(np.mean(lost) - np.mean([it.losses.played[:, it.losses.best_arm].sum() for it in runs]))


def _on_runs(
    text: str,
    label: str,
    which: str,
    bound: Callable[[World, Any], Bound],
    regret: Callable[[Runs], float] = against_the_best,
) -> Iterator[Statement]:
    """One statement for each world, because a theorem promises something else in each of them."""
    for world in WORLDS:

        def check(instances: Instances, world: World = world) -> Iterator[Outcome]:
            runs: Runs = (long_runs(instances) if which == "guarded" else instances.long(which))[world]
            promise = bound(world, runs)
            if promise.applies:
                yield Outcome(Check("regret <= bound", "", regret(runs), promise.value), promise.vacuous)

        yield Statement(f"{text}, {world}", f"{label}/{world}", check)


def _from_facts(bound: Callable[[Facts], Bound]) -> Callable[[World, Runs], Bound]:
    return lambda world, runs: bound(_facts(world, runs))


def _three_parts(name: str, which: str) -> Iterator[Statement]:
    """Theorem B, C or D."""
    text, label = f"Theorem {name}", f"theorem-{name.lower()}"
    adversarial, corrupted = (_from_facts(partial(part, which)) for part in (_adversarial, _corrupted))
    general = _general_guarded if which == "guarded" else partial(_general, which)
    yield from _on_runs(f"{text} (i), general", f"{label}-i", which, general, against_i_star)
    yield from _on_runs(f"{text} (ii), any losses", f"{label}-ii", which, adversarial)
    yield from _on_runs(f"{text} (iii), corrupted", f"{label}-iii", which, corrupted, against_i_star)


ON_RUNS = (
    *_on_runs("Theorem 2", "thm:graph-regret-bound", "paper", _theorem_2),
    *_on_runs("Theorem 1", "thm:reg-corrupted-full", "paper", _from_facts(_theorem_1)),
    *_three_parts("B", "sharp"),
    *_three_parts("C", "practical"),
    *_three_parts("D", "guarded"),
)


# --- long traces ---------------------------------------------------------------------------------------


def _play(which: str, name: str, instances: Instances) -> tuple[Facts, list[Trace]]:
    """The traces, and what was spent on corruption at most; a world without fixed means is corrupted in every round.

    A trace counts regret against the best arm of the losses as played. In the corrupted world that is also the best arm
    of the clean means, as Theorems B to D need: the attack costs it at most 1,000, and it is ahead by 50,000.
    """
    cover = clique_cover(disjoint_cliques(2, 5))
    world = PLAYED_WORLDS[name](cover.n_arms, which)
    learner = Guarded(cover) if which == "guarded" else TsallisShannon(cover, constants_of(which, cover, HORIZON))
    first = int(instances.rng(21).integers(2**32))
    traces = play_many(learner, world, HORIZON, range(first, first + instances.often(which, name, 2)))
    spent = max(float(trace.corruption[-1]) for trace in traces) if world.stationary else float(HORIZON)
    return Facts(cover, HORIZON, one_good_arm(cover.n_arms, GAP).arrays.means, spent), traces


def _on_traces(text: str, label: str, which: str, bound: Callable[[Facts], Bound]) -> Iterator[Statement]:
    for name in PLAYED_WORLDS:

        def check(instances: Instances, name: str = name) -> Iterator[Outcome]:
            facts, traces = instances.once(f"{which} played, {name}", lambda: _play(which, name, instances))
            promise = bound(facts)
            mean = float(np.mean([trace.final_regret for trace in traces]))
            yield Outcome(Check("regret <= bound", "", mean, promise.value), promise.vacuous)

        yield Statement(f"{text}, {name}", f"{label}/played/{name}", check)


ON_TRACES = (
    *_on_traces("Theorem 1", "thm:reg-corrupted-full", "paper", _theorem_1),
    *_on_traces("Theorem B (ii)", "theorem-b-ii", "sharp", partial(_adversarial, "sharp")),
    *_on_traces("Theorem B (iii)", "theorem-b-iii", "sharp", partial(_corrupted, "sharp")),
    *_on_traces("Theorem C (ii)", "theorem-c-ii", "practical", partial(_adversarial, "practical")),
    *_on_traces("Theorem C (iii)", "theorem-c-iii", "practical", partial(_corrupted, "practical")),
    *_on_traces("Theorem D (ii)", "theorem-d-ii", "guarded", partial(_adversarial, "guarded")),
    *_on_traces("Theorem D (iii)", "theorem-d-iii", "guarded", partial(_corrupted, "guarded")),
)
