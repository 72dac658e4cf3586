"""Loss estimates on average over a learner's choice, and graphs to compute them on."""

from __future__ import annotations

import networkx
import numpy as np

GRAPHS = {
    "bandit": networkx.empty_graph(5),
    "full information": networkx.complete_graph(6),
    "cycle": networkx.cycle_graph(7),
    "star": networkx.star_graph(5),
    "two cliques": networkx.disjoint_union(networkx.complete_graph(4), networkx.complete_graph(2)),
    "random": networkx.gnp_random_graph(12, 0.3, seed=4),
}


def adjacency(graph):
    """(N, N) with loops, by networkx."""
    return networkx.to_numpy_array(graph) + np.eye(len(graph))


def mean_step(learner, packed, losses):
    """(N,) how far a round moves the estimates on average, from the state ``packed``: each arm is played in turn."""
    p, mean = learner.distribution(learner.unpack(packed)), np.zeros(learner.n_arms)
    for arm in np.flatnonzero(p).tolist():
        copy = learner.unpack(packed)
        ticket = learner.draw(copy, p[:arm].sum() + p[arm] / 2, 0.0)
        assert ticket.arm == arm
        learner.update(copy, ticket, losses[learner.observes(arm)])
        mean += p[arm] * (copy.cumulative_losses - packed["cumulative_losses"])
    return mean
