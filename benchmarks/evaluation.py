"""How good evaluation from logs is: whether intervals cover, and how much variance side observations save.

Logs are written by real agents in a world with known means: the default learner, Thompson-N and a uniform policy that
sees its clique. An interval that holds at any time must contain the mean at *all* checkpoints of a log, for all but 5%
of the logs at most.

    python benchmarks/evaluation.py [--logs 1000] [--rounds 300] [--collectors uniform ...] [--json]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import allworlds as aw
from allworlds.agents.confidence import intervals
from allworlds.agents.evaluation import terms_of
from allworlds.agents.logged_rounds import LoggedRounds, logged_rounds
from allworlds.learners.thompson_n import ThompsonN
from allworlds.learners.uniform import Uniform

LEVEL = 0.95
CLIQUES, SIZE = 2, 5
MEANS = np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.3, 0.5, 0.5, 0.7, 0.9])


class SeeingUniform(Uniform):
    """The uniform policy, shown the clique of what it chose."""

    shows = "neighbours"


def collectors(graph: aw.FeedbackGraph) -> dict[str, Callable[[], aw.learners.Learner]]:
    return {
        "tsallis-shannon": lambda: aw.TsallisShannon(graph),
        "thompson-n": lambda: ThompsonN(graph),
        "uniform": lambda: SeeingUniform(graph),
    }


def collect(learner: aw.learners.Learner, means: np.ndarray, n_rounds: int, seed: int, folder: Path) -> LoggedRounds:
    """A log of an agent in a world of coins."""
    path = folder / f"{learner.name}-{seed}.parquet"
    agent = aw.Agent(learner, seed=seed, log=path)
    losses = (np.random.default_rng([seed, 99]).random((n_rounds, means.size)) < means).astype(float)
    for row in losses:
        decision = agent.choose()
        agent.observe(decision, row[list(decision.observes)])
    agent.log.flush()
    return logged_rounds(path)


def misses(rounds: LoggedRounds, means: np.ndarray) -> Iterator[tuple[bool, bool, bool]]:
    """For each arm, whether its mean was outside at some checkpoint, at the end, and at some of ordinary intervals."""
    at = np.unique(np.geomspace(1, rounds.n_rounds, 25).astype(int))
    for arm, mean in enumerate(means):
        outside = []
        for sightings in (rounds.seen, rounds.played):
            terms = terms_of(sightings, np.eye(1, means.size, arm)[0], rounds.n_rounds)
            low, high = intervals(terms.losses, terms.complements, 1.0 - LEVEL, at)
            outside.append((mean < low) | (mean > high))
        yield bool(outside[0].any()), bool(outside[0][-1]), bool(outside[1].any())


def coverage(name: str, n_logs: int, n_rounds: int) -> dict[str, object]:
    """The share of logs whose interval covers, for the arm that is covered least."""
    graph = aw.graphs.disjoint_cliques(CLIQUES, SIZE)
    count = np.zeros((MEANS.size, 3))
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(n_logs):
            learner = collectors(graph)[name]()
            count += np.array(list(misses(collect(learner, MEANS, n_rounds, seed, Path(folder)), MEANS)))
    worst = 1.0 - count.max(axis=0) / n_logs
    return {
        "collector": name,
        "logs": n_logs,
        "rounds": n_rounds,
        "level": LEVEL,
        "covered_at_any_time": worst[0],
        "covered_at_the_end": worst[1],
        "ordinary_covered_at_any_time": worst[2],
    }


def variance_ratio(size: int, n_logs: int, n_rounds: int) -> dict[str, object]:
    """The variance of the ordinary estimate over that with side observations, across logs; means over the arms."""
    graph = aw.graphs.disjoint_cliques(2, size)
    means = np.linspace(0.2, 0.8, 2 * size)
    estimates = np.empty((n_logs, means.size, 2, 2))
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(n_logs):
            rounds = collect(SeeingUniform(graph), means, n_rounds, seed, Path(folder))
            for value, place in zip(aw.evaluate(rounds.table).values, range(means.size), strict=True):
                for k, view in enumerate((value.seeing, value.playing)):
                    estimates[seed, place, k] = view.ips, view.dr
    variances = estimates.var(axis=0, ddof=1)
    ratio = variances[:, 1] / variances[:, 0]
    return {
        "clique_size": size,
        "logs": n_logs,
        "rounds": n_rounds,
        "ips_ratio": float(ratio[:, 0].mean()),
        "ips_least": float(ratio[:, 0].min()),
        "dr_ratio": float(ratio[:, 1].mean()),
        "dr_least": float(ratio[:, 1].min()),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=300)
    names = ("tsallis-shannon", "uniform", "thompson-n")
    parser.add_argument("--collectors", nargs="*", choices=names, default=names, help="whose logs are covered")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    options = parser.parse_args(arguments)
    for name in options.collectors:
        row = coverage(name, options.logs, options.rounds)
        if options.json:
            print(json.dumps(row), flush=True)
        else:
            print(
                f"{name}: {row['logs']} logs of {row['rounds']} rounds, {100 * LEVEL:g}% intervals "
                f"of the worst arm cover {100 * float(str(row['covered_at_any_time'])):.1f}% at any time, "
                f"{100 * float(str(row['covered_at_the_end'])):.1f}% at the end",
                flush=True,
            )
    for size in (5, 10):
        row = variance_ratio(size, max(50, options.logs // 5), options.rounds)
        if options.json:
            print(json.dumps(row), flush=True)
        else:
            print(
                f"2 cliques of {size}: side observations divide the variance by {row['ips_ratio']:.1f} (ips, least "
                f"{row['ips_least']:.1f}) and {row['dr_ratio']:.1f} (dr, least {row['dr_least']:.1f})",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
