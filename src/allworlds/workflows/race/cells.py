"""Finished cells on disk: a file each, written whole or not at all.

A file appears under its name only once it is complete: it is written beside, synced and renamed. What a kill leaves
behind is a ``.part`` file that nobody reads.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np

from allworlds.errors import InvalidParameter
from allworlds.simulation.runs import Runs
from allworlds.workflows.race.plan import Cell

ARRAYS = ("rounds", "pseudo_regret", "clean_regret", "realised_regret", "corruption", "seconds")


def open_folder(out: str | Path) -> Path:
    """The folder of the results with its ``cells``, proved to be writable; an error says what is in the way."""
    folder = Path(out)
    probe = folder / "cells" / f".probe-{os.getpid()}"
    try:
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"x")
        probe.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidParameter(f"cannot write to '{folder}': {reason}; choose another folder with --out") from None
    return folder


def write_cell(folder: Path, cell: Cell, runs: Runs) -> None:
    """Keep a finished cell."""
    target = folder / "cells" / cell.file_name
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    arrays = {name: getattr(runs, name) for name in ARRAYS}
    if runs.clique_mass is not None:
        arrays["clique_mass"] = runs.clique_mass
    with part.open("wb") as file:
        np.savez_compressed(file, digest=np.array(cell.digest), seeds=np.array(cell.seeds), **arrays)
        file.flush()
        os.fsync(file.fileno())
    part.replace(target)


def read_cell(folder: Path, cell: Cell) -> Runs | None:
    """A finished cell, or None where there is none, or one that is damaged or of another race."""
    try:
        path = folder / "cells" / cell.file_name
        with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
            if str(saved["digest"]) != cell.digest:
                return None
            arrays = {name: saved[name] for name in ARRAYS}
            masses = saved.get("clique_mass")
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return Runs(learner=cell.learner, world=cell.world, seeds=cell.seeds, clique_mass=masses, **arrays)
