"""Plant small errors in the package and see whether the tests notice: which mutants die, and which survive.

    python benchmarks/mutation.py theory                        every mutant of a room
    python benchmarks/mutation.py theory/sharp.py               of one file
    python benchmarks/mutation.py ftrl learners --sample 100 --seed 1
    python benchmarks/mutation.py theory --json mutants.jsonl   also as JSON, one line a mutant
    python benchmarks/mutation.py theory --again mutants.jsonl  only those that survived before

A mutant dies when a test of its room, or a doctest of its file, fails. ``mutation_testing/equivalent.toml`` lists
mutants that change no result, each with the reason; they are not counted. The tree itself is never changed: mutants
are written to a copy of the package. Rooms with compiled code run as plain Python (``NUMBA_DISABLE_JIT=1``).
The exit code is 1 if fewer than ``--least`` of the mutants die.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import random
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mutation_testing import runner
from mutation_testing.operators import Mutant, mutants

EQUIVALENT = Path(__file__).resolve().parent / "mutation_testing" / "equivalent.toml"


class Place(NamedTuple):
    """A mutant and the file that it changes, such as ``theory/sharp.py``."""

    file: str
    text: str
    mutant: Mutant


class Equivalent(NamedTuple):
    """A change without a result: in this file (or files, as ``learners/*``), on a line with this text."""

    file: str
    line: str
    change: str
    reason: str


def places(package: Path, targets: list[str]) -> list[Place]:
    """Every mutant of the rooms and files asked for."""
    found: list[Place] = []
    for target in targets:
        path = package / target
        files = [path] if path.suffix == ".py" else sorted(path.rglob("*.py"))
        if not path.exists() or not files:
            raise SystemExit(f"target is {target!r}; expected a room or a file below {package}")
        for file in files:
            source = file.read_text(encoding="utf-8")
            lines = source.splitlines()
            name = str(file.relative_to(package))
            found += [Place(name, lines[one.line - 1].strip(), one) for one in mutants(source)]
    return found


def equivalents(path: Path = EQUIVALENT) -> list[Equivalent]:
    """The table of changes that change no result."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", []) if path.exists() else []
    return [Equivalent(row["file"], row["line"], row.get("change", ""), row["reason"]) for row in rows]


def reason(place: Place, table: list[Equivalent]) -> str | None:
    """Why the mutant changes no result; None if the table does not say so."""
    for row in table:
        if fnmatch.fnmatch(place.file, row.file) and row.line in place.text and row.change in place.mutant.change:
            return row.reason
    return None


def results(room: str, chosen: list[Place], table: list[Equivalent], time_limit: float) -> Iterator[dict[str, object]]:
    """Write each mutant to the copy, run its tests, restore it; one record a mutant."""
    with runner.package_copy(runner.ROOT / "src" / runner.PACKAGE) as package:
        runner.prepare(room, package)
        files = sorted({place.file for place in chosen})
        if files and runner.outcome(_module(files[0]), runner.tests_of(room, files[0]), 1800.0) != runner.SURVIVED:
            raise SystemExit(f"the tests of {room} fail on the intact package; every mutant would seem dead")
        for place in chosen:
            row = {"file": place.file, "line": place.mutant.line, "change": place.mutant.change}
            why = reason(place, table)
            if why is not None:
                yield row | {"outcome": "equivalent", "reason": why}
                continue
            path = package / place.file
            intact = path.read_text(encoding="utf-8")
            path.write_text(place.mutant.source, encoding="utf-8")
            said = runner.outcome(_module(place.file), runner.tests_of(room, place.file), time_limit)
            path.write_text(intact, encoding="utf-8")
            yield row | {"outcome": said}


def _module(file: str) -> str:
    return ".".join((runner.PACKAGE, *Path(file).with_suffix("").parts)).removesuffix(".__init__")


def summary(rows: list[dict[str, object]]) -> tuple[str, float]:
    """A closing sentence, and the share of mutants that died."""
    counts = {name: sum(row["outcome"] == name for row in rows) for name in ("killed", "timeout", "survived")}
    dead = counts["killed"] + counts["timeout"]
    share = dead / (dead + counts["survived"]) if dead + counts["survived"] else 1.0
    equivalent = sum(row["outcome"] == "equivalent" for row in rows)
    text = f"{len(rows)} mutants: {dead} killed ({counts['timeout']} by the time limit), {equivalent} equivalent, "
    return text + f"{counts['survived']} survived; {share:.1%} of those that change a result died", share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+", help="rooms or files below src/allworlds")
    parser.add_argument("--sample", type=int, help="so many mutants of each room, drawn with the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--time-limit", type=float, default=120.0, help="seconds of computing a mutant; one that hangs is dead"
    )
    parser.add_argument("--least", type=float, default=0.95, help="the share of mutants that must die")
    parser.add_argument("--json", type=Path, help="write one record a mutant to this file, as JSON lines")
    parser.add_argument("--again", type=Path, help="run only what survived in this file of JSON lines")
    parser.add_argument("--quiet", action="store_true", help="print only the survivors and the summary")
    options = parser.parse_args()
    rooms = sorted({target.partition("/")[0] for target in options.targets})
    unknown = [room for room in rooms if room not in runner.ROOMS]
    if unknown:
        raise SystemExit(f"room is {unknown[0]!r}; expected one of {', '.join(runner.ROOMS)}")
    if len(rooms) > 1:  # each room in a process of its own: they share different modules
        raise SystemExit(max(_again(room, options) for room in rooms))
    wanted = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")  # a fork keeps one thread only
    wanted |= {"NUMBA_DISABLE_JIT": "1"} if runner.ROOMS[rooms[0]].plain_python else {}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | wanted)
    raise SystemExit(_run(rooms[0], options))


def _run(room: str, options: argparse.Namespace) -> int:
    chosen = places(runner.ROOT / "src" / runner.PACKAGE, options.targets)
    if options.sample is not None:  # in random order, so that an interrupted run is a sample too
        chosen = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
    if options.again is not None:
        before = [json.loads(line) for line in options.again.read_text(encoding="utf-8").splitlines()]
        alive = {(row["file"], row["line"], row["change"]) for row in before if row["outcome"] == "survived"}
        chosen = [place for place in chosen if (place.file, place.mutant.line, place.mutant.change) in alive]
    if options.json is not None:
        options.json.write_text("", encoding="utf-8")
    rows = []
    for row in results(room, chosen, equivalents(), options.time_limit):
        rows.append(row)
        if options.json is not None:
            with options.json.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(row) + "\n")
        if not options.quiet or row["outcome"] == "survived":
            print(f"{row['outcome']:10s} {row['file']}:{row['line']}  {row['change']}", flush=True)
    text, share = summary(rows)
    print(text)
    return int(share < options.least)


def _again(room: str, options: argparse.Namespace) -> int:
    own = [target for target in options.targets if target.partition("/")[0] == room]
    command = [sys.executable, __file__, *own, "--seed", str(options.seed), "--least", str(options.least)]
    command += ["--time-limit", str(options.time_limit), *(["--quiet"] if options.quiet else [])]
    if options.sample is not None:
        command += ["--sample", str(options.sample)]
    if options.again is not None:
        command += ["--again", str(options.again)]
    if options.json is not None:
        command += ["--json", str(options.json.with_stem(f"{options.json.stem}-{room}"))]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    main()
