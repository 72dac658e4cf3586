"""Names with parameters: one grammar for the command line, for files and for services.

A spec is a name, and after a colon its arguments, by place or by key:

    bandit:10                       one value
    disjoint-cliques:10x10          two whole numbers
    disjoint-cliques:1,2,4,8,16     several values
    erdos-renyi:30,p=0.4,seed=1     values, then values by key
    stochastic:means=0.1/0.5/0.5    a list by key
    file:my/graph.txt               a path, taken as it is

A spec is text at the edge and a :class:`Spec` inside; functions that take one take the other. This file knows the
grammar and how to answer mistakes. What the names stand for is written down in the rooms that own them, each as a
:class:`Registry` with one :class:`Recipe` a name: ``graphs/by_name.py``, ``worlds/by_name.py``,
``learners/by_name.py``.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from allworlds.foundation.errors import InvalidParameter

Scalar: TypeAlias = int | float | bool | str
Value: TypeAlias = Scalar | tuple[Scalar, ...]
Kind = Literal["integer", "number", "flag", "word", "integers", "numbers", "path"]

PATHS = ("changing-file", "cover", "file", "recorded")
"""Names whose argument is a path, taken as it is."""
WORDS: dict[str, str] = {
    "integer": "a whole number",
    "number": "a number",
    "flag": "true or false",
    "word": "a word",
    "integers": "whole numbers with / between them",
    "numbers": "numbers with / between them",
    "path": "a path",
}
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
TIMES = re.compile(r"\d+(x\d+)+")


@dataclass(frozen=True)
class Spec:
    """A name and its arguments, as they were written.

    >>> spec = parse_spec("erdos-renyi:30,p=0.4,seed=1")
    >>> spec.name, spec.positional, spec.options
    ('erdos-renyi', (30,), {'p': 0.4, 'seed': 1})
    >>> str(spec)
    'erdos-renyi:30,p=0.4,seed=1'
    """

    name: str
    positional: tuple[Value, ...] = ()
    options: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        keyed = [f"{key}={_written(value, '/')}" for key, value in self.options.items()]
        rest = ",".join([*(_written(value, _between(value)) for value in self.positional), *keyed])
        return f"{self.name}:{rest}" if rest else self.name


@dataclass(frozen=True)
class Recipe:
    """What one name stands for: a function and the arguments that a spec may give it."""

    name: str
    make: Callable[..., Any]
    line: str
    """What it is, for people."""
    example: str
    takes: Mapping[str, Kind] = field(default_factory=dict)
    """The keys it knows; values without a key fill them in this order."""
    needs: tuple[str, ...] = ()
    """The keys that must be given."""
    gathers: str | None = None
    """The key that takes all values without a key, as a list."""
    open: bool = False
    """Whether other keys are handed on unchecked, for ``make`` to judge."""
    form: str = ""
    """How it is written, with capitals where values go."""


Entry = TypeVar("Entry", bound=Recipe)


class Registry(dict[str, Entry]):
    """Recipes by name, in the order in which they are listed; ``what`` they make goes into the sentences.

    >>> rows = Registry("list", Recipe("row", lambda n: [0] * n, "zeros", "row:3", {"n": "integer"}, ("n",)))
    >>> rows.build("row:3")
    [0, 0, 0]
    """

    def __init__(self, what: str, *recipes: Entry) -> None:
        super().__init__({recipe.name: recipe for recipe in recipes})
        if len(self) < len(recipes):
            raise InvalidParameter(f"two {what}s have one name among {sorted(r.name for r in recipes)}; rename one")
        self.what = what

    def find(self, spec: str | Spec) -> Entry:
        """The recipe of a spec; raise InvalidParameter with the nearest names if there is none."""
        return self[check_known(parse_spec(spec).name, self, self.what, f"allworlds {self.what}s")]

    def build(self, spec: str | Spec, **given: Any) -> Any:
        """Make what a spec names, with ``given`` arguments from the caller.

        Arguments are checked against the recipe first, so an error that ``make`` raises is its own.
        """
        spec = parse_spec(spec)
        recipe = self.find(spec)
        arguments = _by_key(spec, recipe)
        for key in () if recipe.open else arguments:
            check_known(key, recipe.takes, f"option of {spec.name}:")
        if missing := [key for key in recipe.needs if key not in arguments]:
            raise InvalidParameter(
                f"'{spec}' lacks {' and '.join(missing)}; expected {self.what}s such as '{recipe.example}'"
            )
        kinds = recipe.takes
        checked = {key: _checked(spec, key, value, kinds[key]) for key, value in arguments.items() if key in kinds}
        return recipe.make(**given, **(arguments | checked))

    def normal(self, spec: str | Spec) -> Spec:
        """The spec in its one spelling: values under their keys, in the order of the recipe; a path stays as it is.

        >>> rows = Registry("list", Recipe("row", list, "", "row:3", {"n": "integer", "value": "number"}))
        >>> str(rows.normal("row:value=1.0,n=3")), str(rows.normal("row:3,1"))
        ('row:n=3,value=1', 'row:n=3,value=1')
        """
        spec = parse_spec(spec)
        recipe = self.find(spec)
        if spec.name in PATHS:
            return spec
        given = _by_key(spec, recipe)
        for key, value in given.items():
            if recipe.takes.get(key) == "number" and isinstance(value, float) and value.is_integer():
                given[key] = int(value)
        order = [*recipe.takes, *sorted(given.keys() - recipe.takes.keys())]
        return Spec(spec.name, (), {key: given[key] for key in order if key in given})


def parse_spec(text: str | Spec) -> Spec:
    """Parse a spec, or say where it goes wrong; a :class:`Spec` is returned unchanged.

    >>> parse_spec("disjoint-cliques:10x10").positional
    ((10, 10),)
    >>> parse_spec("stochastic:means=0.1/0.5").options["means"]
    (0.1, 0.5)
    """
    if isinstance(text, Spec):
        return text
    if not isinstance(text, str):
        raise InvalidParameter(f"spec is {text!r}; expected text such as 'disjoint-cliques:10x10'")
    return _parsed(text)


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> Spec:
    """The same for text. Cells keep specs as text, so that they can be stored and sent, yet each is parsed once."""
    name, colon, rest = text.strip().partition(":")
    name = name.replace("_", "-")  # as the functions are called
    if not NAME.fullmatch(name):
        raise InvalidParameter(f"{text!r} does not begin with a name; expected one such as 'disjoint-cliques:10x10'")
    if not colon:
        return Spec(name)
    if not rest:
        raise InvalidParameter(f"{text!r} ends after its colon; give arguments, or leave the colon out")
    if name in PATHS:
        return Spec(name, (rest,))
    positional: list[Value] = []
    options: dict[str, Value] = {}
    for part in rest.split(","):
        key, equals, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if not part.strip() or (equals and not (key and value.strip())):
            raise InvalidParameter(f"{text!r} has an empty argument; expected values or key=value, with commas between")
        if not equals:
            if options:
                raise InvalidParameter(f"{text!r} has {part!r} after a key=value; values without a key come first")
            positional.append(_value(part.strip()))
        elif key in options:
            raise InvalidParameter(f"{text!r} gives {key} twice; give it once")
        else:
            options[key] = _value(value.strip())
    return Spec(name, tuple(positional), options)


def check_known(name: str, known: Iterable[str], what: str, listed: str = "") -> str:
    """``name`` itself if it is known, else an error that lists the nearest names, and all if none is near.

    Where a command has all names ``listed``, the error gives the nearest and that command.

    >>> check_known("bandit", ["bandit", "star"], "graph")
    'bandit'
    """
    names = list(known)
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.0 if listed else 0.4)
    hint = f"there are {', '.join(names)}" if names else "it takes none"
    if near:
        hint = f"the nearest {'is' if len(near) == 1 else 'are'} {', '.join(near)}"
    raise InvalidParameter(f"there is no {what} {name!r}; {hint}" + (f"; '{listed}' lists all" if listed else ""))


def _by_key(spec: Spec, recipe: Recipe) -> dict[str, Value]:
    """All values under their keys; by place, ``2x5`` fills two of them."""
    places: list[Scalar] = []
    for value in spec.positional:
        places += value if isinstance(value, tuple) else [value]
    free = [key for key in recipe.takes if key != recipe.gathers]
    if recipe.gathers is not None and not any(isinstance(value, tuple) for value in spec.positional):
        given: dict[str, Value] = {recipe.gathers: tuple(places)} if places else {}
    elif len(places) <= len(free):
        given = dict(zip(free, places, strict=False))
    else:
        raise InvalidParameter(
            f"'{spec}' has {len(places)} values, but {spec.name} takes {len(free)}; for example '{recipe.example}'"
        )
    if twice := given.keys() & spec.options.keys():
        raise InvalidParameter(f"'{spec}' gives {' and '.join(sorted(twice))} by place and by key; give it once")
    return given | dict(spec.options)


def _checked(spec: Spec, key: str, value: Value, kind: Kind) -> Any:
    """The value as its kind wants it; raise InvalidParameter if it does not fit."""
    if kind in ("integers", "numbers"):
        members = value if isinstance(value, tuple) else (value,)
        if all(_fits(member, kind[:-1]) for member in members):
            return [float(member) if kind == "numbers" else member for member in members]
    elif kind in ("word", "path") and not isinstance(value, tuple):
        return str(value)
    elif not isinstance(value, tuple) and _fits(value, kind):
        return float(value) if kind == "number" else value
    raise InvalidParameter(f"'{spec}' gives {key} as {_written(value, '/')!r}; expected {WORDS[kind]}")


def _fits(value: Scalar, kind: str) -> bool:
    if kind == "flag" or isinstance(value, bool):
        return kind == "flag" and isinstance(value, bool)
    return isinstance(value, int) if kind == "integer" else isinstance(value, int | float)


def _value(text: str) -> Value:
    if "/" in text:
        return tuple(_scalar(part) for part in text.split("/"))
    if TIMES.fullmatch(text):
        return tuple(int(part) for part in text.split("x"))
    return _scalar(text)


def _scalar(text: str) -> Scalar:
    for read in (int, float):
        try:
            number = read(text)
        except ValueError:
            continue
        if "_" not in text and abs(number) < float("inf"):  # nan and inf stay words, which are not numbers
            return number
    return {"true": True, "false": False}.get(text, text)


def _written(value: Value, between: str) -> str:
    if isinstance(value, tuple):
        return between.join(_written(member, between) for member in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _between(value: Value) -> str:
    """``10x10`` by place, ``0.1/0.5`` where not all are whole."""
    return "x" if isinstance(value, tuple) and all(type(part) is int and part >= 0 for part in value) else "/"
