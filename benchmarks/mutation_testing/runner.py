"""Run tests against one mutant after the other, in a copy of the package.

The copy lies in a temporary directory, so that an interrupted run leaves the tree as it was. One server process
imports what all mutants share (NumPy, pytest, the rooms below) and forks a child for each mutant: a child imports the
changed module, runs its doctests and its tests until the first failure, and its exit code says which it was.
"""

from __future__ import annotations

import contextlib
import doctest
import gc
import importlib
import io
import math
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "allworlds"

OPTIONS = ("-p", "no:cacheprovider", "-p", "no:xdist", "--assert=plain", "-o", "addopts=--import-mode=importlib")
SURVIVED, KILLED, SLOW = "survived", "killed", "timeout"


@dataclass(frozen=True)
class Room:
    """What the mutants of a room need: which modules are shared, whether kernels run as plain Python, more tests."""

    shared: tuple[str, ...]
    plain_python: bool
    also: tuple[str, ...] = ()
    """Tests of rooms above that check code of this one, as patterns below ``tests/``."""


ROOMS = {
    "theory": Room(("covers", "ftrl", "ftrl.solve", "learners", "worlds", "simulation"), plain_python=False),
    "ftrl": Room(
        ("covers", "kernels"),
        True,
        ("learners/test_regret_bound.py", "learners/test_lazy*.py", "theory/test_reference.py"),
    ),
    "learners": Room(("covers", "kernels", "ftrl"), plain_python=True),
}


@contextlib.contextmanager
def package_copy(source: Path) -> Iterator[Path]:
    """A copy of the package in a directory of its own; the directory goes on the path, the copy is imported."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        shutil.copytree(source, Path(place, source.name), ignore=shutil.ignore_patterns("__pycache__"))
        yield Path(place, source.name)


def tests_of(room: str, file: str) -> list[list[str]]:
    """The tests of one source file as arguments of pytest, one list a run: those of its own name first."""
    if room == "learners":
        return _tests_of_learner(file)
    folder, stem = ROOT / "tests" / room, Path(file).stem
    own = sorted(folder.glob(f"test_{stem}*.py"), reverse=True)
    above = [path for pattern in ROOMS[room].also for path in sorted((ROOT / "tests").glob(pattern))]
    groups = own[:1], [*own[1:], *sorted(set(folder.glob("test_*.py")) - set(own)), *above]
    return [[str(path) for path in group] for group in groups if group]


SHARED = {"base", "by_name", "dispatch", "recipe", "sampling"}
"""Files of ``learners/`` that every learner uses: they are tested by these few, in the contract too."""
FEW = ("tsallis_shannon", "exp3_ix", "ucb")
MORE_TESTS = {
    **dict.fromkeys(("ucb_v_n", "ucb_ne", "moss", "ucb_window"), ("more_indices",)),
    "tsallis_shannon": ("regret_bound", "saving_with_a_floor", "forgetting", "dispatch"),
    "dispatch": ("exp3_wix",),
}
"""Learners with tests in files of other names; one that plays on changing and noisy graphs."""
OF_AGENTS = ("test_arms.py", "test_drawing.py")
"""Tests below ``tests/agents`` of what only agents ask of the default learner: other arms, masks, late outcomes."""


def _tests_of_learner(file: str) -> list[list[str]]:
    """A learner's own tests, those of learners that import it, and the contract of all of them by their names.

    The whole room takes four minutes as plain Python, and the tests of a rival seldom need another rival.
    """
    stem, folder = Path(file).stem, ROOT / "tests" / "learners"
    sources = {
        path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "src" / PACKAGE / "learners").glob("*.py")
    }
    users = [name for name, text in sorted(sources.items()) if f"learners.{stem} import" in text]
    stems = [stem, *(FEW if stem in SHARED else (name for name in users if name not in SHARED | {"__init__"}))]
    wanted = dict.fromkeys(test for one in stems for test in (one, *MORE_TESTS.get(one, ())))
    own = [
        str(path)
        for path in (folder / f"test_{name}.py" for name in (*wanted, "ranges", "tickets", "by_name"))
        if path.exists()
    ]
    own += [str(ROOT / "tests" / "agents" / name) for name in OF_AGENTS if "tsallis_shannon" in stems]
    names = [name for one in stems for name in re.findall(r'LearnerRecipe\(\s*"([a-z0-9-]+)"', sources[one])]
    names += ["tsallis-shannon"] if "tsallis_shannon" in stems else []  # its recipe is in by_name.py
    contract = [str(ROOT / "tests" / "contracts" / "test_learners.py"), "-k", " or ".join(f"{name}-" for name in names)]
    return [own[:1], own[1:], contract if names else []]


def prepare(room: str, package: Path) -> None:
    """Import what every mutant of the room shares, from the copy."""
    for name in list(sys.modules):
        if name.partition(".")[0] == package.name:
            raise RuntimeError(f"{name} is already imported; the copy at {package} could not be")
    sys.path.insert(0, str(package.parent))
    sys.dont_write_bytecode = True  # a mutant of the same size and second would be taken for the last one
    import numpy as np
    import pytest

    for name in ROOMS[room].shared:
        importlib.import_module(f"{package.name}.{name}")
    above = sys.modules[package.name]
    shared, names = set(sys.modules), set(vars(above))
    if not ROOMS[room].plain_python:  # compile the step once, here, and not in every child
        from allworlds.workflows.verify.instances import random_round

        for which in ("sharp", "paper"):
            assert random_round(np.random.default_rng(0), which).half_steps.size
    with contextlib.redirect_stdout(io.StringIO()):  # import what the tests import
        pytest.main(["--collect-only", "-q", *OPTIONS, str(ROOT / "tests" / room), str(ROOT / "tests" / "contracts")])
    for name in set(sys.modules) - shared:  # a child imports the mutated room, what is above it and its tests afresh
        file = getattr(sys.modules[name], "__file__", None) or ""
        if name.partition(".")[0] in (package.name, "tests", room) or file.startswith(str(ROOT / "tests")):
            del sys.modules[name]
    for name in set(vars(above)) - names:  # the package keeps what was asked of it
        delattr(above, name)
    gc.freeze()


def outcome(module: str, tests: list[list[str]], time_limit: float) -> str:
    """What the tests say of the package as it now is on disk; a child that hangs is stopped.

    The limit is one of computing time, so that a mutant does not seem dead because the machine is busy. One that sleeps
    computes nothing: it is stopped after thirty times as long by the clock.
    """
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time_limit), math.ceil(time_limit) + 5))
        _run_tests(module, tests)
    deadline = time.monotonic() + 30.0 * time_limit
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return SLOW if code in (-signal.SIGXCPU, -signal.SIGKILL) else KILLED if code else SURVIVED
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return SLOW


def _run_tests(module: str, tests: list[list[str]]) -> None:
    """In the child: import the module, run its doctests, then the tests; never return."""
    code = 1
    try:
        os.setsid()
        silence = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(silence, stream)
        import pytest

        found = importlib.import_module(module)
        if doctest.testmod(found).failed == 0:
            os.chdir(ROOT)
            kinds = "not slow and not compiled" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "not slow"
            for group in filter(None, tests):  # most mutants die of their own test
                code = int(pytest.main(["-x", "-q", *OPTIONS, "-m", kinds, *group]))
                if code not in (0, 5):  # 5: nothing was selected
                    break
                code = 0
    finally:
        os._exit(code)
