"""Results on disk: Parquet files that hold the rows of a bundle of cells.

A part is named by the SHA-256 of its bytes, so a damaged one gives itself away. A row is (cell, round, the four
measures); what a cell stands for is told by ``cells.sqlite``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allworlds.experiments.work import Outcome, code, rows_checksum
from allworlds.foundation.errors import MissingExtra
from allworlds.foundation.files import write_atomic

if TYPE_CHECKING:
    import pyarrow as pa

MEASURES = ("pseudo_regret", "clean_regret", "realised_regret", "corruption")
"""The columns of :attr:`~allworlds.experiments.work.Outcome.values`."""
SUFFIX = ".parquet"


def arrow() -> Any:
    """The module pyarrow, or a sentence on how to get it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(
            "results are kept in Parquet files; install pyarrow with pip install 'allworlds[experiments]'"
        ) from None
    return pyarrow


def write_part(folder: Path, outcomes: Sequence[Outcome]) -> tuple[str, dict[str, str]]:
    """Write the rows of finished cells as one part; returns its name and each cell's checksum."""
    pa = arrow()
    checksums = {outcome.cell.id: outcome.checksum for outcome in outcomes}
    sizes = [len(outcome.rounds) for outcome in outcomes if outcome.rounds is not None]
    values = np.concatenate([outcome.values for outcome in outcomes if outcome.values is not None])
    rounds = np.concatenate([outcome.rounds for outcome in outcomes if outcome.rounds is not None])
    numbers = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    columns = {
        "cell": pa.DictionaryArray.from_arrays(numbers, [outcome.cell.id for outcome in outcomes]),
        "round": rounds,
        **{name: np.ascontiguousarray(values[:, i]) for i, name in enumerate(MEASURES)},
    }
    table = pa.table(columns).replace_schema_metadata({"code": code()})
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(table, sink, compression="zstd", use_dictionary=["cell"])
    content = sink.getvalue().to_pybytes()
    name = _name(content)
    write_atomic(folder / name, content)
    return name, checksums


def read_part(path: Path) -> pa.Table | None:
    """The rows of a part; None where it is missing or its bytes are not those that its name promises."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if _name(content) != path.name:
        return None
    pa = arrow()
    return pa.parquet.read_table(pa.BufferReader(content))


def trouble_with(path: Path) -> str | None:
    """What is wrong with a part of this run, if anything: its bytes must be what its name promises, its code ours."""
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
    return bool((schema.metadata or {}).get(b"code") == code().encode())


def checksums_of(table: pa.Table) -> dict[str, str]:
    """The checksum of each cell, computed anew from the rows of a part."""
    column = table.unify_dictionaries().column("cell").combine_chunks()
    names = column.dictionary.to_pylist()
    numbers = np.asarray(column.indices)
    rounds = table.column("round").to_numpy()
    values = np.column_stack([table.column(name).to_numpy() for name in MEASURES])
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    ends = np.append(starts[1:], numbers.size)
    return {
        names[numbers[start]]: rows_checksum(names[numbers[start]], rounds[start:end], values[start:end])
        for start, end in zip(starts, ends, strict=True)
    }


def _name(content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()[:32]}{SUFFIX}"
