"""Your own data as a world: losses from an array, a CSV file or a Parquet file."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from allworlds.foundation.checks import numbers
from allworlds.foundation.errors import InvalidParameter, import_extra
from allworlds.worlds.base import World, make_arrays
from allworlds.worlds.losses import DETERMINISTIC, TABLE


def recorded(table: ArrayLike | str | Path, *, name: str | None = None) -> World:
    """Losses as they were recorded: a row for each round, a column for each arm, all in [0, 1].

    ``table`` is an array of shape (T, N), or the path of a ``.csv`` file (a first line of names is skipped) or a
    ``.parquet`` file.

    >>> recorded([[0.0, 1.0], [0.5, 0.5]]).loss(0, 2, 1)
    0.5
    """
    if isinstance(table, str | Path):
        path = Path(table)
        losses, title = _read(path), name or path.stem
    else:
        losses, title = numbers("the table", table), name or "recorded"
    if losses.ndim != 2 or losses.size == 0:
        raise InvalidParameter(f"the table has shape {losses.shape}; expected (rounds, arms), at least one of each")
    wrong = np.argwhere(~((losses >= 0.0) & (losses <= 1.0)))
    if wrong.size:
        row, column = (int(i) for i in wrong[0])
        raise InvalidParameter(
            f"the loss of arm {column} in round {row + 1} is {losses[row, column]}; expected numbers from 0 to 1, "
            "so rescale or fill the table first"
        )
    best = losses.sum(axis=0).argmin()
    return World(title, make_arrays(losses.shape[1], kind=TABLE, noise=DETERMINISTIC, table=losses, best=best))


def _read(path: Path) -> NDArray[np.float64]:
    readers = {".csv": _read_csv, ".parquet": _read_parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidParameter(f"{path.name!r} ends in {path.suffix!r}; expected a .csv or .parquet file")
    if not path.is_file():
        raise InvalidParameter(f"there is no file {path}; expected the path of a table of losses")
    return reader(path)


def _read_csv(path: Path) -> NDArray[np.float64]:
    """Numbers between commas; a first line without any number is a line of names."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [(number, cells) for number, cells in enumerate(csv.reader(file), 1) if any(map(str.strip, cells))]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidParameter(f"{path.name} cannot be read as CSV: {error}; expected numbers between commas") from None
    if lines and not any(_is_number(cell) for cell in lines[0][1]):
        lines = lines[1:]
    for number, cells in lines:
        wrong = [cell for cell in cells if not _is_number(cell)]
        if wrong or len(cells) != len(lines[0][1]):
            what = f"the cell {wrong[0]!r}" if wrong else f"{len(cells)} cells"
            raise InvalidParameter(f"line {number} of {path.name} has {what}; expected {len(lines[0][1])} numbers")
    return np.array([[float(cell) for cell in cells] for _, cells in lines], dtype=np.float64)


def _read_parquet(path: Path) -> NDArray[np.float64]:
    pyarrow, parquet = import_extra("pyarrow", "data"), import_extra("pyarrow.parquet", "data")
    try:
        columns = parquet.read_table(path).columns
    except (pyarrow.ArrowException, OSError) as error:
        raise InvalidParameter(f"{path.name} cannot be read as Parquet: {error}; expected a Parquet file") from None
    return np.column_stack([numbers(path.name, column.to_numpy()) for column in columns] or [np.zeros((0, 0))])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
