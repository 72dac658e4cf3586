"""The regret theorems on long played traces, where the bounds of Theorems B and C begin to say something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from allworlds import theory
from allworlds.covers import CliqueCover, clique_cover
from allworlds.graphs import disjoint_cliques
from allworlds.learners import TsallisShannon
from allworlds.simulation import Trace, play_many
from allworlds.theory import Bound, Check, clique_gaps
from allworlds.workflows.verify.instances import Instances
from allworlds.workflows.verify.random_rounds import constants_of
from allworlds.workflows.verify.statement import Outcome, Statement
from allworlds.workflows.verify.theorems import bound_of
from allworlds.worlds import World, constrained_adversary, corrupted, one_good_arm

HORIZON = 200_000
GAP = 0.25
WORLDS: dict[str, Callable[[int], World]] = {
    "stochastic": lambda n: one_good_arm(n, GAP),
    "constrained adversary": lambda n: constrained_adversary(n, gap=GAP),
    "corrupted": lambda n: corrupted(one_good_arm(n, GAP), budget=1000, attack="best-worst"),
}


class Played(NamedTuple):
    """Some runs of one learner in one world."""

    cover: CliqueCover
    world: World
    traces: list[Trace]

    @property
    def corruption(self) -> float:
        """What was spent, at most; a world without fixed means counts as corrupted in every round."""
        if not self.world.stationary:
            return float(HORIZON)
        return max(float(trace.corruption[-1]) for trace in self.traces)


def _play(which: str, name: str, instances: Instances) -> Played:
    cover = clique_cover(disjoint_cliques(2, 5))
    world, constants = WORLDS[name](cover.n_arms), constants_of(which, cover, HORIZON)
    first = int(instances.rng(21).integers(2**32))
    seeds = range(first, first + instances.often(which, name, 2))
    return Played(cover, world, play_many(TsallisShannon(cover, constants), world, HORIZON, seeds))


def _theorem_1(it: Played) -> Bound:
    gaps = clique_gaps(one_good_arm(it.cover.n_arms, GAP).nature.means, it.cover)
    return theory.theorem_1_bound(it.cover.n_arms, it.cover.n_cliques, HORIZON, gaps, it.corruption)


def _adversarial(which: str, it: Played) -> Bound:
    return bound_of(which, "adversarial")(it.cover.sizes, HORIZON)


def _corrupted(which: str, it: Played) -> Bound:
    """Against the best arm of the clean means; it is also the best of the losses as played, which a trace counts by.

    The attack costs it at most 1,000, and in these rounds it is ahead by 50,000.
    """
    gaps = clique_gaps(one_good_arm(it.cover.n_arms, GAP).nature.means, it.cover)
    best_clique = int(it.cover.owner[it.world.best_arm])
    return bound_of(which, "corrupted")(it.cover.sizes, gaps, best_clique, HORIZON, it.corruption)


def _statements(text: str, label: str, which: str, bound: Callable[[Played], Bound]) -> Iterator[Statement]:
    for name in WORLDS:

        def check(instances: Instances, name: str = name) -> Iterator[Outcome]:
            it = instances.once(f"{which} played, {name}", lambda: _play(which, name, instances))
            promise = bound(it)
            mean = float(np.mean([trace.final_regret for trace in it.traces]))
            yield Outcome(Check("regret <= bound", "", mean, promise.value), promise.vacuous)

        yield Statement(f"{text}, {name}", f"{label}/played/{name}", check)


STATEMENTS = (
    *_statements("Theorem 1", "thm:reg-corrupted-full", "paper", _theorem_1),
    *_statements("Theorem B (ii)", "theorem-b-ii", "sharp", partial(_adversarial, "sharp")),
    *_statements("Theorem B (iii)", "theorem-b-iii", "sharp", partial(_corrupted, "sharp")),
    *_statements("Theorem C (ii)", "theorem-c-ii", "practical", partial(_adversarial, "practical")),
    *_statements("Theorem C (iii)", "theorem-c-iii", "practical", partial(_corrupted, "practical")),
)
