"""What a report tells: the race, its numbers, and how to repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from allworlds.analysis.comparison import Standing, WorstRatio
from allworlds.analysis.runs import Runs
from allworlds.covers import CliqueCover
from allworlds.foundation.specs import parse_spec
from allworlds.worlds import World


@dataclass(frozen=True, eq=False)
class RaceSummary:
    """A finished race, for figures and page; worlds and learners go by their specs."""

    graph: str
    cover: CliqueCover
    worlds: Mapping[str, World]
    runs: tuple[Runs, ...]
    """Worlds in order, learners within."""
    standings: tuple[Standing, ...]
    """In the order of ``runs``."""
    ratios: tuple[WorstRatio, ...]
    ours: str
    command: str
    machine: str
    versions: Mapping[str, str]

    @property
    def horizon(self) -> int:
        """How many rounds a run has."""
        return self.runs[0].horizon

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of every learner in every world."""
        return self.runs[0].seeds

    @property
    def learners(self) -> tuple[str, ...]:
        """In the order in which they were asked for."""
        return tuple(dict.fromkeys(one.learner for one in self.runs))

    @property
    def rivals(self) -> Mapping[str, bool]:
        """Whether a learner competes, or is a line that sees more than the graph shows."""
        return {row.learner: row.rival for row in self.ratios}

    @property
    def has_ratios(self) -> bool:
        """Whether in any world the best regret is large enough to divide by."""
        return any(row.ratio is not None for row in self.ratios)

    def runs_in(self, world: str) -> list[Runs]:
        """One world's runs."""
        return [one for one in self.runs if one.world == world]

    def standings_in(self, world: str) -> list[Standing]:
        """One world's standings, the least regret first."""
        return sorted((row for row in self.standings if row.world == world), key=lambda row: row.regret.mean)


def title_of(spec: str) -> str:
    """A spec as a heading.

    >>> title_of("constrained-adversary:gap=0.125,growth=1.6")
    'Constrained adversary (gap 0.125, growth 1.6)'
    >>> title_of("corrupted:attack=best-worst,budget=1000")
    'Corrupted (attack best-worst, budget 1000)'
    """
    parsed = parse_spec(spec)
    name = parsed.name.replace("-", " ").capitalize()
    details = [str(value) for value in parsed.positional]
    for key, value in parsed.options.items():
        listed = "/".join(map(str, value)) if isinstance(value, tuple) else str(value)
        details.append(f"{key.replace('_', ' ')} {listed if len(listed) <= 40 else listed[:37] + '…'}")
    return f"{name} ({', '.join(details)})" if details else name


def short_titles(specs: list[str]) -> dict[str, str]:
    """Names for the margins of figures: without details where they are not needed to tell worlds apart.

    >>> short_titles(["stochastic:gap=0.1", "stochastic:gap=0.2", "switching:gap=0.1"])["stochastic:gap=0.2"]
    'stochastic, gap 0.2'
    >>> short_titles(["stochastic:gap=0.1"])["stochastic:gap=0.1"]
    'stochastic'
    """
    parsed = {spec: parse_spec(spec) for spec in specs}
    titles = {}
    for spec, one in parsed.items():
        name = one.name.replace("-", " ")
        same = [other for other in parsed.values() if other.name == one.name]
        telling = [
            f"{key} {value}"
            for key, value in one.options.items()
            if any(other.options.get(key) != value for other in same)
        ]
        titles[spec] = ", ".join([name, *telling])
    return titles
