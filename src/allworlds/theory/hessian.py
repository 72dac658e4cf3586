"""The Hessian of the Tsallis-Shannon entropy: Lemmas 1, 2 and 6, Figure 1, and the exact condition.

With ``D = diag(p_i sqrt(q_k))`` the scaled block ``sqrt(D) Hess sqrt(D)`` of a clique depends on the
conditional distribution ``y`` alone. Lemma 2 says that its smallest eigenvalue is at least 1/2, and the
sharp constants say exactly when it is at least ``kappa``. The scaled block has no division in it, so it
is exact even where an arm's probability is 1e-300.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.errors import InvalidParameter
from allworlds.theory.check import Check
from allworlds.theory.regulariser import Partition, TsallisPerspective, blocks

Array = NDArray[np.float64]


def scaled_hessian(y: Array, alpha: float) -> Array:
    """One clique's Hessian between two factors ``sqrt(diag(p_i sqrt(q)))``, shape (d, d).

    With ``w = sqrt(y)``, ``u = sqrt(y) log(y)``: ``I + ((alpha - 3 H)/4 - 1) w w' - (u w' + w u') / 2``.

    >>> scaled_hessian(np.ones(1), alpha=2.0).tolist()
    [[0.5]]

    [EK21, Lemma 6] for ``psi_alpha``.
    """
    w = np.sqrt(y)
    u = w * np.log(np.where(y > 0.0, y, 1.0))
    entropy = -float(w @ u)
    crossed = np.outer(u, w)
    scaled: Array = np.eye(len(y)) + ((alpha - 3.0 * entropy) / 4.0 - 1.0) * np.outer(w, w)
    scaled -= (crossed + crossed.T) / 2.0
    return scaled


def dual_norm_squared(g: Array, p: Array, cover: Partition, alpha: ArrayLike) -> Array:
    """``g' (Hess Psi(p))^(-1) g``: the squared dual local norm of ``g`` (N,) at each point of ``p`` (..., N).

    The scaled Hessian is the identity plus a matrix of rank two, so its inverse has a closed form, whose
    determinant is ``(alpha + H - Var(log y)) / 4``: positive exactly where the entropy is strictly convex.

    >>> class One:
    ...     cliques = ((0,),)
    >>> dual_norm_squared(np.array([3.0]), np.array([[0.25]]), One(), alpha=2.0)
    array([2.25])

    [EK21, Lemma 3]
    """
    total: Array = np.zeros(p.shape[:-1])
    for clique, a in blocks(cover, alpha):
        total = total + _clique_dual_norm(g[clique], p[..., clique], a)
    return total


def _clique_dual_norm(g: Array, x: Array, alpha: float) -> Array:
    """One clique's part; ``w = sqrt(y)`` and ``u = sqrt(y) log(y)`` span what is not the identity."""
    q = x.sum(axis=-1, keepdims=True)
    w = np.sqrt(x / q)
    u = w * np.log(np.where(x > 0.0, x / q, 1.0))
    entropy, square = -(w * u).sum(axis=-1), (u * u).sum(axis=-1)
    scaled_g = np.sqrt(x * np.sqrt(q)) * g
    on_w, on_u = (scaled_g * w).sum(axis=-1), (scaled_g * u).sum(axis=-1)
    determinant = (alpha + entropy - (square - entropy**2)) / 4.0
    c = (alpha - 3.0 * entropy) / 4.0 - 1.0
    low_rank = on_w**2 * (c - square / 4.0) - on_w * on_u * (1.0 + entropy / 2.0) - on_u**2 / 4.0
    norm: Array = (scaled_g * scaled_g).sum(axis=-1) - low_rank / determinant
    return norm


def pointwise_threshold(y: Array, kappa: float) -> float:
    """The alpha from which the Hessian bound with ``kappa`` holds at the conditional distribution ``y``.

    ``4 kappa + Var_y(log y) / (1 - kappa) - H(y)``; :func:`allworlds.ftrl.sharp.sharp_alpha` is its maximum.

    >>> round(pointwise_threshold(np.array([0.5, 0.5]), kappa=0.5), 6)
    1.306853
    """
    logs = np.log(np.where(y > 0.0, y, 1.0))
    mean = y @ logs
    return float(4.0 * kappa + (y @ (logs - mean) ** 2) / (1.0 - kappa) + mean)


def lemma_1_condition(perspective: TsallisPerspective, y: Array, c: float, lam: float) -> float:
    """The left side of Lemma 1's condition at ``y``; the lemma speaks only where it is at most 0."""
    slope, curve = perspective.first(y) - c, perspective.second(y)
    return float(perspective.h(y).sum() + 2.0 * (slope**2 / curve).sum() + lam)


def lemma_1(perspective: TsallisPerspective, x: Array, c: float, lam: float) -> Check:
    """The Hessian of a Tsallis-perspective dominates ``lam/4 J`` and half of its curved part.

    Right side: the smallest eigenvalue of the difference, scaled on both sides by the roots of the Hessian's diagonal,
    so that the entries are of order 1 however rare an arm is. Raises ``InvalidParameter`` where the lemma's condition
    fails.

    [EK21, Lemma 1]
    """
    total = x.sum()
    y = x / total
    condition = lemma_1_condition(perspective, y, c, lam)
    if not condition <= 0.0:
        raise InvalidParameter(f"the condition of Lemma 1 is {condition:g} at this point; expected at most 0")
    bound = (lam / 4.0 + perspective.curved(y) / 2.0) * total**-1.5
    hessian = perspective.hessian(x)
    root = 1.0 / np.sqrt(np.abs(np.diag(hessian)))
    smallest = float(np.linalg.eigvalsh((hessian - bound) * np.outer(root, root))[0])
    return Check("Hess H >= lam/4 J + curved/2", "lem:amazing2", 0.0, smallest, scale=1.0, tolerance=1e-12)


