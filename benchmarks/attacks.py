"""Attack a learner: fixed oblivious worlds made to hurt, and a search for worse ones.

Every attack is a table of up to six phases on a few cliques (see ``allworlds.worlds.phases``). The phases stretch with
the horizon, so that regret that grows linearly, a learner that is locked in, can be told from the root that is
promised. For each attack and horizon: mean regret, its 95 % and 99 % quantile, the share of runs above 0.1 T, the mean
over sqrt(K T), and the exponent with which the mean grows, with a 95 % interval.

    python benchmarks/attacks.py                                    # the fixed attacks; hours on two cores
    python benchmarks/attacks.py --quick                            # the same with few runs and short; minutes
    python benchmarks/attacks.py --learner guarded --sizes 2x1 --only lock-in
    python benchmarks/attacks.py --search --minutes 6 --found found.json    # search against each learner, then report
    python benchmarks/attacks.py --load found.json --out attacks.md         # play again what was found
    python benchmarks/attacks.py --load found.json --learner exp3-ix        # the same with another learner
    python benchmarks/attacks.py --learner guarded --sizes 2x1 --docs attacks   # into docs/practical.md

From Python, with ``benchmarks/`` on the path, for any ``learner_factory(cover, horizon) -> learner``:

    from attacks import evaluate, fixed_attacks, search
    regrets = evaluate(learner_factory, fixed_attacks((1, 1))[0], 20_000, range(100))
    worst = search(learner_factory, n_cliques=2, sizes=(1, 1), minutes=6, seed=0)   # [(score, table), ...]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attack_bench.evolution import Candidate, Found, search, search_with_effort
from attack_bench.fixed import SIZES, fixed_attacks
from attack_bench.mutation import Shapes
from attack_bench.summary import HEAD, Row, as_markdown, as_page, as_text, growth, measure
from attack_bench.tables import LearnerFactory, Table, by_spec, evaluate, parse_sizes, write_sizes
from pages import PRACTICAL, write_between_marks

__all__ = ["Table", "by_spec", "evaluate", "fixed_attacks", "report", "search", "search_with_effort"]

LEARNERS = ("guarded", "tsallis-shannon", "tsallis-shannon-sharp", "exp3-ix", "tsallis-inf-rv")
HORIZONS = (20_000, 100_000, 400_000)
RUNS = (2_000, 2_000, 200)
QUICK = ((5_000, 20_000), (100, 50))
"""Horizons and runs of the quick form."""
FIRST_SEED = 5_000
"""Of the report's runs; horizons use seeds of their own."""


def report(
    name: str,
    learner_factory: LearnerFactory,
    table: Table,
    horizons: Sequence[int] = HORIZONS,
    runs: Sequence[int] = RUNS,
    jobs: int | None = None,
    first: int = FIRST_SEED,
) -> Row:
    """Play one learner under one attack at all horizons, with seeds from ``first``."""
    regrets = {}
    for horizon, n_runs in zip(horizons, runs, strict=True):
        _say(f"{name}, {table.name} on {write_sizes(table.sizes)}, {n_runs} runs of {horizon:,} rounds")
        regrets[horizon] = evaluate(learner_factory, table, horizon, range(first, first + n_runs), jobs)
        first += n_runs
    measured = [measure(regrets[horizon], horizon, len(table.sizes)) for horizon in horizons]
    return Row(name, table.name, write_sizes(table.sizes), measured, growth(regrets))


def attacks_of(options: argparse.Namespace) -> Iterator[tuple[str, Table]]:
    """(learner, attack): what was found against a learner is played by that one, or by those that are named."""
    if options.search:
        found = {learner: _search(learner, options) for learner in options.learner}
        document = {learner: _as_json(learner, result, options) for learner, result in found.items()}
        if options.found:
            options.found.write_text(json.dumps(document, indent=1) + "\n")
        for learner, result in found.items():
            yield from ((learner, table) for _, table in result.tables[: options.worst])
    elif options.load:
        for learner, document in json.loads(options.load.read_text()).items():
            tables = [Table.from_json(entry["table"]) for entry in document["tables"]][: options.worst]
            players = options.learner if options.named else [learner]
            yield from ((player, table) for player in players for table in tables)
    else:
        for learner in options.learner:
            for sizes in options.sizes:
                yield from ((learner, table) for table in fixed_attacks(sizes))


