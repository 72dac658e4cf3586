"""Who sees whom: feedback graphs, families of them, and their clique covers."""

from __future__ import annotations

from allworlds.graphs.certificate import (
    Exhausted,
    FractionalPacking,
    IndependentArms,
    OddComponents,
    Part,
    PartByPart,
)
from allworlds.graphs.cover import CliqueCover
from allworlds.graphs.cover_files import read_cover, write_cover
from allworlds.graphs.covering import clique_cover
from allworlds.graphs.directed import observability, weak_domination
from allworlds.graphs.families import (
    bandit,
    cycle,
    disjoint_cliques,
    full_information,
    grid,
    interval,
    lu_gadgets,
    mycielski_complement,
    path,
    star,
    unit_disk,
)
from allworlds.graphs.graph import FeedbackGraph
from allworlds.graphs.independence import independent_set
from allworlds.graphs.numbers import fractional_cover, independence_number
from allworlds.graphs.random_families import (
    barabasi_albert,
    erdos_renyi,
    random_interval,
    random_unit_disk,
    stochastic_blocks,
)

__all__ = [
    "CliqueCover",
    "Exhausted",
    "FeedbackGraph",
    "FractionalPacking",
    "IndependentArms",
    "OddComponents",
    "Part",
    "PartByPart",
    "bandit",
    "barabasi_albert",
    "clique_cover",
    "cycle",
    "disjoint_cliques",
    "erdos_renyi",
    "fractional_cover",
    "full_information",
    "grid",
    "independence_number",
    "independent_set",
    "interval",
    "lu_gadgets",
    "mycielski_complement",
    "observability",
    "path",
    "random_interval",
    "random_unit_disk",
    "read_cover",
    "star",
    "stochastic_blocks",
    "unit_disk",
    "weak_domination",
    "write_cover",
]
