"""Cover a graph: the best cover in the time given, its certificate, its regret bounds, and files of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from allworlds.covers import CliqueCover, IndependentArms, clique_cover, write_cover
from allworlds.covers.budget import check_time_limit
from allworlds.covers.covering import INTERRUPTED, compile_searches
from allworlds.covers.numbers import Independence, fractional_cover, independence_number
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.files import open_folder
from allworlds.foundation.specs import check_known, parse_spec
from allworlds.graphs import AnyGraph
from allworlds.graphs.by_name import GRAPHS, make_graph
from allworlds.graphs.files import FORMATS, parse_graph, read_graph
from allworlds.graphs.graph import check_graph
from allworlds.graphs.storage import DisjointCliques
from allworlds.reporting.canvas import check_drawing, save
from allworlds.reporting.cover_picture import cover_picture
from allworlds.theory import clique_penalty, sharp_adversarial_bound, theorem_1_bound

OBJECTIVES = ("cliques", "penalty")
MOST_FOR_FRACTIONS = 300
"""Arms up to which the fractional cover number is computed along."""
SECONDS_FOR_NUMBERS = 2.0


@dataclass(frozen=True)
class Worth:
    """What the theorems promise against hostile losses for one way to cut the arms into cliques."""

    cover: str
    n_cliques: int
    sharp: float
    """``docs/sharp_constants.md``, Theorem B (ii)."""
    paper: float
    """[EK21, Theorem 1], its adversarial branch."""


@dataclass(frozen=True, eq=False)
class CoverResult:
    """A cover with its numbers and files."""

    source: str
    cover: CliqueCover
    alpha: Independence
    fractional: float | None
    """The fractional cover number, where it was cheap to have."""
    seconds: float
    worth: tuple[Worth, ...] = ()
    horizon: int | None = None
    files: tuple[Path, ...] = ()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return INTERRUPTED in self.cover.method

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        cover, certificate = self.cover, self.cover.certificate
        data: dict[str, Any] = {
            "graph": self.source,
            "n_arms": cover.n_arms,
            "n_edges": cover.graph.n_edges,
            "n_cliques": cover.n_cliques,
            "lower_bound": cover.lower_bound,
            "is_minimum": cover.is_minimum,
            "alpha": {"lower": self.alpha.lower, "upper": self.alpha.upper},
            "fractional": self.fractional,
            "method": cover.method,
            "certificate": None if certificate is None else certificate.to_data()["kind"],
            "interrupted": self.interrupted,
            "seconds": self.seconds,
            "sizes": cover.sizes.tolist(),
            "cliques": [clique.tolist() for clique in cover.cliques],
            "files": [str(file) for file in self.files],
        }
        if self.worth:
            data["horizon"] = self.horizon
            data["worth"] = [vars(worth) for worth in self.worth]
        return data


def cover_graph(
    source: str,
    *,
    time_limit: float | None = None,
    method: str = "auto",
    objective: str = "cliques",
    form: str = "auto",
    horizon: int | None = None,
    out: str | Path | None = None,
    on_notice: Callable[[str], None] = lambda sentence: None,
) -> CoverResult:
    """Cover the graph in a file, on standard input (``-``) or named by a spec; write files if there is an ``out``.

    With a ``horizon``, also compute regret bounds for the cover. The files in ``out`` are ``cover.json`` and a picture
    as SVG, PNG and PDF. ``on_notice(sentence)`` is called when a search with a time limit begins.

    >>> result = cover_graph("cycle:9", horizon=100_000)
    >>> result.cover.n_cliques, result.alpha.lower, [worth.cover for worth in result.worth]
    (5, 4, ['this cover', 'every arm alone', 'a limit for all covers'])
    """
    check_known(objective, OBJECTIVES, "objective")
    cost: Any = clique_penalty if objective == "penalty" else "cliques"
    check_time_limit(time_limit)
    graph = check_graph(find_graph(source, form))
    if out is not None:
        open_folder(out)  # before the search, so that no result is lost
        check_drawing()
    if not isinstance(graph._storage, DisjointCliques):
        compile_searches()
    if time_limit is not None:
        on_notice(f"searching for {time_limit:g} s at most; Ctrl-C gives the best cover until then")
    started = time.perf_counter()
    cover = clique_cover(graph, time_limit, method=method, objective=cost)
    seconds = time.perf_counter() - started
    worth = () if horizon is None else what_it_is_worth(cover, horizon)
    files = () if out is None else write_files(cover, Path(out))
    alpha = _alpha(cover, time_limit)
    return CoverResult(source, cover, alpha, _fractional(cover, alpha), seconds, worth, horizon, files)


def find_graph(source: str, form: str = "auto") -> AnyGraph:
    """The graph of ``-``, of a file, or of a spec.

    >>> find_graph("grid:2x3").n_arms
    6
    """
    check_known(form, FORMATS, "form of graph files")
    if source == "-":
        return parse_graph(sys.stdin.read(), form)
    if Path(source).is_file() or any(mark in source.partition(":")[0] for mark in "./\\"):
        return read_graph(source, form)
    check_known(parse_spec(source).name, GRAPHS, "file or graph", "allworlds graphs")
    return make_graph(source)


def what_it_is_worth(cover: CliqueCover, horizon: int) -> tuple[Worth, ...]:
    """The bounds on the regret for this cover, for every arm alone, and for what no cover can be better than.

    A cover with at least L cliques cannot have a smaller sharp bound than the best cut of N arms into L pieces. A
    piece's penalty is concave in its size, so the best cut is one large piece and single arms; and every further piece
    costs more than it saves.

    >>> from allworlds.graphs import cycle
    >>> [round(worth.sharp) for worth in what_it_is_worth(clique_cover(cycle(9)), 10**6)]
    [19085, 22626, 18940]
    """
    n_arms, fewest = cover.n_arms, cover.lower_bound or 1
    cuts = {
        "this cover": cover.sizes,
        "every arm alone": np.ones(n_arms, dtype=np.int64),
        "a limit for all covers": np.array([1] * (fewest - 1) + [n_arms - fewest + 1]),
    }
    rows = []
    for name, sizes in cuts.items():
        paper = theorem_1_bound(n_arms, len(sizes), horizon, np.ones(len(sizes))).terms["adversarial"]
        rows.append(Worth(name, len(sizes), sharp_adversarial_bound(sizes, horizon).value, paper))
    return tuple(rows)


def write_files(cover: CliqueCover, folder: Path) -> tuple[Path, ...]:
    """Write ``cover.json`` and the picture into a folder, which is created if need be."""
    open_folder(folder)
    figure = cover_picture(cover)
    pictures = [save(figure, folder / f"cover.{kind}") for kind in ("svg", "png", "pdf")]
    return (write_cover(cover, folder / "cover.json"), *pictures)


def _alpha(cover: CliqueCover, time_limit: float | None) -> Independence:
    """The independence number; an independent set that proves the cover needs no search."""
    if cover.is_minimum and isinstance(cover.certificate, IndependentArms):
        return Independence(cover.certificate.arms, cover.n_cliques)
    return independence_number(cover.graph, None if time_limit is None else max(0.05 * time_limit, 0.1))


def _fractional(cover: CliqueCover, alpha: Independence) -> float | None:
    if alpha.is_exact and alpha.lower == cover.n_cliques:
        return float(cover.n_cliques)
    if cover.n_arms > MOST_FOR_FRACTIONS:
        return None
    try:
        return fractional_cover(cover.graph, SECONDS_FOR_NUMBERS).value
    except InvalidParameter:
        return None
