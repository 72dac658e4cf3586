"""Results on disk: Parquet files, *parts*, that hold the rows of a bundle of cells.

A part is named by the SHA-256 of its bytes, so damage shows. A row is (cell, round, the four measures), and where the
experiment records masses also the list of clique masses and the regret bound, null where a learner has none. What a
cell stands for is kept in ``cells.sqlite``.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allworlds.experiments.work import CellRows, Outcome, code_version
from allworlds.foundation.errors import import_extra
from allworlds.foundation.files import write_atomic

if TYPE_CHECKING:
    import pyarrow as pa

MEASURES = ("pseudo_regret", "clean_regret", "realised_regret", "corruption")
"""The columns of :attr:`~allworlds.experiments.work.CellRows.values`."""
MASS, BOUND = "clique_mass", "regret_bound"
SUFFIX = ".parquet"


def arrow() -> Any:
    """The module pyarrow, or an error that says how to install it."""
    import_extra("pyarrow.parquet", "experiments", "results are kept in Parquet files, which need")
    return import_extra("pyarrow", "experiments")


def write_part(folder: Path, outcomes: Sequence[Outcome]) -> str:
    """Write the rows of finished cells as one part; returns its name."""
    pa = arrow()
    done = {outcome.cell.id: outcome.rows for outcome in outcomes if outcome.rows is not None}
    sizes = [rows.rounds.size for rows in done.values()]
    values = np.concatenate([rows.values for rows in done.values()])
    columns: dict[str, Any] = {
        "cell": pa.DictionaryArray.from_arrays(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes), list(done)),
        "round": np.concatenate([rows.rounds for rows in done.values()]),
        **{name: np.ascontiguousarray(values[:, i]) for i, name in enumerate(MEASURES)},
    }
    for name, kind in ((MASS, pa.list_(pa.float64())), (BOUND, pa.float64())):
        extras = [getattr(rows, name) for rows in done.values()]
        if any(extra is not None for extra in extras):
            pieces = [
                pa.nulls(size, kind) if extra is None else pa.array(list(extra) if name == MASS else extra, kind)
                for size, extra in zip(sizes, extras, strict=True)
            ]
            columns[name] = pa.concat_arrays(pieces)
    table = pa.table(columns).replace_schema_metadata({"code": code_version()})
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(table, sink, compression="zstd", use_dictionary=["cell"])
    content = sink.getvalue().to_pybytes()
    name = _name(content)
    write_atomic(folder / name, content)
    return name


def read_part(path: Path) -> pa.Table | None:
    """The rows of a part; None where it is missing or its bytes are not those that its name promises."""
    with contextlib.suppress(OSError):
        if _name(content := path.read_bytes()) == path.name:
            pa = arrow()
            return pa.parquet.read_table(pa.BufferReader(content))
    return None


def trouble_with(path: Path) -> str | None:
    """What is wrong with a part of this run: missing, damaged, of other code; None where nothing is."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return "missing"
    if _name(content) != path.name:
        return "damaged"
    pa = arrow()
    return None if written_by_us(pa.parquet.read_schema(pa.BufferReader(content))) else "of other code"


def written_by_us(schema: pa.Schema) -> bool:
    """Whether a part was written by the code that runs now."""
    return bool((schema.metadata or {}).get(b"code") == code_version().encode())


def cells_in(table: pa.Table) -> dict[str, CellRows]:
    """The rows of each cell of a part, which are consecutive."""
    table = table.unify_dictionaries()
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    names, numbers = columns["cell"].dictionary.to_pylist(), np.asarray(columns["cell"].indices)
    rounds = columns["round"].to_numpy()
    values = np.column_stack([columns[name].to_numpy() for name in MEASURES])
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    found = {}
    for start, end in zip(starts, np.append(starts[1:], numbers.size), strict=True):
        mass, bound = (_extra(columns.get(name), int(start), int(end)) for name in (MASS, BOUND))
        found[names[numbers[start]]] = CellRows(rounds[start:end], values[start:end], mass, bound)
    return found


def results_checksum(checksums: Iterable[tuple[str, str]]) -> str:
    """One checksum for all (cell, checksum): independent of the order of work and of how rows lie in files.

    >>> results_checksum([("b", "1"), ("a", "2")]) == results_checksum([("a", "2"), ("b", "1")])
    True
    """
    digest = hashlib.sha256()
    for cell, checksum in sorted(checksums):
        digest.update(f"{cell} {checksum}\n".encode())
    return digest.hexdigest()


def _extra(column: Any, start: int, end: int) -> Any:
    """Masses (R, K) or bounds (R,) of one cell; None where the column is absent or null."""
    if column is None or (piece := column.slice(start, end - start)).null_count:
        return None
    return piece.flatten().to_numpy().reshape(end - start, -1) if hasattr(piece, "offsets") else piece.to_numpy()


def _name(content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()[:32]}{SUFFIX}"
