"""Compare rules for ``allworlds recommend``: leave out one measured graph after the other, advise on it from the rest.

    scripts/bench rules_of_advice

A rule is how many similar graphs stand for a new one, and what is made small on them. The held-back cells take no part.
The last line of a regime is what no rule can exceed that names one learner of those measured for a graph and a regime:
the share of cells that the best choice for each graph has, made in hindsight and for each goal by itself. Below the
table stands on how many graphs some learner is within the goal in all cells.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from allworlds.analysis.graph_facts import GraphFacts
from allworlds.learners.by_name import LEARNERS
from allworlds.workflows.comparison import ADVICE, REGIMES, Result, interval, stored_results
from allworlds.workflows.recommend import Candidate, rank, similar_rows
from held_back import hindsight, in_regime, per_cent, share
from pages import markdown

SIMILAR = (1, 3, 5, 8, 100)
Score = Callable[[Candidate, Sequence[Result]], float]
"""A number for a candidate and its rows on the similar graphs; the smallest is advised."""


def mean_of(loss: Callable[[float], float]) -> Score:
    """The mean over graphs of the mean loss over their worlds; of equal ones the smaller mean ratio."""

    def score(one: Candidate, rows: Sequence[Result]) -> float:
        graphs: dict[str, list[float]] = {}
        for row in rows:
            if row.ratio is not None:
                graphs.setdefault(row.graph, []).append(loss(max(row.ratio, 1e-9)))
        return fmean(fmean(values) for values in graphs.values()) + 1e-6 * one.mean

    return score


SCORES: dict[str, Score] = {
    "mean ratio": lambda one, _: one.mean,
    "mean ratio, safe first": lambda one, _: one.mean + 1e6 * one.above,
    "worst ratio": lambda one, _: one.worst,
    "share above 1.5": mean_of(lambda ratio: ratio > 1.5),
    "shares above 1.5 and 2.5": mean_of(lambda ratio: (ratio > 1.5) + (ratio > 2.5)),
    "logarithm, at most that of 2.5": mean_of(lambda ratio: min(math.log(ratio), math.log(2.5))),
    "logarithm, above that of 1.5": mean_of(lambda ratio: max(0.0, math.log(ratio / 1.5))),
    "squared logarithm": mean_of(lambda ratio: math.log(max(ratio, 1.0)) ** 2),
    "arithmetic mean": mean_of(lambda ratio: ratio),
}


def facts_of(row: Result) -> GraphFacts:
    """What the table says of a row's graph."""
    numbers = (interval(text) for text in (row.alpha, row.fractional, row.theta, row.domination))
    return GraphFacts(row.kind, row.n_arms, row.observability, *numbers)


def ratios(
    rows: Sequence[Result], regime: str | None, similar: int, scores: Sequence[Score]
) -> Iterator[list[list[float]]]:
    """For each score and graph the ratios of the learner that is advised from the other graphs."""
    graphs = {row.graph: row for row in rows}
    for graph, one in graphs.items():
        rest = similar_rows([row for row in rows if row.graph != graph], facts_of(one), None, regime, similar)
        played = {row.learner for row in rows if row.graph == graph}
        candidates, compared = rank(rest, [name for name in LEARNERS if name in played], regime)
        if not candidates:
            continue
        seen = {one.learner: [row for row in compared if row.learner == one.learner] for one in candidates}
        named = [min(candidates, key=lambda one: (score(one, seen[one.learner]), one.mean)).learner for score in scores]
        mine = in_regime([row for row in rows if row.graph == graph], regime)
        yield [[row.ratio for row in mine if row.learner == name and row.ratio is not None] for name in named]


def main() -> None:
    """Print a table for each regime."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rows = judged_rows()
    for regime in (None, *REGIMES):
        head = [f"told {regime or 'nothing'}: similar graphs, rule", "cells", "at most 1.5", "at most 2.5", "largest"]
        print(f"{markdown(head, body(rows, regime))}\n\n{whole_graphs(in_regime(rows, regime))}\n")


def judged_rows() -> list[Result]:
    """The rows that choose a rule: graphs on which not always the same learner wins, each world once."""
    graphs: dict[str, list[Result]] = {}
    for row in stored_results():
        if row.experiment in ADVICE and row.observability == "strong" and row.kind != "loopless":
            graphs.setdefault(row.graph, []).append(row)
    return [row for mine in graphs.values() for row in similar_rows(mine, facts_of(mine[0]))]


def body(rows: Sequence[Result], regime: str | None, similar: Sequence[int] = SIMILAR) -> list[list[str]]:
    """The lines of a regime's table: each rule on so many similar graphs, and one learner a graph in hindsight."""
    found = []
    for count in similar:
        per_graph = list(ratios(rows, regime, count, list(SCORES.values())))
        for number, by in enumerate(SCORES):
            mine = [ratio for graph in per_graph for ratio in graph[number]]
            shares = [share(mine, 1.5), share(mine, 2.5), f"{max(mine):.2f}"]
            found.append([f"{count}, {by}", str(len(mine)), *shares])
    told = in_regime(rows, regime)
    cells = len({row.cell for row in told if row.ratio is not None})
    return [*found, ["in hindsight", str(cells), *(per_cent(hindsight(told, most)) for most in (1.5, 2.5)), ""]]


def whole_graphs(rows: Sequence[Result]) -> str:
    """On how many graphs one learner can be within a goal in every cell."""
    graphs = dict.fromkeys(row.graph for row in rows if row.ratio is not None)
    counts = []
    for most in (1.5, 2.5):
        good = sum(hindsight([row for row in rows if row.graph == graph], most) == 1.0 for graph in graphs)
        counts.append(f"at most {most} on {good}")
    return f"Of {len(graphs)} graphs, one learner has in all cells {' and '.join(counts)}."


if __name__ == "__main__":
    main()
