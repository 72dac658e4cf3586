"""What learners are worth: regret in many worlds, beside the best learner of the package, against the goals.

There are cells for choosing a setting and cells for reporting what was chosen; see ``regret_suite/``. Tuning cells have
seeds of their own, and what is measured there is not a result: it is never written to a page. The first run plays all
rivals: about half an hour on two cores for reporting, five minutes for tuning. Their regrets are kept in
``benchmarks/.cache``, and later runs play only what is new: a new setting is a minute on the tuning cells.

    scripts/bench regret                                        # the reporting cells, and the goals
    scripts/bench regret --tail-seeds 300 --docs                # the same, into docs/practical.md
    scripts/bench regret --tuning                               # the tuning cells, 12 seeds
    scripts/bench regret --tuning --learner guarded --learner guarded:share=0.8 --cells
    scripts/bench regret --list
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from allworlds.foundation.errors import AllWorldsError
from pages import PRACTICAL, write_between_marks
from regret_suite import (
    RIVALS,
    Cache,
    by_spec,
    check_goals,
    compare,
    reporting_cells,
    reporting_seeds,
    summarise,
    summary_lines,
    tuning_cells,
    tuning_seeds,
)
from regret_suite.tables import as_data, as_markdown, cell_lines, goal_lines, row_lines


def parse() -> argparse.Namespace:
    """The options; those that would publish tuning cells are refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learner", action="append", metavar="SPEC", help="ours (default: guarded); repeatable")
    parser.add_argument("--rivals", default=",".join(RIVALS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--tuning", action="store_true", help="the cells for choosing, not those for reporting")
    parser.add_argument("--only", default="", metavar="TEXT", help="cells whose name contains this")
    parser.add_argument("--seeds", type=int, help="seeds of every learner (default: 12 for tuning, 20 for reporting)")
    parser.add_argument("--tail-seeds", type=int, help="seeds of ours, for its worst (default: --seeds, or 100)")
    parser.add_argument("--jobs", type=int, help="threads (default: all cores)")
    parser.add_argument("--list", action="store_true", help="list the cells and play nothing")
    parser.add_argument("--cells", action="store_true", help="print a line for each cell too")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write the tables there, in Markdown")
    parser.add_argument(
        "--docs", action="store_true", help=f"write the tables into {PRACTICAL.name}, between its marks"
    )
    options = parser.parse_args()
    if options.tuning and (options.out or options.docs):
        parser.error("tuning cells are not results; leave out --tuning, or --out and --docs")
    if options.docs and options.only:
        parser.error("--docs is for all reporting cells; leave out --only")
    for name in ("seeds", "tail_seeds", "jobs"):
        value = getattr(options, name)
        if value is not None and value < 1:
            parser.error(f"--{name.replace('_', '-')} is {value}; expected at least 1")
    return options


def main() -> None:
    """Play, print, write."""
    options = parse()
    cells = [*tuning_cells(), *reporting_cells()] if options.list else None
    cells = cells or (tuning_cells() if options.tuning else reporting_cells())
    cells = [cell for cell in cells if options.only in cell.name]
    if not cells:
        sys.exit(f"error: no cell has '{options.only}' in its name; --list lists them")
    if options.list:
        print(*cell_lines(cells), sep="\n")
        return
    seeds_of = tuning_seeds if options.tuning else reporting_seeds
    seeds = seeds_of(options.seeds or (12 if options.tuning else 20))
    tail = seeds_of(max(len(seeds), options.tail_seeds or (0 if options.tuning else 100)))
    ours = {spec: by_spec(spec) for spec in options.learner or ["guarded"]}
    rivals = [spec for spec in options.rivals.split(",") if spec]
    started = time.perf_counter()
    rows = compare(ours, cells, seeds, tail, rivals, Cache(), jobs=options.jobs, progress=True)
    summaries = summarise(rows if options.tuning else [row for row in rows if row.cell.purpose == "drawn"] or rows)
    goals = [] if options.tuning else check_goals(rows)
    if options.json:
        print(json.dumps(as_data(rows, summaries, goals), indent=1))
    else:
        print(*(row_lines(rows) if options.cells else []), *summary_lines(summaries), *goal_lines(goals), sep="\n")
    text = as_markdown(rows, summaries, goals)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    if options.docs:
        write_between_marks(PRACTICAL, "regret", text)
    missed = "" if options.tuning else f"; {sum(not goal.reached for goal in goals)} of {len(goals)} goals missed"
    print(f"{len(cells)} cells in {time.perf_counter() - started:.0f} s{missed}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except AllWorldsError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("\nstopped; what was played is kept, and the same command goes on from there")
