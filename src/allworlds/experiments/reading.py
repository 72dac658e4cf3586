"""Read an experiment: a TOML file, or one that ships with the package, with changes from the command line.

An error names the place in the file, what was given, what was expected and, for an unknown key, the nearest one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allworlds.foundation.errors import InvalidParameter, import_extra
from allworlds.foundation.specs import NAME, check_known

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

    from allworlds.experiments.experiment import Experiment

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Source:
    """Where an experiment was read from, so that it can be read again."""

    name: str
    """The id of a shipped experiment, or the absolute path of a file."""
    base: Path
    """The folder that relative paths in its specs are taken from."""
    changes: tuple[str, ...] = ()
    """What ``--set`` changed."""


def shipped() -> list[str]:
    """The ids of the experiments that come with the package.

    >>> "corrupted-cliques" in shipped()
    True
    """
    folder = resources.files("allworlds.experiments").joinpath("shipped")
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def read_experiment(name: str | Path, changes: Sequence[str] = (), *, small: bool = False) -> tuple[Experiment, Source]:
    """The experiment of a file or of a shipped id, with ``changes`` such as ``"grid.seeds=3"``.

    ``small`` first makes the changes that the file lists under the key ``small``: a version that runs in minutes.

    >>> experiment, source = read_experiment("corrupted-cliques", ["grid.seeds=1"])
    >>> experiment.name, experiment.grid[0].seeds
    ('corrupted-cliques', [0])
    """
    if isinstance(changes, str):
        raise InvalidParameter(f"changes is {changes!r}; expected a list of them, such as ['grid.seeds=3']")
    text, source = _text(str(name), tuple(changes))
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidParameter(f"{source.name} is not TOML: {error}") from None
    shorter = _small_changes(data, source.name, asked=small)
    for change in (*shorter, *changes):
        _apply(data, change)
    return as_experiment(data, source.name, text), replace(source, changes=(*shorter, *source.changes))


def _small_changes(data: dict[str, Any], name: str, *, asked: bool) -> list[str]:
    """Take the key ``small`` out of the data; the changes that it lists if they are asked for, else none."""
    found = data.pop("small", None)
    if found is not None and (not isinstance(found, list) or not all(isinstance(one, str) for one in found)):
        raise InvalidParameter(f"{name}, small: got {found!r}; expected a list of changes, such as ['grid.seeds=3']")
    if asked and not found:
        raise InvalidParameter(f"{name} has no small version; run it whole, or change it with --set grid.seeds=3")
    return found if found and asked else []


def as_experiment(data: Any, name: str, text: str = "") -> Experiment:
    """Plain data as an experiment; ``name`` and ``text`` are for error messages."""
    errors = import_extra("pydantic", "experiments", "experiments and races need")
    from allworlds.experiments.experiment import Experiment

    try:
        return Experiment.model_validate(data)
    except errors.ValidationError as error:
        raise InvalidParameter(f"{name}, {_sentence(error, text)}") from None


def _text(name: str, changes: tuple[str, ...]) -> tuple[str, Source]:
    path = Path(name)
    if NAME.fullmatch(name) and not path.is_file():
        check_known(name, shipped(), "experiment", "allworlds experiments")
        file = resources.files("allworlds.experiments").joinpath("shipped", f"{name}.toml")
        return file.read_text(encoding="utf-8"), Source(name, Path.cwd(), changes)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise InvalidParameter(
            f"cannot read '{path}': {reason}; expected a TOML file, or an id that 'allworlds experiments' lists"
        ) from None
    return text, Source(str(path.resolve()), path.resolve().parent, changes)


# --- changes from the command line ----------------------------------------------------------------------


def _apply(data: dict[str, Any], change: str) -> None:
    """Set ``a.b`` to a TOML value; a name that stands for a list means each of its members, unless one is counted.

    >>> data = {"grid": [{"seeds": 1}, {"seeds": 1}]}
    >>> _apply(data, "grid.seeds=3")
    >>> _apply(data, "grid.1.seeds=[5]")
    >>> data
    {'grid': [{'seeds': 3}, {'seeds': [5]}]}
    """
    path, equals, written = change.partition("=")
    keys = [key.strip() for key in path.split(".")]
    if not equals or not all(keys):
        raise InvalidParameter(f"--set got {change!r}; expected a key, '=' and a value, such as grid.seeds=3")
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except tomllib.TOMLDecodeError:
        raise InvalidParameter(
            f"--set {change!r}: {written!r} is not a TOML value; numbers and [lists] are written plainly, text in "
            f"quotes, such as --set 'name=\"mine\"'"
        ) from None
    _set(data, keys, value, change)


def _set(place: Any, keys: Sequence[str], value: Any, change: str) -> None:
    key, *rest = keys
    if isinstance(place, list) and not key.isdecimal():
        for member in place:
            _set(member, keys, value, change)
        return
    if isinstance(place, list) and int(key) >= len(place):
        raise InvalidParameter(f"--set {change!r}: there is no number {key}; there are {len(place)}, from 0")
    if not isinstance(place, list | dict):
        raise InvalidParameter(f"--set {change!r}: {place!r} has no keys; expected the name of a table or of a list")
    at: Any = int(key) if isinstance(place, list) else key
    if not rest:
        place[at] = value
    else:
        _set(place[at] if isinstance(place, list) else place.setdefault(key, {}), rest, value, change)


# --- sentences ------------------------------------------------------------------------------------------


def _sentence(error: ValidationError, text: str) -> str:
    """The first mistake with its place, a wrong key before what is missing for it; how many more there are."""
    first, *others = sorted(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    line = _line_of(text, first["loc"])
    where = ".".join(map(str, first["loc"])) or "the file"
    more = f" (and {len(others)} more)" if others else ""
    return f"{f'line {line}, ' if line else ''}{where}: {_what(first)}{more}"


def _what(mistake: ErrorDetails) -> str:
    place = mistake["loc"]
    if mistake["type"] == "extra_forbidden":
        try:
            check_known(str(place[-1]), _keys_at(place[:-1]), "key")
        except InvalidParameter as error:
            return str(error)
    if mistake["type"] == "missing":
        return "this key is missing"
    if mistake["type"] == "value_error":
        return str(mistake["ctx"]["error"])
    expected = mistake["msg"][0].lower() + mistake["msg"][1:]
    if mistake["type"] == "too_short":
        expected = "expected at least one"
    return f"got {mistake['input']!r}; {expected.replace('input should be', 'expected')}"


def _keys_at(place: Place) -> list[str]:
    """The keys that the table at ``place`` may have."""
    from allworlds.experiments.experiment import Experiment, Grid, ReportOptions, Single

    models: dict[str, type[BaseModel]] = {"grid": Grid, "cell": Single, "report": ReportOptions}
    return list((models[str(place[0])] if place else Experiment).model_fields)


def _line_of(text: str, place: Place) -> int | None:
    """The line of a key, found by its table's header and its name; None where it is not found.

    >>> _line_of('name = "a"\\n[[grid]]\\nseeds = 1\\n[[grid]]\\nseed = 2', ("grid", 1, "seed"))
    5
    """
    keys = [part for part in place if isinstance(part, str)][:2]
    number = next((part for part in place if isinstance(part, int)), 0)
    table, key = ["", "", *keys][-2:]
    current, seen = "", -1
    for line, content in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[\[?\s*([\w.-]+)\s*\]", content):
            current = header[1]
            seen += current == table
        elif current == table and (not table or seen == number) and re.match(rf"\s*{re.escape(key)}\s*=", content):
            return line
    return None
