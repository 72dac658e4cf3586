"""The regret proof for the guarded learner, one function a step of ``docs/guarded_proof.md`` (Theorem D).

An :class:`Account` is what happened before the handover. From the choices, losses, probabilities and baselines it
works out again what the learner keeps: estimates, allowances and rooms. A step evaluates both sides of an inequality at
each round of it and returns the pair that uses the largest share of its bound. How the probabilities came about plays
no role.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import index, numbers, real
from allworlds.foundation.errors import InvalidParameter
from allworlds.theory.check import Check
from allworlds.theory.practical_coefficients import Numbers, numbers_of

Array = NDArray[np.float64]

START = 20.0  # A of learners.Guarded
ALLOWANCE = 1.2  # c of learners.Guarded
MOST_OF_THE_ROOM = 0.9  # a baseline is at most this share of q times the room
ROOM_HEAD_START = 100.0  # the limit on the room counts this many rounds more
MEMORY = 20.0  # of the running mean of the losses incurred
EPOCH_ROOT = math.sqrt(4.0 + 2.0 * math.sqrt(2.0))  # 2.613: the sum over epochs against the root of the horizon


# --- the account ---------------------------------------------------------------------------------------


class Replay(NamedTuple):
    """What follows from the record of an account; entry t of all but ``estimates`` is after round t."""

    regrets: Array
    """(n + 1, N) ``Z_i``."""
    roots: Array
    """(n + 1, K) ``sum_{j != k} sum_e sqrt(M_je) + sum_e sqrt(X_ke)``."""
    room: Array
    """(n + 1, K) the allowance of the clique less the largest ``Z`` of its arms."""
    estimates: Array
    """(n, K, N) ``lhat`` of every arm, for each clique that could be drawn."""


@dataclass(frozen=True)
class Account:
    """The rounds before the handover, or before the end: n rounds, N arms, K cliques."""

    owner: NDArray[np.intp]
    """(N,) the clique of each arm."""
    arms: NDArray[np.intp]
    """(n,) the arm that was played."""
    losses: Array
    """(n, N)."""
    mass: Array
    """(n, K) ``q``, the probability of each clique."""
    baselines: Array
    """(n, K) ``b``."""
    start: float = START
    allowance: float = ALLOWANCE
    room_limit: float = math.inf
    room_root: float = 0.0

    @property
    def n_cliques(self) -> int:
        """``K``."""
        return int(self.mass.shape[1])

    @property
    def drawn(self) -> NDArray[np.intp]:
        """(n,) the clique that was drawn."""
        return self.owner[self.arms]

    @property
    def allowed(self) -> Array:
        """(n + 1, K) ``Theta``."""
        allowed: Array = self.start * math.sqrt(self.n_cliques) + self.allowance * self.replayed.roots
        return allowed

    @cached_property
    def replayed(self) -> Replay:
        """Estimates, rooms and regrets, from their definitions."""
        n, n_cliques, n_arms = len(self.arms), self.n_cliques, len(self.owner)
        regrets, roots = np.zeros((n + 1, n_arms)), np.zeros((n + 1, n_cliques))
        room, estimates = np.empty((n + 1, n_cliques)), np.empty((n, n_cliques, n_arms))
        room[0] = self.start * math.sqrt(n_cliques)
        for t in range(n):
            for k in range(n_cliques):
                estimates[t, k] = self._estimates_if_drawn(t, k, regrets[t], float(room[t, k]))
            regrets[t + 1] = regrets[t] + self.losses[t, self.arms[t]] - estimates[t, self.drawn[t]]
            roots[t + 1] = self._roots(t + 1)
            for k in range(n_cliques):
                allowed = self.start * math.sqrt(n_cliques) + self.allowance * roots[t + 1, k]
                room[t + 1, k] = allowed - regrets[t + 1, self.owner == k].max()
        return Replay(regrets, roots, room, estimates)

    def _estimates_if_drawn(self, t: int, k: int, regrets: Array, room: float) -> Array:
        """``b + 1{drawn} (l - b) / q - h``: ``h`` lowers a raise that gives the clique more room than the limit."""
        estimates: Array = self.baselines[t, self.owner].copy()
        own, s = self.owner == k, t + 1 + ROOM_HEAD_START
        moves = (self.losses[t, own] - self.baselines[t, k]) / self.mass[t, k]
        most = self.room_limit * s + self.room_root * math.sqrt(s) - room + regrets[own] - regrets[own].max()
        estimates[own] += np.where(moves > 0.0, np.clip(most, 0.0, np.maximum(moves, 0.0)), moves)
        return estimates

    def _roots(self, rounds: int) -> Array:
        """The sums of roots after so many rounds, shape (K,)."""
        plays = plays_by_epoch(self.arms[:rounds], len(self.owner))
        each = [plays[:, self.owner == k] for k in range(self.n_cliques)]
        whole_cliques = np.array([np.sqrt(own.sum(axis=1)).sum() for own in each])
        inside = np.array([np.sqrt(own.sum(axis=1) - own.max(axis=1)).sum() for own in each])
        roots: Array = whole_cliques.sum() - whole_cliques + inside
        return roots

    def plays(self, best_arm: int) -> NDArray[np.intp]:
        """(E, K) plays of each clique in each epoch; in the best arm's clique, of the other arms."""
        kinds = self.drawn.copy()
        kinds[self.arms == best_arm] = self.n_cliques  # counted apart
        return plays_by_epoch(kinds, self.n_cliques + 1)[:, :-1]


