"""Graphs that change from round to round, and graphs whose side observations are noisy.

A :class:`ChangingGraph` has one graph for each round, as a pure function of (seed, round): a list of graphs that take
turns, or one graph of whose edges each round keeps some at random. ``told`` says whether the learner knows the graph of
a round before it chooses, or only after.

A :class:`NoisyGraph` has a weight from 0 to 1 on every edge. Whoever plays arm i receives of arm j not its loss but
``s l_j + (1 - s) xi`` with ``s = weights[i, j]`` and noise ``xi`` of mean zero, uniform within ``[-noise, noise]``
(Kocák, Neu and Valko, "Online learning with noisy side observations", AISTATS 2016).

Compiled loops take either as :class:`RoundGraphs`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import Ints, numbers, real, whole
from allworlds.foundation.errors import InvalidGraph
from allworlds.foundation.specs import check_known
from allworlds.graphs.graph import FeedbackGraph
from allworlds.graphs.storage import Visibility
from allworlds.kernels.jit import lean_jit
from allworlds.kernels.random import STREAM_GRAPH, uniform

Told = Literal["before", "after"]
FIXED, IN_TURN, DRAWN = 0, 1, 2
"""Kinds of graphs: the same in every round, taken in turn, drawn anew."""


class RoundGraphs(NamedTuple):
    """A graph for each round, for kernels; lists are as in :class:`~allworlds.graphs.storage.Visibility`."""

    kind: int
    period: int
    """For how many rounds a graph stays."""
    starts: Ints
    """(m, N + 1) where the list of each arm starts in ``order``, for each of m graphs."""
    order: Ints
    back_starts: Ints
    back_order: Ints
    """The same lists of who sees each arm."""
    chances: NDArray[np.float64]
    """(N, N) the probability that arm i sees arm j in a round; empty unless drawn anew."""
    mutual: bool
    """Whether i sees j in a round exactly if j sees i."""
    weights: NDArray[np.float64]
    """(N, N) the weight of each observation; empty where there is no noise."""
    noise: float


@dataclass(frozen=True, eq=False)
class ChangingGraph:
    """One graph for each round; make it with :func:`changing`."""

    graphs: tuple[FeedbackGraph, ...]
    """The graphs that take turns, or the one whose edges are drawn."""
    period: int
    chances: NDArray[np.float64] | None = field(repr=False)
    """(N, N) the probability of each edge in a round; None where graphs take turns."""
    told: Told

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self.graphs[0].n_arms

    @property
    def labels(self) -> tuple[str | int, ...] | None:
        """The label of each arm, or None."""
        return self.graphs[0].labels

    def graph_of(self, round: int, seed: int = 0) -> FeedbackGraph:
        """The graph of one round of a run with this seed.

        >>> from allworlds.graphs import cycle, star
        >>> changing([star(5), cycle(5)], period=10).graph_of(11) == cycle(5)
        True
        """
        n_arms, lists = self.n_arms, blank_lists(self.n_arms)
        write_graph(self.round_graphs(), seed, whole("round", round), *lists)
        starts, order = lists[0].starts, lists[0].order
        rows = np.repeat(np.arange(n_arms), np.diff(starts))
        pairs = np.column_stack([rows, order[: starts[-1]]])
        return FeedbackGraph(n_arms, pairs, self.labels, directed=True, self_loops=False)

    def demands(self) -> dict[str, str]:
        """What the graphs ask of a learner, as :meth:`FeedbackGraph.demands`."""
        found = {feature: fault for graph in self.graphs for feature, fault in graph.demands().items()}
        before = self.told == "before"
        feature, when = ("changing", "before") if before else ("uninformed", "after")
        return {feature: f"the graph changes and is told {when} the choice"} | found

    @property
    def observability(self) -> str:
        """The worst of its graphs'."""
        found = {str(graph.observability) for graph in self.graphs}
        return next(level for level in ("none", "weak", "strong") if level in found)

    def digest(self) -> str:
        """SHA-256 of the structure, in hex."""
        parts = [graph.digest() for graph in self.graphs] + [f"{self.period} {self.told}"]
        chances = b"" if self.chances is None else self.chances.astype("<f8").tobytes()
        return hashlib.sha256("\n".join(parts).encode() + chances).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangingGraph) and self.digest() == other.digest() and self.labels == other.labels

    def __hash__(self) -> int:
        return hash(self.digest())

    def round_graphs(self) -> RoundGraphs:
        """The graphs as kernels take them."""
        drawn = self.chances is not None
        forth, back = [lists_of(g) for g in self.graphs], [lists_of(g, back=True) for g in self.graphs]
        return _round_graphs(
            DRAWN if drawn else IN_TURN,
            self.period,
            forth,
            back,
            chances=self.chances if drawn else np.zeros((0, 0)),
            mutual=not self.graphs[0].is_directed,
        )


