"""Logs read back: the rows as they are on disk, or as a function is told them, joined to one row a decision.

Arms may come and go in a log: :func:`load_log` numbers all that there ever were together.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from allworlds.agents.log_eras import Eras, number_together
from allworlds.agents.log_files import COLUMNS, HEADER, MORE, OUTCOME, part_name, parts_in
from allworlds.agents.log_told import is_told, told_rows
from allworlds.foundation.errors import InvalidParameter, InvalidState, import_extra
from allworlds.foundation.files import disk_errors


def load_log(log: str | os.PathLike[str] | Iterable[Mapping[str, Any]]) -> Any:
    """The decisions of a log, one row each, as a pandas table in the order in which they were made.

    ``log`` is a path, or the rows that a ``log=function`` was told, in that order. A path may also be that of such rows
    as JSON lines. Outcomes are joined to their decisions, those of a :class:`~allworlds.agents.Fleet` by segment.

    ``status`` is "observed", "void", or "open" where there is no outcome. ``table.attrs["log"]`` says whose decisions
    they are: learner, labels, range of values (a function is not told the range). A log that is being written may be
    read at any time.

    Where the arms have changed, ``action``, ``observed``, ``available`` and ``probabilities`` count all arms that there
    ever were, those of the first decision first. An arm that was not there was not available and has probability 0.

    | column | what it is |
    |---|---|
    | ``decision_id``, ``round``, ``learner`` | which decision it is, and whose |
    | ``action``, ``arm``, ``n_actions`` | the number of the chosen arm, its label, and how many there are |
    | ``timestamp``, ``outcome_timestamp`` | seconds since 1970 |
    | ``loss``, ``reward`` | of the chosen arm, in [0, 1]; ``reward`` is ``1 - loss`` |
    | ``pscore``, ``clique``, ``clique_pscore`` | the probability of the choice, the clique and its probability |
    | ``observed``, ``losses``, ``seeing`` | the arms that were seen, their losses, the probability of seeing each |
    | ``probabilities``, ``available`` | of all arms, in single precision; which could be chosen, None for all |
    | ``status``, ``package_version`` | what became of it, and who wrote it |
    | ``era`` | how often arms had come or gone, or who shows whom had changed |
    | ``id``, ``segment`` | in the export of a service: the decision's own id, and its segment or "" |
    | ``segment`` | in the rows of a fleet: whose decision it is; ``decision_id`` counts in each segment |
    """
    import_extra("pandas", "tables", "load_log needs")
    if isinstance(log, str | os.PathLike):
        return fold(*read_rows(log))
    if not isinstance(log, Iterable):
        raise InvalidParameter(f"log is a {type(log).__name__}; expected a path, or rows as a function is told them")
    return fold(*told_rows(log, COLUMNS, MORE))


def table_of(log: Any) -> Any:
    """A table as it is, and the table that :func:`load_log` gives of anything else."""
    if not hasattr(log, "columns"):
        if not isinstance(log, str | os.PathLike | Iterable):
            raise InvalidParameter(
                f"log is a {type(log).__name__}; expected a path or a table as load_log gives it, or rows"
            )
        return load_log(log)
    if "kind" in log.columns and (log["kind"] == "outcome").any():
        raise InvalidParameter(
            "the log has outcomes in rows of their own, as a function is told them; expected one row for each "
            "decision; allworlds.load_log(rows) joins them"
        )
    return log


def read_rows(path: str | os.PathLike[str]) -> tuple[Any, list[dict[str, Any]]]:
    """The rows as they are on disk, a pandas table, with the number of their header in ``era``, and the headers."""
    where = Path(path)
    if where.suffix not in (".parquet", ".jsonl"):
        raise InvalidParameter(f"log is {str(path)!r}; expected a name ending in .parquet or .jsonl")
    if not where.exists():
        raise InvalidParameter(f"there is no log {str(path)!r}; Agent(graph, log={str(path)!r}) writes one")
    with disk_errors(f"read {where}"):
        return _read_parts(where) if where.suffix == ".parquet" else _read_lines(where)


def _read_parts(folder: Path) -> tuple[Any, list[dict[str, Any]]]:
    import_extra("pyarrow.parquet", "data", "logs in Parquet need")
    import pandas
    import pyarrow as pa
    from pyarrow import parquet

    paths = [folder / part_name(*part) for part in parts_in(folder)] if folder.is_dir() else [folder]
    if not paths:
        raise InvalidParameter(f"{str(folder)!r} has no rows yet; agent.log.flush() writes them")
    frames, eras = [], Eras()
    for one in paths:
        try:
            table = parquet.ParquetFile(one).read()
            eras.add(json.loads(table.schema.metadata[HEADER]))
        except (pa.ArrowInvalid, KeyError, TypeError, ValueError):
            raise InvalidState(f"{one} is not part of a log of decisions, or it is damaged; restore it") from None
        frames.append(table.to_pandas().assign(era=eras.now))
    return pandas.concat(frames, ignore_index=True), eras.headers


def _read_lines(path: Path) -> tuple[Any, list[dict[str, Any]]]:
    import pandas

    eras, rows = Eras(), []
    values = _parsed_lines(path)
    first = next(values, {})
    values = itertools.chain([first] if first else [], values)
    if is_told(first) and set(COLUMNS) <= set(first):  # written by a user's function
        told = list(values)
        if not all(map(is_told, told)):
            raise InvalidState(f"{path} has rows that a function is told, and others; expected one kind in a file")
        return told_rows(told, COLUMNS, MORE)
    for value in values:
        if isinstance(value.get("log"), dict):
            eras.add(value["log"])
        elif set(COLUMNS) <= set(value) and eras.headers:
            rows.append(value | {"era": eras.now})
        else:
            raise InvalidState(f"{path} is not a log of decisions; Agent(graph, log=...) writes one")
    if not eras.headers:
        raise InvalidParameter(f"{str(path)!r} has no rows yet; agent.log.flush() writes them")
    more = [name for name in MORE if rows and name in rows[0]]
    return pandas.DataFrame(rows, columns=[*COLUMNS, *more, "era"]), eras.headers


def _parsed_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Each line as a dictionary; a line that a kill cut short is left out."""
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            if line.startswith(b'{"') or line == b"{":
                continue  # cut short by a kill
            raise InvalidState(f"line {number} of {path} is not JSON; expected a log of decisions") from None
        if not isinstance(value, dict):
            raise InvalidState(f"line {number} of {path} is not a JSON object; expected a log of decisions")
        yield value


