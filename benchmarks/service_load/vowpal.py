"""Vowpal Wabbit on the load of ``benchmarks/service.py``: 100 arms, choose one, learn its loss, one after the other.

In this process, without HTTP: the wheel has no daemon. Two ways to keep what was learnt: not at all, which is what
``vw --daemon`` does until it is told to save; and the model saved and synced after every outcome, which is what it
would take to promise what the service promises for outcomes (a decision would still be kept nowhere).

    python benchmarks/service_load/vowpal.py [--seconds 3]
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

N_ARMS = 100


def measure(workspace: object, seconds: float, keep: Callable[[], None]) -> tuple[float, float]:
    """Decisions a second, and milliseconds of processor time of each."""
    draw, lines = random.Random(1), [f"|a arm-{arm}" for arm in range(N_ARMS)]
    begin, cpu, count = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() < begin + seconds:
        probabilities = workspace.predict(lines)
        arm = draw.choices(range(N_ARMS), probabilities)[0]
        learnt = [
            f"0:{draw.random()}:{probabilities[arm]} {line}" if k == arm else line for k, line in enumerate(lines)
        ]
        workspace.learn(learnt)
        keep()
        count += 1
    return count / (time.perf_counter() - begin), 1000.0 * (time.process_time() - cpu) / count


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args(arguments)
    try:
        import vowpalwabbit
    except ImportError:
        print("vowpalwabbit is not installed; try pip install vowpalwabbit", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        workspace = vowpalwabbit.Workspace("--cb_explore_adf --quiet")
        model = Path(folder) / "model.vw"

        def save() -> None:
            workspace.save(str(model))
            handle = os.open(model, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)

        for name, keep in (("nothing is kept", lambda: None), ("saved and synced after each outcome", save)):
            rate, spent = measure(workspace, options.seconds, keep)
            version = vowpalwabbit.__version__
            print(f"Vowpal Wabbit {version}, {name}: {rate:.0f} decisions/s, {spent:.2f} ms of processor time each")
        workspace.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
