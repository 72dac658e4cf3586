"""Results as one table: a row for each finished cell and recorded round.

| column | what it is |
|---|---|
| ``cell`` | the id of the cell |
| ``graph``, ``world``, ``learner`` | their labels, which are their specs where no label was given |
| ``horizon`` | how long the cell ran |
| ``seed_number``, ``seed`` | the number in the file, and the seed that it was played with |
| ``n_arms``, ``n_cliques`` | of the graph and of the cover that was used |
| ``budget`` | how much corruption the world may spend; null where there is none |
| ``graph.*``, ``world.*``, ``learner.*`` | what their specs give by key: ``world.gap``, ``learner.beta`` |
| ``round`` | about 200 rounds from 1 to the horizon, evenly spaced in their logarithm |
| ``pseudo_regret`` | regret in means, on the losses as played; see :class:`allworlds.Trace` |
| ``clean_regret`` | the same on the losses before any tampering |
| ``realised_regret`` | losses that came, less those of the arm that is best in mean |
| ``corruption`` | what was really spent of the budget up to the round |

Rows are in the order of the file (what an extension added comes last), then of rounds, whatever the order of work.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from allworlds.experiments.parts import MEASURES, arrow, read_part
from allworlds.experiments.store import Row, Store
from allworlds.foundation.errors import InvalidParameter, MissingExtra
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
    >>> from allworlds.workflows.experiments import run_experiment
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
    with Store(folder, read_only=True) as store:
        rows = [row for row in store.rows() if row.state == "done"]
    table = _join(rows, Path(folder) / "parts", final=final)
    if as_ == "arrow" or (as_ is None and not _has("pandas")):
        return table
    if not _has("pandas"):
        raise MissingExtra("pandas is not installed; install it with pip install 'allworlds[tables]'")
    frame = table.to_pandas()
    return frame if as_ != "xarray" else _as_dataset(frame, final=final)


def _join(rows: Sequence[Row], parts: Path, *, final: bool) -> Any:
    """Rows from the parts, each with what its cell stands for."""
    pa = arrow()
    place = {row.cell.id: number for number, row in enumerate(rows)}
    owner = {row.cell.id: row.part for row in rows}
    numbers, rounds, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros((0, len(MEASURES)))]
    for name in dict.fromkeys(row.part for row in rows if row.part):
        table = read_part(parts / name)
        if table is None:
            raise InvalidParameter(
                f"part {name} is missing or damaged; 'allworlds resume {parts.parent}' does its cells again"
            )
        cells = table.column("cell").to_pylist()
        mine = np.array([place[cell] if owner.get(cell) == name else -1 for cell in cells], dtype=np.int64)
        numbers.append(mine[mine >= 0])
        rounds.append(table.column("round").to_numpy()[mine >= 0])
        values.append(np.column_stack([table.column(measure).to_numpy() for measure in MEASURES])[mine >= 0])
    number, round, value = np.concatenate(numbers), np.concatenate(rounds), np.concatenate(values)
    order = np.lexsort((round, number))
    number, round, value = number[order], round[order], value[order]
    if final:
        last = np.flatnonzero(np.append(np.diff(number) != 0, True)[: number.size])
        number, round, value = number[last], round[last], value[last]
    columns = {name: column.take(pa.array(number)) for name, column in _facts(rows).items()}
    columns["round"] = round
    columns |= {measure: np.ascontiguousarray(value[:, i]) for i, measure in enumerate(MEASURES)}
    return pa.table(columns)


def _facts(rows: Sequence[Row]) -> dict[str, Any]:
    """A column for each thing that is known of a cell, one value for each cell."""
    pa = arrow()
    columns = {"cell": pa.array([row.cell.id for row in rows], pa.string()).dictionary_encode()}
    for axis in AXES:
        labels = [getattr(row.cell, f"{axis}_label") for row in rows]
        columns[axis] = pa.array(labels, pa.string()).dictionary_encode()
    kinds = dict.fromkeys(FACTS, pa.int64()) | {"budget": pa.float64()}
    columns |= {name: pa.array([getattr(row.cell, name) for row in rows], kinds[name]) for name in FACTS}
    for axis in AXES:
        options = [parse_spec(getattr(row.cell, axis)).options for row in rows]
        for key in dict.fromkeys(key for option in options for key in option):
            columns[f"{axis}.{key}"] = _option([option.get(key) for option in options])
    return columns


def _option(values: list[Any]) -> Any:
    """Numbers as numbers; if one of them is a word or a list, all as they are written."""
    pa = arrow()
    numeric = all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)
    if numeric:
        return pa.array(values, pa.float64())
    words = ["/".join(map(str, value)) if isinstance(value, tuple) else value for value in values]
    return pa.array([None if word is None else str(word) for word in words], pa.string())


def _as_dataset(frame: Any, *, final: bool) -> Any:
    if not _has("xarray"):
        raise MissingExtra("xarray is not installed; install it with pip install 'allworlds[tables]'")
    axes = [*AXES, "horizon", "seed_number", *([] if final else ["round"])]
    for axis in AXES:
        frame[axis] = frame[axis].astype(str)
    return frame.set_index(axes)[list(MEASURES)].to_xarray()


def _has(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None