@dataclass(frozen=True, eq=False)
class NoisyGraph:
    """A graph with a weight on every observation; make it with :func:`noisy`."""

    graph: FeedbackGraph
    weights: NDArray[np.float64] = field(repr=False)
    noise: float

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self.graph.n_arms

    @property
    def labels(self) -> tuple[str | int, ...] | None:
        """The label of each arm, or None."""
        return self.graph.labels

    @property
    def observability(self) -> str:
        """That of the graph of positive weights."""
        return self.graph.observability

    def demands(self) -> dict[str, str]:
        """What the graph asks of a learner, as :meth:`FeedbackGraph.demands`."""
        for i, j in np.argwhere((self.weights > 0.0) & (self.weights < 1.0))[:1].tolist():
            fault = f"arm {i} sees arm {j} with weight {self.weights[i, j]:g}, so with noise"
            return {"noisy": fault} | self.graph.demands()
        return self.graph.demands()

    def digest(self) -> str:
        """SHA-256 of the structure, in hex."""
        return hashlib.sha256(f"noisy {self.noise}\n".encode() + self.weights.astype("<f8").tobytes()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoisyGraph) and self.digest() == other.digest() and self.labels == other.labels

    def __hash__(self) -> int:
        return hash(self.digest())

    def round_graphs(self) -> RoundGraphs:
        """The graph as kernels take it."""
        lists = [lists_of(self.graph)], [lists_of(self.graph, back=True)]
        return _round_graphs(FIXED, 1, *lists, weights=self.weights, noise=self.noise)


AnyGraph: TypeAlias = FeedbackGraph | ChangingGraph | NoisyGraph


def changing(
    graphs: FeedbackGraph | Sequence[FeedbackGraph] | str | Path,
    period: int = 1,
    probability: float | ArrayLike | None = None,
    told: Told = "after",
) -> ChangingGraph:
    """Graphs that change every ``period`` rounds.

    A list of graphs, or a file of them (:func:`read_changing`), takes turns for ever. One graph with a ``probability``,
    a number or one for each edge, (N, N), is drawn anew: each of its edges is there with that probability; what an arm
    sees of itself stays. ``told`` is when the learner is told the graph of a round: "before" or "after" it chooses.

    >>> from allworlds.graphs import full_information
    >>> graph = changing(full_information(4), probability=0.5)
    >>> graph.graph_of(1, seed=3).n_edges, graph.graph_of(2, seed=3).n_edges
    (4, 2)
    """
    check_known(told, ("before", "after"), "time to tell a graph")
    period = whole("period", period)
    if isinstance(graphs, str | Path):
        graphs = read_changing(graphs)
    listed = (graphs,) if isinstance(graphs, FeedbackGraph) else tuple(graphs)
    if not listed or not all(isinstance(graph, FeedbackGraph) for graph in listed):
        raise InvalidGraph("graphs is not a list of graphs; expected one FeedbackGraph, several, or a file of them")
    for number, graph in enumerate(listed):
        if (graph.n_arms, graph.labels) != (listed[0].n_arms, listed[0].labels):
            raise InvalidGraph(f"graph {number} has other arms than graph 0; expected the same arms and labels in all")
    if probability is None:
        return ChangingGraph(listed, period, None, told)
    if len(listed) > 1:
        raise InvalidGraph(f"{len(listed)} graphs have a probability; expected one graph, whose edges are drawn")
    return ChangingGraph(listed, period, _chances(listed[0], probability), told)


