"""What is raced: a graph, worlds, learners, and how long."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import parse_spec
from allworlds.graphs.by_name import graph_spec

GRAPH = "disjoint-cliques:10x10"
WORLDS = (
    "stochastic:gap=0.125",
    "constrained-adversary:gap=0.125",
    "corrupted:attack=best-worst,budget=1000,gap=0.125",
    "lock-in",
)
LEARNERS = ("tsallis-shannon", "tsallis-shannon-paper", "tsallis-inf", "exp3-ix", "ucb-n", "thompson-n")
MORE_WORLDS = (
    "stochastic:gap=0.0625",
    *(
        f"corrupted:attack={attack},budget=1000,gap=0.125"
        for attack in ("flip", "decoy-best", "spread", "periodic", "all-worst")
    ),
    "switching:gap=0.25",
    "drifting",
    "random",
)
"""With :data:`WORLDS`, every kind of world and every attack: none is left out because of who wins in it."""


@dataclass(frozen=True)
class Race:
    """Who runs where, and for how long; every name is a spec (see :mod:`allworlds.foundation.specs`).

    >>> Race(graph="bandit:10", horizon=1000).worlds[0]
    'stochastic:gap=0.125'
    """

    graph: str = GRAPH
    worlds: tuple[str, ...] = WORLDS
    learners: tuple[str, ...] = LEARNERS
    horizon: int = 30_000
    seeds: int = 10
    """How many."""
    first_seed: int = 0
    jobs: int | None = None
    """Threads; None for all cores. The numbers do not depend on it."""

    def __post_init__(self) -> None:
        """Write specs in one way, drop repetitions, refuse counts that are none."""
        for name, least in (("horizon", 1), ("seeds", 1), ("first_seed", 0)):
            _check_count(name, getattr(self, name), least)
        if self.first_seed + self.seeds > 2**63:
            raise InvalidParameter(f"first_seed is {self.first_seed}; expected seeds below 2**63")
        if self.jobs is not None:
            _check_count("jobs", self.jobs, 1)
        object.__setattr__(self, "graph", str(graph_spec(self.graph)))
        for name in ("worlds", "learners"):
            specs = getattr(self, name)
            if isinstance(specs, str) or not specs:
                raise InvalidParameter(f"{name} is {specs!r}; expected a list with at least one name")
            object.__setattr__(self, name, tuple(dict.fromkeys(str(parse_spec(spec)) for spec in specs)))

    @property
    def seed_numbers(self) -> range:
        """The seeds themselves."""
        return range(self.first_seed, self.first_seed + self.seeds)

    def command(self, out: str | Path | None = None) -> str:
        """What to type to run this race.

        >>> Race(worlds=("switching",), learners=("ucb-n",), seeds=2).command()
        'allworlds race --graph disjoint-cliques:10x10 --world switching --learner ucb-n --horizon 30000 --seeds 2'
        """
        words = ["allworlds", "race", "--graph", self.graph]
        for world in self.worlds:
            words += ["--world", world]
        for learner in self.learners:
            words += ["--learner", learner]
        words += ["--horizon", str(self.horizon), "--seeds", str(self.seeds)]
        if self.first_seed:
            words += ["--first-seed", str(self.first_seed)]
        if out is not None:
            words += ["--out", str(out)]
        return shlex.join(words)


def full_race() -> dict[str, Any]:
    """What ``--full`` puts in the place of the defaults: every learner, more worlds, longer, more seeds."""
    from allworlds.learners import LEARNERS as REGISTRY

    return {
        "worlds": WORLDS + MORE_WORLDS,
        "learners": tuple(REGISTRY),
        "horizon": 100_000,
        "seeds": 20,
    }


def _check_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidParameter(f"{name} is {value!r}; expected a whole number of at least {least}")
