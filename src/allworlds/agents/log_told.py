"""Rows as a function is told them, one for each decision and one for each outcome, made ready to be joined.

A log on disk says in its headers which arms there were and who showed whom. A function is told rows alone: each
decision names all arms in ``arms``, up to 256 of them, and shows whom it shows in ``observed``. So headers are made
from the rows here: one for each list of arms. Who shows whom is known once each arm was chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from allworlds.foundation.checks import shorten
from allworlds.foundation.errors import InvalidParameter

NEEDED = ("decision_id", "kind", "status", "action", "arm", "n_actions", "observed")
"""Columns without which rows cannot be joined."""
Row = Mapping[str, Any]


def is_told(row: Row) -> bool:
    """Whether this is a row as a function is told it."""
    return row.get("kind") in ("decision", "outcome") and all(name in row for name in NEEDED)


def told_rows(given: Iterable[Row], columns: Collection[str], more: Iterable[str]) -> tuple[Any, list[dict[str, Any]]]:
    """The rows as a pandas table with the number of their header in ``era``, and the headers."""
    import pandas

    rows = []
    for row in given:
        if not isinstance(row, Mapping) or not is_told(row):
            raise InvalidParameter(f"a row is {shorten(row)}; expected rows as Agent(graph, log=function) tells them")
        rows.append(row)
    made = [row for row in rows if row["kind"] == "decision"]
    if not made:
        raise InvalidParameter(f"there are {len(rows)} rows, none of them a decision; expected at least one decision")
    known = _inferred_arms(made)
    eras: dict[tuple[Any, ...], list[Row]] = {}
    for row in made:
        eras.setdefault(_arms(row, known), []).append(row)
    number = {arms: k for k, arms in enumerate(eras)}
    names = [*columns, *(name for name in more if name in rows[0])]
    table = pandas.DataFrame(
        [
            {name: row.get(name) for name in names}
            | {"era": number[_arms(row, known)] if row["kind"] == "decision" else 0}
            for row in rows
        ]
    )
    return table, [_header(arms, mine) for arms, mine in eras.items()]


def _arms(row: Row, known: tuple[Any, ...]) -> tuple[Any, ...]:
    return known if row.get("arms") is None else tuple(row["arms"])


def _inferred_arms(made: list[Row]) -> tuple[Any, ...]:
    """All arms where decisions do not say them: as other rows say, or by the labels of those that were chosen."""
    silent = [row for row in made if row.get("arms") is None]
    labels = {(row["action"], row["arm"]) for row in silent}
    sizes = {row["n_actions"] for row in silent}
    told = {tuple(row["arms"]) for row in made if row.get("arms") is not None} if silent else set()
    fitting = [arms for arms in told if _fits(arms, labels, sizes)]
    if len(fitting) == 1:
        return fitting[0]
    names = dict(labels)
    if told or len(sizes) > 1 or not len(names) == len(labels) == len(set(names.values())):
        raise InvalidParameter(
            "the arms of these rows came or went, and not all rows say which there were, as with more than 256 arms; "
            "expected rows of one time, or a log in a file, which says it"
        )
    if all(label == str(action) for action, label in labels):
        return tuple(range(max(sizes, default=0)))
    other = "arm"
    while any(label.startswith(f"{other} ") for label in names.values()):
        other = f"other {other}"  # no name of an arm that was never chosen may be that of another arm
    return tuple(names.get(i, f"{other} {i}") for i in range(max(sizes)))


def _fits(arms: tuple[Any, ...], labels: set[tuple[int, str]], sizes: set[int]) -> bool:
    return sizes == {len(arms)} and all(str(arms[action]) == label for action, label in labels)


def _header(arms: tuple[Any, ...], made: list[Row]) -> dict[str, Any]:
    """What a log on disk would say of these decisions, but for the range of reported values."""
    return {
        "learner": made[-1].get("learner"),
        "n_actions": len(arms),
        "labels": None if arms == tuple(range(len(arms))) else list(arms),
        "shows": _shows(len(arms), made),
        "package_version": made[-1].get("package_version"),
    }


def _shows(n_arms: int, made: list[Row]) -> dict[str, list[int]] | None:
    """Who shows whom; None if an arm was never chosen, or showed others at another time."""
    shown = {(row["action"], tuple(row["observed"])) for row in made if row["action"] is not None}
    by_arm = dict(shown)
    if len(shown) != n_arms or len(by_arm) != n_arms:
        return None
    groups = {arms: k for k, arms in enumerate(sorted(set(by_arm.values())))}
    starts, order = [0], list[int]()
    for arms in groups:
        order += arms
        starts.append(len(order))
    return {"where": [groups[by_arm[i]] for i in range(n_arms)], "starts": starts, "order": order}
