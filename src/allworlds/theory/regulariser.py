"""The two regularisers of Algorithm 1 with their derivatives, its domain, and the points the proofs compare with.

The Tsallis-Shannon entropy treats the masses of the cliques as a Tsallis entropy does and the arms
inside a clique as Shannon's does, as a product and not as a sum. It is built from the
*Tsallis-perspective* of a function ``h`` of one variable [EK21, equation (1)]:

    H(x) = sqrt(|x|) sum_i h(x_i / |x|),     |x| = sum_i x_i,

one for each clique, with ``h(y) = y log y - alpha y``. The log-barrier acts on the masses only.

These are the definitions, dense and plain, for checking. The step itself never forms an N x N matrix.

A regret bound compares the learner with a fixed distribution close to "always play the best arm". That comparator must
lie in the domain, where every arm has at least ``gamma`` [EK21, Section 4]. With ``gamma = 0`` it must lie where the
log-barrier is finite: every clique needs some mass, an arm does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import index, whole
from allworlds.foundation.errors import InvalidParameter

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class Partition(Protocol):
    """Anything that groups the arms: ``allworlds.CliqueCover``, or a stand-in with its cliques."""

    @property
    def cliques(self) -> Sequence[Sequence[int] | NDArray[np.intp]]:
        """The groups of arms; each arm is in exactly one."""
        ...


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

    def curved(self, y: Vector) -> Matrix:
        """``sum_i h''(y_i) (y_i 1 - e_i)(y_i 1 - e_i)'``, shape (d, d): what ``h''`` adds to a Hessian."""
        tilted = y[:, None] - np.eye(len(y))
        curved: Matrix = tilted.T @ (self.second(y)[:, None] * tilted)
        return curved

    def hessian(self, x: Vector) -> Matrix:
        """The three sums of Lemma 6, shape (d, d); ``x`` must be positive.

        With ``y_i z_i = y_i 1 - e_i`` nothing is divided by ``x_i``.
        """
        total = x.sum()
        y = x / total
        slope = self.first(y)
        cross = np.tile(y @ slope - slope, (len(y), 1))  # each row is sum_i h'(y_i) y_i z_i
        hessian: Matrix = (self.curved(y) + (cross + cross.T) / 2.0 - self.h(y).sum() / 4.0) * total**-1.5
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
    return float(clique_entropies(p, cover, alpha).sum())


def clique_entropies(p: Vector, cover: Partition, alpha: ArrayLike) -> Vector:
    """What each clique adds to :func:`tsallis_shannon`, shape (K,)."""
    parts = [(np.asarray(p)[clique], a) for clique, a in blocks(cover, alpha)]
    return np.array([shifted_shannon(a).value(x) if x.sum() > 0.0 else 0.0 for x, a in parts])


def tsallis_shannon_expanded(p: Vector, cover: Partition, alpha: ArrayLike) -> float:
    """The same entropy written out: ``sum_k [ -alpha sqrt(q_k) + sum_i p_i log(p_i/q_k) / sqrt(q_k) ]``.

    [EK21, equation (3)]
    """
    total = 0.0
    for clique, a in blocks(cover, alpha):
        x = np.asarray(p)[clique]
        q = x.sum()
        if q > 0.0:
            positive = x[x > 0.0]
            total += -a * np.sqrt(q) + positive @ np.log(positive / q) / np.sqrt(q)
    return float(total)


def tsallis_shannon_gradient(p: Vector, cover: Partition, alpha: ArrayLike) -> Vector:
    """Gradient of the Tsallis-Shannon entropy at a positive ``p``, shape (N,)."""
    gradient = np.empty(len(p))
    for clique, a in blocks(cover, alpha):
        gradient[clique] = shifted_shannon(a).gradient(np.asarray(p)[clique])
    return gradient


def tsallis_shannon_hessian(p: Vector, cover: Partition, alpha: ArrayLike) -> Matrix:
    """Hessian at a positive ``p``: dense (N, N), zero between arms of different cliques.

    [EK21, Lemma 6, one block for each clique]
    """
    hessian = np.zeros((len(p), len(p)))
    for clique, a in blocks(cover, alpha):
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
    return float(-beta * sum(np.log(np.asarray(p)[clique].sum()) for clique, _ in blocks(cover, 0.0)))


