"""The same rounds by this source tree and by another one, such as a worktree of the commit before.

Both play in processes of their own, which take turns. What is compared is CPU time, the least of all turns: other work
on the machine then counts for little.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from allworlds.foundation.errors import InvalidParameter
from speed.child import environment
from speed.config import GAP, Size

SIZES = (Size(10, 10, 100_000), Size(1000, 1000, 20_000), Size(10_000, 10, 10_000))
PROGRAM = """
import json, sys, time
try:
    from allworlds.covers import clique_cover
except ImportError:  # where it was before
    from allworlds.graphs import clique_cover
from allworlds.graphs import disjoint_cliques
from allworlds.learners import TsallisShannon
from allworlds.simulation import play
from allworlds.worlds import one_good_arm

n_cliques, size, rounds, gap = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
learner = TsallisShannon(clique_cover(disjoint_cliques(n_cliques, size)))
world = one_good_arm(n_cliques * size, gap=gap)
spent = []
for horizon in (1, 1, rounds):
    started = time.thread_time()
    play(learner, world, horizon, seed=1)
    spent.append(time.thread_time() - started)
print(json.dumps((spent[2] - spent[1]) / rounds))
"""


def compare(other: Path, sizes: tuple[Size, ...] = SIZES, turns: int = 3) -> Iterator[tuple[str, float, float]]:
    """For each size: its name, and the CPU seconds of a round of this tree and of the ``other`` one."""
    source = other / "src" if (other / "src").is_dir() else other
    if not (source / "allworlds").is_dir():
        raise InvalidParameter(f"--against is '{other}'; expected a source tree of allworlds; try git worktree add")
    here = environment()
    there = here | {"PYTHONPATH": str(source.resolve())}
    for size in sizes:
        ours, theirs = [], []
        for _ in range(turns):
            ours.append(_seconds(size, here))
            theirs.append(_seconds(size, there))
        yield str(size), min(ours), min(theirs)


def _seconds(size: Size, variables: dict[str, str]) -> float:
    arguments = [sys.executable, "-c", PROGRAM, *map(str, (size.n_cliques, size.size, size.rounds, GAP))]
    done = subprocess.run(arguments, env=variables, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))
