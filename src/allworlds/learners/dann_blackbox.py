"""Best of both worlds by a black box: two learners, one of which is a single arm.

Our reconstruction of the algorithm of Dann, Wei and Zimmert for graphs whose arms see themselves; see the end.

The idea, in three layers. A candidate ``x`` for the best arm is held against all other arms, which a base learner
plays; a learner of two arms chooses between the two, round by round, and gets a bonus for the base learner that grows
as its regret may. If the candidate is best, the base learner is played less and less. If some other arm is played in
half the rounds of an epoch that is at least twice as long as the last, it becomes the candidate and all starts anew.

Between candidate (1) and base learner (2), in round ``t`` of the epoch:

    qbar = argmin over distributions of  q_1 Z_1 + q_2 (Z_2 - B) - (2 / eta) (sqrt(q_1) + sqrt(q_2)),
    q_t = (1 - 1 / 2t^2) qbar + 1 / 4t^2,     eta = 1 / (sqrt(t) + 8 sqrt(c)),     B = sqrt(c sum_{s<t} 1 / q_{s,2}),
    Z_i += (l + 1) 1{i was chosen} / q_{t,i} - 1,   with the loss l of the arm that was played.

The base learner plays ``p_t`` on the other arms, and learns only in rounds in which it was chosen:

    p_t = argmin <Lhat, p> - sum_i p_i^b / (b (1 - b) eta_t),    eta_t^2 = log N / ((1 + m) sum_{s<=t} 1 / q_{s,2}),
    Lhat_i += l_i / (q_{t,2} P_t(i))   for what is seen,   P_t(i) = sum of p_t over the arms that show i.

Here ``b = 1 - 1 / log N`` and ``m = min{alpha_mutual, alpha log N}``, with the independence numbers of the graph of
mutual edges and of the graph. For some ``c`` of order ``m log N`` the authors prove a regret of order
``sqrt(m T log N)``, and of ``m log(N) log(T) / Delta`` where losses are stochastic, with ``sqrt(C)`` times its root for
corruption ``C`` (Dann, Wei and Zimmert, "A blackbox approach to best of both worlds in bandits and beyond", COLT 2023,
Algorithms 1, 2 and 11).

What is ours: ``c = scale m log N``, since they name no constant, so no bound is claimed; ``b`` is at least 1/2, since
theirs is negative for two arms; numbers of cliques stand for independence numbers. Left out: arms that do not see
themselves, for which they have surrogate losses, and weakly observable graphs, for which they have other exponents. An
outcome that arrives after its epoch has ended is counted but not learnt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.checks import index, real, whole
from allworlds.foundation.errors import InvalidState
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.dividing import DividingLearner, chances_of_seen
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.sampling import pick

ROUND, EPOCH, CANDIDATE, ELAPSED, BEFORE, SPENT, SHARE = 0, 1, 2, 3, 4, 5, 6
"""Places in ``State.clock``."""
NONE_YET = -1
"""The candidate before the first choice."""
MOST_STEPS = 100
CLOSE = 1e-14
"""Newton's method stops at this relative step."""


class Rates(NamedTuple):
    """The scalars of the learner, for kernels."""

    log_arms: float
    size: float
    """``m``."""
    bonus: float
    """``c``."""
    power: float
    """``b``."""


class State(NamedTuple):
    """What the next round needs; both distributions follow from the saved fields."""

    base_losses: NDArray[np.float64]
    """(N,) ``Lhat`` of this epoch."""
    side_losses: NDArray[np.float64]
    """(2,) ``Z`` of this epoch, of the candidate and of the base learner."""
    counts: NDArray[np.float64]
    """(N,) how often each arm was played in this epoch."""
    clock: NDArray[np.float64]
    """(7,) round, epoch, candidate, rounds of this epoch and of the last, sum of 1 / q_2, the coming ``q_2``."""
    distribution: NDArray[np.float64]
    """(N,) the probability of each arm in the coming round."""
    base: NDArray[np.float64]
    """(N,) ``p_t`` of the base learner; 0 at the candidate."""
    divisors: NDArray[np.float64]
    """``q_2 P_t(i)`` of the arms that the last drawn arm shows, in their order; 0 where nothing is learnt."""
    visibility: Visibility
    observers: Visibility
    """Who shows each arm."""
    rates: Rates


