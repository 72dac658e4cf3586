"""Section 5 and the appendices: the lemmas of the regret proof."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from allworlds import theory
from allworlds.covers import CliqueCover
from allworlds.theory import Check, Round, paper_rounds
from allworlds.theory.hessian import dual_norm_squared
from allworlds.theory.regulariser import log_barrier, tsallis_shannon
from allworlds.theory.simplex import sharp_comparator, shrunk_comparator
from allworlds.workflows.verify.instances import Instances
from allworlds.workflows.verify.statement import Statement, each_round
from allworlds.workflows.verify.trajectories import Trajectory

Array = NDArray[np.float64]


def _several(state: Round) -> bool:
    """With one clique these displays say 0 <= 0, or nothing."""
    return state.cover.n_cliques > 1


def _theorem_3(instances: Instances) -> Iterator[Check]:
    """On exponential weights, whose iterates have a closed form: nothing of ours is in the points."""
    rng = instances.rng(13)
    for _ in range(20 if instances.full else 5):
        horizon, size = 30, int(rng.integers(2, 6))
        rates = 1.0 / np.sqrt(np.arange(1, horizon + 1))
        gradients = rng.normal(size=(horizon, size))
        totals = np.cumsum(gradients, axis=0)
        points = _softmax(-rates[:, None] * (totals - gradients))
        after = _softmax(-rates[:, None] * totals)
        yield theory.theorem_3(
            gradients,
            points,
            after,
            rates,
            rng.dirichlet(np.full(size, 0.3)),
            psi=lambda w: float(np.sum(w[w > 0.0] * np.log(w[w > 0.0]))),
            phi=lambda w: 0.0,
            dual_norm=lambda g, w: float(g * w @ g),
        )


def _softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Array = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _lemma_3(instances: Instances) -> Iterator[Check]:
    for it in [*instances.short_paper, *instances.short_sharp]:
        horizon, n_arms = it.distributions.shape
        best = it.losses.best_arm
        comparators = [sharp_comparator(it.cover, best, horizon)]
        if it.constants.gamma > 0.0:
            comparators = [shrunk_comparator(n_arms, i, it.constants.gamma) for i in range(n_arms)]
        for comparator in comparators:
            yield theory.lemma_3(
                it.cover,
                it.constants,
                it.estimates,
                it.losses.played[:, best],
                it.distributions,
                it.half_steps,
                it.rates,
                comparator,
            )


def _lemma_4(instances: Instances) -> Iterator[Check]:
    for it in instances.short_paper:
        for arm in range(it.cover.n_arms):
            yield theory.lemma_4(it.distributions, it.cover, arm, it.constants.gamma)


def _lemma_9(instances: Instances) -> Iterator[Check]:
    for it in instances.short_paper:
        n_arms = it.cover.n_arms
        for gamma in (it.constants.gamma, 0.5 / n_arms, 1.0 / n_arms):
            for arm in range(n_arms):
                yield theory.lemma_9(it.distributions, it.losses.played, arm, gamma)


def _general_stability(instances: Instances) -> Iterator[Check]:
    """For every clique that could be drawn, with the shift of Lemma 3."""
    for state in [*instances.paper_states, *instances.sharp_states]:
        alpha, beta = state.constants.alpha, state.constants.beta
        shift = state.losses[state.best_arm]
        for k in range(state.cover.n_cliques):
            yield theory.general_stability_bound(
                state.estimates[k] - shift,
                state.cumulative_losses - shift,
                state.distribution,
                state.half_steps[k],
                state.learning_rate,
                psi=partial(tsallis_shannon, cover=state.cover, alpha=alpha),
                phi=partial(log_barrier, cover=state.cover, beta=beta),
                dual_norm=partial(_norm, cover=state.cover, alpha=alpha),
            )


def _norm(g: Array, p: Array, cover: CliqueCover, alpha: tuple[float, ...]) -> float:
    return float(dual_norm_squared(g, p, cover, alpha))


def _general_penalty(instances: Instances) -> Iterator[Check]:
    for it in [*instances.short_paper, *instances.short_sharp]:
        yield theory.general_penalty_bound(
            it.estimates,
            it.distributions,
            it.half_steps,
            it.rates,
            it.half_steps[-1],  # of all comparators, the last half step leaves the least room
            psi=partial(tsallis_shannon, cover=it.cover, alpha=it.constants.alpha),
            phi=partial(log_barrier, cover=it.cover, beta=it.constants.beta),
        )


def _mid_term(instances: Instances) -> Iterator[Check]:
    for it in instances.short_paper:
        for arm in range(it.cover.n_arms):
            yield theory.penalty_mid_term(it.distributions, it.cover, arm, it.constants.gamma)


def _on_means(instances: Instances) -> Iterator[tuple[Trajectory, Array]]:
    """Runs, with clean losses that are their means in every round: the displays then hold for every single run."""
    for it in instances.short_paper:
        yield it, np.tile(it.losses.means, (len(it.rates), 1))


def _young_step(instances: Instances) -> Iterator[Check]:
    for it, clean in _on_means(instances):
        regret = float((it.distributions * (clean - it.losses.means.min())).sum())
        for z in (0.02, 0.1, 1.0):
            yield theory.young_for_the_step(it.distributions, it.cover, it.losses.means, 6.0, z, regret, 0.0)


def _young_half_step(instances: Instances) -> Iterator[Check]:
    for it, clean in _on_means(instances):
        for z in (0.005, 0.02, 1.0):
            yield theory.young_for_the_half_step(it.half_steps, clean, it.cover, it.losses.means, z, 0.0)


def _half_steps(instances: Instances) -> Iterator[Check]:
    """With the factor z that the printed display has lost; the regret is that of the half steps themselves."""
    for it, clean in _on_means(instances):
        regret = float((it.half_steps * (clean - it.losses.means.min())).sum())
        for z in (0.005, 0.02, 1.0):
            yield theory.half_steps_and_regret(it.half_steps, it.cover, it.losses.means, z, regret, 0.0)


STATEMENTS = (
    Statement(
        "Theorem 3: FTRL regret is penalty plus stability",
        "thm:ftrl-general-regret-bound-haipeng",
        _theorem_3,
    ),
    Statement("Lemma 3: the same for Algorithm 1", "lem:general-regret-bound", _lemma_3),
    Statement("Lemma 4: the penalty", "lem:penalty-main", _lemma_4),
    Statement("Lemma 5: the stability", "lem:stability-term-bound", each_round(theory.lemma_5, "both")),
    Statement(
        "Lemma 7: clique masses grow by 7/3 at most",
        "lem:q-stability-new",
        each_round(theory.lemma_7, "paper"),
    ),
    Statement("Lemma 8: a half step lowers the loss", "lem:ftrl-shifted-regret", each_round(theory.lemma_8, "paper")),
    Statement("Lemma 9: the shrunk simplex", "lem:shrinked-regret", _lemma_9),
    Statement("Theorem 3: the stability of a round", "eqn:general-stability-bound", _general_stability),
    Statement("Theorem 3: the penalty", "eqn:general-penalty-bound", _general_penalty),
    Statement("Lemma 4: the penalty before its last step", "eqn:penalty-mid-term", _mid_term),
    Statement(
        "Lemma 5: the norm, split by the draw",
        "eqn:stability-split",
        each_round(paper_rounds.split_by_draw, "sharp", _several),
    ),
    Statement(
        "Lemma 5: the drawn clique",
        "eqn:stability-chosen-clique",
        each_round(paper_rounds.chosen_clique, "paper", _several),
    ),
    Statement(
        "Lemma 5: the other cliques",
        "eqn:stability-other-cliques",
        each_round(paper_rounds.other_cliques, "paper", _several),
    ),
    Statement(
        "Lemma 5: their masses, by Lemma 7",
        "eqn:q-stab-neg",
        each_round(paper_rounds.masses_not_drawn, "paper", _several),
    ),
    Statement(
        "Lemma 5: the chance of not being drawn",
        "eqn:prob-not-chosen",
        each_round(paper_rounds.chance_not_drawn, "paper", _several),
    ),
    Statement("Theorem 1: Young's inequality", "eqn:cor-bound-1", _young_step),
    Statement("Theorem 1: the same for half steps", "eqn:phalf-regret", _young_half_step),
    Statement("Theorem 1: half steps and regret, repaired", "eqn:cor-bound-2", _half_steps),
)