def plays_by_epoch(played: NDArray[np.intp], kinds: int) -> NDArray[np.intp]:
    """How often each of some arms or cliques was played in rounds 1, 2 to 3, 4 to 7 and so on, shape (E, kinds).

    >>> plays_by_epoch(np.array([0, 1, 0, 1, 1]), 2).tolist()
    [[1, 0], [1, 1], [0, 2]]
    """
    epochs = [played[2**e - 1 : 2 ** (e + 1) - 1] for e in range(len(played).bit_length())]
    return np.array([np.bincount(epoch, minlength=kinds) for epoch in epochs], dtype=np.intp).reshape(-1, kinds)


def summed_epochs(horizon: int) -> float:
    """``S(T)``: the sum over the epochs of the roots of their lengths, in rounds 1 to ``horizon``.

    >>> round(summed_epochs(5), 3)  # rounds 1; 2, 3; 4, 5
    3.828
    """
    whole_epochs = (horizon + 1).bit_length() - 1
    rest = horizon + 1 - 2**whole_epochs
    return math.fsum([*(2.0 ** (e / 2.0) for e in range(whole_epochs)), math.sqrt(rest)])


def n_epochs(horizon: int) -> int:
    """``E_T``: how many epochs begin in rounds 1 to ``horizon``.

    >>> [n_epochs(horizon) for horizon in (1, 2, 3, 4)]
    [1, 2, 2, 3]
    """
    return horizon.bit_length()


# --- step 1: the account bounds the regret -------------------------------------------------------------


def unbiased(account: Account) -> Check:
    """Step 1: ``E_t lhat_i <= l_i``, the mean over the clique drawn, for every arm and round."""
    lefts = np.einsum("tk,tki->ti", account.mass, account.replayed.estimates)
    return _tightest("E lhat <= l", "guarded-1", lefts, account.losses, scale=1.0)


def stopped_regret(chances: Array, regrets: Array, accounts: Array) -> Check:
    """Step 1: ``E R_i(tau) <= E Z_i(tau)`` for one arm, over all ways that the draws can fall, shape (m,) each."""
    return _means("E R(tau) <= E Z(tau)", "guarded-1-stopped", chances, regrets, accounts)


def regret_along_a_run(chances: Array, regrets: Array, bounds: Array) -> Check:
    """Along a run: the mean of the bound is at least the mean regret against one arm; arguments as above."""
    return _means("E R <= E bound", "guarded-run", chances, regrets, bounds)


# --- step 2: the account is hardly overdrawn -----------------------------------------------------------


def rise(account: Account) -> Check:
    """Step 2: whatever is drawn, ``Z_i`` rises by at most ``1 + 0.9 room_k`` in a round, ``k`` the clique of ``i``."""
    highest = np.stack([account.losses[:, account.owner == k].max(axis=1) for k in range(account.n_cliques)], axis=1)
    lefts = highest[:, :, None] - account.replayed.estimates
    rights = 1.0 + MOST_OF_THE_ROOM * account.replayed.room[:-1, account.owner][:, None, :]
    return _tightest("l_I - lhat <= 1 + 0.9 room", "guarded-2-rise", lefts, np.broadcast_to(rights, lefts.shape))


def allowance_grows(account: Account) -> Check:
    """Step 2: no allowance ever falls."""
    return _tightest("Theta(t-1) <= Theta(t)", "guarded-2-grows", account.allowed[:-1], account.allowed[1:])


