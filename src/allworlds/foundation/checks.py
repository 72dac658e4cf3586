"""What comes from outside, turned into clean integers, or refused in a sentence.

Every function here takes the error to raise, so a bad clique is an :class:`InvalidGraph` where a graph is
built and an :class:`InvalidCover` where a cover is built.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import AllWorldsError, InvalidGraph

Ints: TypeAlias = NDArray[np.int64]
Label: TypeAlias = str | int


def frozen(array: Ints) -> Ints:
    """The same array, read-only from now on."""
    array.flags.writeable = False
    return array


def is_whole(value: object) -> bool:
    """Whether ``value`` is an integer, of Python or NumPy, and no bool."""
    return hasattr(value, "__index__") and not isinstance(value, bool | np.bool_ | np.ndarray)


def whole_number(value: Any, name: str, *, at_least: int = 1, error: type[AllWorldsError] = InvalidGraph) -> int:
    """``value`` as an int of at least ``at_least``.

    >>> whole_number(3, "n_arms")
    3
    """
    if is_whole(value) and operator.index(value) >= 2**62:
        raise error(f"{name} must be below 2**62, but {_short(value)} came")
    if not is_whole(value) or operator.index(value) < at_least:
        raise error(f"{name} must be an integer of at least {at_least}, but {_short(value)} came")
    return operator.index(value)


def integers(values: Any, what: str, error: type[AllWorldsError]) -> Ints:
    """``values`` as an int64 array of any shape; empty is fine, floats and bools are refused."""
    try:
        array = np.asarray(values if isinstance(values, np.ndarray | list | tuple) else list(values))
    except (TypeError, ValueError):
        raise error(f"{what} must be made of integers in a regular shape, but {_short(values)} came") from None
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise error(
            f"{what} must be made of integers, but {_short(values)} came, of type {array.dtype}; "
            "arms are the numbers 0, 1, 2, ..."
        )
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise error(f"{what} has the number {array.max()}, which is too large for an arm")
    return array.astype(np.int64)


def check_arms(arms: Ints, n_arms: int, what: str, error: type[AllWorldsError]) -> None:
    """Refuse numbers that are no arm."""
    wrong = arms[(arms < 0) | (arms >= n_arms)]
    if wrong.size:
        raise error(f"{what} names arm {wrong[0]}, but the arms are 0 to {n_arms - 1}")


def flatten_cliques(cliques: Iterable[Iterable[int]], n_arms: int, error: type[AllWorldsError]) -> tuple[Ints, Ints]:
    """The members of all cliques one after the other, (total,), and each clique's length, (n_cliques,).

    >>> flatten_cliques([[0, 2], [1]], 3, InvalidGraph)
    (array([0, 2, 1]), array([2, 1]))
    """
    try:
        groups = list(cliques)
    except TypeError:
        raise error(f"cliques must be a list of lists of arms, but {_short(cliques)} came") from None
    arrays = []
    for number, group in enumerate(groups):
        array = integers(group, f"clique {number}", error)
        if array.ndim != 1:
            raise error(f"clique {number} must be a flat list of arms, but {_short(group)} came")
        if array.size == 0:
            raise error(f"clique {number} is empty; leave it out")
        arrays.append(array)
    members = np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
    lengths = np.array([len(array) for array in arrays], dtype=np.int64)
    wrong = np.flatnonzero((members < 0) | (members >= n_arms))
    if wrong.size:
        number = int(np.searchsorted(np.cumsum(lengths), wrong[0], side="right"))
        check_arms(members[wrong], n_arms, f"clique {number}", error)
    return members, lengths


def clean_labels(labels: Sequence[Label] | None, n_arms: int) -> tuple[Label, ...] | None:
    """Labels as a tuple, or None where they only repeat the arm numbers.

    >>> clean_labels(["red", "blue"], 2)
    ('red', 'blue')
    """
    if labels is None:
        return None
    if isinstance(labels, str):
        raise InvalidGraph(f"labels must be a list with one label an arm, but the single string {labels!r} came")
    if not isinstance(labels, Iterable):
        raise InvalidGraph(f"labels must be a list with one label an arm, but {_short(labels)} came")
    clean: list[Label] = []
    for label in labels:
        if isinstance(label, str):
            clean.append(str(label))
        elif is_whole(label):
            clean.append(operator.index(label))
        else:
            raise InvalidGraph(
                f"label {label!r} is of type {type(label).__name__}, but labels must be str or int, "
                "so that they can be saved; str(label) would do"
            )
    if len(clean) != n_arms:
        raise InvalidGraph(f"{len(clean)} labels came for {n_arms} arms; give one label an arm")
    if len(set(clean)) < n_arms:
        seen: set[Label] = set()
        twice = next(label for label in clean if label in seen or seen.add(label))  # type: ignore[func-returns-value]
        raise InvalidGraph(f"label {twice!r} names two arms; labels must differ")
    return None if clean == list(range(n_arms)) else tuple(clean)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
