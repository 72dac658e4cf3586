"""What holds for the whole project: light imports, one version, public names, the commands of the README."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata, resources
from pathlib import Path

import pytest

import allworlds
from allworlds.cli import COMMANDS, GROUPS

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def modules_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after ``code``."""
    report = "import json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    program = f"{code}\n{report}"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(answer.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy():
    assert not modules_after("import allworlds") & {"numpy", "numba", "matplotlib", "networkx", "typer"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        *([command.__name__.replace("_", "-"), "--help"] for command in COMMANDS),
        *([word, "--help"] for word, _, _ in GROUPS),
        *([word, one.__name__.strip("_").replace("_", "-"), "--help"] for word, _, group in GROUPS for one in group),
    ],
)
def test_help_and_version_load_neither_numpy_nor_numba_nor_matplotlib(arguments):
    code = f"""
import sys
from allworlds.cli import main
sys.argv = ["allworlds", *{arguments!r}]
try:
    main()
except SystemExit as end:
    assert not end.code
"""
    loaded = modules_after(code)
    assert "typer" in loaded
    assert not loaded & {"numpy", "numba", "matplotlib", "networkx", "pyarrow", "distributed"}


def test_drawing_a_figure_is_what_loads_matplotlib():
    loaded = modules_after("from allworlds.reporting.paper_figure import figure_1; figure_1(resolution=10)")
    assert {"numpy", "matplotlib"} <= loaded


def test_the_installed_command_answers():
    command = Path(sys.executable).with_name("allworlds")
    answer = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout == f"allworlds {allworlds.__version__}\n"


def test_the_version_is_the_same_everywhere():
    version = PYPROJECT["project"]["version"]
    assert allworlds.__version__ == version
    assert metadata.version("allworlds") == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert version in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_package_says_that_it_is_typed():
    assert resources.files("allworlds").joinpath("py.typed").is_file()


@pytest.mark.parametrize("name", allworlds.__all__)
def test_every_public_name_resolves(name):
    assert getattr(allworlds, name) is not None
    assert name in dir(allworlds)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Oracle'"):
        allworlds.Oracle  # noqa: B018


def test_the_extra_all_installs_every_optional_part():
    extras = PYPROJECT["project"]["optional-dependencies"]
    parts = {name for name in extras if name != "all"}
    assert extras["all"] == [f"allworlds[{','.join(sorted(parts, key=list(extras).index))}]"]


def test_the_readme_names_the_three_commands_and_they_can_be_run():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for script in ("scripts/race", "scripts/serve", "scripts/test"):
        assert script in readme
    for script in (
        "scripts/race",
        "scripts/serve",
        "scripts/test",
        "scripts/check",
        "scripts/docs",
        "scripts/bench",
        ".ci/run",
    ):
        assert os.access(ROOT / script, os.X_OK)


def test_every_file_that_contributing_names_exists_and_those_to_imitate_are_short():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    source, named = ROOT / "src/allworlds", set(re.findall(r"`(\w+/\w+\.py)`", text))
    assert {path for path in named if not any((place / path).is_file() for place in (source, ROOT))} == set()
    imitated = re.findall(r"^\| `(\S+\.py)` \|", text.partition("## Files to imitate")[2], re.MULTILINE)
    assert len(imitated) == 5
    assert all(len((source / path).read_text(encoding="utf-8").splitlines()) <= 180 for path in imitated)


def test_contributing_shows_the_rooms_as_they_are():
    picture = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```")[1]
    shown = {room for line in picture.splitlines() for room in re.match(r"[\w │]*?(?=  |$)", line)[0].split(" │ ")}
    rooms = {path.parent.name for path in (ROOT / "src/allworlds").glob("*/__init__.py")}
    assert shown - {""} == rooms


def test_every_script_names_its_group_because_a_sourced_file_without_arguments_sees_those_of_its_caller():
    groups = {*tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"], "none"}
    for script in ("race", "serve", "test", "check", "docs", "bench"):
        (line,) = re.findall(
            r"^source .*_environment.*$", (ROOT / "scripts" / script).read_text(encoding="utf-8"), re.M
        )
        assert line.split()[-1] in groups, script
