"""Finished cells on disk: a file each, written whole or not at all.

A file appears under its name only once it is complete. What a kill leaves behind is a ``.part`` file that nobody reads.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from allworlds.analysis.runs import Runs
from allworlds.foundation.files import write_atomic
from allworlds.workflows.race.plan import Cell

ARRAYS = ("rounds", "pseudo_regret", "clean_regret", "realised_regret", "corruption", "seconds")

OPTIONAL = ("clique_mass", "regret_bound")
"""What only some learners have."""


def write_cell(folder: Path, cell: Cell, runs: Runs) -> None:
    """Keep a finished cell."""
    arrays = {name: getattr(runs, name) for name in ARRAYS}
    arrays |= {name: getattr(runs, name) for name in OPTIONAL if getattr(runs, name) is not None}
    content = io.BytesIO()
    np.savez_compressed(content, digest=np.array(cell.digest), seeds=np.array(cell.seeds), **arrays)
    write_atomic(folder / "cells" / cell.file_name, content.getvalue())


def read_cell(folder: Path, cell: Cell) -> Runs | None:
    """A finished cell, or None where there is none, or one that is damaged or of another race."""
    try:
        path = folder / "cells" / cell.file_name
        with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
            if str(saved["digest"]) != cell.digest:
                return None
            arrays = {name: saved[name] for name in ARRAYS}
            arrays |= {name: saved.get(name) for name in OPTIONAL}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return Runs(learner=cell.learner, world=cell.world, seeds=cell.seeds, **arrays)