def lemma_2(p: Array, cover: Partition, gamma: float) -> Check:
    """With the paper's alpha, the Hessian dominates half of ``diag(1/(p_i sqrt(p(V(i)))))``.

    Needs every conditional probability to be at least ``gamma``. Left side 1/2, right side the smallest
    eigenvalue of the scaled Hessian.

    [EK21, Lemma 2]
    """
    if not gamma > 0.0:
        raise InvalidParameter(f"gamma is {gamma!r}; expected a floor above 0, because alpha grows with its logarithm")
    lowest = smallest_conditional(p, cover)
    if lowest < gamma:
        raise InvalidParameter(f"an arm has {lowest:g} of its clique; expected at least gamma = {gamma:g}")
    alpha = 2.0 * (1.0 + math.log(gamma) ** 2)
    return Check("Hess Psi >= D/2", "lem:strong-convexity-reg", 0.5, smallest_scaled_eigenvalue(p, cover, alpha))


def sharp_hessian(p: Array, cover: Partition, alpha: ArrayLike, kappa: float = 0.5) -> Check:
    """The Hessian dominates ``kappa diag(1/(p_i sqrt(p(V(i)))))``: true everywhere iff alpha is sharp.

    ``docs/sharp_constants.md``, Theorem A.
    """
    return Check("Hess Psi >= kappa D", "theorem-a", kappa, smallest_scaled_eigenvalue(p, cover, alpha))


def smallest_scaled_eigenvalue(p: Array, cover: Partition, alpha: ArrayLike) -> float:
    """The smallest eigenvalue of all the cliques' scaled Hessians."""
    parts = [(p[clique] / p[clique].sum(), a) for clique, a in blocks(cover, alpha)]
    return min(float(np.linalg.eigvalsh(scaled_hessian(y, a))[0]) for y, a in parts)


def smallest_conditional(p: Array, cover: Partition) -> float:
    """The smallest ``p_i / p(V(i))``."""
    return min(float(p[list(clique)].min() / p[list(clique)].sum()) for clique in cover.cliques)


def lemma_6(perspective: TsallisPerspective, x: Array, step: float = 4e-3) -> Check:
    """The three sums of Lemma 6, literally, against second differences of the value itself.

    Left side: the largest difference of an entry. Right side: what fourth-order differences may miss.

    [EK21, Lemma 6]
    """
    total, d = x.sum(), len(x)
    y = x / total
    h, first, second = perspective.h(y), perspective.first(y), perspective.second(y)
    z = np.ones(d)
    formula = -0.25 * total**-1.5 * h.sum() * np.outer(z, z)
    for i in range(d):
        z_i = z - total / x[i] * np.eye(d)[i]
        formula += total**-3.5 * x[i] ** 2 * second[i] * np.outer(z_i, z_i)
        formula += 0.5 * total**-2.5 * x[i] * first[i] * (np.outer(z, z_i) + np.outer(z_i, z))
    differences = second_differences(perspective.value, x, step * float(x.min()))
    error = float(np.abs(formula - differences).max())
    size = float(np.abs(formula).max())
    return Check("Hess H is the three sums", "lem:hessian-expression", error, 1e-5 * size)


def second_differences(value: Callable[[Array], float], x: Array, step: float) -> Array:
    """The Hessian at ``x`` by central differences of the gradient's own differences: only values are used."""
    unit, arms = np.eye(len(x)) * step, range(len(x))

    def difference(f: Callable[[Array], Any], at: Array, i: int) -> Any:
        near, far = f(at + unit[i]) - f(at - unit[i]), f(at + 2 * unit[i]) - f(at - 2 * unit[i])
        return (8.0 * near - far) / (12.0 * step)

    def gradient(at: Array) -> Array:
        return np.array([difference(value, at, i) for i in arms])

    return np.array([difference(gradient, x, j) for j in arms])


def smallest_hessian_eigenvalue(x1: ArrayLike, x2: ArrayLike, alpha: float) -> Array:
    """The smaller eigenvalue of the Hessian of the entropy of one clique of two arms at ``(x1, x2)``, in closed form.

    The shape is that of ``x1`` and ``x2``. With ``alpha = 0`` the eigenvalue is negative near the axes; with
    ``alpha = 0.25`` it is positive everywhere, as for every alpha above ``sharp_alpha(2, kappa=0) = 0.2202``.

    >>> values = smallest_hessian_eigenvalue(np.array([0.5, 0.05]), np.array([0.5, 0.95]), alpha=0.0)
    >>> (values > 0).tolist()
    [True, False]

    [EK21, Figure 1]
    """
    x1, x2 = np.asarray(x1, dtype=np.float64), np.asarray(x2, dtype=np.float64)
    total = x1 + x2
    y1, y2 = x1 / total, x2 / total
    log1, log2 = np.log(y1), np.log(y2)
    entropy = -y1 * log1 - y2 * log2
    common = (alpha - 3.0 * entropy) / 4.0 - 1.0
    a, c = 1.0 / y1 + common - log1, 1.0 / y2 + common - log2
    b = common - (log1 + log2) / 2.0
    larger = (a + c) / 2.0 + np.hypot((a - c) / 2.0, b)
    smaller: Array = (a * c - b * b) / larger * total**-1.5  # no cancellation when a >> c
    return smaller
