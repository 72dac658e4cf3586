"""What durability costs: the service with a journal in memory, in SQLite and in PostgreSQL, under the same load.

100 arms in 10 cliques; 16 keep-alive connections choose and observe as fast as they are answered, from a process of
their own (``benchmarks/service_load/generator.py``). SQLite and PostgreSQL sync every commit. Runs take turns, so that
other work on the machine hits all of them alike; read the figures as ratios to those of the journal in memory. In
brackets are the lowest and the highest ratio of two runs of one turn.

Then: how much memory the serving process gained for each decision, and how long it takes until it can decide again
when it is started with a journal of many decisions.

    python benchmarks/service.py [--seconds 5] [--repeats 3] [--restart 50000] [--slow [--folder PATH]] [--json]

The goals: at least half the throughput of the journal in memory, at most 3 times its p99; 2,000 decisions/s with a p99
under 20 ms on SQLite and 1,000/s on PostgreSQL, on an idle machine with two cores; ready within 3 s with 1e6 decisions
(``--slow``).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
GENERATOR = HERE / "service_load" / "generator.py"
sys.path.insert(0, str(HERE.parent / "tests"))  # postgres_server.py
LEARNER = {"name": "load", "graph": {"family": "disjoint-cliques:10x10"}}
FIGURES = ("decisions_per_second", "choose_p50_ms", "choose_p99_ms", "observe_p50_ms", "observe_p99_ms")


class Server:
    """``allworlds serve`` in a process of its own."""

    def __init__(self, database: str) -> None:
        command = [sys.executable, "-m", "allworlds", "serve", "--port", "0", "--json", "--database", database]
        self._begin = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.process.communicate()[1])
        self.url = json.loads(line)["url"]
        self.port = int(self.url.rpartition(":")[2])

    def wait_until_ready(self) -> tuple[float, float]:
        """Seconds from the start of the process until it answered a probe, and until it could decide."""
        answered = self._wait("/healthz")
        return answered, self._wait("/readyz")

    def _wait(self, path: str) -> float:
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(self.url + path):
                return time.perf_counter() - self._begin
            if self.process.poll() is not None:
                raise RuntimeError(self.process.communicate()[1])
            time.sleep(0.02)

    def post(self, path: str, body: Any) -> Any:
        """The answer to a POST."""
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def memory(self) -> float:
        """Resident megabytes; NaN where the system does not say."""
        try:
            text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
            return float(text.partition("VmRSS:")[2].split()[0]) / 1024.0
        except OSError:
            return float("nan")

    def seconds(self) -> float:
        """Processor time it has used, which other work on the machine changes least; NaN where it is not told."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, AttributeError):
            return float("nan")

    def stop(self) -> float:
        """Ask it to stop; the seconds that took."""
        begin = time.perf_counter()
        self.process.terminate()
        self.process.communicate(timeout=60)
        return time.perf_counter() - begin


def load(port: int, seconds: float) -> dict[str, Any]:
    """What the generator measured."""
    command = [sys.executable, str(GENERATOR), str(port), "--seconds", str(seconds)]
    result: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if result["other_statuses"]:
        raise RuntimeError(f"the service refused requests: {result['other_statuses']}")
    return result


@contextlib.contextmanager
def databases(folder: Path) -> Iterator[dict[str, str]]:
    """The URL of each kind of journal; PostgreSQL only where there is a server to be had."""
    from postgres_server import MISSING, PostgresServer, programs

    urls = {"memory": "memory:", "sqlite": f"sqlite:///{folder / 'load.db'}"}
    if programs() is None:
        print(f"without PostgreSQL, which {MISSING}", file=sys.stderr)
        yield urls
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        server = PostgresServer(Path(place))
        try:
            yield urls | {"postgresql": server.new_database()}
        finally:
            server.stop()


def measure_load(urls: dict[str, str], seconds: float, repeats: int) -> dict[str, dict[str, float]]:
    """Medians over the repeats of each figure, for each journal, with the memory it gained."""
    servers = {kind: Server(url) for kind, url in urls.items()}
    results: dict[str, list[dict[str, Any]]] = {kind: [] for kind in urls}
    before: dict[str, float] = {}
    spent: dict[str, float] = {}
    try:
        for kind, server in servers.items():
            server.wait_until_ready()
            server.post("/v1/learners", LEARNER)
            load(server.port, 1.0)  # warm
            before[kind] = server.memory()
            spent[kind] = server.seconds()
        for _ in range(repeats):
            for kind, server in servers.items():
                results[kind].append(load(server.port, seconds))
        table: dict[str, dict[str, float]] = {}
        for kind, server in servers.items():
            rows = results[kind]
            decisions = sum(row["decisions"] for row in rows)
            table[kind] = {name: statistics.median(row[name] for row in rows) for name in FIGURES}
            table[kind] |= {
                "decisions": decisions,
                "bytes_per_decision": (server.memory() - before[kind]) * 2**20 / decisions,
                "cpu_ms_per_decision": 1000.0 * (server.seconds() - spent[kind]) / decisions,
            }
        for kind, row in table.items():
            for name, figure in (("throughput_to_memory", "decisions_per_second"), ("p99_to_memory", "choose_p99_ms")):
                shares = [
                    one[figure] / memory[figure] for one, memory in zip(results[kind], results["memory"], strict=True)
                ]
                row[name] = row[figure] / table["memory"][figure]
                row[f"{name}_low"], row[f"{name}_high"] = min(shares), max(shares)
        return table
    finally:
        for server in servers.values():
            server.stop()