def _search(learner: str, options: argparse.Namespace) -> Found:
    def tell(tried: int, best: Candidate) -> None:
        _say(f"{learner}: {tried} tables, the worst so far {best.regrets.mean():.2f} √KT in {best.regrets.size} runs")

    return search_with_effort(
        by_spec(learner),
        Shapes(options.cliques, options.sizes[0] if options.fixed_sizes else None),
        options.minutes,
        options.seed,
        tables=options.tables,
        horizon=options.search_horizon,
        jobs=options.jobs,
        on_generation=tell,
    )


def _as_json(learner: str, found: Found, options: argparse.Namespace) -> dict[str, Any]:
    """The tables with what it takes to find them again: the same options, with ``--tables`` instead of minutes."""
    effort = {"tables_tried": found.tried, "generations": found.generations, "seconds": round(found.seconds, 1)}
    tables = [{"score": score, "table": table.as_json()} for score, table in found.tables]
    again = f"--search --learner {learner} --tables {found.tried} --seed {options.seed}"
    again += f" --search-horizon {options.search_horizon}"
    if options.fixed_sizes:
        again += f" --sizes {write_sizes(options.sizes[0])}"
    if options.cliques:
        again += f" --cliques {options.cliques}"
    return {"learner": learner, "again": again, "effort": effort, "tables": tables}


def _say(text: str) -> None:
    """Progress, where someone is watching."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(float(part)) for part in text.split(","))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learner", action="append", metavar="SPEC", help="may be repeated")
    parser.add_argument("--sizes", action="append", type=parse_sizes, help="cliques, 2x1 or 1,1,3; may be repeated")
    parser.add_argument("--only", default="", help="attacks whose name contains this")
    parser.add_argument("--horizons", type=_numbers, help="comma-separated")
    parser.add_argument("--runs", type=_numbers, help="at each horizon, comma-separated")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="of the runs (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="two short horizons, few runs")
    parser.add_argument("--search", action="store_true", help="search against each learner, instead of fixed attacks")
    parser.add_argument("--minutes", type=float, help="effort of a search, for each learner (default 2)")
    parser.add_argument("--tables", type=int, help="effort of a search in tables tried, which can be repeated exactly")
    parser.add_argument("--search-horizon", type=int, default=20_000, help="rounds of a run in the search")
    parser.add_argument("--cliques", type=int, help="how many cliques a search uses (default: 2 to 4)")
    parser.add_argument("--seed", type=int, default=0, help="of the search")
    parser.add_argument("--worst", type=int, default=3, help="how many of the tables found are reported")
    parser.add_argument("--found", type=Path, help="write the tables found there, as JSON")
    parser.add_argument("--load", type=Path, help="report on the tables of this file")
    parser.add_argument("--jobs", type=int, help="threads (default: all cores)")
    parser.add_argument("--json", action="store_true", help="one object a row on standard output")
    parser.add_argument("--out", type=Path, help="write the table there, in Markdown")
    parser.add_argument("--docs", metavar="MARK", help=f"write a table into {PRACTICAL.name}, between these marks")
    options = parser.parse_args(arguments)
    options.named = options.learner is not None
    options.learner = options.learner or list(LEARNERS)
    options.fixed_sizes = options.sizes is not None
    options.sizes = options.sizes or list(SIZES)
    options.minutes = 2.0 if options.minutes is None and options.tables is None else options.minutes
    horizons, runs = QUICK if options.quick else (HORIZONS, RUNS)
    options.horizons, options.runs = options.horizons or horizons, options.runs or runs
    if len(options.horizons) != len(options.runs):
        parser.error(
            f"there are {len(options.horizons)} horizons and {len(options.runs)} numbers of runs; give as many"
        )
    if options.search and options.fixed_sizes and len(options.sizes) > 1:
        parser.error("a search takes one --sizes, or none to choose them itself")
    return options


def main(arguments: list[str] | None = None) -> None:
    """Print a few lines for each learner and attack as they are measured."""
    options = _options(arguments)
    rows = []
    if not options.json:
        print(HEAD, flush=True)
    for learner, table in attacks_of(options):
        if options.only not in table.name:
            continue
        row = report(learner, by_spec(learner), table, options.horizons, options.runs, options.jobs, options.first_seed)
        rows.append(row)
        _say("")
        print(json.dumps(asdict(row)) if options.json else "\n".join(as_text(row)), flush=True)
        if options.out:
            options.out.write_text("\n".join(as_markdown(rows)) + "\n")
        if options.docs:
            write_between_marks(PRACTICAL, options.docs, "\n".join(as_page(rows)))
    if not rows:
        sys.exit(f"no attack has '{options.only}' in its name")


if __name__ == "__main__":
    main()
