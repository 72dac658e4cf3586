"""Graphs that change from round to round.

A :class:`ChangingGraph` has one graph for each round, as a pure function of (seed, round): a list of graphs that take
turns, or one graph of whose edges each round keeps some at random. How likely an edge is may also depend on the loss of
one arm (:func:`loss_dependent`); then only the world can say which graph a round has. ``told`` says whether the
learner knows the graph of a round before it chooses, or only after.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import index, numbers, real, shorten, whole
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.graphs.families import check_count, check_probability, disjoint_cliques, full_information
from allworlds.graphs.features import Observability
from allworlds.graphs.graph import FeedbackGraph
from allworlds.graphs.inputs import Label, check_square
from allworlds.graphs.noisy import NoisyGraph
from allworlds.graphs.round_graphs import RoundGraphs, blank_lists, make_round_graphs, write_graph

Told = Literal["before", "after"]
KEYS = ("n_arms", "labels", "directed", "self_loops", "period", "told")
"""What the first line of a file of graphs may say."""


@dataclass(frozen=True, eq=False)
class ChangingGraph:
    """One graph for each round; make it with :func:`changing` or :func:`read_changing`."""

    graphs: tuple[FeedbackGraph, ...]
    """The graphs that take turns, or the one whose edges are drawn."""
    period: int
    """For how many rounds a graph stays."""
    chances: NDArray[np.float64] | None = field(repr=False)
    """(c, N, N) the probability of each edge in a round, in each of c cases; None where graphs take turns."""
    told: Told
    hinge: int = -1
    """The arm whose loss decides between two cases: the second is above one half; -1 if there is one case."""

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self.graphs[0].n_arms

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """The label of each arm, or None."""
        return self.graphs[0].labels

    def graph_of(self, round: int, seed: int = 0, *, hinge_loss: float | None = None) -> FeedbackGraph:
        """The graph of one round of a run with this seed; ``World.graph_of`` knows the loss that it may depend on.

        >>> from allworlds.graphs import cycle, star
        >>> changing([star(5), cycle(5)], period=10).graph_of(11) == cycle(5)
        True
        """
        if self.hinge >= 0 and hinge_loss is None:
            raise InvalidParameter(
                f"the graph depends on the loss of arm {self.hinge}; expected hinge_loss; try "
                "world.graph_of(round, seed)"
            )
        n_arms, (seen, observers) = self.n_arms, blank_lists(self.n_arms)
        seed, round = whole("seed", seed, at_least=0), whole("round", round)
        write_graph(self.round_graphs(), seed, round, hinge_loss or 0.0, seen, observers)
        rows = np.repeat(np.arange(n_arms), np.diff(seen.starts))
        pairs = np.column_stack([rows, seen.order[: seen.starts[-1]]])
        return FeedbackGraph(n_arms, pairs, self.labels, directed=True, self_loops=False)

    @property
    def observability(self) -> Observability:
        """The worst that a round may have: of graphs that take turns the worst, of drawn edges that of the sure ones.

        >>> from allworlds.graphs import full_information, loopless_clique
        >>> changing(full_information(3), probability=0.5).observability
        'strong'
        >>> changing(loopless_clique(3), probability=0.5).observability  # a round may have no edge at all
        'none'
        """
        levels = ("none", "weak", "strong")
        return min((graph.observability for graph in self._worst()), key=levels.index)

    def demands(self) -> dict[str, str]:
        """What the graphs ask of a learner, as :meth:`FeedbackGraph.demands`."""
        feature = "changing" if self.told == "before" else "uninformed"
        found = {feature: f"the graph changes and is told {self.told} the choice"}
        for graph in (*self.graphs, *self._worst()):
            found |= graph.demands()
        if self.chances is not None and not np.array_equal(self.chances, self.chances.swapaxes(1, 2)):
            _, one, other = np.argwhere(self.chances > self.chances.swapaxes(1, 2))[0].tolist()
            found.setdefault("directed", f"arm {one} may see arm {other} but not the other way round")
        return found

    def _worst(self) -> tuple[FeedbackGraph, ...]:
        """The graphs whose edges are the fewest that a round may have."""
        if self.chances is None:
            return self.graphs
        return (FeedbackGraph.from_adjacency((self.chances >= 1.0).all(axis=0), directed=True),)

    def digest(self) -> str:
        """SHA-256 of the structure, without the labels, in hex."""
        head = f"allworlds changing graph, {self.n_arms} arms, period {self.period}, told {self.told}"
        head += f", hinge {self.hinge}" if self.hinge >= 0 else ""
        lines = "\n".join([head, *(graph.digest() for graph in self.graphs)])
        chances = b"" if self.chances is None else self.chances.astype("<f8").tobytes()
        return hashlib.sha256(lines.encode() + chances).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangingGraph) and self.digest() == other.digest() and self.labels == other.labels

    def __hash__(self) -> int:
        return hash((self.digest(), self.labels))

    def round_graphs(self) -> RoundGraphs:
        """The graphs as kernels take them."""
        return make_round_graphs(self.graphs, self.period, chances=self.chances, hinge=self.hinge)


AnyGraph: TypeAlias = FeedbackGraph | ChangingGraph | NoisyGraph


def changing(
    graphs: FeedbackGraph | Sequence[FeedbackGraph],
    period: int = 1,
    probability: float | ArrayLike | None = None,
    told: Told = "after",
) -> ChangingGraph:
    """Graphs that change every ``period`` rounds.

    A list of graphs takes turns. One graph with a ``probability``, a number or one for each edge, (N, N), is drawn
    again each time: each of its edges is there with that probability, both ways together if the graph is undirected;
    whether an arm sees itself does not change. ``told`` is when the learner is told the graph of a round: "before" or
    "after" it chooses.

    >>> from allworlds.graphs import full_information
    >>> graph = changing(full_information(4), probability=0.5)
    >>> graph.graph_of(1, seed=3).n_edges, graph.graph_of(2, seed=3).n_edges
    (4, 2)
    """
    if told not in ("before", "after"):
        raise InvalidGraph(f"told is {shorten(told)}; expected 'before' or 'after' the choice")
    period = whole("period", period, error=InvalidGraph)
    listed = (graphs,) if isinstance(graphs, FeedbackGraph) or not isinstance(graphs, Iterable) else tuple(graphs)
    if not listed or not all(isinstance(graph, FeedbackGraph) for graph in listed):
        raise InvalidGraph("graphs is not a list of graphs; expected one FeedbackGraph, or several")
    for number, graph in enumerate(listed):
        if graph.n_arms != listed[0].n_arms:
            raise InvalidGraph(
                f"graph {number} has {graph.n_arms} arms and graph 0 has {listed[0].n_arms}; expected the same arms"
            )
        if graph.labels != listed[0].labels:
            raise InvalidGraph(f"graph {number} has other labels than graph 0; expected the same in all")
    if probability is None:
        return ChangingGraph(listed, period, None, told)
    if len(listed) > 1:
        raise InvalidGraph(f"{len(listed)} graphs have a probability; expected one graph, whose edges are drawn")
    chances = _chances(listed[0], probability)
    possible = FeedbackGraph.from_adjacency(chances > 0.0, listed[0].labels, directed=True)
    return ChangingGraph((possible,), period, chances[np.newaxis], told)


def loss_dependent(arm: int, probability: ArrayLike, probability_if_lost: ArrayLike) -> ChangingGraph:
    """A graph that is drawn again in every round, with probabilities that depend on the loss of ``arm``.

    Both are (N, N), the probability that arm i sees arm j: ``probability`` where the loss is at most one half,
    ``probability_if_lost`` above. If both are symmetric, edges are there both ways together. The learner is told the
    graph after its choice, since it says something about the losses.

    >>> import numpy as np
    >>> graph = loss_dependent(0, np.eye(3), np.ones((3, 3)))
    >>> graph.graph_of(1, hinge_loss=0.0).n_edges, graph.graph_of(1, hinge_loss=1.0).n_edges
    (0, 3)
    """
    cases = [numbers("probability", given, InvalidGraph) for given in (probability, probability_if_lost)]
    for case in cases:
        check_square("probability", case)
        _check_probabilities(case)
    if cases[0].shape != cases[1].shape:
        raise InvalidGraph(f"the probabilities have shapes {cases[0].shape} and {cases[1].shape}; expected the same")
    chances = np.stack(cases)
    chances.setflags(write=False)
    possible = FeedbackGraph.from_adjacency(chances.max(axis=0) > 0.0, directed=True)
    return ChangingGraph((possible,), 1, chances, "after", index("arm", arm, possible.n_arms))


def read_changing(path: str | Path) -> ChangingGraph:
    """The graphs in a file of JSON lines: first ``{"n_arms": 3}``, then a list of edges for each graph.

    The first line may also have ``labels``, ``directed`` and ``self_loops``, as :class:`FeedbackGraph` takes them, and
    ``period`` and ``told``, as :func:`changing` takes them.
    """
    file = Path(path)
    expected = 'expected JSON lines: {"n_arms": 3}, then a list of edges for each graph'
    try:
        rows = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidGraph(f"cannot read '{file}': {getattr(error, 'strerror', 'it is not text')}") from None
    lines: list[tuple[int, Any]] = []
    for number, row in enumerate(rows, start=1):
        try:
            lines += [(number, json.loads(row))] if row.strip() else []
        except ValueError:
            raise InvalidGraph(f"line {number} of '{file}' is not JSON; {expected}") from None
    if len(lines) < 2 or not isinstance(lines[0][1], dict) or "n_arms" not in lines[0][1]:
        raise InvalidGraph(f"'{file}' has no graphs; {expected}")
    options: dict[str, Any] = lines[0][1]
    if unknown := options.keys() - set(KEYS):
        raise InvalidGraph(f"the first line of '{file}' has {min(unknown)!r}; expected some of {', '.join(KEYS)}")
    how = {key: options.pop(key) for key in ("period", "told") if key in options}
    graphs = []
    for number, edges in lines[1:]:
        try:
            graphs.append(FeedbackGraph(edges=edges, **options))
        except InvalidGraph as error:
            raise InvalidGraph(f"line {number} of '{file}': {error}") from None
    return changing(graphs, **how)


def random_edges(n: int, p: float, period: int = 1, told: Told = "after") -> ChangingGraph:
    """Every two arms see each other with probability ``p``, drawn anew every ``period`` rounds; all see themselves.

    The changing Erdős–Rényi graph of Kocák, Neu and Valko 2016 ("Online learning with Erdős–Rényi side-observation
    graphs"), whose learner is told neither the graph nor p.

    >>> random_edges(10, 0.0).graph_of(1).n_edges, random_edges(10, 1.0).graph_of(1).n_edges
    (0, 45)
    """
    return changing(full_information(n), period, check_probability("p", p), told)


def misleading_edges(n: int, gap: float = 0.05, best: int | None = None) -> ChangingGraph:
    """The graph of the world ``worlds.misleading_graph``, which hides how good arm ``best`` (default: the middle) is.

    Arm i sees another arm j with probability ``1 - 2 gap``, drawn anew in each round; but the best arm is seen by all
    if it loses, and else by each with probability ``(1 - 2 gap) / (1 + 2 gap)``. All arms see themselves.

    >>> graph = misleading_edges(4, 0.1, best=0)
    >>> len(graph.graph_of(1, hinge_loss=1.0).seen_by(0)), graph.chances[:, 1, 0].round(3).tolist()
    (4, [0.667, 1.0])
    """
    n, gap = check_count("n", n), real("gap", gap, above=0, at_most=0.5, error=InvalidGraph)
    arm = n // 2 if best is None else index("best", best, n)
    chances = np.full((2, n, n), 1.0 - 2.0 * gap)
    chances[:, :, arm] = [[(1.0 - 2.0 * gap) / (1.0 + 2.0 * gap)], [1.0]]
    chances[:, np.arange(n), np.arange(n)] = 1.0
    return loss_dependent(arm, chances[0], chances[1])


def alternating_cliques(n: int, sizes: Sequence[int], period: int = 1, told: Told = "after") -> ChangingGraph:
    """Cliques of ``sizes[0]`` consecutive arms, after ``period`` rounds cliques of ``sizes[1]``, and so on in turn.

    Where a size does not divide ``n``, the last clique is smaller.

    >>> graph = alternating_cliques(5, [2, 3], period=10)
    >>> graph.graph_of(10).sees(2), graph.graph_of(11).sees(2), graph.graph_of(21).sees(2)
    (array([2, 3]), array([0, 1, 2]), array([2, 3]))
    """
    n, graphs = check_count("n", n), []
    for size in sizes:
        size = min(check_count("size", size), n)
        graphs.append(disjoint_cliques([size] * (n // size) + ([n % size] if n % size else [])))
    return changing(graphs, period, told=told)


def _chances(graph: FeedbackGraph, probability: float | ArrayLike) -> NDArray[np.float64]:
    """(N, N) the probability of each edge; self-loops stay."""
    n_arms = graph.n_arms
    given = numbers("probability", probability, InvalidGraph)
    if given.shape not in ((), (n_arms, n_arms)):
        raise InvalidGraph(f"probability has shape {given.shape}; expected a number or ({n_arms}, {n_arms})")
    _check_probabilities(given)
    chances = np.where(graph.adjacency(), given, 0.0)
    for i, j in np.argwhere(chances != chances.T)[:1].tolist() if not graph.is_directed else []:
        raise InvalidGraph(
            f"the edge of arms {i} and {j} has the probabilities {chances[i, j]:g} and {chances[j, i]:g}; expected the "
            "same both ways in an undirected graph"
        )
    np.fill_diagonal(chances, graph.self_loops)
    chances.setflags(write=False)
    return chances


def _check_probabilities(given: NDArray[np.float64]) -> None:
    for place in np.argwhere(~((given >= 0.0) & (given <= 1.0)))[:1].tolist():
        what = f"the probability that arm {place[0]} sees arm {place[1]}" if place else "probability"
        raise InvalidGraph(f"{what} is {given[tuple(place)]:g}; expected 0 to 1")
