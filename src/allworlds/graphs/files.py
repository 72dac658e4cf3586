"""Graphs in files: an edge list, GraphML, METIS or a matrix to read, and plain data for files of our own.

An edge list has two arms a line, separated by spaces or a comma; a line with one arm adds an arm without neighbours.
What follows a ``#`` is a comment. Arms are known by number if they are exactly 0, 1, 2, …, otherwise by their labels. A
list must not mix numbers and names: most often, one of them is a typing error.

An edge list with arrows, ``a -> b`` for "choosing a shows b", a GraphML graph that says it is directed, and a matrix
that is not symmetric are directed graphs. In these, arms see themselves, unless the file has self-loops (``a -> a``, or
a 1 on the diagonal): then those arms do, and no others. ``graph.with_self_loops(False)`` says that no arm does.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from allworlds.foundation.checks import shorten
from allworlds.foundation.errors import InvalidCover, InvalidGraph, import_extra
from allworlds.foundation.specs import check_known
from allworlds.graphs.graph import FeedbackGraph
from allworlds.graphs.storage import Arcs, DisjointCliques

FORMATS = ("auto", "edges", "graphml", "metis", "matrix")
SUFFIXES = {".graphml": "graphml", ".xml": "graphml", ".graph": "metis", ".metis": "metis"}
ARROW = "->"
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
COVER_FORMAT = "allworlds cover 1"


def read_graph(path: str | Path, form: str = "auto") -> FeedbackGraph:
    """The graph in a file, in the format given by its suffix, or by ``form``, one of ``FORMATS``.

    ``.graphml`` and ``.xml`` are GraphML, ``.graph`` and ``.metis`` are METIS, a ``.csv`` with more than two columns
    or with two rows of two cells 0 or 1 is a matrix, and everything else is an edge list.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "ads.txt"
    >>> _ = file.write_text("shoes boots  # seen together\\nhats\\n")
    >>> graph = read_graph(file)
    >>> graph, graph.labels
    (FeedbackGraph(3 arms, 1 edge), ('shoes', 'boots', 'hats'))
    """
    file = Path(path)
    if not file.is_file():
        wrong = f"'{file}' is a folder" if file.is_dir() else f"there is no file '{file}'"
        raise InvalidGraph(f"{wrong}; expected an edge list, GraphML, METIS or a CSV matrix")
    if check_known(form, FORMATS, "form of graph files") == "auto":
        form = SUFFIXES.get(file.suffix.lower(), "auto")
    try:
        content = file.read_bytes()
        if form == "graphml":
            return _from_graphml(str(file), content)
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InvalidGraph(f"'{file}' is not text; expected an edge list, or a name that ends in .graphml") from None
    except OSError as error:
        raise InvalidGraph(f"cannot read '{file}': {error.strerror}") from None
    if form == "auto":
        form = "matrix" if file.suffix.lower() == ".csv" and _looks_like_a_matrix(lines) else "edges"
    return _from_lines(str(file), lines, form)


STANDARD_INPUT = "standard input"


def parse_graph(text: str, form: str = "auto") -> FeedbackGraph:
    """The graph in a text: GraphML if it begins with ``<``, a matrix if it has more than two columns, or an edge list.

    METIS looks like an edge list, so it needs ``form="metis"``.

    >>> parse_graph("0 1\\n1 2\\n").n_edges
    2
    """
    check_known(form, FORMATS, "form of graph files")
    if form == "graphml" or (form == "auto" and text.lstrip().startswith("<")):
        return _from_graphml(STANDARD_INPUT, text.encode())
    lines = text.splitlines()
    if form == "auto":
        form = "matrix" if _looks_like_a_matrix(lines) else "edges"
    return _from_lines(STANDARD_INPUT, lines, form)


def graph_to_data(graph: FeedbackGraph) -> dict[str, Any]:
    """The graph as numbers, arrays and labels: disjoint cliques by the clique of each arm, other graphs by edges.

    A graph that is directed, or has arms that do not see themselves, is written by its arcs, self-loops among them.

    >>> graph_to_data(FeedbackGraph(3, [(0, 1)]))["owner"].tolist()
    [0, 0, 1]
    >>> graph_to_data(FeedbackGraph(2, [(0, 1)], directed=True, self_loops=[0]))["arcs"].tolist()
    [[0, 0], [0, 1]]
    """
    storage = graph._storage
    data: dict[str, Any] = {"n_arms": graph.n_arms}
    if isinstance(storage, DisjointCliques):
        data["owner"] = storage.owner
    elif isinstance(storage, Arcs):
        data["arcs"] = np.column_stack([np.repeat(np.arange(graph.n_arms), np.diff(storage.indptr)), storage.indices])
    else:
        data["edges"] = graph.edges()
    if graph.labels is not None:
        data["labels"] = list(graph.labels)
    return data


def graph_from_data(data: dict[str, Any]) -> FeedbackGraph:
    """The inverse of :func:`graph_to_data`."""
    labels = data.get("labels")
    if "owner" in data:
        owner = np.asarray(data["owner"], dtype=np.int64)
        if owner.size == 0 or owner.shape != (data["n_arms"],):
            raise InvalidGraph(f"owner has shape {owner.shape}; expected one number for each of {data['n_arms']} arms")
        return FeedbackGraph._of(DisjointCliques.from_owner(owner), labels)
    directed = "arcs" in data
    pairs = np.asarray(data["arcs" if directed else "edges"], dtype=np.int64).reshape(-1, 2)
    return FeedbackGraph(data["n_arms"], pairs, labels, directed=directed, self_loops=not directed)


def read_cover_data(path: str | Path) -> dict[str, Any]:
    """The content of ``cover.json``: a graph, a cover and its certificate, as plain data."""
    file, expected = Path(path), "expected a file that allworlds cover or write_cover wrote"
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidCover(f"cannot read '{file}': {error.strerror}") from None
    except ValueError:
        raise InvalidCover(f"'{file}' is not JSON; {expected}") from None
    if not isinstance(data, dict) or data.get("format") != COVER_FORMAT:
        raise InvalidCover(f"'{file}' is not a cover; {expected}")
    return data


def read_graph_of_cover(path: str | Path) -> FeedbackGraph:
    """The graph in ``cover.json``."""
    data = read_cover_data(path)
    try:
        return graph_from_data(data["graph"])
    except (KeyError, TypeError) as error:
        raise InvalidCover(f"'{path}' is damaged: {error}; write it again") from None


def _from_lines(name: str, lines: list[str], form: str) -> FeedbackGraph:
    return {"metis": _from_metis, "matrix": _from_matrix, "edges": _from_edge_list}[form](name, lines)


def _from_edge_list(name: str, lines: list[str]) -> FeedbackGraph:
    pairs: list[list[str]] = []
    first_line: dict[str, int] = {}
    first_pair, directed = 0, False
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0]
        arrow = ARROW in text
        arms = text.replace(ARROW, " ").replace(",", " ").split()
        if arrow and (text.count(ARROW) != 1 or [len(end.split()) for end in text.split(ARROW)] != [1, 1]):
            raise InvalidGraph(f"line {number} of '{name}' is {shorten(text.strip())}; expected one arm, ->, one arm")
        if len(arms) == 2 and not pairs:
            first_pair, directed = number, arrow
        if len(arms) == 2 and arrow != directed:
            here, there = ("an arrow", "none") if arrow else ("no arrow", "one")
            raise InvalidGraph(
                f"line {number} of '{name}' has {here}, but line {first_pair} has {there}; expected arrows on all "
                "lines or on none"
            )
        if len(arms) > 2:
            raise InvalidGraph(
                f"line {number} of '{name}' has {len(arms)} columns; expected two arms that see each other, or one arm"
            )
        for arm in arms:
            first_line.setdefault(arm, number)
        if len(arms) == 2:
            pairs.append(arms)
    if not first_line:
        raise InvalidGraph(f"'{name}' contains no arm; expected two arms that see each other on each line")
    numbers = [arm for arm in first_line if NUMBER.fullmatch(arm)]
    words = [arm for arm in first_line if not NUMBER.fullmatch(arm)]
    if numbers and words:  # the rarer kind is taken for the typing error
        odd, one, many = (words, "name", "numbers") if len(words) <= len(numbers) else (numbers, "number", "names")
        raise InvalidGraph(
            f"'{name}', line {first_line[odd[0]]}: '{odd[0]}' is a {one}, but the other arms are {many}; "
            "expected only numbers or only names (a heading begins with #)"
        )
    return _from_names(list(first_line), pairs, directed=directed)


def _from_names(names: list[str], pairs: Iterable[Iterable[str]], *, directed: bool) -> FeedbackGraph:
    """Arms in numerical order if all names are whole numbers, else in the order given."""
    labels: list[int] | list[str] = names
    if all(name.isascii() and name.isdigit() and str(int(name)) == name for name in names):
        labels = sorted(int(name) for name in names)
    arm_of = {str(label): arm for arm, label in enumerate(labels)}
    edges = [[arm_of[name] for name in pair] for pair in pairs]
    loops = not directed or all(one != other for one, other in edges)
    return FeedbackGraph(len(labels), edges, labels, directed=directed, self_loops=loops)


def _from_graphml(name: str, content: bytes) -> FeedbackGraph:
    networkx = import_extra("networkx", "networkx")
    try:
        graph = networkx.read_graphml(io.BytesIO(content))
    except Exception as error:  # the parser has many errors of its own
        raise InvalidGraph(f"networkx cannot read '{name}' as GraphML: {error}") from None
    if not graph.nodes:
        raise InvalidGraph(f"the graph in '{name}' has no nodes; expected at least one")
    pairs = [list(map(str, edge)) for edge in graph.edges()]
    return _from_names([str(node) for node in graph.nodes], pairs, directed=graph.is_directed())


def _from_metis(name: str, lines: list[str]) -> FeedbackGraph:
    """A first line ``arms edges [fmt [ncon]]``, then the neighbours of each arm, counted from 1.

    Weights and lines that begin with ``%`` are skipped. [Karypis and Kumar 1998].
    """
    rows = [
        (number, [_metis_number(name, number, word) for word in line.split()])
        for number, line in enumerate(lines, start=1)
        if not line.lstrip().startswith("%")
    ]
    while rows and not rows[0][1]:
        rows.pop(0)
    if not rows or len(rows[0][1]) < 2:
        raise InvalidGraph(f"'{name}' does not begin with the numbers of arms and edges; expected METIS, such as '3 2'")
    n_arms, n_edges, *form = rows.pop(0)[1]
    digits = str(form[0]).zfill(3) if form else "000"  # vertex sizes, vertex weights, edge weights
    before = (digits[0] == "1") + (form[1] if len(form) > 1 else 1) * (digits[1] == "1")
    while len(rows) > n_arms and not rows[-1][1]:
        rows.pop()
    if len(rows) != n_arms:
        raise InvalidGraph(f"'{name}' has {len(rows)} lines of neighbours; expected {n_arms}, as its first line says")
    edges = []
    for arm, (number, words) in enumerate(rows):
        for neighbour in words[before :: 2 if digits[2] == "1" else 1]:
            if not 1 <= neighbour <= n_arms:
                raise InvalidGraph(f"line {number} of '{name}' contains {neighbour}; expected arms from 1 to {n_arms}")
            edges.append((arm, neighbour - 1))
    graph = FeedbackGraph(n_arms, edges)
    if graph.n_edges != n_edges:
        raise InvalidGraph(f"'{name}' has {graph.n_edges} edges; expected {n_edges}, as its first line says")
    return graph


def _metis_number(name: str, number: int, word: str) -> int:
    try:
        return int(float(word)) if "." in word else int(word)
    except ValueError:
        raise InvalidGraph(f"line {number} of '{name}' contains {word!r}; expected METIS, which has integers") from None


def _from_matrix(name: str, lines: list[str]) -> FeedbackGraph:
    """0 and 1, separated by commas, semicolons or spaces; labels above and beside are allowed.

    A symmetric matrix is an undirected graph, whatever its diagonal says.
    """
    rows = [_cells(line) for line in (line.partition("#")[0].rstrip() for line in lines) if line.strip()]
    if not rows:
        raise InvalidGraph(f"'{name}' has no rows; expected a matrix of 0 and 1")
    labels = None
    if any(cell not in ("", "0", "1", "0.0", "1.0") for cell in rows[0]):
        labels = [cell for cell in rows.pop(0) if cell]
    beside = rows and labels is not None and all(len(row) == len(labels) + 1 for row in rows)
    if beside and [row.pop(0) for row in rows] != labels:
        raise InvalidGraph(f"the labels beside the matrix in '{name}' differ from those above; expected the same")
    try:
        numbers = [[float(cell) for cell in row] for row in rows]
    except ValueError:
        wrong = next(cell for row in rows for cell in row if not cell.replace(".", "", 1).isdigit())
        raise InvalidGraph(f"the matrix in '{name}' contains {wrong!r}; expected 0 and 1") from None
    if any(len(row) != len(numbers) for row in numbers):
        return FeedbackGraph.from_adjacency(numbers, labels)  # raises
    matrix = np.array(numbers)
    if np.array_equal(matrix, matrix.T):
        return FeedbackGraph.from_adjacency(matrix, labels)
    loops = None if np.diagonal(matrix).any() else True
    return FeedbackGraph.from_adjacency(matrix, labels, directed=True, self_loops=loops)


def _looks_like_a_matrix(lines: list[str]) -> bool:
    """Whether the first line with content has no arrow and more than two cells, which no edge list has.

    Of two columns, two rows of 0 and 1 are a matrix, with a line of labels above them or without: an edge list of two
    arms would say the same twice, or mix names and numbers.
    """
    texts = [text for text in (line.partition("#")[0].strip() for line in lines) if text]
    if not texts or ARROW in texts[0] or len(_cells(texts[0])) != 2:
        return bool(texts) and ARROW not in texts[0] and len(_cells(texts[0])) > 2
    heading = len(texts) == 3 and not any(NUMBER.fullmatch(cell) for cell in _cells(texts[0]))
    rows = [_cells(text) for text in texts[heading:]]
    return len(rows) == 2 and all(len(row) == 2 and set(row) <= {"0", "1"} for row in rows)


def _cells(line: str) -> list[str]:
    for mark in (",", ";"):
        if mark in line:
            return [cell.strip() for cell in line.split(mark)]
    return line.split()
