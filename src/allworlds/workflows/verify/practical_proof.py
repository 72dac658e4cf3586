"""The steps of ``docs/default_proof.md``: each one on rounds, and the decomposition on whole runs of the learner."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from allworlds.theory import Check
from allworlds.theory import practical as step
from allworlds.theory.practical import PracticalRound
from allworlds.theory.simplex import sharp_comparator
from allworlds.workflows.verify.instances import Instances
from allworlds.workflows.verify.statement import Statement, each_round


def _late(state: PracticalRound) -> bool:
    return state.numbers.is_late(state.round)


def _leads(state: PracticalRound) -> bool:
    """These steps speak of late rounds in which the best clique has half of the mass."""
    return _late(state) and state.best_mass >= 0.5


def _small(state: PracticalRound) -> bool:
    return state.best_mass < 0.5


def _bias(state: PracticalRound) -> Check:
    """Against the best arm: usually it is in another clique than the one held back, and then this is an equality."""
    return step.bias(state, np.eye(state.cover.n_arms)[state.best_arm])


def _barrier(state: PracticalRound) -> Check:
    return step.barrier_penalty(state, state.round + 1000)


def _entropy(state: PracticalRound) -> Check:
    return step.entropy_penalty(state, state.round + 1000)


def _plain_penalty(state: PracticalRound) -> Check:
    return step.plain_penalty(state, state.round + 1000)


def _weight(state: PracticalRound) -> Check:
    return step.weight_growth(state.constants, state.round + 1)


def _decomposition(instances: Instances) -> Iterator[Check]:
    for it in instances.short_practical:
        for arm in range(it.cover.n_arms):
            comparator = sharp_comparator(it.cover, arm, len(it.rates))
            yield step.decomposition(it.rounds, it.estimates, it.half_steps, comparator)


def _local_norm(instances: Instances) -> Iterator[Check]:
    """With both shifts that the proof takes."""
    for state in instances.practical_states:
        for shift in (0.0, float(state.losses[state.best_arm]) - state.baseline):
            yield step.stability_by_local_norm(state, shift)


STATEMENTS = (
    Statement("Default 0: what is held back", "default-0", each_round(_bias, "practical")),
    Statement("Default 0: how far behind a clique is", "default-0-deficit", each_round(step.deficit, "practical")),
    Statement("Default 0: only small masses", "default-0-mass", each_round(step.held_back_mass, "practical")),
    Statement("Default 0: and its cost", "default-0-cost", each_round(step.bias_cost, "practical")),
    Statement("Default 1: a price falls by b + n", "default-1-down", each_round(step.price_falls, "practical")),
    Statement("Default 1: and rises by 1 - b + n", "default-1-up", each_round(step.price_rises, "practical")),
    Statement("Default 2: prices are steep", "default-2-slope", each_round(step.curvature, "practical")),
    Statement("Default 2: a drawn mass that rises", "default-2", each_round(step.drawn_mass, "practical")),
    Statement("Default 2: it grows by rho at most", "default-2-rho", each_round(step.mass_growth, "practical")),
    Statement("Default 3: regret is penalty plus stability", "default-decomposition", _decomposition),
    Statement("Default 3: the barrier's penalty", "default-3-barrier", each_round(_barrier, "practical")),
    Statement("Default 3: the entropy's penalty", "default-3", each_round(_entropy, "practical")),
    Statement("Default 3: the same by norms", "default-3-plain", each_round(_plain_penalty, "practical")),
    Statement("Default 3: the entropy's weight", "default-3-weight", each_round(_weight, "practical")),
    Statement("Default 4: the local norm", "default-4-norm", _local_norm),
    Statement("Default 4: without a shift", "default-4-plain", each_round(step.plain_stability, "practical")),
    Statement("Default 4a: drawn elsewhere", "default-4a", each_round(step.drawn_elsewhere, "practical")),
    Statement("Default 4a*: a small clique", "default-4a*", each_round(step.drawn_best_if_small, "practical", _small)),
    Statement("Default 4: the other masses", "default-4-others", each_round(step.other_masses, "practical", _leads)),
    Statement("Default 4b: the best arm", "default-4b", each_round(step.drawn_best_arm, "practical", _leads)),
    Statement("Default 4c: cliques not drawn", "default-4c", each_round(step.not_drawn, "practical", _leads)),
    Statement("Default 4d: its neighbours", "default-4d", each_round(step.drawn_other_arms, "practical", _leads)),
    Statement(
        "Default 4: the half-step lemma", "default-4-step", each_round(step.half_step_lemma, "practical", _leads)
    ),
    Statement("Default 4: all together", "default-4", each_round(step.stability, "practical", _late)),
)