def fill(file: Path, n_decisions: int, batch: int = 500) -> dict[str, float]:
    """Make ``n_decisions`` decisions through an engine and report all but every hundredth; the memory that took."""
    from allworlds.service.engine import Engine
    from allworlds.service.schema import open_journal

    journal = open_journal(f"sqlite:///{file}")
    engine = Engine(journal)
    engine.start()
    engine.create(LEARNER).result()
    begin, memory = time.perf_counter(), []
    for first in range(0, n_decisions, batch):
        ids = [{"id": str(number)} for number in range(first, min(first + batch, n_decisions))]
        waiting = []
        for decision in engine.choose_many("load", ids).result():
            if int(decision["id"]) % 100:
                losses = {arm: ((7 * int(decision["id"]) + k) % 11) / 10 for k, arm in enumerate(decision["observe"])}
                waiting.append(engine.observe("load", decision["id"], losses))
        for future in waiting:
            future.result()
        memory.append(own_memory())
        if len(memory) % 100 == 0:
            print(f"{first + batch:,} decisions, {memory[-1]:.0f} MB", file=sys.stderr)
    seconds = time.perf_counter() - begin
    engine.stop()
    journal.close()
    half = len(memory) // 2
    return {
        "seconds_to_fill": seconds,
        "bytes_per_decision": (memory[-1] - memory[half]) * 2**20 / max(1, (len(memory) - 1 - half) * batch),
        "memory_at_first_batch": memory[0],
        "memory_at_half": memory[half],
        "memory_at_end": memory[-1],
    }


def measure_restart(folder: Path, n_decisions: int) -> dict[str, float]:
    """Start on a SQLite journal of many decisions: seconds until it answers a probe and until it can decide.

    The journal is made first, unless ``folder`` has it from an earlier run. Every other start follows a ``kill -9``
    under load, which leaves events that are in no snapshot and a write-ahead log.
    """
    file = folder / f"restart-{n_decisions}.db"
    filled = {} if file.exists() else fill(file, n_decisions)
    starts = []
    for number in range(6):
        server = Server(f"sqlite:///{file}")
        healthy, ready = server.wait_until_ready()
        starts.append((healthy, ready, server.seconds()))
        if number % 2:
            server.stop()
        else:
            load(server.port, 1.0)
            server.process.kill()
            server.process.communicate()
    healthy, ready, spent = (statistics.median(column) for column in zip(*starts, strict=True))
    return {
        "decisions": n_decisions,
        **filled,
        "seconds_to_healthz": healthy,
        "seconds_to_readyz": ready,
        "slowest_readyz": max(row[1] for row in starts),
        "cpu_seconds_to_readyz": spent,
        "file_megabytes": file.stat().st_size / 2**20,
    }


def own_memory() -> float:
    """Resident megabytes of this process."""
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii")
        return float(text.partition("VmRSS:")[2].split()[0]) / 1024.0
    except OSError:
        return float("nan")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of one run")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each journal")
    parser.add_argument("--restart", type=int, default=50_000, help="decisions in the journal at the restart; 0 skips")
    parser.add_argument("--slow", action="store_true", help="restart with 1e6 decisions")
    parser.add_argument(
        "--folder", type=Path, help="where the journal for the restart is made, or is from an earlier run"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with databases(folder) as urls:
            table = measure_load(urls, options.seconds, options.repeats)
        n_decisions = 1_000_000 if options.slow else options.restart
        restart = measure_restart(options.folder or folder, n_decisions) if n_decisions else None
    if options.json:
        print(json.dumps({"load": table, "restart": restart}))
        return 0
    print("16 connections, 100 arms in 10 cliques, choose and observe; medians")
    titles = (
        "decisions/s  of memory (all turns)  choose p50    p99  of memory (all turns)  observe p50    p99  "
        "CPU/decision  bytes/decision"
    )
    print(f"{'journal':<12} {titles}")
    for kind, row in table.items():
        print(
            f"{kind:<12} {row['decisions_per_second']:11.0f} {_with_spread(row, 'throughput_to_memory')} "
            f"{row['choose_p50_ms']:9.1f} ms {row['choose_p99_ms']:6.1f} {_with_spread(row, 'p99_to_memory')} "
            f"{row['observe_p50_ms']:10.1f} ms {row['observe_p99_ms']:6.1f} {row['cpu_ms_per_decision']:10.2f} ms "
            f"{row['bytes_per_decision']:15.0f}"
        )
    if restart is not None:
        print(
            f"restart with {restart['decisions']:,} decisions in SQLite ({restart['file_megabytes']:.0f} MB), every "
            f"other one after kill -9: /healthz after {restart['seconds_to_healthz']:.1f} s, ready after "
            f"{restart['seconds_to_readyz']:.1f} s (slowest {restart['slowest_readyz']:.1f} s), of which "
            f"{restart['cpu_seconds_to_readyz']:.1f} s of processor time"
        )
        if "seconds_to_fill" in restart:
            print(
                f"memory while it was filled: {restart['memory_at_first_batch']:.0f} MB after the first batch, "
                f"{restart['memory_at_half']:.0f} at half, {restart['memory_at_end']:.0f} at the end"
            )
    return 0


def _with_spread(row: dict[str, float], name: str) -> str:
    return f"{row[name]:9.2f}× ({row[f'{name}_low']:.2f}-{row[f'{name}_high']:.2f})"


if __name__ == "__main__":
    sys.exit(main())