class Drawn(NamedTuple):
    """One choice, as kernels hand it on."""

    arm: int
    probability: float
    candidate: int
    epoch: int
    share: float
    """``q_2``."""
    round: int


class Ticket(NamedTuple):
    """One choice, with all that its estimate needs."""

    arm: int
    probability: float
    divisors: NDArray[np.float64]
    """``q_2 P_t(i)`` of the arms that are seen, in their order; 0 where nothing is learnt."""
    candidate: int
    epoch: int
    share: float
    """``q_2``."""
    round: int


@dataclass(frozen=True, init=False)
class DannBlackbox(DividingLearner[State, Ticket]):
    """The black box of Dann, Wei and Zimmert on a fixed graph whose arms see themselves, directed or not.

    ``size`` is ``m``, or a bound above it; by default with numbers of cliques of covers for independence numbers.

    >>> from allworlds.graphs import star
    >>> learner = DannBlackbox(star(4))
    >>> learner.size
    3.0
    >>> state = learner.init()
    >>> ticket = learner.draw(state, 0.3, 0.9)
    >>> ticket.arm, ticket.candidate, ticket.share
    (1, 3, 0.5)
    """

    name: ClassVar[str] = "dann-blackbox"
    accepts: ClassVar[frozenset[str]] = frozenset({"directed"})
    ticket_class: ClassVar[type] = Ticket
    drawn_class: ClassVar[type] = Drawn
    takes_cover: ClassVar[bool] = True
    saved: ClassVar[tuple[str, ...]] = ("base_losses", "side_losses", "counts", "clock")

    size: float
    scale: float

    def __init__(self, graph: FeedbackGraph | CliqueCover, size: float | None = None, scale: float = 1.0) -> None:
        super().__init__(graph.graph if isinstance(graph, CliqueCover) else graph)
        if size is None:
            size = _size_of(graph)
        object.__setattr__(self, "size", real("size", size, at_least=0))
        object.__setattr__(self, "scale", real("scale", scale, above=0))

    def init(self) -> State:
        """No losses, no candidate, round one."""
        n_arms, log_arms = self.n_arms, math.log(self.n_arms)
        power = max(0.5, 1.0 - 1.0 / log_arms) if n_arms > 1 else 0.5
        state = State(
            base_losses=np.zeros(n_arms),
            side_losses=np.zeros(2),
            counts=np.zeros(n_arms),
            clock=np.array([1.0, 0.0, NONE_YET, 0.0, 0.0, 0.0, 0.5]),
            distribution=np.empty(n_arms),
            base=np.empty(n_arms),
            divisors=self.room_for_divisors(),
            visibility=self.visibility,
            observers=self.observers,
            rates=Rates(log_arms, self.size, self.scale * self.size * log_arms, power),
        )
        resolve(state)
        return state

    def check_ticket(self, ticket: Any) -> None:
        """Raise InvalidState also unless candidate, epoch and share could be those of a draw."""
        super().check_ticket(ticket)
        index("a ticket's candidate", ticket.candidate, self.n_arms, InvalidState)
        whole("a ticket's epoch", ticket.epoch, at_least=0, error=InvalidState)
        real("a ticket's share", ticket.share, above=0, at_most=1, error=InvalidState)