def log_barrier_gradient(p: Vector, cover: Partition, beta: float) -> Vector:
    """Gradient of the log-barrier: ``-beta / p(V(i))`` for each arm, shape (N,)."""
    gradient = np.empty(len(p))
    for clique, _ in blocks(cover, 0.0):
        gradient[clique] = -beta / np.asarray(p)[clique].sum()
    return gradient


def log_barrier_hessian(p: Vector, cover: Partition, beta: float) -> Matrix:
    """Hessian of the log-barrier: dense (N, N), ``beta / p(V_k)^2`` between arms of one clique, else 0.

    [EK21, proof of Lemma 7]
    """
    hessian = np.zeros((len(p), len(p)))
    for clique, _ in blocks(cover, 0.0):
        hessian[np.ix_(clique, clique)] = beta / np.asarray(p)[clique].sum() ** 2
    return hessian


def in_shrunk_simplex(p: Vector, gamma: float = 0.0, tolerance: float = 1e-12) -> bool:
    """Is ``p``, shape (N,), a distribution in which every arm has at least ``gamma``?

    The sum and each floor may be missed by ``tolerance``.

    >>> in_shrunk_simplex(np.array([0.5, 0.5]), gamma=0.1), in_shrunk_simplex(np.array([1.0, 0.0]), gamma=0.1)
    (True, False)

    [EK21, Section 4, the set S^gamma_N]
    """
    p = np.asarray(p, dtype=np.float64)
    return bool(np.all(p >= gamma - tolerance) and abs(p.sum() - 1.0) <= tolerance)


def shrunk_comparator(n_arms: int, best_arm: int, gamma: float) -> Vector:
    """The point of the truncated simplex next to the best arm: ``gamma`` on every other arm, shape (N,).

    >>> shrunk_comparator(3, best_arm=1, gamma=0.125).tolist()
    [0.125, 0.75, 0.125]

    [EK21, Lemma 4 and Lemma 9, the vector p^gamma]
    """
    whole("n_arms", n_arms, error=InvalidParameter)
    index("best_arm", best_arm, n_arms)
    if not 0.0 <= gamma <= 1.0 / n_arms:
        raise InvalidParameter(
            f"gamma is {gamma!r} with {n_arms} arms; expected 0 <= gamma <= 1/{n_arms}, "
            "so that the floors leave room for a distribution"
        )
    comparator = np.full(n_arms, float(gamma))
    comparator[best_arm] = 1.0 - (n_arms - 1) * gamma
    return comparator


def sharp_comparator(cover: Partition, best_arm: int, horizon: int) -> Vector:
    """The comparator of the sharp proof: ``1/(KT)`` on one arm of each other clique, shape (N,).

    The best arm has the rest. Which arm of a clique is taken does not matter; it is the first one.

    >>> class Pairs:
    ...     cliques = ((0, 1), (2, 3))
    >>> sharp_comparator(Pairs(), best_arm=1, horizon=4).tolist()
    [0.0, 0.875, 0.125, 0.0]

    ``docs/sharp_constants.md``, step 2.
    """
    n_arms = sum(len(clique) for clique in cover.cliques)
    index("best_arm", best_arm, n_arms)
    share = 1.0 / (len(cover.cliques) * whole("horizon", horizon, error=InvalidParameter))
    comparator = np.zeros(n_arms)
    for clique in cover.cliques:
        if best_arm not in clique:
            comparator[clique[0]] = share
    comparator[best_arm] = 1.0 - share * (len(cover.cliques) - 1)
    return comparator


def _entropy_terms(y: Vector) -> Vector:
    """``y log y`` with ``0 log 0 = 0``."""
    positive = y > 0.0
    terms: Vector = np.where(positive, y * np.log(np.where(positive, y, 1.0)), 0.0)
    return terms


def blocks(cover: Partition, alpha: ArrayLike) -> list[tuple[NDArray[np.intp], float]]:
    """The cliques as index arrays, each with its own alpha."""
    alphas = np.asarray(alpha, dtype=np.float64)
    if alphas.ndim > 1 or (alphas.ndim == 1 and len(alphas) != len(cover.cliques)):
        raise InvalidParameter(
            f"alpha has shape {alphas.shape}; expected one number, or one for each of the {len(cover.cliques)} cliques"
        )
    spread = np.broadcast_to(alphas, (len(cover.cliques),))
    arms = [np.asarray(clique, dtype=np.intp) for clique in cover.cliques]
    return [(clique, float(a)) for clique, a in zip(arms, spread, strict=True)]
