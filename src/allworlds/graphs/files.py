"""Graphs from files: an edge list, which any editor writes, GraphML, METIS, or a matrix with commas.

An edge list has two arms a line, with spaces or a comma between; a line with one arm says that it is there. What
follows a ``#`` is a comment. Arms are known by number if they are exactly 0, 1, 2, …; otherwise by their labels.
A list in which some arms are numbers and some are names is refused: most often, one of them is a slip.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path

from allworlds.foundation.errors import InvalidGraph, MissingExtra
from allworlds.foundation.specs import nearest
from allworlds.graphs.formats import from_matrix, from_metis, looks_like_a_matrix
from allworlds.graphs.graph import FeedbackGraph

GRAPHML = (".graphml", ".xml")
METIS = (".graph", ".metis")
FORMATS = ("auto", "edges", "graphml", "metis", "matrix")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)


def read_graph(path: str | Path, form: str = "auto") -> FeedbackGraph:
    """The graph in a file, in the form that its suffix tells.

    ``.graphml`` and ``.xml`` are GraphML, ``.graph`` and ``.metis`` METIS; a ``.csv`` with more than two columns is a
    matrix, and all else an edge list. ``form`` says it where the suffix does not; one of ``FORMATS``.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "ads.txt"
    >>> _ = file.write_text("shoes boots  # seen together\\nhats\\n")
    >>> graph = read_graph(file)
    >>> graph, graph.labels
    (FeedbackGraph(3 arms, 1 edge), ('shoes', 'boots', 'hats'))
    """
    file = Path(path)
    if not file.is_file():
        raise InvalidGraph(f"there is no file '{file}'; name an edge list, GraphML, METIS or a CSV matrix")
    suffix = file.suffix.lower()
    if nearest(form, FORMATS, "form of graph files") == "auto":
        form = "graphml" if suffix in GRAPHML else "metis" if suffix in METIS else "auto"
    if form == "graphml":
        return _read_graphml(file, str(file))
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidGraph(f"'{file}' is no text; expected an edge list, or a file that ends in .graphml") from None
    except OSError as error:
        raise InvalidGraph(f"cannot read '{file}': {error.strerror}") from None
    lines = text.splitlines()
    if form == "auto" and not (suffix == ".csv" and looks_like_a_matrix(lines)):
        form = "edges"
    return _from_text(str(file), lines, "matrix" if form == "auto" else form)


def parse_graph(text: str, form: str = "auto", name: str = "standard input") -> FeedbackGraph:
    """The graph in a text: GraphML if it begins with ``<``, a matrix if with more than two cells, else an edge list.

    METIS begins like an edge list, so its ``form`` must be said.

    >>> parse_graph("0 1\\n1 2\\n").n_edges
    2
    """
    nearest(form, FORMATS, "form of graph files")
    if form == "graphml" or (form == "auto" and text.lstrip().startswith("<")):
        return _read_graphml(io.BytesIO(text.encode()), name)
    lines = text.splitlines()
    if form == "auto":
        form = "matrix" if looks_like_a_matrix(lines) else "edges"
    return _from_text(name, lines, form)


def _from_text(name: str, lines: list[str], form: str) -> FeedbackGraph:
    return {"metis": from_metis, "matrix": from_matrix}.get(form, _from_lines)(name, lines)


def _from_lines(file: str, lines: list[str]) -> FeedbackGraph:
    pairs: list[tuple[str, str]] = []
    names: dict[str, int] = {}  # and the line that has it first
    for number, line in enumerate(lines, start=1):
        arms = line.partition("#")[0].replace(",", " ").split()
        if len(arms) > 2:
            raise InvalidGraph(
                f"line {number} of '{file}' has {len(arms)} columns; expected two arms that see each other, or one arm"
            )
        for arm in arms:
            names.setdefault(arm, number)
        if len(arms) == 2:
            pairs.append((arms[0], arms[1]))
    if not names:
        raise InvalidGraph(f"'{file}' names no arm; expected two arms that see each other a line")
    _refuse_a_mix(file, names)
    labels = _labels(list(names))
    place = {str(label): arm for arm, label in enumerate(labels)}
    return FeedbackGraph(len(labels), [(place[one], place[other]) for one, other in pairs], labels)


def _refuse_a_mix(file: str, lines: Mapping[str, int]) -> None:
    """Refuse numbers beside names; the kind that is rarer is taken for the slip."""
    numbers = [name for name in lines if NUMBER.fullmatch(name)]
    words = [name for name in lines if not NUMBER.fullmatch(name)]
    if not numbers or not words:
        return
    odd, one, many = (words[0], "name", "numbers") if len(words) <= len(numbers) else (numbers[0], "number", "names")
    raise InvalidGraph(
        f"'{file}', line {lines[odd]}: '{odd}' is a {one}, but the other arms are {many}; "
        "give every arm a number, or every arm a name (a heading begins with #)"
    )


def _labels(names: list[str]) -> list[int] | list[str]:
    """Whole numbers in their order, other names in the order of the file.

    >>> _labels(["2", "0", "1"]), _labels(["b", "1"])
    ([0, 1, 2], ['b', '1'])
    """
    if all(name.isascii() and name.isdigit() and str(int(name)) == name for name in names):
        return sorted(int(name) for name in names)
    return names


def _read_graphml(source: Path | io.BytesIO, file: str) -> FeedbackGraph:
    try:
        import networkx
    except ImportError:
        raise MissingExtra('networkx is not installed; pip install "allworlds[networkx]" brings it') from None
    try:
        graph = networkx.read_graphml(source)
    except Exception as error:  # the parser's own errors are many
        raise InvalidGraph(f"'{file}' is no GraphML that networkx can read: {error}") from None
    if graph.is_directed():
        raise InvalidGraph(f"the graph in '{file}' is directed, but feedback must be mutual; write it undirected")
    names = [str(node) for node in graph.nodes]
    if not names:
        raise InvalidGraph(f"the graph in '{file}' has no nodes; a feedback graph has at least one arm")
    labels = _labels(names)
    place = {str(label): arm for arm, label in enumerate(labels)}
    return FeedbackGraph(len(labels), [(place[str(one)], place[str(other)]) for one, other in graph.edges()], labels)
