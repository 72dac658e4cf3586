"""Discounted Thompson sampling: the posterior of a world that is slowly forgotten.

The idea. Thompson-N counts the losses and rewards that each arm was seen to give, for ever. Where means move, old
counts mislead. So all counts shrink by a factor ``gamma < 1`` in every round, of arms that were seen and of arms that
were not, and an arm that was not seen for long is open to any guess again:

    losses_i <- gamma losses_i + (1 if i was seen to give a loss),    rewards_i likewise,
    guess_i ~ Beta(1 + losses_i, 1 + rewards_i),        I_t = argmin_i guess_i.

About ``1 / (1 - gamma)`` rounds are remembered; with ``discount=1`` this is Thompson-N. For bandits the rule is that
of Raj and Kalyani, "Taming non-stationary bandits: a Bayesian approach", 2017, who prove no bound on the regret. That
side observations count is ours. A loss between 0 and 1 counts as a whole loss with that probability. An outcome that
comes late counts as one of the round in which it comes.

The probability of a choice has no closed form, so the ticket says NaN and ``distribution`` counts 2,000 guesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.recipe import LearnerRecipe
from allworlds.learners.thompson_n import Guessing, Ticket, count_rounded, draw


class State(NamedTuple):
    """What the next round needs."""

    losses: NDArray[np.float64]
    """(N,) how many losses each arm was seen to give, discounted."""
    rewards: NDArray[np.float64]
    """(N,) how many rewards, likewise."""
    clock: NDArray[np.float64]
    """(1,) round."""
    visibility: Visibility
    discount: float


@dataclass(frozen=True)
class ThompsonDiscounted(Guessing[State]):
    """Thompson sampling over observations, with counts that fade.

    >>> from allworlds.graphs import disjoint_cliques
    >>> learner = ThompsonDiscounted(disjoint_cliques(1, 2), discount=0.5)
    >>> state = learner.init()
    >>> for losses in ([0.0, 1.0], [0.0, 0.0]):
    ...     learner.update(state, learner.draw(state, 0.3, 0.6), np.array(losses))
    >>> state.losses, state.rewards
    (array([0. , 0.5]), array([1.5, 1. ]))
    """

    name: ClassVar[str] = "thompson-discounted"
    fractions: ClassVar[tuple[str, ...]] = ("discount",)

    discount: float = 0.999

    def init(self) -> State:
        """Nothing seen, round one."""
        return State(np.zeros(self.n_arms), np.zeros(self.n_arms), np.array([1.0]), self.visibility, self.discount)


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def update(state: State, ticket: Ticket, losses: NDArray[np.float64]) -> None:
    """All counts fade; each arm that is seen gives a loss with probability ``l_i``, else a reward."""
    for i in range(state.losses.size):
        state.losses[i] *= state.discount
        state.rewards[i] *= state.discount
    count_rounded(state, ticket, losses)
    state.clock[0] += 1.0


register_kernels(State, draw, update)

RECIPES = (
    LearnerRecipe(
        "thompson-discounted",
        ThompsonDiscounted,
        "none proved [Raj and Kalyani 2017]",
        "thompson-discounted:discount=0.99",
        {"discount": "number"},
        kind=ThompsonDiscounted,
        world="moving",
        told="how fast to forget",
        source='Raj and Kalyani, "Taming non-stationary bandits: a Bayesian approach", 2017',
        rendering="from memory",
    ),
)
