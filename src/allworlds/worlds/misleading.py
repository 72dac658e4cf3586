"""A world whose graph misleads: it depends on the losses, so that side observations say nothing about the best arm.

The environment of Cohen, Hazan and Koren ("Online learning with feedback graphs without the graphs", ICML 2016). All
arms lose 1 with probability 1/2, the best one with ``1/2 - gap``. Arms are seen by others with probability ``1 - 2
gap``, drawn anew in each round; but the best arm is seen by all others when it loses, and by each with probability
``(1 - 2 gap) / (1 + 2 gap)`` when it does not. So of those who see it, one half see a loss, as of every other arm:
only whoever plays the best arm learns how good it is. With ``gap = sqrt(N / T) / 8`` every learner that is told no
more than what it sees has a regret of at least ``sqrt(N T) / 32``, though the graphs have at most nine independent
arms with high probability.

A learner that is told the whole graph after its choice can correct for it: divided by the probability of being seen in
the graph of the round, estimates stay unbiased (``exp3-set``, ``exp3-ix``). Averages of what was seen are biased.
That arms always see themselves is our reading; the best arm is fixed
here and drawn at random in the paper, which makes no difference to a learner that treats all arms alike.
"""

from __future__ import annotations

import numpy as np

from allworlds.graphs import misleading_edges
from allworlds.worlds.base import World
from allworlds.worlds.stochastic import stochastic


def misleading_graph(n_arms: int, gap: float = 0.05, best_arm: int | None = None) -> World:
    """Cohen, Hazan and Koren's world, which says which graph a round has: ``graphs.misleading_edges``.

    >>> world = misleading_graph(4, gap=0.1)
    >>> world.best_arm, world.means.tolist()
    (2, [0.5, 0.5, 0.4, 0.5])
    >>> from allworlds import make_learner, play
    >>> play(make_learner("exp3-ix", world.graph), world, horizon=100).counts.sum()
    np.int64(100)
    """
    graph = misleading_edges(n_arms, gap, best_arm)
    means = np.full(graph.n_arms, 0.5)
    means[graph.hinge] -= gap
    return stochastic(means, name="misleading graph").with_graph(graph)
