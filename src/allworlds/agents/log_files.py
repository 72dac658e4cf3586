"""Logs on disk: appended to, never rewritten in place, and readable after a kill at any moment.

``.jsonl`` is one file with one JSON object a line. A line that begins with ``{"log":`` says whose decisions follow. A
kill can cut the last line short; readers leave it out, and the next writer ends it.

``.parquet`` is a folder of Parquet files, *parts*, as pandas, DuckDB, Polars and Spark read it: a Parquet file can only
be read when it is complete, so every block of rows becomes a file of its own, written whole or not at all. A part is
named by its first and last row. When 16 parts of about the same size are there they are joined: the joined part is
written first and the others are deleted afterwards. A kill between the two leaves rows twice on disk; readers skip a
part that lies within another one.

Every part, and every run of lines, says in its header which arms there were and who showed whom.
:mod:`allworlds.agents.log_reading` reads all of it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from allworlds.agents.log_text import DOUBLE, SHARE, WHOLE, WORD, gather, text_of
from allworlds.foundation.errors import InvalidParameter, import_extra
from allworlds.foundation.files import disk_errors, write_atomic

FAN = 16
"""So many parts of about the same size are joined to one."""
LARGE = FAN**4
"""Rows from which on a part is never joined again."""
PART = re.compile(r"rows-(\d{12})-(\d{12})\.parquet")
HEADER = b"allworlds"
COLUMNS = {
    "decision_id": "int",
    "kind": "word",
    "learner": "word",
    "round": "int",
    "timestamp": "float",
    "action": "int",
    "arm": "word",
    "n_actions": "int",
    "loss": "float",
    "reward": "float",
    "pscore": "float",
    "clique": "int",
    "clique_pscore": "float",
    "observed": "ints",
    "losses": "floats",
    "seeing": "floats",
    "probabilities": "floats",
    "available": "ints",
    "status": "word",
    "outcome_timestamp": "float",
    "package_version": "word",
}
"""The columns of a log on disk; ``load_log`` leaves out ``kind``, which says what of a decision a row tells."""
MORE = ("id", "segment")
"""Further columns of a log that a service exported: the decision's own id, and its segment."""
OUTCOME = ("loss", "reward", "losses", "status", "outcome_timestamp")
"""What an outcome adds to its decision."""


class Lists:
    """A column of lists: all values in one array, and the length of each list; some may be missing."""

    def __init__(self, flat: NDArray[Any], lengths: NDArray[np.int64], missing: NDArray[np.bool_]) -> None:
        self.flat, self.missing = flat, missing
        self.starts = np.concatenate([[0], np.cumsum(lengths)])

    @classmethod
    def of(cls, values: list[Any]) -> Lists:
        """From lists of integers, or None."""
        missing = np.array([value is None for value in values])
        lengths = np.array([0 if value is None else len(value) for value in values])
        present = [np.asarray(value, np.int64) for value in values if value is not None]
        return cls(np.concatenate([np.zeros(0, np.int64), *present]), lengths, missing)

    def to_list(self) -> list[list[Any] | None]:
        """As plain lists; a number that is not known is None."""
        flat, starts = [None if value != value else value for value in self.flat.tolist()], self.starts.tolist()
        return [None if gone else flat[starts[k] : starts[k + 1]] for k, gone in enumerate(self.missing.tolist())]


class Words:
    """A column of few different words: the place of each in a list of them."""

    def __init__(self, codes: NDArray[np.int64], words: Sequence[str]) -> None:
        self.codes, self.words = codes, words


