"""Who sees whom: feedback graphs, and families of them."""

from __future__ import annotations

from allworlds.graphs.changing import AnyGraph, ChangingGraph, NoisyGraph, changing, noisy
from allworlds.graphs.families import (
    bandit,
    barabasi_albert,
    cycle,
    disjoint_cliques,
    erdos_renyi,
    full_information,
    grid,
    interval,
    lu_gadgets,
    mycielski_complement,
    path,
    random_interval,
    random_unit_disk,
    star,
    stochastic_blocks,
    unit_disk,
)
from allworlds.graphs.graph import FeedbackGraph

__all__ = [
    "AnyGraph",
    "ChangingGraph",
    "FeedbackGraph",
    "NoisyGraph",
    "bandit",
    "barabasi_albert",
    "changing",
    "cycle",
    "disjoint_cliques",
    "erdos_renyi",
    "full_information",
    "grid",
    "interval",
    "lu_gadgets",
    "mycielski_complement",
    "noisy",
    "path",
    "random_interval",
    "random_unit_disk",
    "star",
    "stochastic_blocks",
    "unit_disk",
]