def noisy(weights: ArrayLike, noise: float = 0.5, labels: Sequence[str | int] | None = None) -> NoisyGraph:
    """The graph in which arm i sees arm j with weight ``weights[i, j]``: 1 exactly, 0 not at all.

    >>> noisy([[1, 0.5], [0.5, 1]]).demands()
    {'noisy': 'arm 0 sees arm 1 with weight 0.5, so with noise'}
    """
    matrix = numbers("weights", weights, InvalidGraph)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InvalidGraph(f"weights has shape {matrix.shape}; expected a square matrix, a row for each arm")
    for i, j in np.argwhere(~((matrix >= 0.0) & (matrix <= 1.0)))[:1].tolist():
        raise InvalidGraph(f"the weight with which arm {i} sees arm {j} is {matrix[i, j]:g}; expected 0 to 1")
    graph = FeedbackGraph.from_adjacency(matrix > 0.0, labels, directed=True)
    return NoisyGraph(graph, matrix, real("noise", noise, at_least=0, error=InvalidGraph))


def read_changing(path: str | Path) -> list[FeedbackGraph]:
    """The graphs in a file of JSON lines: first ``{"n_arms": 3}``, then a list of pairs for each graph.

    The first line may also have ``labels``, ``directed`` and ``self_loops``, as :class:`FeedbackGraph` takes them.
    """
    file = Path(path)
    expected = 'expected JSON lines: {"n_arms": 3}, then a list of edges for each graph'
    try:
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise InvalidGraph(f"cannot read '{file}': {error.strerror}") from None
    except ValueError:
        raise InvalidGraph(f"'{file}' is not JSON lines; {expected}") from None
    if len(lines) < 2 or not isinstance(lines[0], dict) or "n_arms" not in lines[0]:
        raise InvalidGraph(f"'{file}' has no graphs; {expected}")
    options: dict[str, Any] = lines[0]
    unknown = options.keys() - {"n_arms", "labels", "directed", "self_loops"}
    if unknown:
        raise InvalidGraph(f"the first line of '{file}' has the key {min(unknown)!r}; {expected}")
    made = []
    for number, edges in enumerate(lines[1:], start=2):
        try:
            made.append(FeedbackGraph(edges=edges, **options))
        except InvalidGraph as error:
            raise InvalidGraph(f"line {number} of '{file}': {error}") from None
    return made


def _chances(graph: FeedbackGraph, probability: float | ArrayLike) -> NDArray[np.float64]:
    """(N, N) the probability of each edge; self-loops stay."""
    n_arms = graph.n_arms
    given = numbers("probability", probability, InvalidGraph)
    if given.shape not in ((), (n_arms, n_arms)):
        raise InvalidGraph(f"probability has shape {given.shape}; expected a number or ({n_arms}, {n_arms})")
    if not ((given >= 0.0) & (given <= 1.0)).all():
        raise InvalidGraph("probability has an entry outside [0, 1]; expected probabilities")
    chances = np.where(graph.adjacency(), given, 0.0)
    if not graph.is_directed and not np.array_equal(chances, chances.T):
        raise InvalidGraph("probability is not symmetric; expected one number for both directions of an edge")
    np.fill_diagonal(chances, graph.self_loops)
    return chances


def lists_of(graph: FeedbackGraph, back: bool = False) -> tuple[Ints, Ints]:
    """What each arm shows, or who shows it, as two arrays: list i is ``order[starts[i]:starts[i + 1]]``."""
    lists = [graph.seen_by(arm) if back else graph.sees(arm) for arm in range(graph.n_arms)]
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum([len(each) for each in lists])])
    return starts, np.concatenate(lists)


