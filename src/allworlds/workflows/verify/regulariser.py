"""Section 3 of the paper: the Tsallis perspective, its Hessian, and the Tsallis-Shannon entropy."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from allworlds import theory
from allworlds.covers import clique_cover
from allworlds.ftrl import sharp_alpha, worst_conditional
from allworlds.graphs import disjoint_cliques
from allworlds.theory import Check, remarks
from allworlds.theory.hessian import lemma_1_condition, smallest_scaled_eigenvalue
from allworlds.theory.regulariser import (
    TsallisPerspective,
    shifted_shannon,
    tsallis_shannon,
    tsallis_shannon_expanded,
)
from allworlds.workflows.verify.instances import Instances
from allworlds.workflows.verify.statement import Statement


def _perspectives() -> list[TsallisPerspective]:
    square = TsallisPerspective(lambda y: y**2 - 3.0, lambda y: 2.0 * y, lambda y: np.full_like(y, 2.0))
    exponential = TsallisPerspective(lambda y: np.exp(y) - 5.0, np.exp, np.exp)
    return [shifted_shannon(0.0), shifted_shannon(5.0), square, exponential]


def _lemma_6(instances: Instances) -> Iterator[Check]:
    rng = instances.rng(11)
    for perspective in _perspectives():
        for _ in range(20 if instances.full else 5):
            yield theory.lemma_6(perspective, rng.uniform(0.2, 2.0, size=int(rng.integers(1, 6))))


def _lemma_1(instances: Instances) -> Iterator[Check]:
    """On points where the condition holds, for the paper's h and others, with several constants c and lambda."""
    rng = instances.rng(12)
    for y in instances.conditionals:
        x = y * 10.0 ** rng.uniform(-3.0, 1.0)
        floor = float((y / y.sum()).min())
        alpha = 2.0 * (1.0 + math.log(floor) ** 2)
        for perspective in [*_perspectives()[1:], shifted_shannon(alpha)]:
            slopes = perspective.first(y / y.sum())
            for c in (float(slopes.min()), float(slopes.mean()), -(1.0 + 2.0 * math.log(floor) ** 2)):
                room = -lemma_1_condition(perspective, y / y.sum(), c, 0.0)
                if room > 1e-6:
                    yield theory.lemma_1(perspective, x, c, room * float(rng.uniform(0.5, 0.999)))


def _both_forms(instances: Instances) -> Iterator[Check]:
    for cover, p in instances.points:
        first, second = tsallis_shannon(p, cover, 3.0), tsallis_shannon_expanded(p, cover, 3.0)
        yield Check("equation (2) = equation (3)", "eqn:reg", abs(first - second), 1e-12 * (1.0 + abs(first)))


def _lemma_2(instances: Instances) -> Iterator[Check]:
    for cover, p in instances.points:
        yield theory.lemma_2(p, cover, 1e-4)
    for state in instances.paper_states:
        for k in range(state.cover.n_cliques):
            for p in state.segment(k)[::4]:
                yield theory.lemma_2(p, state.cover, state.constants.gamma * (1.0 - 1e-9))


def _sharp_is_enough(instances: Instances) -> Iterator[Check]:
    for kappa in (0.0, 0.25, 0.5, 0.75):
        for y in instances.conditionals:
            cover = clique_cover(disjoint_cliques([y.size]))
            yield theory.sharp_hessian(y, cover, sharp_alpha(y.size, kappa), kappa)
    for state in instances.sharp_states:
        for k in range(state.cover.n_cliques):
            for p in state.segment(k)[::4]:
                yield theory.sharp_hessian(p, state.cover, state.constants.alpha, 0.5)


def _sharp_is_needed(instances: Instances) -> Iterator[Check]:
    """With alpha a thousandth below, the bound fails at the worst conditional distribution."""
    for kappa in (0.0, 0.25, 0.5, 0.75):
        for size in range(2, 30 if instances.full else 10):
            cover = clique_cover(disjoint_cliques([size]))
            below = smallest_scaled_eigenvalue(worst_conditional(size, kappa), cover, sharp_alpha(size, kappa) - 1e-3)
            yield Check("smallest eigenvalue < kappa", "theorem-a", below, kappa, tolerance=-1e-6)


def _figure_1(instances: Instances) -> Iterator[Check]:
    grid = np.linspace(0.01, 1.0, 100 if instances.full else 40)
    x1, x2 = np.meshgrid(grid, grid)
    lowest = float(theory.smallest_hessian_eigenvalue(x1, x2, 0.0).min())
    yield Check("not convex at alpha 0", "fig:3d", lowest, 0.0, scale=1.0, tolerance=-1e-6)
    lowest = float(theory.smallest_hessian_eigenvalue(x1, x2, 0.25).min())
    yield Check("convex at alpha 0.25", "fig:3d", 0.0, lowest, scale=1.0)


def _perspective(instances: Instances) -> Iterator[Check]:
    for y in instances.conditionals:
        for perspective in _perspectives():
            yield remarks.classical_perspective(perspective, y)


def _sum_of_entropies(instances: Instances) -> Iterator[Check]:
    for cover, p in instances.points:
        if max(cover.sizes) > 1:
            yield remarks.sum_of_entropies(p, cover)


def _magnitude(instances: Instances) -> Iterator[Check]:
    for state in [*instances.paper_states, *instances.sharp_states]:
        yield remarks.entropy_magnitude(state.distribution, state.cover, state.constants.alpha)


def _arm_barrier(instances: Instances) -> Iterator[Check]:
    rng = instances.rng(14)
    for _ in range(20):
        yield remarks.arm_barrier(int(rng.integers(2, 100)), int(10.0 ** rng.uniform(0.0, 6.0)))


STATEMENTS = (
    Statement("Lemma 6: the Hessian of a Tsallis perspective", "lem:hessian-expression", _lemma_6),
    Statement("Lemma 1: its lower bound", "lem:amazing2", _lemma_1),
    Statement("Equations (2) and (3) are the same", "eqn:reg", _both_forms),
    Statement("Figure 1: convex at alpha 0.25, not at 0", "fig:3d", _figure_1),
    Statement("Lemma 2: the Hessian bound", "lem:strong-convexity-reg", _lemma_2),
    Statement("Theorem A: the sharp alpha is enough", "theorem-a-if", _sharp_is_enough),
    Statement("Theorem A: less is not", "theorem-a-only-if", _sharp_is_needed),
    Statement("The classical perspective is convex", "remark-perspective", _perspective),
    Statement("The sum of the entropies has no such bound", "remark-sum", _sum_of_entropies),
    Statement("The magnitude of Psi", "remark-magnitude", _magnitude),
    Statement("A barrier on arms costs of order N", "remark-barrier", _arm_barrier),
)