def _size_of(graph: FeedbackGraph | CliqueCover) -> float:
    """``min{alpha_mutual, alpha log N}`` with numbers of cliques for both."""
    if isinstance(graph, CliqueCover):
        return graph.n_cliques * min(1.0, math.log(graph.n_arms))
    mutual, either = (clique_cover(each).n_cliques for each in (graph.mutual(), graph.symmetrised()))
    return min(float(mutual), either * math.log(graph.n_arms))


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def draw(state: State, first: float, second: float) -> Drawn:
    """Draw the arm, and in the first round a candidate; note ``q_2 P_t(i)`` of what the base learner learns."""
    n_arms, clock, share = state.distribution.size, state.clock, float(state.clock[SHARE])
    arm = pick(state.distribution, first)
    candidate = int(clock[CANDIDATE])
    if candidate == NONE_YET:  # uniform; given the arm, it is the arm itself with probability 1/2
        candidate = arm
        if second >= 0.5 and n_arms > 1:
            candidate = min(int((2.0 * second - 1.0) * (n_arms - 1)), n_arms - 2)
            candidate += candidate >= arm
        write_first_base(state.base, candidate)
    visibility = state.visibility
    start = visibility.starts[visibility.where[arm]]
    stop = visibility.starts[visibility.where[arm] + 1]
    chances_of_seen(state.base, arm, visibility, state.observers, state.divisors)
    for j in range(stop - start):
        learnt = arm != candidate and visibility.order[start + j] != candidate
        state.divisors[j] = share * state.divisors[j] if learnt else 0.0
    if clock[CANDIDATE] == NONE_YET:  # drawing changes nothing
        state.base[:] = 1.0 / n_arms
    return Drawn(arm, float(state.distribution[arm]), candidate, int(clock[EPOCH]), share, int(clock[ROUND]))


@lean_jit
def write_first_base(base: NDArray[np.float64], candidate: int) -> None:
    """Uniform on all arms but the candidate."""
    for i in range(base.size):
        base[i] = 0.0 if i == candidate else 1.0 / (base.size - 1)


@lean_jit
def update(state: State, ticket: Drawn, losses: NDArray[np.float64]) -> None:
    """Learn on both levels, unless the epoch of the choice is over; then see whether this one is."""
    clock = state.clock
    clock[ROUND] += 1.0
    if clock[CANDIDATE] == NONE_YET:
        clock[CANDIDATE] = ticket.candidate
    if ticket.epoch == clock[EPOCH] and ticket.candidate == clock[CANDIDATE] and state.base.size > 1:
        learn(state, ticket, losses)
        start_anew_if_beaten(state, ticket.arm)
    resolve(state)


@lean_jit
def learn(state: State, ticket: Drawn, losses: NDArray[np.float64]) -> None:
    """``Z_i += (l + 1) 1{i was chosen} / q_i - 1`` and ``Lhat_i += l_i / (q_2 P(i))``."""
    visibility, side = state.visibility, state.side_losses
    start = visibility.starts[visibility.where[ticket.arm]]
    own = 0.0
    for j in range(losses.size):
        seen = visibility.order[start + j]
        if seen == ticket.arm:
            own = losses[j]
        if state.divisors[j] > 0.0:
            state.base_losses[seen] += losses[j] / state.divisors[j]
    if ticket.arm == ticket.candidate:
        side[0] += (own + 1.0) / (1.0 - ticket.share)
    else:
        side[1] += (own + 1.0) / ticket.share
    side[0] -= 1.0
    side[1] -= 1.0
    state.clock[SPENT] += 1.0 / ticket.share
    state.clock[ELAPSED] += 1.0
    state.counts[ticket.arm] += 1.0


@lean_jit
def start_anew_if_beaten(state: State, last: int) -> None:
    """A new epoch if this one is twice as long as the last, and another arm was played in half of it."""
    clock, counts = state.clock, state.counts
    elapsed, candidate = clock[ELAPSED], int(clock[CANDIDATE])
    if elapsed < 2.0 * clock[BEFORE]:
        return
    best = NONE_YET
    for i in range(counts.size):
        half = i != candidate and counts[i] >= 0.5 * elapsed
        if half and (best == NONE_YET or i == last):  # of two arms with half of the rounds each, the last one played
            best = i
    if best == NONE_YET:
        return
    clock[EPOCH] += 1.0
    clock[CANDIDATE] = best
    clock[BEFORE] = elapsed
    clock[ELAPSED] = 0.0
    clock[SPENT] = 0.0
    state.base_losses[:] = 0.0
    state.side_losses[:] = 0.0
    counts[:] = 0.0


