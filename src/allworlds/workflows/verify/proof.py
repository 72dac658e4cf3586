"""Section 5 and the appendices: the lemmas of the regret proof."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from allworlds import theory
from allworlds.ftrl.simplex import sharp_comparator, shrunk_comparator
from allworlds.theory import Check
from allworlds.workflows.verify.instances import Instances
from allworlds.workflows.verify.statement import Statement, each_round

Array = NDArray[np.float64]


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


STATEMENTS = (
    Statement(
        "Theorem 3: FTRL regret is penalty plus stability",
        "thm:ftrl-general-regret-bound-haipeng",
        _theorem_3,
    ),
    Statement("Lemma 3: the same for Algorithm 1", "lem:general-regret-bound", _lemma_3),
    Statement("Lemma 4: the penalty", "lem:penalty-main", _lemma_4),
    Statement("Lemma 5: the stability", "lem:stability-term-bound", each_round(theory.lemma_5, "paper")),
    Statement(
        "Lemma 7: clique masses grow by 7/3 at most",
        "lem:q-stability-new",
        each_round(theory.lemma_7, "paper"),
    ),
    Statement("Lemma 8: a half step lowers the loss", "lem:ftrl-shifted-regret", each_round(theory.lemma_8, "paper")),
    Statement("Lemma 9: the shrunk simplex", "lem:shrinked-regret", _lemma_9),
)
