"""Covers in files: JSON that a person can read, with the graph, the cliques and the proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from allworlds.errors import InvalidCover
from allworlds.graphs.cover import CliqueCover
from allworlds.graphs.plain import cover_from_data, cover_to_data

FORMAT = "allworlds cover 1"


def write_cover(cover: CliqueCover, path: str | Path) -> Path:
    """Write a cover with its graph and certificate as JSON; :func:`read_cover` reads it.

    >>> import tempfile
    >>> from allworlds.graphs import clique_cover, cycle
    >>> file = write_cover(clique_cover(cycle(5)), Path(tempfile.mkdtemp()) / "cover.json")
    >>> read_cover(file)
    CliqueCover(5 arms in 3 cliques, at least 3 needed, matching)
    """
    file = Path(path)
    data = {"format": FORMAT, "n_cliques": cover.n_cliques, "is_minimum": cover.is_minimum, **cover_to_data(cover)}
    try:
        file.write_text(json.dumps(data, default=_plainly) + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidCover(f"cannot write '{file}': {error.strerror}; name a file in a folder that exists") from None
    return file


def read_cover(path: str | Path) -> CliqueCover:
    """The cover in a file of :func:`write_cover`; it checks itself, but not its certificate, which can take long.

    ``cover.certificate.check(cover.graph)`` does.
    """
    file = Path(path)
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidCover(f"cannot read '{file}': {error.strerror}") from None
    except ValueError:
        raise InvalidCover(f"'{file}' is no JSON; expected a file that allworlds cover or write_cover wrote") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidCover(f"'{file}' is no cover of ours; expected a file that allworlds cover or write_cover wrote")
    try:
        return cover_from_data(data)
    except (KeyError, TypeError) as error:
        raise InvalidCover(f"'{file}' is damaged: {error}; write it again") from None


def _plainly(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
