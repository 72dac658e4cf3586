"""Compare rules for ``allworlds recommend``: leave out one measured graph after the other, advise on it from the rest.

    scripts/bench rules_of_advice

A rule is how many similar graphs stand for a new one, whether the worst or the mean ratio on them counts, and whether
learners with fewer runs above 0.1 T come first. The held-back cells take no part. The last line of a regime is what the
best single learner for each graph has, chosen in hindsight for all of its measured worlds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from allworlds.analysis.graph_facts import GraphFacts
from allworlds.learners.by_name import LEARNERS
from allworlds.workflows.comparison import ADVICE, REGIMES, Result, interval, stored_results
from allworlds.workflows.recommend import rank, similar_rows
from held_back import hindsight, in_regime, share
from pages import markdown

SIMILAR = (1, 3, 5, 8, 100)


def facts_of(row: Result) -> GraphFacts:
    """What the table says of a row's graph."""
    numbers = (interval(text) for text in (row.alpha, row.fractional, row.theta, row.domination))
    return GraphFacts(row.kind, row.n_arms, row.observability, *numbers)


def ratios(rows: Sequence[Result], regime: str | None, similar: int, by: str, *, above: bool) -> Iterator[float]:
    """The ratios of the learners that a rule names for each graph from the others."""
    graphs = {row.graph: row for row in rows}
    for graph, one in graphs.items():
        rest = similar_rows([row for row in rows if row.graph != graph], facts_of(one), None, regime, similar)
        played = {row.learner for row in rows if row.graph == graph}
        usable = [name for name in LEARNERS if name in played]
        candidates, _ = rank(rest, usable, regime)
        if not candidates:
            continue
        least = min(row.above for row in candidates)
        best = min(candidates, key=lambda row: (above and row.above > least, getattr(row, by)))
        mine = in_regime([row for row in rows if row.graph == graph], regime)
        yield from (row.ratio for row in mine if row.learner == best.learner and row.ratio is not None)


def main() -> None:
    """Print a table for each regime."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    graphs: dict[str, list[Result]] = {}
    for row in stored_results():
        if row.experiment in ADVICE and row.observability == "strong" and row.kind != "loopless":
            graphs.setdefault(row.graph, []).append(row)  # of the others one always wins
    rows = [row for mine in graphs.values() for row in similar_rows(mine, facts_of(mine[0]))]  # each world once
    for regime in (None, *REGIMES):
        body = []
        for similar in SIMILAR:
            for by in ("worst", "mean"):
                for above in (False, True):
                    found = list(ratios(rows, regime, similar, by, above=above))
                    shares = [share(found, 1.5), share(found, 2.5), f"{max(found):.2f}"]
                    body.append([f"{similar}, {by}{', safe first' if above else ''}", str(len(found)), *shares])
        mine = in_regime(rows, regime)
        body.append(["in hindsight", "", f"{hindsight(mine, 1.5):.0%}", f"{hindsight(mine, 2.5):.0%}", ""])
        head = [f"told {regime or 'nothing'}: similar graphs, ratio", "cells", "at most 1.5", "at most 2.5", "largest"]
        print(f"{markdown(head, body)}\n")


if __name__ == "__main__":
    main()