@lean_jit
def resolve(state: State) -> None:
    """The coming round's ``q_2``, the base learner's ``p`` and the probability of each arm."""
    p, base, clock, rates = state.distribution, state.base, state.clock, state.rates
    candidate = int(clock[CANDIDATE])
    if candidate == NONE_YET or p.size == 1:
        p[:] = 1.0 / p.size
        base[:] = 1.0 / p.size
        return
    t = clock[ELAPSED] + 1.0
    rate = 1.0 / (math.sqrt(t) + 8.0 * math.sqrt(rates.bonus))
    lead = state.side_losses[0] - state.side_losses[1] + math.sqrt(rates.bonus * clock[SPENT])
    share = (1.0 - 0.5 / t**2) * second_of_two(rate * lead) + 0.25 / t**2
    clock[SHARE] = share
    spent = (1.0 + rates.size) * (clock[SPENT] + 1.0 / share)
    tsallis_step(state.base_losses, candidate, math.sqrt(rates.log_arms / spent), rates.power, base)
    for i in range(p.size):
        p[i] = share * base[i]
    p[candidate] = 1.0 - share


@lean_jit
def second_of_two(lead: float) -> float:
    """``q_2`` of ``argmin q_1 lead - 2 sqrt(q_1) - 2 sqrt(q_2)``, where ``1 / sqrt(q_1) - 1 / sqrt(q_2) = lead``.

    With ``u = sqrt(q_2) - sqrt(q_1)`` it is ``2 u / (1 - u^2) = lead``; the smaller root is the product by the larger.
    """
    size = abs(lead)
    scaled = 1.0 / (1.0 + math.sqrt(1.0 + size * size))  # u / lead, and the product of the two roots
    u = scaled * size
    larger = 0.5 * (math.sqrt(2.0 - u * u) + u)
    root = larger if lead > 0.0 else scaled / larger
    return root * root


@lean_jit
def tsallis_step(
    losses: NDArray[np.float64], candidate: int, rate: float, power: float, out: NDArray[np.float64]
) -> None:
    """``p_i = ((1 - b) eta (L_i - lambda))^(-1 / (1 - b))`` with sum 1 over all arms but the candidate, else 0.

    Newton's method on ``y = min L - lambda``, from where the likeliest arm alone has probability 1: the sum falls
    and is convex in ``y``, so that no step goes too far.
    """
    lowest = math.inf
    for i in range(losses.size):
        if i != candidate:
            lowest = min(lowest, losses[i])
    y = 1.0 / ((1.0 - power) * rate)
    for _ in range(MOST_STEPS):
        total, slope = 0.0, 0.0
        for i in range(losses.size):
            above = losses[i] - lowest + y
            out[i] = 0.0 if i == candidate else ((1.0 - power) * rate * above) ** (-1.0 / (1.0 - power))
            total += out[i]
            slope += out[i] / above if i != candidate else 0.0
        step = (total - 1.0) * (1.0 - power) / slope
        y += step
        if step <= CLOSE * y:
            break
    for i in range(losses.size):
        out[i] /= total


register_kernels(State, draw, update, resolve)

RECIPES = (
    LearnerRecipe(
        "dann-blackbox",
        DannBlackbox,
        "none claimed; our reconstruction of sqrt(m T log N), stochastic m log(N) log(T) / Delta [Dann et al. 2023]",
        "dann-blackbox:scale=0.1",
        {"size": "number", "scale": "number"},
        kind=DannBlackbox,
        world="any",
        source='Dann, Wei and Zimmert, "A blackbox approach to best of both worlds in bandits and beyond", COLT 2023',
        rendering="reconstruction",
    ),
)
