"""Covers by name: ``make_cover("cycle:5")``."""

from __future__ import annotations

from allworlds.covers.cover import CliqueCover
from allworlds.covers.cover_files import read_cover
from allworlds.covers.covering import clique_cover
from allworlds.graphs.by_name import graph_spec, make_graph


def make_cover(spec: str) -> CliqueCover:
    """A cover of the graph that a spec names: the one in the file of ``cover:PATH``, else a new one.

    >>> make_cover("cycle:5").n_cliques
    3
    """
    parsed = graph_spec(spec)
    if parsed.name == "cover" and parsed.positional:
        return read_cover(str(parsed.positional[0]))
    return clique_cover(make_graph(spec))
