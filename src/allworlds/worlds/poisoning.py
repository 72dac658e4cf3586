"""Poisoning: an attacker who sees each choice, and raises what is shown until the learner plays the attacker's arm.

The losses are Bernoulli. The attacker wants ``target`` to be played, which need not be good. Whenever another arm is
chosen, it raises the losses that are shown of all arms but the target: by no more than is needed to make each look
worse than the target, and never above 1. Two rules say how much is needed of arm i, with ``m`` the clean mean losses
that the attacker has seen, ``n`` how often, and ``beta(n) = sqrt(2 sigma^2 / n log(pi^2 N n^2 / (3 delta)))``,
``sigma = 1/2``:

- ``rule="mean"``: the mean of all that was shown of arm i shall be ``margin`` above the target's, surely so:
  ``a = [n_i (m_K + 2 beta(n_K) + margin) - (sum of losses of i) - (what was added to i before)]^+``
  (Jun, Li, Ma and Zhu, "Adversarial attacks on stochastic bandits", NeurIPS 2018; their rule against UCB);
- ``rule="gap"``: each loss of arm i is raised by its gap to the target, surely so:
  ``a = [m_K - m_i + beta(n_K) + beta(n_i)]^+`` (Liu and Shroff, "Data poisoning attacks on stochastic bandits", ICML
  2019; their rule against any learner).

Against an index rule, all but a logarithmic number of rounds then go to the target at logarithmic cost. The attacker
acts after it sees the choice, which the model of [EK21] forbids: no bound of ours covers this world. Both papers attack
rewards that may take any value, and only that of the chosen arm. That losses stay within [0, 1], so that a target of
mean near 1 is out of reach, and that side observations are tampered with too, is ours.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import index, numbers, real, shorten
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import check_known
from allworlds.kernels.random import STREAM_WORLD, as_seed, uniform
from allworlds.worlds.base import Reactive

Floats = NDArray[np.float64]
SIGMA = 0.5
"""A loss in [0, 1] is sub-Gaussian with this parameter."""


class Poisoning(Reactive):
    """Bernoulli losses, and an attacker who makes the learner play ``target``.

    After ``play``, ``cost`` is what the attacker has spent, the sum over the rounds of the most that a shown loss was
    raised, and ``target_plays`` how often the target was played; ``play_many`` plays copies. Regret is on clean losses.

    >>> from allworlds import play
    >>> from allworlds.graphs import bandit
    >>> from allworlds.learners import UCBN
    >>> world = Poisoning([0.2, 0.5, 0.8], target=2)
    >>> trace = play(UCBN(bandit(3), width=0.5), world, horizon=1000, seed=1)
    >>> world.target_plays > 500, world.cost < 500
    (True, True)
    """

    def __init__(
        self,
        means: ArrayLike,
        target: int | None = None,
        rule: Literal["mean", "gap"] = "gap",
        margin: float = 0.1,
        confidence: float = 0.05,
    ) -> None:
        self.means = numbers("means", means)
        if self.means.ndim != 1 or self.means.size < 2 or not ((self.means >= 0.0) & (self.means <= 1.0)).all():
            raise InvalidParameter(f"means is {shorten(means)}; expected two or more numbers from 0 to 1")
        self.n_arms = int(self.means.size)
        self.target = int(self.means.argmax()) if target is None else index("target", target, self.n_arms)
        self.rule = check_known(rule, ("mean", "gap"), "rule of poisoning")
        self.margin = real("margin", margin, at_least=0)
        self.confidence = real("confidence", confidence, above=0, at_most=1)
        self.name = f"poisoning towards arm {self.target}, {rule}"
        self.start(0)

    def start(self, seed: int) -> None:
        """Begin a run: nothing seen, nothing spent."""
        self._seed = as_seed(seed)
        self._seen, self._totals, self._added = np.zeros((3, self.n_arms))
        self.cost, self.target_plays = 0.0, 0

    def losses(self, round: int) -> Floats:
        """(N,) the clean losses."""
        drawn = [uniform(self._seed, STREAM_WORLD, round, arm) for arm in range(self.n_arms)]
        return np.where(np.array(drawn) < self.means, 1.0, 0.0)

    def shown(self, round: int, arm: int, seen: NDArray[np.int64], losses: Floats) -> Floats:
        """The losses of the arms in ``seen``, raised unless the target was chosen."""
        clean: Floats = losses[seen]
        self._seen[seen] += 1.0
        self._totals[seen] += clean
        if arm == self.target:
            self.target_plays += 1
            return clean
        raised = np.array([self._raise(int(i), float(loss)) for i, loss in zip(seen, clean, strict=True)])
        self._added[seen] += raised
        self.cost += float(raised.max(initial=0.0))
        shown: Floats = clean + raised
        return shown

    def _raise(self, arm: int, loss: float) -> float:
        """How much the shown loss of one arm is raised."""
        if arm == self.target or self._seen[self.target] == 0.0:
            return 1.0 - loss if arm != self.target else 0.0  # before the target was seen, everything else is bad
        count, total = self._seen[arm], self._totals[arm]
        goal = self._totals[self.target] / self._seen[self.target]
        if self.rule == "mean":
            wanted = count * (goal + 2.0 * self._width(self.target) + self.margin) - total - self._added[arm]
        else:
            wanted = goal - total / count + self._width(self.target) + self._width(arm)
        return float(min(max(wanted, 0.0), 1.0 - loss))

    def _width(self, arm: int) -> float:
        n = self._seen[arm]
        return math.sqrt(2.0 * SIGMA**2 / n * math.log(math.pi**2 * self.n_arms * n**2 / (3.0 * self.confidence)))
