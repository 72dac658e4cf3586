"""``allworlds verify-results``: are the results whole, and do they come out again bit for bit?"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from allworlds.experiments.cells import SpecCache
from allworlds.experiments.parts import checksums_of, read_part
from allworlds.experiments.store import Row, Store, read_description
from allworlds.experiments.work import code, play_cell, results_checksum

OnProgress = Callable[[int, int, str], None]
SAMPLE = 10


@dataclass(frozen=True)
class Verification:
    """What was found."""

    cells: int
    """In all."""
    done: int
    """Said to be finished."""
    damaged: tuple[str, ...]
    """Sentences on rows that are not what the table says."""
    replayed: int
    different: tuple[str, ...]
    """Titles of replayed cells whose bits differ."""
    notice: str | None
    """Why replays may differ although nothing is wrong."""
    checksum: str
    """Computed anew from the rows."""

    @property
    def holds(self) -> bool:
        """Whether all is as it should be."""
        return not self.damaged and not self.different and self.done == self.cells

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self) | {"holds": self.holds}


def verify_results(
    folder: str | Path, *, replay: int | None = SAMPLE, seed: int = 0, on_progress: OnProgress | None = None
) -> Verification:
    """Compute all checksums anew from the parts, and play ``replay`` cells again (None: all) to compare their bits."""
    description = read_description(folder)
    with Store(folder, read_only=True) as store:
        rows = store.rows()
    done = [row for row in rows if row.state == "done"]
    found, damaged = _read_all(Path(folder), done)
    whole = [row for row in done if found.get(row.cell.id) == row.checksum]
    chosen = whole if replay is None else random.Random(seed).sample(whole, min(replay, len(whole)))
    notice = None
    if description["code"] != code():
        notice = f"the results are of allworlds {description['code']}, this is {code()}: replays may differ"
    return Verification(
        cells=len(rows),
        done=len(done),
        damaged=tuple(damaged),
        replayed=len(chosen),
        different=tuple(_replay(chosen, SpecCache(Path(description["base"])), on_progress)),
        notice=notice,
        checksum=results_checksum(found.items()),
    )


def _read_all(folder: Path, done: list[Row]) -> tuple[dict[str, str], list[str]]:
    """The checksum of every finished cell as its rows are now, and what is wrong."""
    found: dict[str, str] = {}
    damaged = []
    for part in dict.fromkeys(row.part for row in done if row.part):
        table = read_part(folder / "parts" / part)
        if table is None:
            damaged.append(f"part {part} is missing or damaged")
            continue
        known = {row.cell.id for row in done if row.part == part}
        found |= {cell: checksum for cell, checksum in checksums_of(table).items() if cell in known}
    wrong = [row for row in done if found.get(row.cell.id) not in (None, row.checksum)]
    damaged += [f"the rows of {row.cell.title} are not those that were written" for row in wrong]
    return found, damaged


def _replay(rows: list[Row], workshop: SpecCache, on_progress: OnProgress | None) -> list[str]:
    different = []
    for number, row in enumerate(rows):
        if on_progress is not None:
            on_progress(number, len(rows), f"playing {row.cell.title} again")
        outcome = play_cell(row.cell, workshop)
        if outcome.error is not None or outcome.checksum != row.checksum:
            different.append(row.cell.title if outcome.error is None else f"{row.cell.title}: {outcome.error}")
    return different
