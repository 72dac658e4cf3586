"""Graphs by name: ``make_graph("disjoint-cliques:10x10")``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import Kind, Recipe, Registry, Spec, parse_spec
from allworlds.graphs import directed_families, families
from allworlds.graphs.changing import AnyGraph, alternating_cliques, misleading_edges, random_edges, read_changing
from allworlds.graphs.files import read_graph, read_graph_of_cover
from allworlds.graphs.graph import FeedbackGraph
from allworlds.graphs.noisy import noisy_grid

COUNT: dict[str, Kind] = {"n": "integer"}


def make_graph(spec: str | Spec) -> AnyGraph:
    """The graph that a spec names, fixed or changing; see :mod:`allworlds.foundation.specs` for the grammar.

    >>> make_graph("disjoint-cliques:1,2,4")
    FeedbackGraph(7 arms, 7 edges)
    >>> make_graph("lu-gadgets").n_arms
    30
    >>> make_graph("random-edges:5,p=0.5,told=before").told
    'before'
    """
    graph: AnyGraph = GRAPHS.build(graph_spec(spec))
    return graph


def graph_spec(text: str | Spec) -> Spec:
    """The spec of a graph; raise InvalidParameter for a bare path, and say how a file is named.

    >>> str(graph_spec("grid:5x6"))
    'grid:5x6'
    """
    if isinstance(text, str) and any(mark in text.partition(":")[0] for mark in "./\\"):
        raise InvalidParameter(
            f"{text!r} looks like a path; file:{text.strip()} reads a graph from a file (edges, GraphML, METIS, CSV)"
        )
    return parse_spec(text)


def _cliques(
    n_cliques: int | None = None, size: int | None = None, sizes: Sequence[int] | None = None
) -> FeedbackGraph:
    """``10x10`` or a list of sizes."""
    if (sizes is None) == (n_cliques is None) or (n_cliques is None) != (size is None):
        raise InvalidParameter(
            "disjoint-cliques takes a number of cliques and their size, 'disjoint-cliques:10x10', or the size of "
            "each, 'disjoint-cliques:1,2,4'"
        )
    return families.disjoint_cliques(list(sizes)) if sizes else families.disjoint_cliques(n_cliques or 0, size)


def _of_arms(name: str, make: Callable[[int], FeedbackGraph], line: str, example: int) -> Recipe:
    """A family that only needs the number of arms."""
    return Recipe(name, make, line, f"{name}:{example}", COUNT, ("n",), form=f"{name}:ARMS")


GRAPHS = Registry(
    "graph",
    Recipe(
        "disjoint-cliques",
        _cliques,
        "groups of arms that see each other; a list gives each group's size",
        "disjoint-cliques:10x10",
        {"n_cliques": "integer", "size": "integer", "sizes": "integers"},
        gathers="sizes",
        form="disjoint-cliques:CLIQUESxSIZE or disjoint-cliques:SIZE,SIZE,...",
    ),
    _of_arms("bandit", families.bandit, "an arm sees only itself", 10),
    _of_arms("full-information", families.full_information, "everyone sees everyone", 30),
    _of_arms("star", families.star, "arm 0 sees all and is seen by all", 10),
    _of_arms("path", families.path, "arms in a row", 10),
    _of_arms("cycle", families.cycle, "arms in a ring", 5),
    Recipe(
        "grid",
        families.grid,
        "arms on a board",
        "grid:5x6",
        {"rows": "integer", "columns": "integer"},
        ("rows", "columns"),
        form="grid:ROWSxCOLUMNS",
    ),
    Recipe(
        "lu-gadgets",
        families.lu_gadgets,
        "30 arms whose cliques outnumber independent sets",
        "lu-gadgets",
        form="lu-gadgets",
    ),
    Recipe(
        "mycielski-complement",
        families.mycielski_complement,
        "no three arms apart, yet many cliques: the worst case for covers",
        "mycielski-complement:4",
        {"k": "integer"},
        ("k",),
        form="mycielski-complement:K",
    ),
    Recipe(
        "erdos-renyi",
        families.erdos_renyi,
        "every two arms see each other with probability p",
        "erdos-renyi:30,p=0.4,seed=1",
        {"n": "integer", "p": "number", "seed": "integer"},
        ("n", "p", "seed"),
        form="erdos-renyi:ARMS,p=P,seed=SEED",
    ),
    Recipe(
        "stochastic-blocks",
        families.stochastic_blocks,
        "communities, dense inside and sparse between",
        "stochastic-blocks:10,10,10,p_in=0.9,p_out=0.05,seed=1",
        {"sizes": "integers", "p_in": "number", "p_out": "number", "seed": "integer"},
        ("sizes", "p_in", "p_out", "seed"),
        gathers="sizes",
        form="stochastic-blocks:SIZE,SIZE,...,p_in=P,p_out=P,seed=SEED",
    ),
    Recipe(
        "random-interval",
        families.random_interval,
        "intervals of one length that meet",
        "random-interval:40,length=0.1,seed=1",
        {"n": "integer", "length": "number", "seed": "integer"},
        ("n", "length", "seed"),
        form="random-interval:ARMS,length=LENGTH,seed=SEED",
    ),
    Recipe(
        "random-unit-disk",
        families.random_unit_disk,
        "points of the unit square at most a radius apart",
        "random-unit-disk:40,radius=0.2,seed=1",
        {"n": "integer", "radius": "number", "seed": "integer"},
        ("n", "radius", "seed"),
        form="random-unit-disk:ARMS,radius=RADIUS,seed=SEED",
    ),
    Recipe(
        "barabasi-albert",
        families.barabasi_albert,
        "arms that link to popular arms",
        "barabasi-albert:40,m=2,seed=1",
        {"n": "integer", "m": "integer", "seed": "integer"},
        ("n", "m", "seed"),
        form="barabasi-albert:ARMS,m=LINKS,seed=SEED",
    ),
    Recipe(
        "apple-tasting",
        directed_families.apple_tasting,
        "arm 0 sees both arms, arm 1 none",
        "apple-tasting",
        form="apple-tasting",
    ),
    _of_arms(
        "revealing-action",
        directed_families.revealing_action,
        "arm 0 sees all arms, the others see none; weakly observable",
        5,
    ),
    Recipe(
        "label-efficient",
        directed_families.label_efficient,
        "predictions that show nothing, and arm 0, which shows all; weakly observable",
        "label-efficient:4",
        COUNT,
        ("n",),
        form="label-efficient:PREDICTIONS",
    ),
    _of_arms("loopy-star", directed_families.loopy_star, "an arm sees itself, and arm 0 sees all", 10),
    _of_arms(
        "first-price-bids", directed_families.first_price_bids, "a bid shows what all higher bids would have earned", 10
    ),
    Recipe(
        "total-order",
        directed_families.total_order,
        "an arm sees all arms after it, and itself unless self_loops=false",
        "total-order:10",
        {"n": "integer", "self_loops": "flag"},
        ("n",),
        form="total-order:ARMS,self_loops=true",
    ),
    Recipe(
        "directed-cycle",
        directed_families.directed_cycle,
        "an arm sees the next one in a ring, and itself unless self_loops=false",
        "directed-cycle:5",
        {"n": "integer", "self_loops": "flag"},
        ("n",),
        form="directed-cycle:ARMS,self_loops=true",
    ),
    _of_arms("loopless-clique", directed_families.loopless_clique, "an arm sees all others but not itself", 10),
    _of_arms(
        "clique-with-a-gap",
        directed_families.clique_with_a_gap,
        "everyone sees everyone, but arm 0 is not seen by itself and not by arm 1; weakly observable",
        5,
    ),
    Recipe(
        "bipartite",
        directed_families.bipartite,
        "arms on the left see each arm on the right with probability p, and all see themselves",
        "bipartite:3x5,p=0.5,seed=1",
        {"left": "integer", "right": "integer", "p": "number", "seed": "integer"},
        ("left", "right"),
        form="bipartite:LEFTxRIGHT,p=P,seed=SEED",
    ),
    Recipe(
        "tournament",
        directed_families.tournament,
        "of every two arms one sees the other",
        "tournament:10,seed=1",
        {"n": "integer", "seed": "integer"},
        ("n", "seed"),
        form="tournament:ARMS,seed=SEED",
    ),
    Recipe(
        "random-directed",
        directed_families.random_directed,
        "an arm sees each other arm with probability p, and itself with probability loops",
        "random-directed:10,p=0.3,seed=1",
        {"n": "integer", "p": "number", "loops": "number", "seed": "integer"},
        ("n", "p", "seed"),
        form="random-directed:ARMS,p=P,loops=P,seed=SEED",
    ),
    Recipe(
        "misleading-edges",
        misleading_edges,
        "changing: shows the best arm more often when it loses; the graph of the world misleading-graph",
        "misleading-edges:10,gap=0.05",
        {"n": "integer", "gap": "number", "best": "integer"},
        ("n",),
        form="misleading-edges:ARMS,gap=GAP,best=ARM",
    ),
    Recipe(
        "random-edges",
        random_edges,
        "changing: in each round every two arms see each other with probability p; told before or after the choice",
        "random-edges:10,p=0.3,told=after",
        {"n": "integer", "p": "number", "period": "integer", "told": "word"},
        ("n", "p"),
        form="random-edges:ARMS,p=P,period=ROUNDS,told=WHEN",
    ),
    Recipe(
        "alternating-cliques",
        alternating_cliques,
        "changing: cliques of one size, after a period of the next size, and so on",
        "alternating-cliques:12,sizes=3/4,period=10",
        {"n": "integer", "sizes": "integers", "period": "integer", "told": "word"},
        ("n", "sizes"),
        form="alternating-cliques:ARMS,sizes=SIZE/SIZE,period=ROUNDS",
    ),
    Recipe(
        "changing-file",
        read_changing,
        "changing: graphs that take turns, as JSON lines (docs/graphs.md)",
        "changing-file:graphs.jsonl",
        {"path": "path"},
        ("path",),
        form="changing-file:PATH",
    ),
    Recipe(
        "noisy-grid",
        noisy_grid,
        "noisy: arms on a board, seen the less clearly the farther away",
        "noisy-grid:5x5",
        {"rows": "integer", "columns": "integer", "noise": "number"},
        ("rows", "columns"),
        form="noisy-grid:ROWSxCOLUMNS,noise=NOISE",
    ),
    Recipe(
        "file",
        read_graph,
        "GraphML (.graphml, .xml), METIS (.graph, .metis), a matrix (.csv), or else an edge list: two arms a line, "
        "with a space or a comma between; an arm alone has no neighbours; 'a -> b' is directed",
        "file:graph.txt",
        {"path": "path"},
        ("path",),
        form="file:PATH",
    ),
    Recipe(
        "cover",
        read_graph_of_cover,
        "the graph of a cover that allworlds cover wrote; a race then uses that cover",
        "cover:cover.json",
        {"path": "path"},
        ("path",),
        form="cover:PATH",
    ),
)
"""The graphs by name, in the order in which they are listed."""
