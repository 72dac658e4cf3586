"""The disk cache of compiled code: never stale, never idle. Checked in fresh processes on a copy of the package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import allworlds
from allworlds.kernels import jit

pytestmark = pytest.mark.compiled  # its processes are the same in both jobs

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

# A kernel of ftrl/solve.py that calls a kernel of ftrl/within_clique.py: one clique of two arms, the second 10
# worse. Its answer uses FARTHEST, a constant of the called module.
PROGRAM = """
import json
import numpy as np
import allworlds
from allworlds.ftrl.clique_mass import Problem, new_masses
from allworlds.ftrl.solve import fill_distribution

problem = Problem(np.array([0.0, 10.0]), np.array([0, 2]), np.array([1.0]), 1.0, 0.0, np.array([1.0]))
masses = new_masses(np.array([2]), 0.0)
answer = np.empty(2)
fill_distribution(problem, masses, answer)
stats = getattr(fill_distribution, "stats", None)
print(json.dumps({
    "package": allworlds.__file__,
    "answer": answer.tolist(),
    "compiled": stats is not None,
    "hits": sum(stats.cache_hits.values()) if stats else None,
    "misses": sum(stats.cache_misses.values()) if stats else None,
}))
"""


# A loop of the package that calls the kernels of whatever learner it is given, as simulation/play.py does.
LOOP = """
from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import draw


@lean_jit
def first_arm(state):
    return draw(state, 0.0, 0.0).arm
"""
PLAY = """
import json
import sys
import numpy as np
import allworlds
from allworlds.graphs import bandit
from allworlds.learners.dispatch import visibility_of
from allworlds.simulation.loop import first_arm

if sys.argv[1] == "guest":
    from guest.learner import State
else:
    from allworlds.learners.uniform import State
answer = first_arm(State(np.array([1.0]), visibility_of(bandit(2), "itself")))
hits, misses = (sum(counts.values()) for counts in (first_arm.stats.cache_hits, first_arm.stats.cache_misses))
print(json.dumps({"package": allworlds.__file__, "answer": answer, "hits": hits, "misses": misses}))
"""

# A learner outside the package: a package of its own, whose kernels live in two files.
GUEST = """
from typing import NamedTuple
import numpy as np
from allworlds.kernels.jit import lean_jit
from allworlds.learners.dispatch import Visibility, register_kernels
from allworlds.learners.uniform import Ticket
from guest.arms import favourite


class State(NamedTuple):
    clock: np.ndarray
    visibility: Visibility


@lean_jit
def draw(state, first, second):
    return Ticket(favourite(), 1.0, 1)


@lean_jit
def update(state, ticket, losses):
    state.clock[0] += 1.0


register_kernels(State, draw, update, lambda state: state.visibility)
"""
FAVOURITE = """
from allworlds.kernels.jit import lean_jit


@lean_jit
def favourite():
    return {arm}
"""


def run(root: Path, program: str = PROGRAM, *arguments: str, **environment: str) -> dict:
    """The program's answer with the package in ``root``, whatever the surrounding process was told."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=inherited | {"PYTHONPATH": str(root)} | environment,
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    report = json.loads(done.stdout)
    assert Path(report["package"]).is_relative_to(root)
    return report


def compiled_files(root: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in root.rglob("*.nbc")}


@pytest.fixture
def copy(tmp_path):
    source = Path(allworlds.__file__).parent
    shutil.copytree(source, tmp_path / "allworlds", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.fixture
def guest(copy):
    """A learner beside the copy of the package, and in the copy a loop that can play it."""
    (copy / "allworlds" / "simulation" / "loop.py").write_text(LOOP, encoding="utf-8")
    guest = copy / "guest"
    guest.mkdir()
    for name, text in {"__init__": "", "learner": GUEST, "arms": FAVOURITE.format(arm=1)}.items():
        (guest / f"{name}.py").write_text(text, encoding="utf-8")
    return guest


def test_a_change_in_a_called_module_is_noticed_and_no_change_compiles_nothing(copy):
    first = run(copy)
    assert first["answer"] == pytest.approx([1.0, 4.5399929762484854e-05], rel=1e-14)  # log_top is 0 here
    assert (first["compiled"], first["hits"], first["misses"]) == (True, 0, 1)

    written = compiled_files(copy)
    assert written
    second = run(copy)
    assert second["answer"] == first["answer"]
    assert (second["hits"], second["misses"]) == (1, 0)
    assert compiled_files(copy) == written

    called = copy / "allworlds" / "ftrl" / "within_clique.py"
    text = called.read_text(encoding="utf-8")
    assert text.count("FARTHEST = 708.0") == 1
    called.write_text(text.replace("FARTHEST = 708.0", "FARTHEST = 5.0"), encoding="utf-8")
    third = run(copy)
    assert third["answer"] == [1.0, 0.0]  # now an arm 10 away weighs nothing
    assert (third["hits"], third["misses"]) == (0, 1)

    written = compiled_files(copy)
    fourth = run(copy)
    assert fourth["answer"] == third["answer"]
    assert (fourth["hits"], fourth["misses"]) == (1, 0)
    assert compiled_files(copy) == written


def test_a_learner_from_outside_is_found_again_and_its_own_changes_are_noticed_too(copy, guest):
    def played(who: str) -> tuple[int, int, int]:
        report = run(copy, PLAY, who)
        return report["answer"], report["hits"], report["misses"]

    assert [played("guest"), played("guest")] == [(1, 0, 1), (1, 1, 0)]
    (guest / "arms.py").write_text(FAVOURITE.format(arm=10), encoding="utf-8")  # the loop's own package is as it was
    assert played("guest") == (10, 0, 1)


def test_a_process_that_cannot_import_a_guest_keeps_what_the_package_compiled(copy, guest):
    run(copy, PLAY, "uniform")
    run(copy, PLAY, "guest")
    guest.rename(copy / "gone")
    alone = run(copy, PLAY, "uniform")
    assert (alone["answer"], alone["hits"], alone["misses"]) == (0, 1, 0)


def test_with_jit_disabled_kernels_are_plain_python_and_nothing_is_compiled(copy):
    plain = run(copy, NUMBA_DISABLE_JIT="1")
    assert plain["compiled"] is False
    assert plain["answer"] == pytest.approx([1.0, 4.5399929762484854e-05], rel=1e-14)
    assert compiled_files(copy) == {}


def test_rooms_that_do_not_stamp_the_cache_compile_nothing_and_lie_above_all_that_do():
    layers = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]["layers"]
    above = [set(re.findall(r"\w+", layer)) for layer in layers]
    top = set().union(*above[: next(i for i, layer in enumerate(above) if "agents" in layer)])
    assert set(jit.WITHOUT_KERNELS) <= top
    for room in jit.WITHOUT_KERNELS:
        for path in (jit.PACKAGE / room).rglob("*.py"):
            assert "@jit" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize(
    ("decorator", "said"),
    [(jit.jit, (True, False)), (jit.lean_jit, (False, False)), (jit.inline_jit, (False, True))],
)
def test_no_option_is_left_for_numba_to_take_over_from_the_caller(decorator, said):
    def kernel(x):
        return x

    options = decorator(kernel).targetoptions
    assert (options["_nrt"], options["forceinline"]) == said
