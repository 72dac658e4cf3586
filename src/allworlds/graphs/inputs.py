"""What a graph is made from, checked: labels, self-loops, cliques and matrices."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import Error, Ints, check_arms, integers, is_whole, shorten
from allworlds.foundation.errors import InvalidGraph

Label: TypeAlias = str | int
SelfLoops: TypeAlias = bool | Iterable[int]


def self_loop_pairs(self_loops: SelfLoops, n_arms: int) -> Ints:
    """The self-loops as pairs (i, i): of all arms, of none, or of those in a list.

    >>> self_loop_pairs([0, 2], 3).tolist()
    [[0, 0], [2, 2]]
    """
    if isinstance(self_loops, bool | np.bool_):
        arms = np.arange(n_arms if self_loops else 0)
    else:
        given = np.asarray(self_loops)
        if given.dtype == np.bool_ and given.shape == (n_arms,):  # as the property of a graph has them
            given = np.flatnonzero(given)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise InvalidGraph(f"self_loops is {shorten(self_loops)}; expected True, False or a list of arms")
        arms = integers("self_loops", given, InvalidGraph)
        check_arms("self_loops", arms, n_arms, InvalidGraph)
    return np.column_stack([arms, arms])


def zeros_and_ones(matrix: ArrayLike, *, diagonal: bool = True) -> NDArray[np.bool_]:
    """A square matrix of 0 and 1 as a new one of bools; without the ``diagonal``, whatever is there becomes 0."""
    try:
        square = np.array(matrix)
    except ValueError:
        raise InvalidGraph("the adjacency matrix has rows of different lengths; expected a square matrix") from None
    check_square("the adjacency matrix", square)
    if square.dtype.kind not in "biuf":
        raise InvalidGraph(f"the adjacency matrix is of type {square.dtype}; expected 0 and 1")
    if not diagonal:
        np.fill_diagonal(square, 0)
    ones: NDArray[np.bool_] = square == 1
    for row, column in np.argwhere(~ones & (square != 0))[:1].tolist():
        raise InvalidGraph(f"entry ({row}, {column}) of the adjacency matrix is {square[row, column]}; expected 0 or 1")
    return ones


def check_square(name: str, matrix: NDArray[Any]) -> None:
    """Raise InvalidGraph unless a matrix has a row and a column for each of at least one arm."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InvalidGraph(f"{name} has shape {matrix.shape}; expected a square matrix, a row for each arm")


def flatten_cliques(cliques: Iterable[Iterable[int]], n_arms: int, error: Error) -> tuple[Ints, Ints]:
    """The members of all cliques in one array, (total,), and the size of each clique, (n_cliques,).

    >>> flatten_cliques([[0, 2], [1]], 3, InvalidGraph)
    (array([0, 2, 1]), array([2, 1]))
    """
    try:
        groups = list(cliques)
    except TypeError:
        raise error(f"cliques is {shorten(cliques)}; expected a list of lists of arms") from None
    arrays = []
    for number, group in enumerate(groups):
        array = integers(f"clique {number}", group, error)
        if array.ndim != 1:
            raise error(f"clique {number} is {shorten(group)}; expected a flat list of arms")
        if array.size == 0:
            raise error(f"clique {number} is empty; expected at least one arm; leave it out")
        arrays.append(array)
    members = np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
    lengths = np.array([len(array) for array in arrays], dtype=np.int64)
    wrong = np.flatnonzero((members < 0) | (members >= n_arms))
    if wrong.size:
        number = int(np.searchsorted(np.cumsum(lengths), wrong[0], side="right"))
        check_arms(f"clique {number}", members[wrong], n_arms, error)
    return members, lengths


def clean_labels(labels: Sequence[Label] | None, n_arms: int) -> tuple[Label, ...] | None:
    """Labels as a tuple, or None where they only repeat the arm numbers.

    >>> clean_labels(["red", "blue"], 2)
    ('red', 'blue')
    """
    if labels is None:
        return None
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise InvalidGraph(f"labels is {shorten(labels)}; expected a list with one label for each arm")
    clean: list[Label] = []
    for label in labels:
        if isinstance(label, str):
            clean.append(str(label))
        elif is_whole(label):
            clean.append(operator.index(label))
        else:
            raise InvalidGraph(
                f"label {label!r} is of type {type(label).__name__}; expected str or int, so that it can be saved; "
                "try str(label)"
            )
    if len(clean) != n_arms:
        raise InvalidGraph(f"labels has {len(clean)} labels; expected {n_arms}, one for each arm")
    twice = [label for label, times in Counter(clean).items() if times > 1]
    if twice:
        raise InvalidGraph(f"label {twice[0]!r} names two arms; expected labels that all differ")
    return None if clean == list(range(n_arms)) else tuple(clean)
