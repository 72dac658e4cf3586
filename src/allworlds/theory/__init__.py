"""What a run may cost: the lemmas and theorems of the paper and of our own proofs, as functions of arrays.

Every lemma is one function that returns a :class:`Check` with its two sides; every theorem is one function
that returns a :class:`Bound`. ``docs/paper_map.md`` lists them, ``docs/sharp_constants.md``,
``docs/default_proof.md`` and ``docs/guarded_proof.md`` have the proofs.
"""

from __future__ import annotations

from allworlds.theory.bounds import (
    Bound,
    clique_penalty,
    guarded_adversarial_bound,
    guarded_corrupted_bound,
    guarded_general_bound,
    practical_adversarial_bound,
    practical_corrupted_bound,
    practical_general_bound,
    sharp_adversarial_bound,
    sharp_corrupted_bound,
    sharp_general_bound,
    theorem_1_bound,
    theorem_2_bound,
)
from allworlds.theory.check import Check
from allworlds.theory.displays import (
    corrupted_play,
    half_steps_and_regret,
    penalty_mid_term,
    young_for_the_half_step,
    young_for_the_step,
    youngs_line,
)
from allworlds.theory.hessian import (
    lemma_1,
    lemma_2,
    lemma_6,
    pointwise_threshold,
    sharp_hessian,
    smallest_hessian_eigenvalue,
)
from allworlds.theory.limits import (
    adversarial_lower_bound,
    cliques_lower_bound,
    corruption_lower_bounds,
    finite_time_lower_bound,
    stochastic_lower_bound,
    weak_lower_bound,
)
from allworlds.theory.penalty_stability import (
    decomposition,
    general_penalty_bound,
    general_stability_bound,
    lemma_3,
    lemma_4,
    lemma_5,
    lemma_7,
    lemma_8,
    lemma_9,
    theorem_3,
)
from allworlds.theory.regret import arm_gaps, clique_gaps, corruption_level, pseudo_regret, realised_regret
from allworlds.theory.rounds import Round, half_steps, round_state
from allworlds.theory.sharp import mass_ratio, mass_stability

__all__ = [
    "Bound",
    "Check",
    "Round",
    "adversarial_lower_bound",
    "arm_gaps",
    "clique_gaps",
    "clique_penalty",
    "cliques_lower_bound",
    "corrupted_play",
    "corruption_level",
    "corruption_lower_bounds",
    "decomposition",
    "finite_time_lower_bound",
    "general_penalty_bound",
    "general_stability_bound",
    "guarded_adversarial_bound",
    "guarded_corrupted_bound",
    "guarded_general_bound",
    "half_steps",
    "half_steps_and_regret",
    "lemma_1",
    "lemma_2",
    "lemma_3",
    "lemma_4",
    "lemma_5",
    "lemma_6",
    "lemma_7",
    "lemma_8",
    "lemma_9",
    "mass_ratio",
    "mass_stability",
    "penalty_mid_term",
    "pointwise_threshold",
    "practical_adversarial_bound",
    "practical_corrupted_bound",
    "practical_general_bound",
    "pseudo_regret",
    "realised_regret",
    "round_state",
    "sharp_adversarial_bound",
    "sharp_corrupted_bound",
    "sharp_general_bound",
    "sharp_hessian",
    "smallest_hessian_eigenvalue",
    "stochastic_lower_bound",
    "theorem_1_bound",
    "theorem_2_bound",
    "theorem_3",
    "weak_lower_bound",
    "young_for_the_half_step",
    "young_for_the_step",
    "youngs_line",
]
