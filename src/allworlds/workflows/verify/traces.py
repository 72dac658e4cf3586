"""The regret theorems on long played traces, where the sharp bounds begin to say something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from allworlds import theory
from allworlds.ftrl import Constants
from allworlds.graphs import CliqueCover, clique_cover, disjoint_cliques
from allworlds.learners import TsallisShannon
from allworlds.simulation import Trace, clique_gaps, play_many
from allworlds.theory import Bound, Check
from allworlds.workflows.verify.instances import Instances
from allworlds.workflows.verify.statement import Outcome, Statement
from allworlds.worlds import World, constrained_adversary, corrupted, one_good_arm

HORIZON = 200_000
GAP = 0.25


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


def _play(which: str, world_of: Callable[[int], World], instances: Instances) -> Played:
    cover = clique_cover(disjoint_cliques(2, 5))
    world = world_of(cover.n_arms)
    constants = Constants.paper(cover, HORIZON) if which == "paper" else Constants.sharp(cover)
    first = int(instances.rng(21).integers(2**32))
    seeds = range(first, first + (8 if instances.full else 2))
    return Played(cover, world, play_many(TsallisShannon(cover, constants), world, HORIZON, seeds))


def _theorem_1(it: Played) -> Bound:
    gaps = clique_gaps(one_good_arm(it.cover.n_arms, GAP).nature.means, it.cover)
    return theory.theorem_1_bound(it.cover.n_arms, it.cover.n_cliques, HORIZON, gaps, it.corruption)


def _sharp_adversarial(it: Played) -> Bound:
    return theory.sharp_adversarial_bound(it.cover.sizes, HORIZON)


def _sharp_corrupted(it: Played) -> Bound:
    """Against the best arm of the clean means; it is also the best of the losses as played, which a trace counts by.

    The attack costs it at most 1,000, and in these rounds it is ahead by 50,000.
    """
    gaps = clique_gaps(one_good_arm(it.cover.n_arms, GAP).nature.means, it.cover)
    best_clique = int(it.cover.owner[it.world.best_arm])
    return theory.sharp_corrupted_bound(it.cover.sizes, gaps, best_clique, HORIZON, it.corruption)


def _statements(text: str, label: str, which: str, bound: Callable[[Played], Bound]) -> Iterator[Statement]:
    worlds: dict[str, Callable[[int], World]] = {
        "stochastic": lambda n: one_good_arm(n, GAP),
        "constrained adversary": lambda n: constrained_adversary(n, gap=GAP),
        "corrupted": lambda n: corrupted(one_good_arm(n, GAP), budget=1000, attack="best-worst"),
    }
    for name, world_of in worlds.items():

        def check(instances: Instances, world_of: Callable[[int], World] = world_of) -> Iterator[Outcome]:
            it = _play(which, world_of, instances)
            promise = bound(it)
            mean = float(np.mean([trace.final_regret for trace in it.traces]))
            yield Outcome(Check("regret <= bound", "", mean, promise.value), promise.vacuous)

        yield Statement(f"{text}, {name}", f"{label}/played/{name}", check)


STATEMENTS = (
    *_statements("Theorem 1", "thm:reg-corrupted-full", "paper", _theorem_1),
    *_statements("Theorem B (ii)", "theorem-b-ii", "sharp", _sharp_adversarial),
    *_statements("Theorem B (iii)", "theorem-b-iii", "sharp", _sharp_corrupted),
)
