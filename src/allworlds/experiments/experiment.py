"""An experiment as data: what one TOML file may say.

    name = "corrupted-cliques"
    question = "Does regret grow like the square root of the corruption?"

    [[grid]]                       # every graph with every world, learner, horizon and seed
    graphs = ["disjoint-cliques:10x10"]
    worlds = ["stochastic:gap=0.125", {name = "corrupted", budget = 1000, label = "C = 1000"}]
    learners = ["tsallis-shannon", "ucb-n"]
    horizons = [10_000, 100_000]
    seeds = 20                     # 0 to 19, or a list

    [[cell]]                       # and single ones
    graph = "bandit:10"
    world = "switching"
    learner = "tsallis-inf"
    horizon = 10_000
    seeds = [7]

    [report]                       # what to draw: for ``allworlds report``
    x = "horizon"

``small = ["grid.seeds=2", "grid.horizons=[1000]"]`` at the top lists the changes that make a version for a few minutes,
which ``allworlds run NAME --small`` runs. ``record_masses = true`` at the top also keeps each learner's clique masses
and its bound on the regret so far.
Graphs, worlds and learners are specs (:mod:`allworlds.foundation.specs`), or tables with a ``name``, its options by key
and a ``label`` to show instead; ``{spec = "...", label = "..."}`` labels a spec. An unknown key is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from allworlds.experiments.cells import MAX_SEEDS
from allworlds.foundation.checks import LIMIT
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import NAME, PATHS, Spec, parse_spec
from allworlds.graphs.by_name import graph_spec
from allworlds.learners.by_name import LEARNERS
from allworlds.worlds.by_name import WORLDS


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Named(_Model):
    """A graph, a world or a learner: its spec, in one spelling, and the label that tables and figures show."""

    spec: str
    label: str


def _read(parse: Callable[[str | Spec], Spec], value: Any) -> Any:
    """The spec and the label that text or a table means.

    >>> _read(WORLDS.normal, {"name": "corrupted", "budget": 10, "label": "C = 10"})
    {'spec': 'corrupted:budget=10', 'label': 'C = 10'}
    """
    if isinstance(value, str):
        value = {"spec": value}
    if not isinstance(value, dict):
        raise InvalidParameter(f"got {value!r}; expected a spec such as 'ucb-n' or a table {{name = \"...\", ...}}")
    table = dict(value)
    label = table.pop("label", None)
    if "spec" in table and (len(table) > 1 or not isinstance(table["spec"], str)):
        raise InvalidParameter(f"{value!r} has a spec and more; expected a spec and at most a label")
    spec = str(parse(table["spec"] if "spec" in table else _from_table(table)))
    return {"spec": spec, "label": spec if label is None else label}


def _from_table(table: dict[str, Any]) -> Spec:
    """``{name = "stochastic", gap = 0.125}`` as a spec; raises where the grammar cannot write it."""
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise InvalidParameter(f'the table {table!r} has no name; expected {{name = "stochastic", gap = 0.125}}')
    if name in PATHS:
        if options.keys() != {"path"}:
            raise InvalidParameter(f"the table {table!r} names a file; expected a name, a path and at most a label")
        return parse_spec(f"{name}:{options['path']}")
    spec = Spec(name, (), options)
    with suppress(InvalidParameter):
        if parse_spec(str(spec)) == spec:
            return spec
    raise InvalidParameter(f"the table {table!r} cannot be written as a spec; expected plain words, numbers and lists")


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _as_numbers(value: Any) -> Any:
    """A count of seeds as their numbers."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if not 0 <= value <= MAX_SEEDS:
        raise ValueError(f"got {value}; expected a number of seeds, at most {MAX_SEEDS}, or a list of them")
    return list(range(value))


T = TypeVar("T")
Several = Annotated[list[T], BeforeValidator(_as_list), Field(min_length=1)]
Graph = Annotated[Named, BeforeValidator(partial(_read, graph_spec))]
World = Annotated[Named, BeforeValidator(partial(_read, WORLDS.normal))]
Learner = Annotated[Named, BeforeValidator(partial(_read, LEARNERS.normal))]
Horizon = Annotated[int, Field(ge=1, lt=LIMIT)]
Seeds = Annotated[list[Annotated[int, Field(ge=0, lt=LIMIT)]], BeforeValidator(_as_numbers), Field(min_length=1)]


class Grid(_Model):
    """Every graph with every world, learner, horizon and seed."""

    graphs: Several[Graph]
    worlds: Several[World]
    learners: Several[Learner]
    horizons: Several[Horizon]
    seeds: Seeds


class Single(_Model):
    """One graph, world, learner and horizon, with its seeds."""

    graph: Graph
    world: World
    learner: Learner
    horizon: Horizon
    seeds: Seeds


class ReportOptions(_Model):
    """What ``allworlds report`` draws: ``y`` at the horizon against ``x``, a line for each of ``lines``."""

    x: str = "round"
    """A column of the results: ``horizon``, ``n_cliques``, ``budget``, ``world.gap`` ..."""
    y: str = "pseudo_regret"
    lines: str = "learner"
    panels: str | None = None
    """A column with one picture for each of its values."""
    log: bool | Literal["x"] = True
    """Both axes logarithmic, neither, or only ``x``: for growth with the logarithm."""
    theory_slope: float | dict[str, float] | None = None
    """What theory says the slope on two logarithmic axes is, for all or for each line or panel by its name."""
    claim: str | None = None
    """The sentence that the results are compared with."""


class Experiment(_Model):
    """What a file says.

    >>> grid = {"graphs": "bandit:3", "worlds": "stochastic", "learners": ["ucb-n"], "horizons": 10, "seeds": 2}
    >>> experiment = Experiment.model_validate({"name": "tiny", "question": "Does it run?", "grid": [grid]})
    >>> experiment.grid[0].seeds
    [0, 1]
    """

    name: str
    question: str
    about: str = ""
    """Where the question comes from and what is expected."""
    record_masses: bool = False
    """Whether the clique masses and the regret bound of each run are kept with its results."""
    grid: list[Grid] = []
    cell: list[Single] = []
    report: ReportOptions = ReportOptions()

    @property
    def n_cells(self) -> int:
        """How many cells are written down; one that is written twice is counted twice."""
        return sum(len(seeds) for *_, seeds in self.combinations())

    @property
    def n_rounds(self) -> int:
        """How many rounds these cells have in all."""
        return sum(horizon * len(seeds) for *_, horizon, seeds in self.combinations())

    def combinations(self) -> Iterator[tuple[str, Named, Named, Named, int, list[int]]]:
        """Every graph, world, learner and horizon with its seeds, after its place in the file."""
        for number, grid in enumerate(self.grid):
            for graph, world, horizon, learner in product(grid.graphs, grid.worlds, grid.horizons, grid.learners):
                yield f"grid.{number}", graph, world, learner, horizon, grid.seeds
        for number, one in enumerate(self.cell):
            yield f"cell.{number}", one.graph, one.world, one.learner, one.horizon, one.seeds

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not NAME.fullmatch(name):
            raise InvalidParameter(f"{name!r} is not a name; expected small letters, digits and hyphens")
        return name

    @model_validator(mode="after")
    def _check_work(self) -> Experiment:
        if not self.grid and not self.cell:
            raise InvalidParameter("there is nothing to run; expected a [[grid]] or a [[cell]]")
        return self
