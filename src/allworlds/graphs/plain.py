"""Graphs and covers as plain data: what a saved file holds of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from allworlds.errors import InvalidGraph
from allworlds.graphs.certificate import certificate_from_data
from allworlds.graphs.cover import CliqueCover
from allworlds.graphs.graph import FeedbackGraph
from allworlds.graphs.storage import DisjointCliques


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


def cover_to_data(cover: CliqueCover) -> dict[str, Any]:
    """The cover with its graph."""
    return {
        "graph": graph_to_data(cover.graph),
        "owner": cover.owner,
        "lower_bound": cover.lower_bound,
        "method": cover.method,
        "certificate": None if cover.certificate is None else cover.certificate.to_data(),
    }


def cover_from_data(data: dict[str, Any]) -> CliqueCover:
    """The inverse of :func:`cover_to_data`; the cover checks itself again. Older data has no certificate."""
    return CliqueCover.from_owner(
        graph_from_data(data["graph"]),
        np.asarray(data["owner"], dtype=np.int64),
        lower_bound=data["lower_bound"],
        method=data["method"],
        certificate=certificate_from_data(data.get("certificate")),
    )
