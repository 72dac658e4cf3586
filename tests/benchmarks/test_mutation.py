"""The mutation script itself: what it changes, what it leaves alone, and that it tells the dead from the living."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

TOY = '''"""A module."""
from __future__ import annotations


def total(values: list[float], floor: float = 0.5) -> float:
    """Add up 3 numbers."""
    if len(values) < 1:
        raise ValueError(f"{len(values)} values; expected at least {1}")
    return 2.0 * sum(max(value, floor) for value in values)
'''


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutation", BENCHMARKS / "mutation.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_kind_of_error_is_planted_in_a_toy(script: ModuleType) -> None:
    changes = {mutant.change for mutant in script.mutants(TOY)}
    assert {
        "0.5 -> 5.0",
        "0.5 -> 0.25",
        "len(values) < 1 -> len(values) <= 1",
        "len(values) < 1 -> len(values) >= 1",
        "1 -> 2",
        "1 -> 0",
        "max(value, floor) -> min(value, floor)",
        "sum((max(value, floor) for value in values)) -> max((max(value, floor) for value in values), default=0)",
        "for value in values -> for value in list(values)[:1]",
        "if len(values) < 1: ... -> if False: ...",
    } <= {change.strip() for change in changes}
    assert not any("3" in change.partition("->")[0] for change in changes)  # docstrings stay


def test_every_mutant_is_a_module_that_differs_and_none_comes_twice(script: ModuleType) -> None:
    sources = [mutant.source for mutant in script.mutants(TOY)]
    for source in sources:
        ast.parse(source)
    assert len(set(sources)) == len(sources)
    assert ast.unparse(ast.parse(TOY)) not in sources


def test_a_check_gets_a_left_side_of_zero_and_a_right_side_ten_times_too_large(script: ModuleType) -> None:
    found = {mutant.after for mutant in script.mutants("x = Check('a', 'b', left, right, scale=s)\n")}
    assert "Check('a', 'b', 0.0, right, scale=s)" in found
    assert "Check('a', 'b', left, 10.0 * right, scale=s)" in found


def test_forgiven_rounding_is_changed_by_a_million_and_not_by_ten(script: ModuleType) -> None:
    numbers = [mutant.change for mutant in script.mutants("x = f(tolerance=1e-12)\n")]
    assert numbers == ["1e-12 -> 1e-06"]


def test_the_table_of_equivalent_mutants_fits_the_sources(script: ModuleType) -> None:
    """Each entry has a reason and still excuses a mutant; one that excuses none is out of date."""
    table = script.equivalents()
    package = script.runner.ROOT / "src" / "allworlds"
    for row in table:
        assert len(row.reason) > 20, row
        files = [file for file in sorted(package.glob(row.file)) if file.suffix == ".py"]
        assert any(excused(script, row, file, package) for file in files), row


def excused(script: ModuleType, row: Any, file: Path, package: Path) -> bool:
    """Does the entry excuse a mutant of this file? Only the lines that it names are changed."""
    source = file.read_text(encoding="utf-8")
    texts = [line.strip() for line in source.splitlines()]
    lines = {number for number, text in enumerate(texts, start=1) if row.line in text}
    name = str(file.relative_to(package))
    found = (script.Place(name, texts[one.line - 1], one) for one in script.mutants(source, lines))
    return any(script.reason(place, [row]) for place in found)


RUN = """
import sys
sys.path.insert(0, {benchmarks!r})
from mutation_testing import runner
from mutation_testing.operators import mutants
from pathlib import Path

sys.path.insert(0, {place!r})
file = Path({place!r}, "toy.py")
intact = file.read_text()
print("intact", runner.outcome("toy", [[{tests!r}]], 60.0))
for mutant in mutants(intact):
    file.write_text(mutant.source)
    print(runner.outcome("toy", [[{tests!r}]], 60.0), mutant.change)
    file.write_text(intact)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants are run in forked processes")
def test_a_survivor_is_noticed_and_a_killed_mutant_too(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text("def double(x):\n    return 2 * abs(x)\n")
    tests = tmp_path / "test_toy.py"
    tests.write_text("from toy import double\n\ndef test_double():\n    assert double(3) == 6\n")
    program = RUN.format(benchmarks=str(BENCHMARKS), place=str(tmp_path), tests=str(tests))
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    lines = done.stdout.splitlines()
    assert lines[0] == "intact survived", done.stderr
    assert "survived abs(x) -> x" in lines  # no test has a negative number
    assert "killed 2 -> 3" in lines
    assert "killed 2 * abs(x) -> 2 / abs(x)" in lines


@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants are run in forked processes")
def test_a_mutant_that_never_ends_is_stopped_by_its_computing_time(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text("def double(x):\n    while x < 0:\n        pass\n    return 2 * x\n")
    tests = tmp_path / "test_toy.py"
    tests.write_text("from toy import double\n\ndef test_double():\n    assert double(-1) == -2\n")
    program = f"""
import sys
sys.path[:0] = [{str(BENCHMARKS)!r}, {str(tmp_path)!r}]
from mutation_testing import runner
print(runner.outcome("toy", [[{str(tests)!r}]], 2.0))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == ["timeout"], done.stderr


def test_an_unknown_room_is_refused_in_a_sentence() -> None:
    command = [sys.executable, str(BENCHMARKS / "mutation.py"), "kitchen"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "room is 'kitchen'; expected one of theory, ftrl, learners" in done.stderr