def account_holds(account: Account) -> Check:
    """Step 2: ``Z_i <= Theta_k + 1`` after every round up to the handover."""
    rights = account.allowed[:, account.owner] + 1.0
    return _tightest("Z <= Theta + 1", "guarded-2", account.replayed.regrets, rights)


# --- step 3: what is allowed ---------------------------------------------------------------------------


def allowed_in_epochs(account: Account) -> Check:
    """Step 3: ``sum_{j != k} sum_e sqrt(M_je) + sum_e sqrt(X_ke) <= sqrt(K) S(t)`` after every round."""
    limits = math.sqrt(account.n_cliques) * np.array([summed_epochs(t) for t in range(len(account.arms) + 1)])
    rights = np.broadcast_to(limits[:, None], account.replayed.roots.shape)
    return _tightest("sums of roots <= sqrt(K) S(t)", "guarded-3-epochs", account.replayed.roots, rights)


def epochs_in_roots(horizon: int) -> Check:
    """Step 3: ``S(T) <= sqrt(4 + 2 sqrt(2)) sqrt(T + 1) - (1 + sqrt(2))``."""
    right = EPOCH_ROOT * math.sqrt(horizon + 1.0) - (1.0 + math.sqrt(2.0))
    return Check("S(T) <= 2.62 sqrt(T + 1) - 2.41", "guarded-3-roots", summed_epochs(horizon), right)


def constant_grows(numbers: Numbers, best_clique: int) -> Check:
    """Step 3: why ``A`` of Theorem C never falls in T: ``alpha* / (2 eta0 sigma* sqrt(1+h)) <= beta_max (K-1)``."""
    c = numbers.constants
    left = c.alpha[best_clique] / (2.0 * c.eta0 * float(c.rate_factors[best_clique]) * math.sqrt(1.0 + c.head_start))
    right = numbers.highest_barrier * (len(numbers.sizes) - 1)
    return Check("alpha*/(2 eta0 sigma* sqrt(1+h)) <= beta_max (K-1)", "guarded-3-constant", left, right)


def allowed_to_the_best(account: Account, best_arm: int) -> Check:
    """Step 3: the roots allowed to the best clique are at most those of the plays that cost, by clique and epoch."""
    left = float(account.replayed.roots[-1, account.owner[best_arm]])
    right = float(np.sqrt(account.plays(best_arm)).sum())
    return Check("roots of k* <= sum of sqrt(M)", "guarded-3-plays", left, right)


# --- step 4: stochastic losses --------------------------------------------------------------------------


def youngs_line(account: Account, best_arm: int, gap: float, z: float) -> Check:
    """Step 4: ``(1+z) c sum sqrt(M) - z gap sum M <= (1+z)^2 c^2 E / (4 z gap)``, for the clique that uses most."""
    plays = account.plays(best_arm)
    lefts = (1.0 + z) * account.allowance * np.sqrt(plays).sum(axis=0) - z * gap * plays.sum(axis=0)
    right = (1.0 + z) ** 2 * account.allowance**2 * n_epochs(len(account.arms)) / (4.0 * z * gap)
    return Check("Young's inequality in each epoch", "guarded-4-young", float(lefts.max()), right)


# --- cliques that are not seen -------------------------------------------------------------------------


def unseen(account: Account, clique: int, first: int, last: int, share: float, recent: float) -> Check:
    """A clique that is not drawn in rounds ``first`` to ``last``, with some room left after all of them but the last.

    ``recent`` is the running mean of the losses before round ``first``. With ``L`` what was lost in these rounds but
    the last: ``(1 - 20 share / 19) L <= room + c sqrt(K - 1) sum_e sqrt(n_e) + share (first + 99) recent / 19``.
    """
    if np.any(account.drawn[first - 1 : last] == clique):
        raise InvalidParameter(f"clique {clique} is drawn in rounds {first} to {last}; expected rounds without it")
    rounds = range(first, last)
    lost = math.fsum(account.losses[t - 1, account.arms[t - 1]] for t in rounds)
    lengths = np.bincount([t.bit_length() for t in rounds], minlength=1)
    kept = 1.0 / (MEMORY - 1.0)
    right = float(account.replayed.room[first - 1, clique])
    right += account.allowance * math.sqrt(account.n_cliques - 1.0) * float(np.sqrt(lengths).sum())
    right += share * kept * (first + ROOM_HEAD_START - 1.0) * recent
    return Check("what an unseen clique can miss", "guarded-unseen", (1.0 - MEMORY * kept * share) * lost, right)


# --- the numbers of the theorem ------------------------------------------------------------------------


