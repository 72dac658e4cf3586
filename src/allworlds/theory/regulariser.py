"""The two regularisers of Algorithm 1, with their gradients and Hessians.

The Tsallis-Shannon entropy treats the masses of the cliques as a Tsallis entropy does and the arms
inside a clique as Shannon's does, as a product and not as a sum. It is built from the
*Tsallis-perspective* of a function ``h`` of one variable [EK21, equation (1)]:

    H(x) = sqrt(|x|) sum_i h(x_i / |x|),     |x| = sum_i x_i,

one for each clique, with ``h(y) = y log y - alpha y``. The log-barrier acts on the masses only.

These are the definitions, dense and plain, for checking. The step itself never forms an N x N matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.errors import InvalidParameter
from allworlds.theory.simplex import Partition

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class TsallisPerspective:
    """The Tsallis-perspective of ``h``, given ``h`` and its two derivatives as vectorised functions.

    The example is the 1/2-Tsallis entropy: ``h = -y`` gives ``H(x) = -sqrt(|x|)``.

    >>> import numpy as np
    >>> tsallis = TsallisPerspective(h=lambda y: -y, first=lambda y: -np.ones_like(y), second=np.zeros_like)
    >>> tsallis.value(np.array([1.0, 3.0]))
    -2.0
    >>> tsallis.gradient(np.array([1.0, 3.0])).tolist()
    [-0.25, -0.25]

    [EK21, equation (1) and Lemma 6]
    """

    h: Callable[[Vector], Vector]
    first: Callable[[Vector], Vector]
    second: Callable[[Vector], Vector]

    def value(self, x: Vector) -> float:
        """``H(x)`` for ``x`` of shape (d,), not all zero."""
        total = x.sum()
        return float(np.sqrt(total) * self.h(x / total).sum())

    def gradient(self, x: Vector) -> Vector:
        """``|x|^(-1/2) [ sum(h)/2 + h'(y_i) - sum_j y_j h'(y_j) ]`` with ``y = x/|x|``, shape (d,)."""
        total = x.sum()
        y = x / total
        slope = self.first(y)
        gradient: Vector = (self.h(y).sum() / 2.0 + slope - y @ slope) / np.sqrt(total)
        return gradient

    def hessian(self, x: Vector) -> Matrix:
        """The three sums of Lemma 6, shape (d, d); ``x`` must be positive.

        Row ``i`` of ``tilted`` is ``y_i z_i = y_i 1 - e_i``, so nothing is divided by ``x_i``.
        """
        total = x.sum()
        y = x / total
        ones = np.ones_like(y)
        tilted = np.outer(y, ones) - np.eye(len(y))
        cross = np.outer(ones, self.first(y) @ tilted)
        curved = tilted.T @ (self.second(y)[:, None] * tilted)
        spread = -self.h(y).sum() / 4.0 * np.outer(ones, ones)
        hessian: Matrix = (spread + curved + (cross + cross.T) / 2.0) * total**-1.5
        return hessian


def shifted_shannon(alpha: float) -> TsallisPerspective:
    """The perspective of ``psi_alpha(y) = y log y - alpha y``: one clique's Tsallis-Shannon entropy.

    >>> float(shifted_shannon(2.0).value(np.array([0.25])))
    -1.0

    [EK21, equation (2)]
    """
    return TsallisPerspective(
        h=lambda y: _entropy_terms(y) - alpha * y,
        first=lambda y: np.log(y) + 1.0 - alpha,
        second=lambda y: 1.0 / y,
    )


def tsallis_shannon(p: Vector, cover: Partition, alpha: ArrayLike) -> float:
    """The Tsallis-Shannon entropy of ``p``, shape (N,): the sum of the cliques' perspectives.

    ``alpha`` is one number, or one for each clique. ``0 log 0 = 0``, and a clique without mass gives 0.

    >>> class Pairs:
    ...     cliques = ((0, 1), (2,))
    >>> round(tsallis_shannon(np.array([0.25, 0.0, 0.75]), Pairs(), alpha=2.0), 6)
    -2.732051

    [EK21, equation (2)]
    """
    total = 0.0
    for clique, a in _blocks(cover, alpha):
        x = np.asarray(p)[clique]
        total += shifted_shannon(a).value(x) if x.sum() > 0.0 else 0.0
    return total


def tsallis_shannon_expanded(p: Vector, cover: Partition, alpha: ArrayLike) -> float:
    """The same entropy written out: ``sum_k [ -alpha sqrt(q_k) + sum_i p_i log(p_i/q_k) / sqrt(q_k) ]``.

    [EK21, equation (3)]
    """
    total = 0.0
    for clique, a in _blocks(cover, alpha):
        x = np.asarray(p)[clique]
        q = x.sum()
        if q > 0.0:
            positive = x[x > 0.0]
            total += -a * np.sqrt(q) + positive @ np.log(positive / q) / np.sqrt(q)
    return float(total)


def tsallis_shannon_gradient(p: Vector, cover: Partition, alpha: ArrayLike) -> Vector:
    """Gradient of the Tsallis-Shannon entropy at a positive ``p``, shape (N,)."""
    gradient = np.empty(len(p))
    for clique, a in _blocks(cover, alpha):
        gradient[clique] = shifted_shannon(a).gradient(np.asarray(p)[clique])
    return gradient


def tsallis_shannon_hessian(p: Vector, cover: Partition, alpha: ArrayLike) -> Matrix:
    """Hessian at a positive ``p``: dense (N, N), zero between arms of different cliques.

    [EK21, Lemma 6, one block for each clique]
    """
    hessian = np.zeros((len(p), len(p)))
    for clique, a in _blocks(cover, alpha):
        hessian[np.ix_(clique, clique)] = shifted_shannon(a).hessian(np.asarray(p)[clique])
    return hessian


def log_barrier(p: Vector, cover: Partition, beta: float) -> float:
    """``-beta sum_k log p(V_k)``: keeps every clique's mass from moving far in one round.

    >>> class Pairs:
    ...     cliques = ((0, 1), (2, 3))
    >>> round(log_barrier(np.array([0.1, 0.4, 0.3, 0.2]), Pairs(), beta=9.0), 6)
    12.476649

    [EK21, equation (4)]
    """
    return float(-beta * sum(np.log(np.asarray(p)[clique].sum()) for clique, _ in _blocks(cover, 0.0)))


def log_barrier_gradient(p: Vector, cover: Partition, beta: float) -> Vector:
    """Gradient of the log-barrier: ``-beta / p(V(i))`` for each arm, shape (N,)."""
    gradient = np.empty(len(p))
    for clique, _ in _blocks(cover, 0.0):
        gradient[clique] = -beta / np.asarray(p)[clique].sum()
    return gradient


def log_barrier_hessian(p: Vector, cover: Partition, beta: float) -> Matrix:
    """Hessian of the log-barrier: dense (N, N), ``beta / p(V_k)^2`` between arms of one clique, else 0.

    [EK21, proof of Lemma 7]
    """
    hessian = np.zeros((len(p), len(p)))
    for clique, _ in _blocks(cover, 0.0):
        hessian[np.ix_(clique, clique)] = beta / np.asarray(p)[clique].sum() ** 2
    return hessian


def _entropy_terms(y: Vector) -> Vector:
    """``y log y`` with ``0 log 0 = 0``."""
    positive = y > 0.0
    terms: Vector = np.where(positive, y * np.log(np.where(positive, y, 1.0)), 0.0)
    return terms


def _blocks(cover: Partition, alpha: ArrayLike) -> list[tuple[NDArray[np.intp], float]]:
    """The cliques as index arrays, each with its own alpha."""
    alphas = np.asarray(alpha, dtype=np.float64)
    if alphas.ndim > 1 or (alphas.ndim == 1 and len(alphas) != len(cover.cliques)):
        raise InvalidParameter(
            f"alpha has shape {alphas.shape}; expected one number, or one for each of the {len(cover.cliques)} cliques"
        )
    spread = np.broadcast_to(alphas, (len(cover.cliques),))
    arms = [np.asarray(clique, dtype=np.intp) for clique in cover.cliques]
    return [(clique, float(a)) for clique, a in zip(arms, spread, strict=True)]
