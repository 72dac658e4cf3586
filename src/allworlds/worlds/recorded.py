"""One's own data as a world: losses from an array, a CSV file or a Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.errors import InvalidParameter, MissingExtra
from allworlds.worlds.base import World, make_nature
from allworlds.worlds.nature import DETERMINISTIC, TABLE


def recorded(table: ArrayLike | str | Path, *, name: str | None = None) -> World:
    """Losses as they were recorded: one row a round, one column an arm, all in [0, 1].

    ``table`` is an array of shape (T, N), or the path of a ``.csv`` file (a first line of names is skipped) or a
    ``.parquet`` file.

    >>> recorded([[0.0, 1.0], [0.5, 0.5]]).loss(0, 2, 1)
    0.5
    """
    if isinstance(table, str | Path):
        path = Path(table)
        losses, title = _read(path), name or path.stem
    else:
        losses, title = _numbers(table, "the table"), name or "recorded"
    if losses.ndim != 2 or losses.size == 0:
        raise InvalidParameter(f"the table has shape {losses.shape}; expected (rounds, arms), at least one of each")
    wrong = np.argwhere(~((losses >= 0.0) & (losses <= 1.0)))
    if wrong.size:
        row, column = (int(i) for i in wrong[0])
        raise InvalidParameter(
            f"the loss of arm {column} in round {row + 1} is {losses[row, column]}; expected numbers from 0 to 1, "
            "so rescale the table first"
        )
    losses = np.ascontiguousarray(losses)
    losses.flags.writeable = False
    nature = make_nature(
        losses.shape[1],
        kind=TABLE,
        noise=DETERMINISTIC,
        table=losses,
        best=int(losses.sum(axis=0).argmin()),
        candidates=np.arange(losses.shape[1]),
    )
    return World(title, nature)


def _numbers(values: Any, what: str) -> NDArray[np.float64]:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{what} is not made of numbers in rows of equal length") from None


def _read(path: Path) -> NDArray[np.float64]:
    if path.suffix not in (".csv", ".parquet"):
        raise InvalidParameter(f"{path.name!r} ends in {path.suffix!r}; expected a .csv or .parquet file")
    if not path.is_file():
        raise InvalidParameter(f"there is no file {path}")
    if path.suffix == ".parquet":
        try:
            from pyarrow import parquet
        except ImportError:
            raise MissingExtra('pyarrow is not installed; pip install "allworlds[data]" brings it') from None
        columns = parquet.read_table(path).to_pydict()
        return _numbers(list(zip(*columns.values(), strict=True)), path.name)
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    rows = [line.split(",") for line in lines]
    if rows and not _is_number(rows[0][0]):
        rows = rows[1:]
    return _numbers(rows, path.name)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
