"""How good and how quick clique covers are, beside greedy colourings of the complement and CP-SAT.

Four parts: 100,000 arms with a million edges (goal 10 s); G(60, p), proved (goal 60 s each); G(1000, 1/2) (goal 95
cliques in 60 s; DSATUR alone gives about 115, and the best known for such graphs is 82 or 83); and complements of
graphs for colouring whose chromatic numbers are published. Peers, if installed: networkx (DSATUR), rustworkx,
igraph, and OR-Tools CP-SAT.

    python benchmarks/covers.py [--part NAME]... [--peer-seconds 20] [--out benchmarks/results/covers.md]
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np

import allworlds as aw
from allworlds.covers.covering import compile_searches

Row = list[str]
CHANCES = (0.3, 0.5, 0.7, 0.9)
SEEDS = range(5)


def timed(cover: Callable[[], aw.CliqueCover]) -> tuple[aw.CliqueCover, float]:
    started = time.perf_counter()
    found = cover()
    return found, time.perf_counter() - started


def complement(graph: aw.FeedbackGraph) -> list[tuple[int, int]]:
    """The pairs of arms that do not see each other."""
    return [tuple(pair) for pair in np.argwhere(np.triu(~graph.adjacency(), 1)).tolist()]


def by_networkx(graph: aw.FeedbackGraph, seconds: float) -> str:
    strangers = nx.Graph()
    strangers.add_nodes_from(range(graph.n_arms))
    strangers.add_edges_from(complement(graph))
    return str(1 + max(nx.greedy_color(strangers, "DSATUR").values()))


def by_rustworkx(graph: aw.FeedbackGraph, seconds: float) -> str:
    import rustworkx as rx

    strangers = rx.PyGraph()
    strangers.add_nodes_from(range(graph.n_arms))
    strangers.add_edges_from_no_data(complement(graph))
    return str(1 + max(rx.graph_greedy_color(strangers).values()))


def by_igraph(graph: aw.FeedbackGraph, seconds: float) -> str:
    import igraph

    strangers = igraph.Graph(n=graph.n_arms, edges=complement(graph))
    return str(1 + max(strangers.vertex_coloring_greedy(method="dsatur")))


def by_cp_sat(graph: aw.FeedbackGraph, seconds: float) -> str:
    """The smallest cover that CP-SAT finds, from DSATUR's number on; a star where it is not proved."""
    from ortools.sat.python import cp_model

    most = int(by_networkx(graph, seconds))
    apart = {int(arm): group for group, arm in enumerate(aw.covers.independent_set(graph))}
    model = cp_model.CpModel()
    group = [model.new_int_var(0, most - 1, "") for _ in range(graph.n_arms)]
    holds = [[model.new_bool_var("") for _ in range(most)] for _ in range(graph.n_arms)]
    last = model.new_int_var(0, most - 1, "")
    for arm in range(graph.n_arms):
        model.add_exactly_one(holds[arm])
        model.add(group[arm] == sum(k * holds[arm][k] for k in range(most)))
        model.add(last >= group[arm])
    for one, other in complement(graph):
        for k in range(most):
            model.add_bool_or(~holds[one][k], ~holds[other][k])
    for arm, k in apart.items():
        model.add(group[arm] == k)
    model.minimize(last)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = seconds, 2
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return f"{most}*"
    return f"{int(solver.objective_value) + 1}{'' if status == cp_model.OPTIMAL else '*'}"


PEERS = {"networkx": by_networkx, "rustworkx": by_rustworkx, "igraph": by_igraph, "ortools": by_cp_sat}


def peers(graph: aw.FeedbackGraph, seconds: float, without: tuple[str, ...] = ()) -> Row:
    """Cliques and seconds of each peer, or a dash."""
    cells = []
    for name, peer in PEERS.items():
        if name in without or importlib.util.find_spec(name) is None:
            cells.append("–")
            continue
        started = time.perf_counter()
        found = peer(graph, seconds)
        cells.append(f"{found} ({time.perf_counter() - started:.1f} s)")
    return cells