def as_dictionaries(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One dictionary of plain values for each row; what is not known is None."""
    plain = {name: _plain_column(values, COLUMNS.get(name)) for name, values in columns.items()}
    return [dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)]


def _plain_column(values: Any, kind: str | None) -> list[Any]:
    if isinstance(values, Lists):
        return values.to_list()
    if isinstance(values, Words):
        return [values.words[code] for code in values.codes.tolist()]
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    plain = [None if isinstance(value, float) and math.isnan(value) else value for value in listed]
    return [None if value is None else int(value) for value in plain] if kind == "int" else plain


def json_lines(columns: Mapping[str, Any]) -> Callable[[], bytes]:
    """Calling what this returns gives one JSON object a line."""
    kinds = {"int": WHOLE, "ints": WHOLE, "float": DOUBLE, "floats": DOUBLE, "word": WORD}
    shown = {name: (SHARE if name == "probabilities" else kinds[COLUMNS[name]], columns[name]) for name in columns}
    data = gather(shown)

    def lines() -> bytes:
        text = text_of(data)
        if text is None:  # a loss as small as 1e-300
            text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in as_dictionaries(columns)).encode()
        return text

    return lines


class LogFile(Protocol):
    """A log that can be appended to."""

    def prepare(self, columns: Mapping[str, Any], header: Mapping[str, Any]) -> Callable[[], None]:
        """Calling what this returns, from any thread, appends rows; when it returns, they survive a kill.

        What needs the interpreter is done here, so that a thread that writes seldom asks for it.
        """


def log_file(path: Path) -> LogFile:
    """The log at ``path``, which need not exist yet; its folder must."""
    if path.suffix not in (".parquet", ".jsonl"):
        raise InvalidParameter(f"log is {str(path)!r}; expected a name ending in .parquet or .jsonl")
    if not path.parent.is_dir():
        raise InvalidParameter(f"log is {str(path)!r}, but '{path.parent}' is not a folder; create it first")
    return PartFolder(path) if path.suffix == ".parquet" else LineFile(path)


class LineFile:
    """One JSON object a line."""

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            raise InvalidParameter(f"log is {str(path)!r}, which is a folder; expected a file of JSON lines")
        self.path = path
        self._said: str | None = None
        self._end = 0

    def prepare(self, columns: Mapping[str, Any], header: Mapping[str, Any]) -> Callable[[], None]:
        """See :class:`LogFile`."""
        head, lines = json.dumps({"log": dict(header)}), json_lines(columns)
        return lambda: self._append(lines(), head)

    def _append(self, lines: bytes, head: str) -> None:
        """Append lines and sync the file."""
        with disk_errors(f"write to {self.path}"), self.path.open("ab+", buffering=0) as file:
            end, before = file.seek(0, os.SEEK_END), b""
            if end and (file.seek(end - 1), file.read(1))[1] != b"\n":
                before = b"\n"  # a kill cut the last line short
            if head != self._said or end != self._end:  # rows belong to the last header, whoever wrote it
                before += head.encode() + b"\n"
            try:
                for part in (before, lines):
                    written = 0
                    while written < len(part):
                        written += file.write(part[written:] if written else part)
                os.fsync(file.fileno())
            except BaseException:  # the rows wait on and are written again: what is there of them must not count twice
                _take_back(file, end, before + lines)
                raise
            self._end = file.seek(0, os.SEEK_END)
        self._said = head


def _take_back(file: Any, end: int, lines: bytes) -> None:
    """Cut off what stands behind ``end``, if it is the beginning of ``lines`` and nobody else's."""
    with contextlib.suppress(OSError):
        file.seek(end)
        if lines.startswith(file.read()):
            file.truncate(end)


class PartFolder:
    """A folder of Parquet files."""

    def __init__(self, path: Path) -> None:
        import_extra("pyarrow.parquet", "data", "logs in Parquet need")
        if path.is_file():
            raise InvalidParameter(f"log is {str(path)!r}, which is a file; expected a folder of parts, or a new name")
        self.path = path
        self._parts: list[tuple[int, int]] = []

    def prepare(self, columns: Mapping[str, Any], header: Mapping[str, Any]) -> Callable[[], None]:
        """See :class:`LogFile`."""
        table = arrow_table(columns).replace_schema_metadata({HEADER: json.dumps(dict(header))})
        return lambda: self._append(table)

    def _append(self, table: Any) -> None:
        """Write one part; then join parts if there are many, and if that fails leave it to the next."""
        with disk_errors(f"write to {self.path}"):
            self.path.mkdir(exist_ok=True)
            self._parts = parts_in(self.path)  # another agent may have written here since
            first = self._parts[-1][1] + 1 if self._parts else 1
            self._parts.append(self._write(first, first + table.num_rows - 1, table))
        with contextlib.suppress(Exception):  # the rows are written, and must not be written again
            self._join()

    def _write(self, first: int, last: int, table: Any) -> tuple[int, int]:
        pa, parquet = import_extra("pyarrow", "data"), import_extra("pyarrow.parquet", "data")
        sink = pa.BufferOutputStream()
        words = [name for name, kind in COLUMNS.items() if kind == "word"]
        parquet.write_table(table, sink, compression="none", use_dictionary=words, write_statistics=False)
        path = self.path / part_name(first, last)
        try:
            write_atomic(path, sink.getvalue())
        except BaseException:  # not synced, perhaps: the rows wait on and are written again
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        return first, last

    def _join(self) -> None:
        """Join the last 16 parts while they are small and of about the same size, and say the same of the learner."""
        parquet = import_extra("pyarrow.parquet", "data")
        while len(self._parts) >= FAN:
            tail = self._parts[-FAN:]
            sizes = [last - first + 1 for first, last in tail]
            if max(sizes) >= LARGE or max(sizes) >= FAN * min(sizes):
                return
            paths = [self.path / part_name(first, last) for first, last in tail]
            heads = {parquet.read_schema(path).metadata[HEADER] for path in paths}
            if len(heads) > 1:
                return
            table = parquet.ParquetDataset(paths, partitioning=None).read(use_threads=False)
            del self._parts[-FAN:]
            self._parts.append(self._write(tail[0][0], tail[-1][1], table))
            for path in paths:
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()


def part_name(first: int, last: int) -> str:
    """The name of the part with these rows.

    >>> part_name(1, 4096)
    'rows-000000000001-000000004096.parquet'
    """
    return f"rows-{first:012d}-{last:012d}.parquet"


def parts_in(folder: Path) -> list[tuple[int, int]]:
    """The first and last row of each part, in order, without those that lie within another part."""
    names = [name.name for name in folder.glob("rows-*.parquet")] if folder.is_dir() else []
    found = sorted(
        ((int(match[1]), int(match[2])) for name in names if (match := PART.fullmatch(name))),
        key=lambda part: (part[0], -part[1]),
    )
    kept: list[tuple[int, int]] = []
    for part in found:
        if not kept or part[1] > kept[-1][1]:
            kept.append(part)
    return kept


def arrow_table(columns: Mapping[str, Any]) -> Any:
    """The columns as an Arrow table with the types of :data:`COLUMNS`."""
    pa = import_extra("pyarrow", "data", "logs in Parquet need")
    kinds = {"int": pa.int64(), "float": pa.float64(), "word": pa.string()}

    def column(values: Any, kind: str) -> Any:
        if isinstance(values, Words):
            codes = pa.array(values.codes.astype(np.int32))
            return pa.DictionaryArray.from_arrays(codes, pa.array(list(values.words), pa.string())).dictionary_decode()
        if not isinstance(values, Lists):
            return pa.array(values, from_pandas=True).cast(kinds[kind])
        mask = pa.array(values.missing) if values.missing.any() else None
        return pa.ListArray.from_arrays(pa.array(values.starts.astype(np.int32)), pa.array(values.flat), mask=mask)

    return pa.table({name: column(columns[name], kind) for name, kind in COLUMNS.items()})
