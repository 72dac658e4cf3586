"""Covers in files: JSON that a person can read, with the graph, the cliques and the proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from allworlds.covers.certificate import certificate_from_data
from allworlds.covers.cover import CliqueCover
from allworlds.foundation.errors import InvalidCover
from allworlds.graphs.files import COVER_FORMAT, graph_from_data, graph_to_data, read_cover_data


def write_cover(cover: CliqueCover, path: str | Path) -> Path:
    """Write a cover with its graph and certificate as JSON; :func:`read_cover` reads it.

    >>> import tempfile
    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import cycle
    >>> file = write_cover(clique_cover(cycle(5)), Path(tempfile.mkdtemp()) / "cover.json")
    >>> read_cover(file)
    CliqueCover(5 arms in 3 cliques, at least 3 needed, matching)
    """
    file = Path(path)
    data = {
        "format": COVER_FORMAT,
        "n_cliques": cover.n_cliques,
        "is_minimum": cover.is_minimum,
        **cover_to_data(cover),
    }
    try:
        file.write_text(json.dumps(data, default=_plainly) + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidCover(f"cannot write '{file}': {error.strerror}; name a file in a folder that exists") from None
    return file


def read_cover(path: str | Path) -> CliqueCover:
    """The cover in a file of :func:`write_cover`; it checks itself, but not its certificate, which can take long.

    ``cover.certificate.check(cover.graph)`` does.
    """
    data = read_cover_data(path)
    try:
        return cover_from_data(data)
    except (KeyError, TypeError) as error:
        raise InvalidCover(f"'{path}' is damaged: {error}; write it again") from None


def _plainly(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


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
