"""Graphs as plain data: what a saved file holds of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from allworlds.foundation.errors import InvalidCover, InvalidGraph
from allworlds.graphs.graph import FeedbackGraph
from allworlds.graphs.storage import DisjointCliques

COVER_FORMAT = "allworlds cover 1"


def graph_to_data(graph: FeedbackGraph) -> dict[str, Any]:
    """The graph as numbers, arrays and labels: disjoint cliques by the owner of each arm, others by edges.

    >>> graph_to_data(FeedbackGraph(3, [(0, 1)]))["owner"].tolist()
    [0, 0, 1]
    """
    storage = graph._storage
    data: dict[str, Any] = {"n_arms": graph.n_arms}
    if isinstance(storage, DisjointCliques):
        data["owner"] = storage.owner
    else:
        data["edges"] = graph.edges()
    if graph.labels is not None:
        data["labels"] = list(graph.labels)
    return data


def graph_from_data(data: dict[str, Any]) -> FeedbackGraph:
    """The inverse of :func:`graph_to_data`; data that is no graph raises as the constructors do."""
    labels = data.get("labels")
    if "owner" in data:
        owner = np.asarray(data["owner"], dtype=np.int64)
        if owner.size == 0 or owner.shape != (data["n_arms"],):
            raise InvalidGraph(f"owner has shape {owner.shape}; expected one number for each of {data['n_arms']} arms")
        return FeedbackGraph._of(DisjointCliques.from_owner(owner), labels)
    edges = np.asarray(data["edges"], dtype=np.int64).reshape(-1, 2)
    return FeedbackGraph(data["n_arms"], edges, labels)


def read_cover_data(path: str | Path) -> dict[str, Any]:
    """What ``cover.json`` holds: a graph, a cover and its certificate, as plain data."""
    file = Path(path)
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidCover(f"cannot read '{file}': {error.strerror}") from None
    except ValueError:
        raise InvalidCover(f"'{file}' is no JSON; expected a file that allworlds cover or write_cover wrote") from None
    if not isinstance(data, dict) or data.get("format") != COVER_FORMAT:
        raise InvalidCover(f"'{file}' is no cover of ours; expected a file that allworlds cover or write_cover wrote")
    return data


def read_graph_of_cover(path: str | Path) -> FeedbackGraph:
    """The graph in ``cover.json``."""
    data = read_cover_data(path)
    try:
        return graph_from_data(data["graph"])
    except (KeyError, TypeError) as error:
        raise InvalidCover(f"'{path}' is damaged: {error}; write it again") from None