def ours(cover: aw.CliqueCover, seconds: float) -> Row:
    return [str(cover.n_cliques), str(cover.lower_bound), "yes" if cover.is_minimum else "no", f"{seconds:.2f} s"]


def random_graphs(limit: float) -> Iterator[Row]:
    for p in CHANCES:
        for seed in SEEDS:
            graph = aw.graphs.erdos_renyi(60, p, seed=seed)
            found = timed(lambda graph=graph: aw.clique_cover(graph, 60.0))
            yield [f"G(60, {p}), seed {seed}", *ours(*found), *peers(graph, limit)]


def thousand(limit: float) -> Iterator[Row]:
    graph = aw.graphs.erdos_renyi(1000, 0.5, seed=0)
    for seconds in (None, 10.0, 60.0):
        found = timed(lambda seconds=seconds: aw.clique_cover(graph, seconds, method="heuristic"))
        without = ("ortools",) if seconds is None else tuple(PEERS)
        yield [
            f"G(1000, 1/2), {f'{seconds:g} s' if seconds else 'no limit'}",
            *ours(*found),
            *peers(graph, limit, without),
        ]


def peak_memory() -> float:
    """The most memory that this process had since the peak was forgotten, in megabytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def forget_the_peak() -> None:
    """Let the kernel count the peak of memory anew. Linux only."""
    Path("/proc/self/clear_refs").write_text("5")


def large(limit: float) -> Iterator[Row]:
    n = 100_000
    makers = {
        "G(100000, 2e-4)": lambda: aw.graphs.erdos_renyi(n, 2e-4, seed=1),
        "unit disk": lambda: aw.graphs.random_unit_disk(n, 0.008, seed=1),
        "Barabási-Albert": lambda: aw.graphs.barabasi_albert(n, 10, seed=1),
    }
    for name, make in makers.items():
        graph = make()
        forget_the_peak()
        found = timed(lambda graph=graph: aw.clique_cover(graph))
        title = f"{name}, {graph.n_edges:,} edges, {peak_memory():.0f} MB at the peak"
        yield [title, *ours(*found), *(["–"] * len(PEERS))]  # their complements have five billion edges


def queens(n: int) -> nx.Graph:
    squares = [(i, j) for i in range(n) for j in range(n)]
    return nx.Graph(
        ((a, b), (c, d)) for (a, b), (c, d) in combinations(squares, 2) if a == c or b == d or abs(a - c) == abs(b - d)
    )


def colouring(limit: float) -> Iterator[Row]:
    known = {f"queen{n}_{n}": (queens(n), chi) for n, chi in ((5, 5), (6, 7), (7, 7), (8, 9), (9, 10))}
    known |= {f"myciel{k}": (nx.mycielski_graph(k + 1), k + 1) for k in (3, 4, 5)}
    for name, (graph, chi) in known.items():
        covered = aw.FeedbackGraph.from_networkx(nx.complement(nx.convert_node_labels_to_integers(graph)))
        found = timed(lambda covered=covered: aw.clique_cover(covered, 60.0))
        yield [f"{name}, published {chi}", *ours(*found), *peers(covered, limit)]


PARTS = {"large": large, "random": random_graphs, "thousand": thousand, "colouring": colouring}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=list(PARTS))
    parser.add_argument("--peer-seconds", type=float, default=20.0, help="for CP-SAT")
    parser.add_argument("--out", type=Path, help="write the table there, too")
    options = parser.parse_args(arguments)
    compile_searches()
    titles = ["graph", "cliques", "needed", "proved", "time", *PEERS]
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    print("\n".join(lines))
    for part in options.part or PARTS:
        for row in PARTS[part](options.peer_seconds):
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], flush=True)
    if options.out is not None:
        limit = f"--peer-seconds {options.peer_seconds:g}"
        command = f"`python benchmarks/covers.py {limit}`"
        note = f"Two cores; {command}. CP-SAT has two threads; a star marks what it did not prove.\n"
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("# Covers\n\n" + note + "\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
