"""The default: trust the means while an account of the regret allows it, then Algorithm 1 [EK21].

The idea. Where losses are random, nothing beats playing the arm with the best mean and looking at the others now and
then. Where they are not, this can lose in every round. So the learner keeps an account of what it may have lost by not
playing another arm, and as soon as the account says too much, or the losses are seen to move, it leaves all further
rounds to :class:`TsallisShannon`, which starts from nothing. The theorem needs no more than that: whatever is played
before the handover, the account bounds its expected regret (``docs/guarded_proof.md``).

*Before the handover.* Clique k was seen ``n_k`` times; ``m_k`` is the lowest mean of its arms, ``m`` the lowest of all.
It is drawn with probability

    q_k = (1 - sum_j e_j) w_k / sum_j w_j + e_k,       w_k = exp(-2 r n_k kl(m_k, m)),

and its arm with the lowest mean is played. Without ``e`` and with ``r = 1`` and 1 for 2 this is minimum empirical
divergence (Honda and Takemura 2010), also known as Maillard sampling: explicit probabilities for what Thompson sampling
does. ``r`` says how many times less the losses vary than coins of the same means would. The draws ``e_k`` are there so
that a clique can *prove* that it is worse.

*The account.* The estimated regret against arm i is ``Z_i = sum_t (l_{I_t} - lhat_i)`` with unbiased estimates
``lhat_i = b_k + 1{I_t in V_k} (l_i - b_k) / q_k``. In rounds in which clique k is not drawn, ``Z_i`` rises by the loss
of the arm that was played, less ``b_k``: whoever is not looked at is given the benefit of the doubt. It may not exceed

    A sqrt(K) + c (sum_{j != k} sum_e sqrt(M_je) + sum_e sqrt(X_ke)),

where ``M_je`` counts the plays of clique j in epoch e, from round ``2^e`` to ``2^(e+1)``, and ``X_ke`` those in clique
k of other arms than the one played most. What is missing to that is the *room* of the clique, and ``e_k`` is in inverse
proportion to it: a clique with little room left is drawn soon. No estimate may give a clique more room than
``0.15 t + 6 sqrt(t)``, with 100 rounds more in ``t``, so that none is forgotten for long.
In rounds in which some clique is masked, the account stands still.

*The alarm.* When the losses of cliques that do not lead deviate from their means in one direction for longer than
chance would (a cumulative sum of recursive residuals: Brown, Durbin and Evans 1975), means of the past say little about
the future, and the handover comes before the account is used up.

Regret is ``O(sqrt(K T))`` against any losses (with a factor for large cliques), ``O(sum_k log(T) / Delta_k)`` where
they are stochastic, and with a root of the corruption added; measured, it is near that of Thompson sampling where
losses are random (``docs/practical.md``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.checks import real
from allworlds.foundation.errors import InvalidState
from allworlds.ftrl.clock import HIGHEST
from allworlds.ftrl.clock import MEAN as BASELINE_MEAN
from allworlds.ftrl.clock import ROUND as OWN_ROUND
from allworlds.graphs import AnyGraph, FeedbackGraph
from allworlds.learners.base import CliqueLearner, saved_array
from allworlds.learners.dispatch import resolve
from allworlds.learners.guarded_round import (
    ADDED,
    BASELINE,
    COINS,
    EARLIER,
    HANDED_OVER,
    LATE,
    MASKED,
    MASS,
    MOVED,
    NEXT_EPOCH,
    REASON,
    RECENT,
    ROOM,
    ROUND,
    Rules,
    State,
    renumbered,
    write_distribution,
    write_masses,
)
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.tsallis_shannon import TsallisShannon
from allworlds.learners.tsallis_shannon_round import Ticket

Floats = NDArray[np.float64]
ALARM_PER_CLIQUE = 0.4
"""Cliques are drawn because their means are low, often by luck, so what they show next is higher: a little for each."""
REASONS = ("", "an arm had no room left", "losses moved", "arms came or went")


@dataclass(frozen=True, init=False)
class Guarded(CliqueLearner[State, Ticket]):
    """Means while their account holds, then Algorithm 1.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = Guarded(disjoint_cliques(2, 2))
    >>> state = learner.init()
    >>> learner.distribution(state)
    array([0.25, 0.25, 0.25, 0.25])
    >>> ticket = learner.draw(state, 0.9, 0.1)
    >>> ticket.arm, learner.observes(ticket.arm)
    (2, array([2, 3]))
    >>> learner.update(state, ticket, np.array([1.0, 0.0]))
    >>> learner.distribution(state).argmin()
    np.int64(2)
    >>> learner.handed_over(state) is None
    True
    """

    name: ClassVar[str] = "guarded"
    redrawn: ClassVar[bool] = True
    movable: ClassVar[bool] = True
    ticket_class: ClassVar[type] = Ticket
    saved: ClassVar[tuple[str, ...]] = ("sums", "estimates", "plays", "table", "clock")
    logged: ClassVar[tuple[str, ...]] = ("clique", "clique_probability", "baseline", "damping")

    start: float = 20.0
    """``A``: what every account is allowed from the start, times the root of the number of cliques."""
    allowance: float = 1.2
    """``c``: what it is allowed for the root of the plays of the other cliques in each epoch."""
    sharpness: float = 2.0
    """How fast the weight of a clique falls with the evidence against it; 1 is minimum empirical divergence."""
    proof: float = 1.0
    """How many times the draws with which the chance that a worse clique loses its room falls like 1 / room."""
    share: float = 0.5
    """The baseline is this share of the mean of the losses incurred lately; below 1, an unseen clique comes back."""
    room_limit: float = 0.15
    """No clique has more room than this share of the rounds so far, but for a root."""
    alarm: float | None = 12.0
    """Where the cumulative sum ends, and 0.4 more for each clique; None without an alarm."""

    def __init__(
        self,
        graph: AnyGraph | CliqueCover,
        *,
        start: float = start,
        allowance: float = allowance,
        sharpness: float = sharpness,
        proof: float = proof,
        share: float = share,
        room_limit: float = room_limit,
        alarm: float | None = alarm,
    ) -> None:
        super().__init__(graph)
        given = {"start": start, "allowance": allowance, "sharpness": sharpness, "proof": proof}
        for name, value in given.items():
            object.__setattr__(self, name, real(name, value, above=0))
        object.__setattr__(self, "share", real("share", share, at_least=0, at_most=1))
        object.__setattr__(self, "room_limit", real("room_limit", room_limit, above=0))
        object.__setattr__(self, "alarm", None if alarm is None else real("alarm", alarm, above=0))

    @cached_property
    def then(self) -> TsallisShannon:
        """Algorithm 1, to which all is left at the handover."""
        return TsallisShannon(self.cover)

    @property
    def rules(self) -> Rules:
        """The numbers of the rule, for kernels: those that can be set, and those that were tried least."""
        return Rules(
            start=self.start,
            allowance=self.allowance,
            sharpness=self.sharpness,
            proof=self.proof,
            least_proof=0.25,
            most_proof=4.0,
            share=self.share,
            memory=20.0,  # as the baseline of Algorithm 1
            room_limit=self.room_limit,
            room_root=6.0,  # as the deficit limit of Algorithm 1
            most_exploration=0.5,  # of all rounds, whatever the rooms ask for
            alarm=math.inf if self.alarm is None else self.alarm + ALARM_PER_CLIQUE * self.n_cliques,
            drift=0.4,
            least_seen=4.0,
            prior=10.0,
            most_precise=100.0,
        )

    def init(self) -> State:
        """Nothing seen, round one."""
        n_arms, n_cliques = self.n_arms, self.n_cliques
        state = State(
            sums=np.zeros(n_arms),
            estimates=np.zeros(n_arms),
            plays=np.zeros(n_arms),
            table=np.zeros((n_cliques, MASS + 1)),
            clock=np.zeros(COINS + 4),
            rules=self.rules,
            owner=self.cover.owner,
            order=self.cover.order,
            starts=self.cover.starts,
            then=self.then.init(),
        )
        state.clock[ROUND], state.clock[NEXT_EPOCH] = 1.0, 2.0
        resolve(state)
        return state

    def handover_reason(self, state: State) -> str:
        """Why all was left to Algorithm 1, in words; empty while it was not."""
        return REASONS[int(state.clock[REASON])]

    def room(self, state: State) -> Floats:
        """(K,) how much the account of each clique may still lose; before the handover."""
        room: Floats = state.table[:, ROOM].copy()
        return room

    def distribution(self, state: State) -> Floats:
        """(N,) the probability of each arm in the coming round."""
        if state.clock[HANDED_OVER] > 0.0:
            return self.then.distribution(state.then)
        distribution = np.empty(self.n_arms)
        write_distribution(state, distribution)
        return distribution

    def clique_mass(self, state: State) -> Floats:
        """(K,) the probability of each clique in the coming round."""
        masses = np.empty(self.n_cliques)
        write_masses(state, masses)
        return masses

    def pack(self, state: State) -> dict[str, NDArray[Any]]:
        """Means, account and clock, and the state of Algorithm 1."""
        then = {f"then_{name}": array for name, array in self.then.pack(state.then).items()}
        return super().pack(state) | then

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> State:
        """The state as it was, to the last bit."""
        names = self.then.pack(self.then.init())
        then = self.then.unpack({name: saved_array(arrays, f"then_{name}", names[name].shape) for name in names})
        state = self.init()._replace(then=then)
        for name in self.saved:
            place = getattr(state, name)
            place[...] = saved_array(arrays, name, place.shape)
        clock, masses = state.clock, state.table[:, MASS]
        possible = clock[ROUND] >= 1.0 and 0.0 <= clock[HANDED_OVER] <= clock[ROUND]
        possible = possible and clock[REASON] in range(len(REASONS)) and (clock[REASON] > 0) == (clock[HANDED_OVER] > 0)
        if not (possible and masses.min() >= 0.0 and math.isclose(masses.sum(), 1.0, rel_tol=1e-6)):
            raise InvalidState("the saved round, reason or masses are impossible; the file is damaged")
        return state

    def ticket_from(self, state: State, arm: int, distribution: Floats) -> Ticket:
        """The ticket whose clique has its probability under ``distribution``; it says whether some clique has none."""
        if state.clock[HANDED_OVER] > 0.0:
            return renumbered(self.then.ticket_from(state.then, arm, distribution), self.round(state))
        clique = int(self.cover.owner[arm])
        masses = np.bincount(self.cover.owner, weights=distribution, minlength=self.n_cliques)
        mass, baseline = min(1.0, float(masses[clique])), float(state.table[clique, BASELINE])
        masked = MASKED if masses.min() == 0.0 else 0.0
        return Ticket(arm, float(distribution[arm]), clique, mass, baseline, masked, self.round(state))

    def check_ticket(self, ticket: Ticket) -> None:
        """Raise InvalidState unless arm and clique belong together and the numbers are possible."""
        self.then.check_ticket(ticket)

    def weights_of(self, ticket: Ticket) -> tuple[Floats, float]:
        """The clique's probability for every arm of it, and the baseline."""
        return self.then.weights_of(ticket._replace(damping=0.0))

    def details(self, ticket: Ticket) -> dict[str, float]:
        """What is worth logging; ``damping`` is 0: in a ticket it only says whether some clique was masked."""
        return super().details(ticket._replace(damping=0.0))

    def estimates(self, state: State) -> Floats:
        """(N,) the estimated cumulative losses, in the order of the arms."""
        if state.clock[HANDED_OVER] > 0.0:
            return self.then.estimates(state.then)
        losses = np.empty(self.n_arms)
        losses[state.order] = state.estimates + state.table[self.cover.owner[state.order], ADDED]
        return losses

    def moved(self, state: State, where: FeedbackGraph | CliqueCover, losses: Floats) -> tuple[Self, State]:
        """The learner on another graph or cover, where Algorithm 1 goes on with these estimates.

        The account is about arms that stay. What is known of them is kept, as far as the deficit limit lets it count.
        """
        cover = where if isinstance(where, CliqueCover) else clique_cover(where)
        learner = type(self).from_settings(cover, self.settings())
        then = state.then
        if state.clock[HANDED_OVER] == 0.0:
            clock = then.clock.copy()
            clock[OWN_ROUND] = state.clock[ROUND]
            clock[BASELINE_MEAN] = clock[HIGHEST] = self.then.constants.baseline_share * state.clock[RECENT]
            then = then._replace(clock=clock)
            t = state.clock[ROUND] + self.then.constants.head_start
            most = self.then.constants.deficit_limit * t + self.then.constants.deficit_root * math.sqrt(t)
            losses = np.minimum(losses, losses.min() + most)
        later = learner.init()
        later.clock[:] = state.clock
        if state.clock[HANDED_OVER] == 0.0:
            later.clock[HANDED_OVER], later.clock[EARLIER] = state.clock[ROUND], 0.0
            later.clock[REASON] = MOVED
        later.clock[LATE] += 1.0  # the theorem says nothing about a run whose arms changed
        return learner, later._replace(then=self.then.moved(then, cover, losses)[1])

    def with_estimates(self, state: State, losses: Floats, incurred: float) -> State:
        """One round later, with the step solved anew; only after the arms have changed, so after the handover."""
        state.clock[ROUND] += 1.0
        return state._replace(then=self.then.with_estimates(state.then, losses, incurred))


RECIPES = (
    LearnerRecipe(
        "guarded",
        Guarded,
        "sqrt(T sum_k R_k); sum_k log T / Delta_k where stochastic; sqrt(C) (docs/guarded_proof.md); the default",
        "guarded",
        dict.fromkeys(("start", "allowance", "sharpness", "proof", "share", "room_limit", "alarm"), "number"),
        kind=Guarded,
        world="any",
    ),
)
