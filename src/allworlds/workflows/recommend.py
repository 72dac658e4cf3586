"""Advice: which learner to use on a graph, from the stored results of the comparison and not from taste.

The measured graphs of the same kind and observability that are nearest to the graph, in the logarithms of its arms, its
independence number and ``theta / alpha``, stand for it. Of the learners that take the graph and were measured in all
their worlds, the one whose mean ratio is smallest is recommended; each graph counts the same. Told nothing of the
losses, only learners that are good in several worlds are candidates, and they are compared with each other.
``benchmarks/rules_of_advice.py`` compares this rule with others, on each measured graph from the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import Any

from allworlds.analysis.graph_facts import GraphFacts, graph_facts
from allworlds.covers import clique_cover
from allworlds.foundation.checks import whole
from allworlds.foundation.errors import InvalidGraph, InvalidParameter, counted
from allworlds.foundation.specs import check_known
from allworlds.graphs import AnyGraph, FeedbackGraph
from allworlds.graphs.by_name import make_graph
from allworlds.learners.base import accepts_graph
from allworlds.learners.by_name import LEARNERS
from allworlds.theory import practical_adversarial_bound
from allworlds.theory.limits import adversarial_lower_bound
from allworlds.workflows import plain_data
from allworlds.workflows.comparison import (
    ADVICE,
    REGIMES,
    Result,
    interval,
    stored_results,
    stored_version,
    with_ratios,
)

SIMILAR = 5
"""How many of the measured graphs stand for a new one."""
DEFAULT = "tsallis-shannon"
MOST_NAMED = 10
"""If more learners take the graph, they are counted and not named."""


@dataclass(frozen=True)
class Candidate:
    """A learner on the similar graphs."""

    learner: str
    worst: float
    """The largest ratio to the best in a cell."""
    mean: float
    """The geometric mean over the graphs of that over their worlds, by which candidates are chosen."""
    above: float
    """The largest share of runs above 0.1 T in a cell."""


@dataclass(frozen=True)
class Recommendation:
    """The advice for one graph; ``str`` gives it in four sentences."""

    name: str
    facts: GraphFacts
    horizon: int | None
    regime: str | None
    learner: str
    """The recommended one."""
    usable: tuple[str, ...]
    """All learners that take the graph."""
    candidates: tuple[Candidate, ...]
    """Those that were compared, the best first."""
    similar: tuple[str, ...]
    """The measured graphs that stand for this one."""
    measured: tuple[Result, ...]
    """The recommended learner in their cells; ratios are to the best candidate."""
    bound: str
    """What is proved of the recommended learner, and by whom."""
    limits: dict[str, float]
    """Where a horizon is given: ``upper``, what is proved of ``tsallis-shannon`` against any losses, and ``lower``,
    below which no learner can guarantee its regret against hostile ones."""
    version: str
    """Of the results that the advice comes from."""

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    @property
    def sentences(self) -> tuple[str, str, str, str]:
        """What the graph is; who may play; who should, and why; what it is expected to cost."""
        return self._graph(), self._usable(), self._choice(), self._cost()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(plain_data(vars(self) | {"sentences": self.sentences}))

    def _graph(self) -> str:
        facts, numbers = self.facts, []
        named = {"alpha": facts.alpha, "fractional cover": facts.fractional, "theta": facts.theta}
        for name, value in (named | {"weak domination": facts.domination}).items():
            if value is not None:
                numbers.append(f"{name} {value} ({'exact' if value.is_exact else 'an interval'})")
        listed = f", with {', '.join(numbers)}" if numbers else ""
        level = {"strong": "strongly", "weak": "weakly"}.get(facts.observability, "not")
        return f"{self.name} is {facts.kind}, has {counted(facts.n_arms, 'arm')} and is {level} observable{listed}."

    def _usable(self) -> str:
        names = ", ".join(one.learner for one in self.candidates)
        which = "are meant for every kind of world and were" if self.regime is None else "were"
        listed = f" ({', '.join(self.usable)})" if len(self.usable) <= MOST_NAMED else ""
        number = counted(len(self.usable), "learner")
        return f"{number} can play on it{listed}; these {which} measured on similar graphs: {names}."

    def _choice(self) -> str:
        first = self.candidates[0]
        field = "the best of these" if self.regime is None else "the best learner"
        told = "when nothing is known of the losses" if self.regime is None else f"for {self.regime} losses"
        text = f"Use {first.learner} {told}: on the most similar graphs measured ({', '.join(self.similar)}) "
        if len(self.candidates) == 1:
            text += "no other learner was measured in every world"
        else:
            text += (
                f"its regret is {first.mean:.2f} times that of {field} on average and at most {first.worst:.2f} times"
            )
            second = self.candidates[1]
            lock = f", and {_runs(second.above)}" if second.above > first.above else ""
            text += f"; the next best, {second.learner}, has {second.mean:.2f} and {second.worst:.2f}{lock}"
        return f"{text}."

    def _safer(self) -> str:
        """Which learner to take instead for the sake of a proof; empty where the recommended one has its own."""
        covered = [one for one in self.candidates if has_bound(one.learner, self.regime, self.facts.kind)]
        if self.candidates[0] in covered:
            return ""
        if not covered:
            return "; no learner measured has a bound for such losses"
        first = covered[0]
        return f"; if you need a bound for such losses, use {first.learner}, at most {first.worst:.2f} times the best"

    def _cost(self) -> str:
        ratios = [row.ratio for row in self.measured if row.ratio is not None]
        lowest, highest = min(row.regret for row in self.measured), max(row.regret for row in self.measured)
        horizons = sorted({row.horizon for row in self.measured})
        share = max(row.above for row in self.measured)
        between = f"{min(ratios):.2f} to {max(ratios):.2f} times that of the best" if ratios else "no ratios"
        below = "below 0 where it beat every single arm; " if round(lowest) < 0 else ""
        speed = median(row.microseconds for row in self.measured)  # other work makes some of them many times as long
        rounds = " or ".join(f"{t:,}" for t in horizons)
        return (
            f"Its regret there was {lowest:z,.0f} to {highest:z,.0f} in {rounds} rounds "
            f"({below}{between}; {_runs(share)}), a round took about {speed:.1f} microseconds, "
            f"and its bound is: {self.bound}{self._proved()}{self._safer()}."
        )

    def _proved(self) -> str:
        """The numbers for the horizon, if one is given."""
        words = ""
        if "upper" in self.limits:
            words += f"; in {self.horizon:,} rounds of any losses it is at most {self.limits['upper']:,.0f}"
        if "lower" in self.limits:
            words += f"; no learner can guarantee less than {self.limits['lower']:,.0f} against hostile losses"
        return words


def _runs(share: float) -> str:
    """How many runs had a regret above 0.1 T in the world where most had."""
    if share == 0.0:
        return "no run had a regret above a tenth of the rounds"
    return f"in the worst world {100 * share:.0f} % of its runs had a regret above a tenth of the rounds"


def recommend(
    graph: AnyGraph, horizon: int | None = None, regime: str | None = None, *, name: str = "the graph"
) -> Recommendation:
    """Say what a graph is and which learner to use on it, from the stored results of the comparison.

    ``regime`` is what is known of the losses: "stochastic", "corrupted", "adversarial", or None. ``horizon`` adds
    numbers for that many rounds; ``name`` is what the sentences call the graph.

    >>> from allworlds.graphs import disjoint_cliques
    >>> advice = recommend(disjoint_cliques(5, 4))
    >>> advice.facts.n_arms, len(advice.sentences)
    (20, 4)
    """
    if not isinstance(graph, AnyGraph):
        raise InvalidParameter(f"graph is a {type(graph).__name__}; expected a FeedbackGraph; make_graph('star:10')")
    if horizon is not None:
        whole("horizon", horizon)
    if regime is not None:
        check_known(regime, REGIMES, "regime")
    if graph.observability == "none":
        raise InvalidGraph(f"no arm sees arm {graph.observability.arms[0]}; expected that some arm sees each arm")
    facts = graph_facts(graph)
    usable = tuple(name for name, one in LEARNERS.items() if one.rival and accepts_graph(one.kind, graph))
    rows = similar_rows(stored_results(), facts, horizon, regime)
    candidates, compared = rank(rows, usable, regime)
    if not candidates:
        raise InvalidParameter(
            f"nothing was measured on graphs like this one ({facts.kind}, {facts.observability}ly observable); "
            f"learners that take it: {', '.join(usable) or 'none'}"
        )
    chosen = candidates[0].learner
    return Recommendation(
        name=name,
        facts=facts,
        horizon=horizon,
        regime=regime,
        learner=chosen,
        usable=usable,
        candidates=tuple(candidates),
        similar=tuple(dict.fromkeys(row.graph for row in rows)),
        measured=tuple(row for row in compared if row.learner == chosen),
        bound=LEARNERS[chosen].bound,
        limits={} if horizon is None else _limits(graph, facts, chosen, horizon),
        version=stored_version(),
    )


def has_bound(learner: str, regime: str | None, kind: str = "undirected") -> bool:
    """Whether a bound is proved for the learner as it is written here, on such graphs and for losses of the regime.

    >>> has_bound("tsallis-shannon", None), has_bound("tsallis-shannon-all", None), has_bound("ucb-n", "corrupted")
    (True, False, False)
    """
    recipe = LEARNERS[learner]
    words = ["none claimed", "none proved", *([] if kind == "undirected" else ["undirected"])]
    return recipe.world in ("any", regime) and not any(word in recipe.bound for word in words)


def similar_rows(
    table: Sequence[Result],
    facts: GraphFacts,
    horizon: int | None = None,
    regime: str | None = None,
    similar: int = SIMILAR,
) -> list[Result]:
    """The rows of so many measured graphs most like this one, in the worlds of the regime and at one horizon."""
    alike = [
        row
        for row in table
        if row.experiment in ADVICE and (row.kind, row.observability) == (facts.kind, facts.observability)
    ]
    distances = {row.graph: _distance(row, facts) for row in alike}
    nearest = sorted(distances, key=lambda graph: distances[graph])[:similar]
    kept = [row for row in alike if row.graph in nearest and row.regime is not None and regime in (None, row.regime)]
    best: dict[tuple[str, str], tuple[float, int, str]] = {}  # of a graph and a world: the nearest horizon, most seeds
    for row in kept:
        cell = _off(row.horizon, horizon), -row.seeds, row.experiment
        best[row.graph, row.world] = min(cell, best.get((row.graph, row.world), cell))
    found = [row for row in kept if best[row.graph, row.world][2] == row.experiment]
    found = [row for row in found if best[row.graph, row.world][0] == _off(row.horizon, horizon)]
    return sorted(found, key=lambda row: nearest.index(row.graph))


def rank(rows: Sequence[Result], usable: Sequence[str], regime: str | None) -> tuple[list[Candidate], list[Result]]:
    """The candidates measured in every cell of the rows, the best first; and the rows with ratios among them."""
    names = [name for name in usable if regime is not None or LEARNERS[name].world == "any"]
    compared = with_ratios([row for row in rows if row.learner in names], names)
    cells = {row.cell for row in compared}
    found = []
    for name in names:
        mine = [row for row in compared if row.learner == name]
        ratios: dict[str, list[float]] = {}
        for row in mine:
            if row.ratio is not None:
                ratios.setdefault(row.graph, []).append(max(row.ratio, 1e-9))
        if {row.cell for row in mine} != cells or not ratios:
            continue
        mean = geometric_mean([geometric_mean(values) for values in ratios.values()])
        worst = max(max(values) for values in ratios.values())
        found.append(Candidate(name, worst, mean, max(row.above for row in mine)))
    return sorted(found, key=lambda one: (one.mean, one.worst)), compared


def judge(rows: Sequence[Result]) -> list[tuple[str, Result]]:
    """The recommended learner in cells that were held back: how much was told, and its row with the ratio that counts.

    Told the regime, the ratio is to the best learner of the cell; untold, to the best of those good in several worlds.
    """
    several = {name for name, recipe in LEARNERS.items() if recipe.world == "any"}
    found = []
    for graph in dict.fromkeys(row.graph for row in rows):
        mine = [row for row in rows if row.graph == graph]
        for regime in (None, *REGIMES):
            told = "untold" if regime is None else regime
            chosen = recommend(make_graph(graph), mine[0].horizon, regime).learner
            for row in with_ratios(mine, several if regime is None else None):
                if row.learner == chosen and regime in (None, row.regime):
                    found.append((told, row))
    return found


def _distance(row: Result, facts: GraphFacts) -> float:
    """In logarithms: arms count half, the independence number once, how far theta is above it twice."""
    total = 0.5 * abs(math.log(row.n_arms / facts.n_arms))
    alpha = interval(row.alpha)
    if alpha is not None and facts.alpha is not None:
        total += abs(math.log(alpha.low / facts.alpha.low))
        theta = interval(row.theta)
        if theta is not None and facts.theta is not None:
            total += 2.0 * abs(math.log(theta.high / alpha.low) - math.log(facts.theta.high / facts.alpha.low))
    weak = interval(row.domination)
    if weak is not None and facts.domination is not None:
        total += abs(math.log((1.0 + weak.high) / (1.0 + facts.domination.high)))
    return total


def _off(measured: int, horizon: int | None) -> float:
    return -float(measured) if horizon is None else abs(math.log(measured / horizon))


def _limits(graph: AnyGraph, facts: GraphFacts, learner: str, horizon: int) -> dict[str, float]:
    found = {}
    if learner == DEFAULT and isinstance(graph, FeedbackGraph):
        sizes = clique_cover(graph).sizes
        found["upper"] = min(float(horizon), practical_adversarial_bound(sizes, horizon).value)
    if facts.alpha is not None and facts.observability == "strong" and facts.alpha.low > 1:
        found["lower"] = adversarial_lower_bound(int(facts.alpha.low), horizon)
    return found
