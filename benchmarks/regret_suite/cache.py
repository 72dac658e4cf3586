"""Regrets that were played before, kept on disk, so that trying a new setting costs only its own plays.

There is one file for each cell, learner and state of the sources, and it holds the regret of every seed. A file's name
is a digest of the world, sizes and horizon; of the learner's class and settings; and of the sources that decide its
plays. Change any of them and the file is not found. Files are replaced whole, so an interrupted run loses only the
plays under way.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import allworlds.kernels
from regret_suite.cells import Cell

FOLDER = Path(__file__).resolve().parent.parent / ".cache" / "regret"
PACKAGE = Path(allworlds.kernels.__file__).resolve().parent.parent
ALWAYS = ("allworlds.simulation.play", "allworlds.worlds.base")
"""The modules that decide every play, with what they import."""
ROOMS = ("kernels", "ftrl", "learners", "worlds", "simulation")
"""Changes elsewhere do not count: the graphs here are disjoint cliques, whose covers are not searched for."""

Plays = dict[int, tuple[float, float]]
"""Seed: regret on the losses as played, and on the clean ones."""


class Cache:
    """A folder of results; one without a folder remembers nothing."""

    def __init__(self, folder: Path | None = FOLDER) -> None:
        self.folder = folder

    def read(self, cell: Cell, learner: Any) -> Plays:
        """What is known of ``learner`` in ``cell``; nothing if the file is missing or damaged."""
        path = self._path(cell, learner)
        try:
            stored = json.loads(path.read_text()) if path else {"plays": {}}
            return {int(seed): (float(played), float(clean)) for seed, (played, clean) in stored["plays"].items()}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def write(self, cell: Cell, learner: Any, plays: Plays) -> None:
        """Keep ``plays``, all at once."""
        path = self._path(cell, learner)
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"cell": cell.name, "learner": learner.name, "plays": plays})
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(text)
        part.replace(path)

    def _path(self, cell: Cell, learner: Any) -> Path | None:
        """Where the file is; None for learners that are not of the package, whose sources nobody watches."""
        module = type(learner).__module__
        if self.folder is None or not module.startswith("allworlds."):
            return None
        settings = json.dumps(learner.settings(), sort_keys=True, default=str)
        key = f"{cell.key} {module} {type(learner).__qualname__} {settings} {source_digest(module)}"
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


@functools.cache
def source_digest(module: str, package: Path = PACKAGE) -> str:
    """A digest of the sources that decide the plays of the learner in ``module``: not those of other learners."""
    found: set[Path] = set()
    waiting = [module, *ALWAYS]
    while waiting:
        path = _file_of(waiting.pop(), package)
        if path is not None and path not in found and path.stem != "by_name":  # which names all, and decides no play
            found.add(path)
            waiting += _imports(path)
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(str(path.relative_to(package)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _file_of(module: str, package: Path) -> Path | None:
    """The file of a module in one of :data:`ROOMS`; a room's own ``__init__`` only passes names on."""
    parts = module.split(".")
    path = package.joinpath(*parts[1:]).with_suffix(".py") if len(parts) == 3 and parts[1] in ROOMS else None
    return path if path is not None and path.is_file() else None


def _imports(path: Path) -> list[str]:
    """Modules that a file may import: in ``from a import b``, both ``a`` and ``a.b``."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return names
