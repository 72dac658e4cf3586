"""A log whose arms came and went: an *era* is a run of decisions over which arms, and who shows whom, stayed the same.

On disk an arm has the number that it had in its era. A table over all eras needs one number for each arm that there
ever was: arms are known by their labels, and those of the first era come first. An arm that was not there in an era was
not available, so whoever reads the table need not know about eras.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Eras:
    """The headers of a log whose arms, or whose rule who shows whom, differ from those before."""

    def __init__(self) -> None:
        self.headers: list[dict[str, Any]] = []

    @property
    def now(self) -> int:
        """The number of the last."""
        return len(self.headers) - 1

    def add(self, header: dict[str, Any]) -> None:
        """Read on under this header."""
        same = ("n_actions", "labels", "shows")
        if self.headers and all(self.headers[-1].get(name) == header.get(name) for name in same):
            self.headers[-1] = header
        else:
            self.headers.append(header)


def number_together(table: Any, headers: list[dict[str, Any]]) -> dict[str, Any]:
    """Number the arms of a table over all its eras, in place, and return one header for all of it."""
    arms = [names_in(header) for header in headers]
    together = list(dict.fromkeys(name for names in arms for name in names))
    shows = [header.get("shows") for header in headers]
    if any(names != together for names in arms):
        place = {name: number for number, name in enumerate(together)}
        numbers = [np.array([place[name] for name in names]) for names in arms]
        _renumber(table, numbers, len(together))
        shows = [_shows_together(one, of, len(together)) for one, of in zip(shows, numbers, strict=True)]
    return headers[-1] | {
        "n_actions": len(together),
        "labels": None if together == list(range(len(together))) else together,
        "shows": shows[-1] if len(shows) == 1 else None,
        "eras": [{"arms": names, "shows": one} for names, one in zip(arms, shows, strict=True)],
    }


def names_in(header: Mapping[str, Any]) -> list[Any]:
    """The labels of the arms, or their numbers."""
    labels = header.get("labels")
    return list(range(int(header["n_actions"]))) if labels is None else list(labels)


def _renumber(table: Any, numbers: list[NDArray[np.int64]], n_arms: int) -> None:
    """Count arms as those that there ever were; ``numbers[era]`` has the new number of each arm of an era."""
    import pandas

    eras = table["era"].to_numpy()
    table["action"] = np.array(
        [numbers[era][arm] for era, arm in zip(eras, table["action"], strict=True)], dtype=np.int64
    )
    for name in ("observed", "available"):
        values = [
            (np.sort(of) if name == "available" and of.size < n_arms else None)
            if value is None
            else of[np.asarray(value, dtype=np.int64)]
            for of, value in zip((numbers[era] for era in eras), table[name], strict=True)
        ]
        table[name] = pandas.Series(values, dtype=object)
    spread = []
    for era, value in zip(eras, table["probabilities"], strict=True):
        whole = None if value is None else np.zeros(n_arms, dtype=np.float32)
        if whole is not None:
            whole[numbers[era]] = value
        spread.append(whole)
    table["probabilities"] = pandas.Series(spread, dtype=object)
    table["n_actions"] = n_arms


def _shows_together(shows: Any, numbers: NDArray[np.int64], n_arms: int) -> Any:
    """Who shows whom among all arms; those that were not there show nothing, in a group of their own."""
    if shows is None:
        return None
    where = np.full(n_arms, len(shows["starts"]) - 1)
    where[numbers] = shows["where"]
    order = numbers[np.array(shows["order"], dtype=np.int64)]
    return {"where": where.tolist(), "starts": [*shows["starts"], shows["starts"][-1]], "order": order.tolist()}
