"""Our own proofs step by step: ``docs/sharp_constants.md`` and ``docs/default_proof.md``.

A step about one round is checked on rounds, a step about a run on whole runs of the learner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from allworlds import theory
from allworlds.theory import Check, Round, practical, sharp
from allworlds.theory.regulariser import sharp_comparator
from allworlds.theory.rounds import PracticalRound
from allworlds.workflows.verify.instances import Instances, Statement, Trajectory, on_rounds, several


def _leads(state: Round) -> bool:
    """The half-step lemma is about rounds in which the best clique has more than half of the mass."""
    return state.best_mass > 0.5 and state.learning_rate <= 0.5


def _late(state: Round) -> bool:
    return state.learning_rate <= 0.5


def _each_arm(step: Callable[[Trajectory, int], Check]) -> Callable[[Instances], Iterator[Check]]:
    """A step about a run, against every arm: it does not matter which one is best."""
    return lambda of: (step(it, arm) for it in of.short("sharp") for arm in range(it.cover.n_arms))


def _corruption(instances: Instances) -> Iterator[Check]:
    """Only on corrupted runs: without corruption the two sides are equal."""
    for it in (run for run in instances.short("sharp") if run.corrupted):
        for arm in range(it.cover.n_arms):
            yield theory.corrupted_play(it.distributions, it.losses.played, it.losses.clean, arm)


def _comparator(it: Trajectory, arm: int) -> Check:
    return sharp.comparator_cost(it.losses.played, it.cover, arm)


def _barrier(it: Trajectory, arm: int) -> Check:
    return sharp.barrier_penalty(it.distributions[0], it.cover, arm, len(it.rates))


def _decomposition(it: Trajectory, arm: int) -> Check:
    run = (it.estimates, it.distributions, it.half_steps, it.rates)
    return theory.decomposition(it.cover, it.constants, *run, sharp_comparator(it.cover, arm, len(it.rates)))


def _young(instances: Instances) -> Iterator[Check]:
    """For several z, among them those near the best one for a short run, where the line is tightest."""
    for it in instances.short("sharp"):
        for z in (0.01, 0.02, 0.05, 0.6, 1.0, 10.0):
            yield theory.youngs_line(it.distributions, it.cover, it.losses.means, z)


def _at(step: Callable[..., Check], *horizon: int) -> Callable[[Round], Check]:
    """A step about a distribution, at that of the round."""
    return lambda state: step(state.distribution, state.cover, state.best_arm, *horizon)


SHARP = (
    on_rounds("Sharp 1: masses move by at most rho", "sharp-1", "sharp", theory.mass_stability),
    Statement("Sharp 2: the comparator costs at most 1", "sharp-2", _each_arm(_comparator)),
    Statement("Sharp: regret is penalty plus stability", "sharp-decomposition", _each_arm(_decomposition)),
    Statement("Sharp 3a: the barrier's penalty", "sharp-3a", _each_arm(_barrier)),
    on_rounds("Sharp 3b: the best clique's entropy", "sharp-3b", "sharp", _at(sharp.best_clique_entropy)),
    on_rounds("Sharp 3c: the entropy's penalty", "sharp-3c", "sharp", _at(sharp.entropy_penalty, 1000)),
    on_rounds("Sharp 4: stability is at most 1", "sharp-4-one", "sharp", sharp.stability_at_most_one),
    on_rounds(
        "Sharp 4: stability and the squared norm",
        "sharp-4-half",
        "sharp",
        sharp.stability_at_most_half_norm,
    ),
    on_rounds("Sharp 4a: drawn elsewhere", "sharp-4a", "sharp", sharp.drawn_elsewhere, several),
    on_rounds("Sharp 4b: the best arm", "sharp-4b", "sharp", sharp.drawn_best_arm, several),
    on_rounds("Sharp 4c: cliques not drawn", "sharp-4c", "sharp", sharp.not_drawn, several),
    on_rounds("Sharp 4d: the best arm's neighbours", "sharp-4d", "sharp", sharp.drawn_other_arms, _late),
    on_rounds("Sharp 4: the half-step lemma", "sharp-4-step", "sharp", sharp.half_step_lemma, _leads),
    on_rounds("Sharp 4: all together", "sharp-4", "sharp", sharp.stability, _late),
    on_rounds("Sharp 6: without the shift", "sharp-6", "sharp", sharp.plain_stability),
    on_rounds("Sharp 6: the penalty by norms", "sharp-6-penalty", "sharp", _at(sharp.plain_penalty, 1000)),
    Statement("Sharp 7: corruption costs at most 2 C", "sharp-7-corruption", _corruption),
    Statement("Sharp 7: Young's line", "sharp-7-young", _young),
)


def _default_late(state: PracticalRound) -> bool:
    return state.numbers.is_late(state.round)


def _default_leads(state: PracticalRound) -> bool:
    """These steps are about late rounds in which the best clique has half of the mass."""
    return _default_late(state) and state.best_mass >= 0.5


def _small(state: PracticalRound) -> bool:
    return state.best_mass < 0.5


def _bias(state: PracticalRound) -> Check:
    """Against the best arm: usually it is in another clique than the one held back, and then this is an equality."""
    return practical.bias(state, np.eye(state.cover.n_arms)[state.best_arm])


def _held_back(step: Callable[[PracticalRound], Check]) -> Callable[[Instances], Iterator[Check]]:
    """A step about what is held back, also in rounds where that is as large as the bound allows, or nearly."""
    return lambda of: (step(state) for state in [*of.states("practical"), *of.held_back])


def _later(step: Callable[[PracticalRound, int], Check]) -> Callable[[PracticalRound], Check]:
    """A step about a round of a run that ends 1,000 rounds later."""
    return lambda state: step(state, state.round + 1000)


def _weight(state: PracticalRound) -> Check:
    return practical.weight_growth(state.constants, state.round + 1)


def _default_decomposition(instances: Instances) -> Iterator[Check]:
    for it in instances.short("practical"):
        for arm in range(it.cover.n_arms):
            comparator = sharp_comparator(it.cover, arm, len(it.rates))
            yield practical.decomposition(it.rounds, it.estimates, it.half_steps, comparator)


def _local_norm(instances: Instances) -> Iterator[Check]:
    """With both shifts that the proof takes."""
    for state in instances.states("practical"):
        for shift in (0.0, float(state.losses[state.best_arm]) - state.baseline):
            yield practical.stability_by_local_norm(state, shift)


DEFAULT = (
    on_rounds("Default 0: the bias of holding estimates back", "default-0", "practical", _bias),
    on_rounds("Default 0: how far behind a clique is", "default-0-deficit", "practical", practical.deficit),
    Statement("Default 0: only small masses are held back", "default-0-mass", _held_back(practical.held_back_mass)),
    Statement("Default 0: the cost of holding back", "default-0-cost", _held_back(practical.bias_cost)),
    on_rounds("Default 1: a price falls by at most b + n", "default-1-down", "practical", practical.price_falls),
    on_rounds("Default 1: a price rises by at most 1 - b + n", "default-1-up", "practical", practical.price_rises),
    on_rounds("Default 2: prices are steep", "default-2-slope", "practical", practical.curvature),
    on_rounds("Default 2: a drawn mass that rises", "default-2", "practical", practical.drawn_mass),
    on_rounds("Default 2: a drawn mass grows by at most rho", "default-2-rho", "practical", practical.mass_growth),
    Statement("Default 3: regret is penalty plus stability", "default-decomposition", _default_decomposition),
    on_rounds("Default 3: the barrier's penalty", "default-3-barrier", "practical", _later(practical.barrier_penalty)),
    on_rounds("Default 3: the entropy's penalty", "default-3", "practical", _later(practical.entropy_penalty)),
    on_rounds("Default 3: the penalty by norms", "default-3-plain", "practical", _later(practical.plain_penalty)),
    on_rounds("Default 3: the entropy's weight", "default-3-weight", "practical", _weight),
    Statement("Default 4: the local norm", "default-4-norm", _local_norm),
    on_rounds("Default 4: without a shift", "default-4-plain", "practical", practical.plain_stability),
    on_rounds("Default 4a: drawn elsewhere", "default-4a", "practical", practical.drawn_elsewhere),
    on_rounds("Default 4a*: a small best clique", "default-4a*", "practical", practical.drawn_best_if_small, _small),
    on_rounds("Default 4: the other masses", "default-4-others", "practical", practical.other_masses, _default_leads),
    on_rounds("Default 4b: the best arm", "default-4b", "practical", practical.drawn_best_arm, _default_leads),
    on_rounds("Default 4c: cliques not drawn", "default-4c", "practical", practical.not_drawn, _default_leads),
    on_rounds("Default 4d: its neighbours", "default-4d", "practical", practical.drawn_other_arms, _default_leads),
    on_rounds("Default 4: half-step lemma", "default-4-step", "practical", practical.half_step_lemma, _default_leads),
    on_rounds("Default 4: all together", "default-4", "practical", practical.stability, _default_late),
    on_rounds("Default: the bound along a run", "default-run", "practical", practical.stability_along_a_run),
)