def _round_graphs(
    kind: int,
    period: int,
    forth: list[tuple[Ints, Ints]],
    back: list[tuple[Ints, Ints]],
    chances: NDArray[np.float64] | None = None,
    mutual: bool = False,
    weights: NDArray[np.float64] | None = None,
    noise: float = 0.0,
) -> RoundGraphs:
    starts, order = _stack(forth)
    back_starts, back_order = _stack(back)
    none = np.zeros((0, 0))
    return RoundGraphs(
        kind,
        period,
        starts,
        order,
        back_starts,
        back_order,
        none if chances is None else np.ascontiguousarray(chances),
        mutual,
        none if weights is None else np.ascontiguousarray(weights),
        noise,
    )


def _stack(lists: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """All graphs one behind the other."""
    ends = np.cumsum([0, *(len(order) for _, order in lists)])
    starts = np.stack([each + end for (each, _), end in zip(lists, ends[:-1], strict=True)])
    return starts, np.concatenate([order for _, order in lists])


# --- kernels --------------------------------------------------------------------------------------------


def blank_lists(n_arms: int) -> tuple[Visibility, Visibility]:
    """Room for the lists of any graph: what each arm shows, and who shows it."""

    def room() -> Visibility:
        return Visibility(np.arange(n_arms), np.zeros(n_arms + 1, dtype=np.int64), np.zeros(n_arms**2, dtype=np.int64))

    return room(), room()


@lean_jit
def write_graph(graphs: RoundGraphs, seed: int, round: int, seen: Visibility, observers: Visibility) -> None:
    """Write the graph of a round: what each arm shows, and who shows it."""
    if graphs.kind == DRAWN:
        _draw_lists(graphs, seed, (round - 1) // graphs.period, False, seen)
        _draw_lists(graphs, seed, (round - 1) // graphs.period, True, observers)
    elif graphs.kind == IN_TURN:
        number = (round - 1) // graphs.period % graphs.starts.shape[0]
        _copy_lists(graphs.starts[number], graphs.order, seen)
        _copy_lists(graphs.back_starts[number], graphs.back_order, observers)


@lean_jit
def _copy_lists(starts: Ints, order: Ints, out: Visibility) -> None:
    first = starts[0]
    for i in range(starts.size):
        out.starts[i] = starts[i] - first
    for j in range(starts[-1] - first):
        out.order[j] = order[first + j]


@lean_jit
def _draw_lists(graphs: RoundGraphs, seed: int, block: int, back: bool, out: Visibility) -> None:
    """Arm i sees arm j if a uniform of the pair is below its chance; of a mutual pair the smaller arm comes first."""
    n_arms, end = graphs.chances.shape[0], 0
    for i in range(n_arms):
        out.starts[i] = end
        for j in range(n_arms):
            one, other = (j, i) if back else (i, j)
            chance = graphs.chances[one, other]
            if chance > 0.0:
                lane = one * n_arms + other
                if graphs.mutual and other < one:
                    lane = other * n_arms + one
                if chance >= 1.0 or uniform(seed, STREAM_GRAPH, block, lane) < chance:
                    out.order[end] = j
                    end += 1
    out.starts[n_arms] = end


@lean_jit
def add_noise(graphs: RoundGraphs, seed: int, round: int, arm: int, seen: Ints, losses: NDArray[np.float64]) -> None:
    """``s l + (1 - s) xi`` for what ``arm`` shows with a weight ``s`` below 1."""
    if graphs.weights.size == 0:
        return
    for j in range(seen.size):
        s = graphs.weights[arm, seen[j]]
        if s < 1.0:
            xi = graphs.noise * (2.0 * uniform(seed, STREAM_GRAPH + 1, round, seen[j]) - 1.0)
            losses[j] = s * losses[j] + (1.0 - s) * xi
