"""Results as one table: a row for each finished cell and recorded round.

| column | what it is |
|---|---|
| ``cell`` | the id of the cell |
| ``graph``, ``world``, ``learner`` | their labels, which are their specs where no label was given |
| ``horizon`` | how long the cell ran |
| ``seed_number``, ``seed`` | the number in the file, and the seed that it was played with |
| ``n_arms``, ``n_cliques`` | of the graph and of the cover that was used; 0 cliques where the graph has no cover |
| ``budget`` | how much corruption the world may spend; null where there is none |
| ``graph.*``, ``world.*``, ``learner.*`` | what their specs give by key: ``world.gap``, ``learner.beta`` |
| ``round`` | about 200 rounds from 1 to the horizon, evenly spaced in their logarithm |
| ``pseudo_regret`` | regret in means, on the losses as played; see :class:`allworlds.Trace` |
| ``clean_regret`` | the same on the losses before any tampering |
| ``realised_regret`` | the losses incurred, less those of the arm that is best in mean |
| ``corruption`` | what was really spent of the budget up to the round |

Rows are in the order of the file (what an extension added comes last), then of rounds, whatever the order of work.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.experiments.parts import MEASURES, arrow, cells_in, read_part
from allworlds.experiments.store import CellRecord, Store
from allworlds.experiments.work import CellRows
from allworlds.foundation.errors import InvalidParameter, import_extra
from allworlds.foundation.specs import parse_spec

Form = Literal["pandas", "arrow", "xarray"]
FORMS = ("pandas", "arrow", "xarray")
AXES = ("graph", "world", "learner")
FACTS = ("horizon", "seed_number", "seed", "n_arms", "n_cliques", "budget")


def load_results(folder: str | Path, as_: Form | None = None, *, final: bool = False) -> Any:
    """The results in ``folder``: a pandas table, or an Arrow table where pandas is not installed.

    ``as_`` chooses: ``"pandas"``, ``"arrow"`` or ``"xarray"``, a dataset with the dimensions graph, world, learner,
    horizon, seed_number and round, NaN where nothing was recorded. ``final`` keeps only the last round of each cell.
    A run may still be at work in the folder: what is finished is there.

    >>> import tempfile
    >>> from allworlds import run_experiment
    >>> folder = tempfile.mkdtemp()
    >>> small = ["grid.seeds=1", "grid.horizons=[50]"]
    >>> summary = run_experiment("corrupted-cliques", folder, changes=small)
    >>> table = load_results(folder, final=True)
    >>> len(table) == summary.total
    True
    >>> set(table["round"])
    {50}
    """
    if as_ is not None and as_ not in FORMS:
        raise InvalidParameter(f"as_ is {as_!r}; expected one of {', '.join(FORMS)}")
    table = _table(read_cells(folder), final=final)
    if as_ == "arrow" or (as_ is None and find_spec("pandas") is None):
        return table
    for package in ("pandas", "xarray") if as_ == "xarray" else ("pandas",):
        import_extra(package, "tables")
    frame = table.to_pandas()
    if as_ != "xarray":
        return frame
    axes = [*AXES, "horizon", "seed_number", *([] if final else ["round"])]
    return frame.astype(dict.fromkeys(AXES, str)).set_index(axes)[list(MEASURES)].to_xarray()


class FinishedCell(NamedTuple):
    """What the table knows of a finished cell, and its rows."""

    record: CellRecord
    rows: CellRows


def read_cells(folder: str | Path) -> list[FinishedCell]:
    """Every finished cell of the run in ``folder``, in the order of the file; each part is read once."""
    with Store(folder, read_only=True) as store:
        records = [record for record in store.records() if record.state == "done"]
    parts: dict[str, dict[str, CellRows]] = {}
    for name in dict.fromkeys(record.part for record in records if record.part):
        table = read_part(Path(folder) / "parts" / name)
        if table is None:
            raise InvalidParameter(
                f"part {name} is missing or damaged; 'allworlds resume {folder}' plays its cells again"
            )
        parts[name] = cells_in(table)
    return [FinishedCell(record, parts[record.part or ""][record.cell.id]) for record in records]


def final_records(cells: Sequence[FinishedCell]) -> list[dict[str, Any]]:
    """A dictionary for each finished cell: the columns of :func:`load_results` at its last round."""
    records: list[dict[str, Any]] = _table(cells, final=True).to_pylist()
    return records


def curves_of(cells: Sequence[FinishedCell], y: str) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """The recorded rounds (R,) and the values of the measure ``y``, (1, R), by the id of the cell."""
    column = MEASURES.index(y)
    return {one.record.cell.id: (one.rows.rounds, one.rows.values[None, :, column]) for one in cells}


def _table(cells: Sequence[FinishedCell], *, final: bool) -> Any:
    """Rows of all cells, or only the last of each, with what the cells stand for."""
    pa = arrow()
    kept = slice(-1, None) if final else slice(None)
    rounds = [one.rows.rounds[kept] for one in cells]
    values = np.concatenate([np.zeros((0, len(MEASURES))), *(one.rows.values[kept] for one in cells)])
    number = np.repeat(np.arange(len(cells)), [len(some) for some in rounds])
    columns = {name: column.take(pa.array(number)) for name, column in _facts([one.record for one in cells]).items()}
    columns["round"] = np.concatenate([np.zeros(0, np.int64), *rounds])
    columns |= {measure: np.ascontiguousarray(values[:, i]) for i, measure in enumerate(MEASURES)}
    return pa.table(columns)


def _facts(records: Sequence[CellRecord]) -> dict[str, Any]:
    """A column for each thing that is known of a cell, one value for each cell."""
    pa = arrow()
    columns = {"cell": pa.array([one.cell.id for one in records], pa.string()).dictionary_encode()}
    for axis in AXES:
        labels = [getattr(one.cell, f"{axis}_label") for one in records]
        columns[axis] = pa.array(labels, pa.string()).dictionary_encode()
    kinds = dict.fromkeys(FACTS, pa.int64()) | {"budget": pa.float64()}
    columns |= {name: pa.array([getattr(one.cell, name) for one in records], kinds[name]) for name in FACTS}
    for axis in AXES:
        specs = [getattr(one.cell, axis) for one in records]
        parsed = {spec: parse_spec(spec).options for spec in set(specs)}
        options = [parsed[spec] for spec in specs]
        for key in dict.fromkeys(key for option in options for key in option):
            columns[f"{axis}.{key}"] = _option([option.get(key) for option in options])
    return columns


def _option(values: list[Any]) -> Any:
    """Numbers as numbers; if one of them is a word or a list, all as they are written."""
    pa = arrow()
    if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        return pa.array(values, pa.float64())
    words = ["/".join(map(str, value)) if isinstance(value, tuple) else value for value in values]
    return pa.array([None if word is None else str(word) for word in words], pa.string())
