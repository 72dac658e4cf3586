"""``allworlds status``: how far a run is, without disturbing it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from allworlds.experiments.store import Store, read_description


@dataclass(frozen=True)
class Status:
    """What is known of a run."""

    folder: str
    name: str
    question: str
    done: int
    failed: int
    waiting: int
    seconds: float
    """Spent in finished cells, over all threads."""
    checksum: str | None
    """Of all results, once every cell is finished."""
    failures: tuple[dict[str, Any], ...]
    """Cell, title, attempts and error of each."""
    starts: tuple[dict[str, Any], ...]
    """When and on what it was started."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def read_status(folder: str | Path) -> Status:
    """Read the state of the run in ``folder``; another process may be at work there."""
    description = read_description(folder)
    with Store(folder, read_only=True) as store:
        rows = store.rows()
        states = [row.state for row in rows]
        complete = states.count("done") == len(rows)
        return Status(
            folder=str(folder),
            name=description["name"],
            question=description["question"],
            done=states.count("done"),
            failed=states.count("failed"),
            waiting=states.count("waiting"),
            seconds=sum(row.seconds or 0.0 for row in rows),
            checksum=store.checksum() if complete else None,
            failures=tuple(
                {"cell": row.cell.id, "title": row.cell.title, "attempts": row.attempts, "error": row.error}
                for row in rows
                if row.state == "failed"
            ),
            starts=tuple(store.starts()),
        )