def fold(rows: Any, headers: list[dict[str, Any]]) -> Any:
    """One row a decision: a later outcome is joined to the last decision of its id, in its segment.

    A decision that an interrupted writer wrote again, with the same time, counts as an outcome, if it has one.
    """
    import pandas

    late = (rows["kind"] == "outcome").to_numpy()
    whose = ["segment", "decision_id"] if "segment" in rows.columns else ["decision_id"]
    again = ~late & rows[[*whose, "timestamp"]].duplicated().to_numpy()
    if again.any():
        kept = ~again | (rows["status"] != "open").to_numpy()
        rows, late = rows[kept], (late | again)[kept]
    table = rows[~late].drop(columns="kind").reset_index(drop=True)
    if late.any():
        place: dict[tuple[Any, ...], int] = {}
        targets, sources = [], []
        made = -1
        keys = zip(*(rows[name].to_numpy() for name in whose), strict=True)
        for k, (key, is_late) in enumerate(zip(keys, late, strict=True)):
            if not is_late:
                made += 1
                place[key] = made
            elif key in place:  # else its decision was lost with what was not written
                targets.append(place[key])
                sources.append(k)
        for name in OUTCOME:
            values = table[name].astype(object).to_numpy(copy=True)
            values[targets] = rows[name].astype(object).to_numpy()[sources]
            table[name] = pandas.Series(values, dtype=object if COLUMNS[name] in ("floats", "ints") else None)
    for name, kind in COLUMNS.items():
        if kind == "float":
            table[name] = table[name].astype("float64")
        elif kind == "word" and name != "kind":
            table[name] = table[name].astype("str")
        elif kind == "int" and name != "clique":
            table[name] = table[name].astype("int64")
    table["clique"] = table["clique"].astype("Int64")
    table.attrs["log"] = number_together(table, headers)
    return table
