"""Graphs whose side observations are noisy.

A :class:`NoisyGraph` has a weight from 0 to 1 on every edge. Whoever plays arm i receives of arm j not its loss but
``s l_j + (1 - s) xi`` with ``s = weights[i, j]`` and noise ``xi`` of mean zero, uniform within ``[-noise, noise]``
(Kocák, Neu and Valko, "Online learning with noisy side observations", AISTATS 2016).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import numbers, real, whole
from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs.features import Observability
from allworlds.graphs.graph import FeedbackGraph
from allworlds.graphs.inputs import Label, check_square
from allworlds.graphs.round_graphs import RoundGraphs, make_round_graphs


@dataclass(frozen=True, eq=False)
class NoisyGraph:
    """A graph with a weight on every observation; make it with :func:`noisy`."""

    graph: FeedbackGraph
    """Who sees whom with a positive weight."""
    weights: NDArray[np.float64] = field(repr=False)
    noise: float

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self.graph.n_arms

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """The label of each arm, or None."""
        return self.graph.labels

    @property
    def observability(self) -> Observability:
        """That of the graph of positive weights."""
        return self.graph.observability

    def demands(self) -> dict[str, str]:
        """What the graph asks of a learner, as :meth:`FeedbackGraph.demands`."""
        fault = "the graph has weights on its observations"
        for i, j in np.argwhere((self.weights > 0.0) & (self.weights < 1.0))[:1].tolist():
            fault = f"arm {i} sees arm {j} with weight {self.weights[i, j]:g}, so with noise"
        return {"noisy": fault} | self.graph.demands()

    def digest(self) -> str:
        """SHA-256 of the structure, without the labels, in hex."""
        head = f"allworlds noisy graph, {self.n_arms} arms, noise {self.noise!r}\n"
        return hashlib.sha256(head.encode() + self.weights.astype("<f8").tobytes()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoisyGraph) and self.digest() == other.digest() and self.labels == other.labels

    def __hash__(self) -> int:
        return hash((self.digest(), self.labels))

    def round_graphs(self) -> RoundGraphs:
        """The graph as kernels take it."""
        return make_round_graphs([self.graph], weights=self.weights, noise=self.noise)


def noisy(weights: ArrayLike, noise: float = 0.5, labels: Sequence[Label] | None = None) -> NoisyGraph:
    """The graph in which arm i sees arm j with weight ``weights[i, j]``: 1 exactly, 0 not at all.

    >>> noisy([[1, 0.5], [0.5, 1]]).demands()
    {'noisy': 'arm 0 sees arm 1 with weight 0.5, so with noise'}
    """
    matrix = numbers("weights", weights, InvalidGraph)
    check_square("weights", matrix)
    for i, j in np.argwhere(~((matrix >= 0.0) & (matrix <= 1.0)))[:1].tolist():
        raise InvalidGraph(
            f"the weight with which arm {i} sees arm {j} is {matrix[i, j]:g}; expected 0 to 1; "
            "use 0 where it sees nothing and 1 where it sees without noise"
        )
    matrix.setflags(write=False)
    graph = FeedbackGraph.from_adjacency(matrix > 0.0, labels, directed=True)
    return NoisyGraph(graph, matrix, real("noise", noise, at_least=0, error=InvalidGraph))


def noisy_grid(rows: int, columns: int, noise: float = 0.5) -> NoisyGraph:
    """Arms on a board that see each other with weight ``min(3 / d^2, 1)`` at distance d; strongly observable.

    The board of five rows and columns is that of Kocák, Neu and Valko 2016. Arm ``row * columns + column`` sits at
    (row, column), and its neighbours left, right, above, below and across a corner are seen without noise.

    >>> float(noisy_grid(5, 5).weights[0, 2]), float(noisy_grid(5, 5).weights[0, 6])
    (0.75, 1.0)
    """
    rows, columns = whole("rows", rows, error=InvalidGraph), whole("columns", columns, error=InvalidGraph)
    row, column = np.divmod(np.arange(rows * columns), columns)
    squared = (row[:, None] - row) ** 2 + (column[:, None] - column) ** 2
    return noisy(np.minimum(3.0 / np.maximum(squared, 1), 1.0), noise)