@dataclass(frozen=True)
class GuardedNumbers:
    """What Theorem D computes for two or more cliques; made by :func:`guarded_numbers`."""

    after: Numbers
    """Those of Theorem C, for the rounds after the handover."""
    start: float
    allowance: float

    @property
    def sizes(self) -> NDArray[np.intp]:
        """``d_k``, shape (K,)."""
        return self.after.sizes

    @property
    def head_start(self) -> float:
        """``h``."""
        return self.after.head_start

    def weights(self, best_clique: int) -> Array:
        """``B_k`` of Theorem C, shape (K,)."""
        return self.after.weights(best_clique)

    def harmonic(self, horizon: int) -> float:
        """``Lambda_T`` of Theorem C."""
        return self.after.harmonic(horizon)

    def constant(self, best_clique: int, horizon: int) -> float:
        """``A_D = start sqrt(K) + 1`` and ``A`` of Theorem C."""
        return allowed_at_once(self.start, len(self.sizes)) + self.after.constant(best_clique, horizon)

    def per_gap(self, horizon: int) -> float:
        """``c^2 E_T``: what the rounds before the handover add to ``W``, for a gap of 1."""
        return self.allowance**2 * n_epochs(horizon)


def guarded_numbers(sizes: ArrayLike, start: float = START, allowance: float = ALLOWANCE) -> GuardedNumbers:
    """The numbers of Theorem D for two or more cliques of these sizes.

    >>> numbers = guarded_numbers([1, 1])
    >>> round(numbers.per_gap(1000), 2)  # ten epochs
    14.4
    """
    return GuardedNumbers(numbers_of(sizes), *checked_allowance(start, allowance))


def checked_allowance(start: float, allowance: float) -> tuple[float, float]:
    """Both numbers, if they are above 0."""
    return real("start", start, above=0), real("allowance", allowance, above=0)


def allowed_at_once(start: float, n_cliques: int) -> float:
    """``A sqrt(K) + 1``: what is allowed from the start, and by how much an account can be overdrawn."""
    return start * math.sqrt(n_cliques) + 1.0


def checked_roots(name: str, roots: ArrayLike, n_cliques: int) -> Array:
    """``roots`` as one number of at least 0 for each clique."""
    values = numbers(name, roots)
    if values.shape != (n_cliques,) or not np.all(values >= 0.0):
        raise InvalidParameter(f"{name} is {roots!r}; expected {n_cliques} numbers of at least 0, one a clique")
    return values


def roots_after(clique_mass: ArrayLike, others: ArrayLike, best_clique: int, head_start: float) -> Array:
    """``sum_s sqrt(q_k / (s + h))`` over the rounds s = 1, 2, ... after the handover, ``sqrt(x)`` in the best clique.

    ``clique_mass`` (n, K) and ``others`` (n,) are those of one run; no rounds give zeros.

    >>> roots_after([[0.5, 0.5]], [0.0], best_clique=0, head_start=1.0).tolist()
    [0.0, 0.5]
    """
    q, x = np.array(clique_mass, dtype=np.float64), np.asarray(others, dtype=np.float64)
    if q.ndim != 2 or x.shape != q.shape[:1]:
        raise InvalidParameter(f"clique_mass has shape {q.shape} and others {x.shape}; expected (n, K) and (n,)")
    q[:, index("best_clique", best_clique, q.shape[1])] = x
    rounds = np.arange(1, len(q) + 1) + head_start
    roots: Array = np.sqrt(q / rounds[:, None]).sum(axis=0)
    return roots


# --- helpers -------------------------------------------------------------------------------------------


def _means(text: str, label: str, chances: Array, lefts: Array, rights: Array) -> Check:
    """Two expectations over all ways that the draws can fall."""
    if not math.isclose(math.fsum(chances), 1.0, rel_tol=1e-9):
        raise InvalidParameter(f"chances sum to {math.fsum(chances)}; expected every way that the draws can fall")
    return Check(text, label, float(chances @ lefts), float(chances @ rights), scale=1.0)


def _tightest(text: str, label: str, lefts: Array, rights: Array, scale: float = 0.0) -> Check:
    """The pair that uses most of its bound; one that breaks it before any other."""
    left, right = lefts.ravel(), rights.ravel()
    broken = np.flatnonzero(left - right > 1e-9 * np.maximum(np.maximum(np.abs(left), np.abs(right)), scale))
    usable = np.where(right > 1e-9, left / np.where(right > 1e-9, right, 1.0), -math.inf)
    at = int(broken[0]) if broken.size else int(usable.argmax())
    return Check(text, label, float(left[at]), float(right[at]), scale=scale)
