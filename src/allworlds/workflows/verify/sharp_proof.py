"""The steps of ``docs/sharp_constants.md``: each one on rounds, and on whole runs where it speaks of those."""

from __future__ import annotations

from collections.abc import Iterator

from allworlds import theory
from allworlds.theory import Check, Round
from allworlds.theory import sharp as step
from allworlds.theory.simplex import sharp_comparator
from allworlds.workflows.verify.instances import Instances
from allworlds.workflows.verify.statement import Statement, each_round


def _leads(state: Round) -> bool:
    """The half-step lemma speaks of rounds in which the best clique has more than half of the mass."""
    return state.best_mass > 0.5 and state.learning_rate <= 0.5


def _late(state: Round) -> bool:
    return state.learning_rate <= 0.5


def _several(state: Round) -> bool:
    """With one clique these steps say 0 <= 0."""
    return state.cover.n_cliques > 1


def _comparator(instances: Instances) -> Iterator[Check]:
    for it in instances.short_sharp:
        for arm in range(it.cover.n_arms):
            yield step.comparator_cost(it.losses.played, it.cover, arm)


def _barrier(instances: Instances) -> Iterator[Check]:
    for it in instances.short_sharp:
        for arm in range(it.cover.n_arms):
            yield step.barrier_penalty(it.distributions[0], it.cover, arm, len(it.rates))


def _decomposition(instances: Instances) -> Iterator[Check]:
    for it in instances.short_sharp:
        for arm in range(it.cover.n_arms):
            yield theory.decomposition(
                it.cover,
                it.constants,
                it.estimates,
                it.distributions,
                it.half_steps,
                it.rates,
                sharp_comparator(it.cover, arm, len(it.rates)),
            )


def _corruption(instances: Instances) -> Iterator[Check]:
    """Against every arm, because the inequality does not ask which one is best; without corruption it says nothing."""
    for it in instances.short_sharp:
        if it.corrupted:
            for arm in range(it.cover.n_arms):
                yield theory.corrupted_play(it.distributions, it.losses.played, it.losses.clean, arm)


def _young(instances: Instances) -> Iterator[Check]:
    """For several z, among them those near the best one for a short run, where the line is tightest."""
    for it in instances.short_sharp:
        for z in (0.01, 0.02, 0.05, 0.6, 1.0, 10.0):
            yield theory.youngs_line(it.distributions, it.cover, it.losses.means, z)


def _entropy(state: Round) -> Check:
    return step.best_clique_entropy(state.distribution, state.cover, state.best_arm)


def _penalty(state: Round) -> Check:
    return step.entropy_penalty(state.distribution, state.cover, state.best_arm, 1000)


def _plain_penalty(state: Round) -> Check:
    return step.plain_penalty(state.distribution, state.cover, state.best_arm, 1000)


STATEMENTS = (
    Statement("Sharp 1: masses move by rho at most", "sharp-1", each_round(theory.mass_stability, "sharp")),
    Statement("Sharp 2: the comparator costs at most 1", "sharp-2", _comparator),
    Statement("Sharp: regret is penalty plus stability", "sharp-decomposition", _decomposition),
    Statement("Sharp 3a: the barrier's penalty", "sharp-3a", _barrier),
    Statement("Sharp 3b: the best clique's entropy", "sharp-3b", each_round(_entropy, "sharp")),
    Statement("Sharp 3c: the entropy's penalty", "sharp-3c", each_round(_penalty, "sharp")),
    Statement("Sharp 4: stability is at most 1", "sharp-4-one", each_round(step.stability_at_most_one, "sharp")),
    Statement(
        "Sharp 4: and half the squared norm",
        "sharp-4-half",
        each_round(step.stability_at_most_half_norm, "sharp"),
    ),
    Statement("Sharp 4a: drawn elsewhere", "sharp-4a", each_round(step.drawn_elsewhere, "sharp", _several)),
    Statement("Sharp 4b: the best arm", "sharp-4b", each_round(step.drawn_best_arm, "sharp", _several)),
    Statement("Sharp 4c: cliques not drawn", "sharp-4c", each_round(step.not_drawn, "sharp", _several)),
    Statement("Sharp 4d: the best arm's neighbours", "sharp-4d", each_round(step.drawn_other_arms, "sharp", _late)),
    Statement("Sharp 4: the half-step lemma", "sharp-4-step", each_round(step.half_step_lemma, "sharp", _leads)),
    Statement("Sharp 4: all together", "sharp-4", each_round(step.stability, "sharp", _late)),
    Statement("Sharp 6: without the shift", "sharp-6", each_round(step.plain_stability, "sharp")),
    Statement("Sharp 6: the penalty by norms", "sharp-6-penalty", each_round(_plain_penalty, "sharp")),
    Statement("Sharp 7: corruption costs 2 C at most", "sharp-7-corruption", _corruption),
    Statement("Sharp 7: Young's line", "sharp-7-young", _young),
)
