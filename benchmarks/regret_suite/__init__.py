"""The regret suite: cells for choosing, cells for reporting, and what learners are worth in them.

From a script, with ``benchmarks/`` on ``sys.path``:

    from regret_suite import score, summarise, summary_lines, tuning_cells, tuning_seeds
    rows = score(lambda cover, horizon: MyLearner(cover), tuning_cells(), tuning_seeds(12))
    print(*summary_lines(summarise(rows)), sep="\\n")
"""

from regret_suite.cache import Cache
from regret_suite.cells import REPORTING_SEED, TUNING_SEED, Cell, tuning_cells
from regret_suite.drawn import drawn_cells, named_cells, reporting_cells
from regret_suite.goals import Goal, check_goals
from regret_suite.rows import RIVALS, Row, Summary, by_spec, compare, relative, score, summarise
from regret_suite.tables import summary_lines

__all__ = [
    "REPORTING_SEED",
    "RIVALS",
    "TUNING_SEED",
    "Cache",
    "Cell",
    "Goal",
    "Row",
    "Summary",
    "by_spec",
    "check_goals",
    "compare",
    "drawn_cells",
    "named_cells",
    "relative",
    "reporting_cells",
    "reporting_seeds",
    "score",
    "summarise",
    "summary_lines",
    "tuning_cells",
    "tuning_seeds",
]


def tuning_seeds(count: int) -> range:
    """The first seeds for choosing."""
    return range(TUNING_SEED, TUNING_SEED + count)


def reporting_seeds(count: int) -> range:
    """The first seeds for reporting."""
    return range(REPORTING_SEED, REPORTING_SEED + count)
