"""What is measured in a process of its own, started by :func:`ask` or :func:`command`.

A process of its own has its own memory, its own threads and one core's worth of BLAS; a rival that crashes or never
ends stops only itself. Every answer is one line of JSON.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import allworlds

PROGRAM = "import sys; from speed.child import main; main(sys.argv[1:])"
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "NUMEXPR")}
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}


class ChildFailed(Exception):
    """A child that ended badly; the sentence says how."""


def command(work: str, *arguments: object) -> list[str]:
    """What to start."""
    return [sys.executable, "-c", PROGRAM, work, *map(str, arguments)]


def environment() -> dict[str, str]:
    """The benchmarks and the package first on the path, one thread for every library."""
    roots = [str(Path(file).resolve().parents[1]) for file in (__file__, allworlds.__file__)]
    paths = os.pathsep.join(part for part in (*roots, os.environ.get("PYTHONPATH", "")) if part)
    return os.environ | ONE_THREAD | QUIET | {"PYTHONPATH": paths}


def ask(work: str, *arguments: object, patience: float) -> Any:
    """The answer of a child; :class:`ChildFailed` if it crashed or took longer than ``patience`` seconds."""
    try:
        done = subprocess.run(
            command(work, *arguments), env=environment(), capture_output=True, text=True, timeout=patience
        )
    except subprocess.TimeoutExpired:
        raise ChildFailed(f"given up after {patience:.0f} s") from None
    if done.returncode != 0:
        words = done.stderr.strip().splitlines()
        said = re.sub(r" \([^()]*[/\\][^()]*\)", "", words[-1]) if words else ""  # without places on this machine
        raise ChildFailed(said or f"ended with code {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments: list[str]) -> None:
    """Do the work and print the answer."""
    work, rest = arguments[0], arguments[1:]
    if work == "memory":
        from speed.loops import own_peak

        answer: Any = own_peak(*rest)
    elif work == "loop":
        from speed.processes import serve

        serve(*rest)
        return
    elif work == "solver":
        from speed.solvers import solve

        answer = solve(*rest)
    else:
        from speed.rivals import play_rival

        answer = play_rival(*rest)
    print(json.dumps(answer))
