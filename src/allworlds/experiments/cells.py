"""Cells: the units of an experiment, each a pure function of its configuration and its seed.

A cell is one learner in one world on one graph, for one horizon and one seed number. Its *seed* is a hash of the
names of graph, world, horizon and seed number, and of nothing else:

- the learner is left out, so all learners meet the same losses, and adding one changes no other cell;
- the horizon is in, so runs of different lengths are independent, as a slope with its interval needs them;
- the order of work, labels and the name of the experiment are left out.

Its *id* is a hash of everything its numbers depend on except the version of the package: the names, and digests of the
cover and of the world, so that a change in a file of edges, cliques or losses is noticed.
"""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allworlds.covers import CliqueCover, clique_cover
from allworlds.covers.covering import make_cover
from allworlds.foundation.errors import AllWorldsError, InvalidParameter
from allworlds.foundation.specs import PATHS, parse_spec
from allworlds.graphs import AnyGraph, FeedbackGraph
from allworlds.graphs.by_name import make_graph
from allworlds.learners import Learner
from allworlds.learners.by_name import make_learner
from allworlds.simulation.python_loop import check_graphs
from allworlds.worlds import World
from allworlds.worlds.by_name import make_world

if TYPE_CHECKING:
    from allworlds.experiments.experiment import Experiment, Named

CELL_FORMAT = 2
"""Increase it when the same configuration would give other numbers or other columns."""
MAX_SEEDS = 1_000_000
"""The largest number of seeds that a count may ask for."""


@dataclass(frozen=True)
class Cell:
    """One run, and what it is made from; plain values only, so that it can be stored and sent."""

    id: str
    graph: str
    """Spec, as are ``world`` and ``learner``."""
    world: str
    learner: str
    horizon: int
    seed_number: int
    """Which of the seeds of its axis, as the file counts them."""
    seed: int
    """What the run is played with."""
    graph_label: str
    world_label: str
    learner_label: str
    n_arms: int
    n_cliques: int
    """Of the cover; 0 where the graph has none, because it is directed, changes or is noisy."""
    budget: float | None
    """How much corruption the world may spend; None for a world without corruption."""
    graph_digest: str
    world_digest: str
    record_masses: bool = False
    """Whether clique masses and the regret bound are kept too."""

    @property
    def title(self) -> str:
        """The cell in one line, for messages."""
        return f"{self.learner} in {self.world} on {self.graph}, horizon {self.horizon}, seed {self.seed_number}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; ``Cell(**data)`` is the inverse."""
        return asdict(self)


class SpecCache:
    """Graphs, worlds and learners made from their specs, each once; ``base`` is where relative paths begin."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.graph, self.world = functools.cache(self._graph), functools.cache(self._world)
        self.learner, self.digests = functools.cache(self._learner), functools.cache(self._digests)

    def _graph(self, graph: str) -> CliqueCover | AnyGraph:
        """What learners play on: the cover of a graph, or the graph itself where it has none.

        ``cover:FILE`` gives the stored cover. A graph that is directed, changes or is noisy has no cover.
        """
        return _cover_or_graph(self._placed(graph))

    def _world(self, graph: str, world: str) -> World:
        """The world with as many arms as the graph."""
        return make_world(self._placed(world), self.graph(graph).n_arms)

    def _learner(self, graph: str, learner: str, horizon: int) -> Learner:
        """The learner on the graph or its cover; raises where the learner does not take the graph."""
        return make_learner(learner, self.graph(graph), horizon)

    def _digests(self, graph: str, world: str) -> tuple[str, str]:
        """Hashes of the graph or its cover, and of the world."""
        return self.graph(graph).digest(), world_digest(self.world(graph, world))

    def _placed(self, spec: str) -> str:
        parsed = parse_spec(spec)
        if parsed.name not in PATHS or not parsed.positional:  # without a path, the registry raises
            return spec
        return f"{parsed.name}:{self.base / str(parsed.positional[0])}"


def make_cells(experiment: Experiment, cache: SpecCache, *, places: bool = True) -> list[Cell]:
    """All cells in the order of the file, each once; raises where graph, world and learner do not fit together.

    An error names its place in the file, unless ``places`` is False: an experiment made in code has no file.

    >>> from allworlds.experiments.reading import read_experiment
    >>> experiment, source = read_experiment("corrupted-cliques", ["grid.seeds=2"])
    >>> cells = make_cells(experiment, SpecCache(source.base))
    >>> one, other = [cell for cell in cells if cell.seed_number == 1][:2]
    >>> one.learner == other.learner, one.id == other.id
    (False, False)
    >>> (one.world, one.seed) == (other.world, other.seed)  # the same losses
    True
    """
    cells: dict[str, Cell] = {}
    names: dict[tuple[Any, ...], str] = {}
    for place, graph, world, learner, horizon, numbers in experiment.combinations():
        try:
            for number in numbers:
                cell = _make_cell(cache, graph, world, learner, horizon, number, masses=experiment.record_masses)
                cells.setdefault(cell.id, cell)
                labels = graph.label, world.label, learner.label, horizon, number
                if names.setdefault(labels, cell.id) != cell.id:
                    raise InvalidParameter(
                        f"two cells would have the same name, {labels}; give what differs a label of its own"
                    )
        except AllWorldsError as error:
            raise InvalidParameter(f"{place}: {error}" if places else str(error)) from None
    return list(cells.values())


def _make_cell(
    cache: SpecCache, graph: Named, world: Named, learner: Named, horizon: int, number: int, *, masses: bool
) -> Cell:
    played_on, made = cache.graph(graph.spec), cache.world(graph.spec, world.spec)
    if made.longest is not None and made.longest < horizon:
        raise InvalidParameter(
            f"'{world.spec}' has {made.longest} rounds, but the horizon is {horizon}; play at most {made.longest}"
        )
    check_graphs(cache.learner(graph.spec, learner.spec, horizon), made)
    names = [graph.spec, world.spec, horizon, number]
    digests = cache.digests(graph.spec, world.spec)
    return Cell(
        id=_hash([CELL_FORMAT, *names, learner.spec, *digests, *(["masses"] if masses else [])])[:20],
        graph=graph.spec,
        world=world.spec,
        learner=learner.spec,
        horizon=horizon,
        seed_number=number,
        seed=int(_hash(["seed", *names])[:16], 16) >> 1,
        graph_label=graph.label,
        world_label=world.label,
        learner_label=learner.label,
        n_arms=played_on.n_arms,
        n_cliques=played_on.n_cliques if isinstance(played_on, CliqueCover) else 0,
        budget=made.budget,
        graph_digest=digests[0],
        world_digest=digests[1],
        record_masses=masses,
    )


def _cover_or_graph(spec: str) -> CliqueCover | AnyGraph:
    if parse_spec(spec).name == "cover":
        return make_cover(spec)
    graph = make_graph(spec)
    return clique_cover(graph) if isinstance(graph, FeedbackGraph) and not graph.demands() else graph


def _hash(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def world_digest(world: World) -> str:
    """A hash of everything that the losses of a world depend on except the seed."""
    digest = hashlib.sha256(repr(world.budget).encode())
    for name, value in world.arrays._asdict().items():
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    digest.update(b"" if world.graph is None else world.graph.digest().encode())
    return digest.hexdigest()
