"""Two more ways to write a graph as text: METIS, and a matrix with commas."""

from __future__ import annotations

from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs.graph import FeedbackGraph


def from_metis(name: str, lines: list[str]) -> FeedbackGraph:
    """The graph of a METIS file: a first line ``arms edges [fmt [ncon]]``, then each arm's neighbours, from 1 on.

    Weights are skipped, and so are lines that begin with ``%``. ``name`` is the file's, for sentences.

    >>> from_metis("g.graph", ["% a path", "3 2", "2", "1 3", "2"]).edges().tolist()
    [[0, 1], [1, 2]]

    [Karypis and Kumar 1998].
    """
    rows = [
        (number, [_whole(name, number, word) for word in line.split()])
        for number, line in enumerate(lines, start=1)
        if not line.lstrip().startswith("%")
    ]
    while rows and not rows[0][1]:
        rows.pop(0)
    if not rows or len(rows[0][1]) < 2:
        raise InvalidGraph(f"'{name}' does not begin with the numbers of arms and edges; expected METIS, such as '3 2'")
    n_arms, n_edges, *form = rows.pop(0)[1]
    digits = str(form[0]).zfill(3) if form else "000"
    before = (digits[0] == "1") + (form[1] if len(form) > 1 else 1) * (digits[1] == "1")
    while len(rows) > n_arms and not rows[-1][1]:
        rows.pop()
    if len(rows) != n_arms:
        raise InvalidGraph(f"'{name}' promises {n_arms} arms, but has {len(rows)} lines of neighbours")
    edges = []
    for arm, (number, words) in enumerate(rows):
        for neighbour in words[before :: 2 if digits[2] == "1" else 1]:
            if not 1 <= neighbour <= n_arms:
                raise InvalidGraph(f"line {number} of '{name}' names arm {neighbour}; expected 1 to {n_arms}")
            edges.append((arm, neighbour - 1))
    graph = FeedbackGraph(n_arms, edges)
    if graph.n_edges != n_edges:
        raise InvalidGraph(f"'{name}' promises {n_edges} edges, but has {graph.n_edges}")
    return graph


def from_matrix(name: str, lines: list[str]) -> FeedbackGraph:
    """The graph of a matrix of 0 and 1 with commas, semicolons or spaces between; labels above and beside are fine.

    >>> graph = from_matrix("g.csv", [",shoes,hats", "shoes,1,1", "hats,1,1"])
    >>> graph.labels, graph.n_edges
    (('shoes', 'hats'), 1)
    """
    rows = [_cells(line) for line in (line.partition("#")[0].rstrip() for line in lines) if line.strip()]
    if not rows:
        raise InvalidGraph(f"'{name}' has no row; expected a matrix of 0 and 1")
    labels = None
    if any(cell not in ("", "0", "1", "0.0", "1.0") for cell in rows[0]):
        labels = [cell for cell in rows.pop(0) if cell]
    if rows and labels is not None and all(len(row) == len(labels) + 1 for row in rows):
        beside = [row.pop(0) for row in rows]
        if beside != labels:
            raise InvalidGraph(f"the labels beside the matrix in '{name}' differ from those above; expected the same")
    try:
        matrix = [[float(cell) for cell in row] for row in rows]
    except ValueError:
        wrong = next(cell for row in rows for cell in row if not cell.replace(".", "", 1).isdigit())
        raise InvalidGraph(f"the matrix in '{name}' has {wrong!r}; expected 0 and 1") from None
    return FeedbackGraph.from_adjacency(matrix, labels)


def looks_like_a_matrix(lines: list[str]) -> bool:
    """Whether the first line that says something has more than two cells, as no edge list has.

    >>> looks_like_a_matrix(["0,1,1", "1,0,0", "1,0,0"]), looks_like_a_matrix(["0,1"])
    (True, False)
    """
    for line in lines:
        if text := line.partition("#")[0].strip():
            return len(_cells(text)) > 2
    return False


def _cells(line: str) -> list[str]:
    for mark in (",", ";"):
        if mark in line:
            return [cell.strip() for cell in line.split(mark)]
    return line.split()


def _whole(name: str, number: int, word: str) -> int:
    try:
        return int(float(word)) if "." in word else int(word)
    except ValueError:
        raise InvalidGraph(f"line {number} of '{name}' has {word!r}; METIS files hold whole numbers") from None
