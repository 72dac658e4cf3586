"""Recommendation on a social network: showing an offer to one person reveals the reaction of their circle.

Arms are people, and a loss of 1 is an offer ignored. The networks are real; the reactions are simulated, because nobody
publishes theirs: a hundredth of the people are fans, and liking halves with every step away from a fan. Four worlds:

- honest: people say what they think;
- fake likes: in the first fifth of the rounds a twentieth of the people take every offer they do not want;
- fake likes and denials: meanwhile the fans and their friends ignore what they like;
- moods: all take to offers, then none do, in phases that grow; who likes more than whom stays the same.

What a run costs is measured in true liking, whatever was reported: the sum of gaps to the keenest person.

    python examples/case_social_data.py   # once: fetch the networks
    python examples/case_social.py --out case-social
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import allworlds as aw
from case_data import NoData
from case_social_data import Network, load

OURS = "tsallis-shannon"
LEARNERS = (OURS, "thompson-n", "ucb-n", "tsallis-inf", "uniform")
"""The last but one sees only the person it chose: it ignores the network."""
FEW = "everybody, 100 rounds"
NAMES = {
    "tsallis-inf": "tsallis-inf (no network)",
    "uniform": "uniform (learns nothing)",
}
COLOURS = dict(zip(LEARNERS, ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#999999"), strict=True))


class Setting(NamedTuple):
    """A world, and what each person truly loses in it on average."""

    world: aw.worlds.World
    truth: np.ndarray


def make_graph(network: Network) -> aw.FeedbackGraph:
    return aw.FeedbackGraph(network.n_people, network.edges, labels=network.labels)


def true_losses(network: Network, seed: int) -> np.ndarray:
    """(N,) the mean loss of each person: 0.2 to 0.3 for a fan, 0.5 to 0.6 for a friend, up to 0.9 for the others."""
    rng = np.random.default_rng([seed, 2026])
    steps = np.full(network.n_people, np.inf)
    steps[rng.choice(network.n_people, max(2, network.n_people // 100), replace=False)] = 0.0
    for _ in range(4):
        for one, other in ((0, 1), (1, 0)):
            np.minimum.at(steps, network.edges[:, one], steps[network.edges[:, other]] + 1.0)
    return 0.9 - 0.6 * 0.5**steps - 0.1 * rng.random(network.n_people)


def make_settings(truth: np.ndarray, seed: int) -> Iterator[tuple[str, Setting]]:
    """The four worlds by name."""
    rng = np.random.default_rng([seed, 7])
    likes = truth.copy()
    likes[rng.choice(truth.size, max(1, truth.size // 20), replace=False)] = 0.0
    denials = np.where(truth < 0.45, 1.0, likes)
    yield "honest", Setting(aw.worlds.stochastic(truth), truth)
    yield "fake likes", Setting(aw.worlds.phases([likes, truth], [0.2, 0.8]), truth)
    yield "fake likes and denials", Setting(aw.worlds.phases([denials, truth], [0.2, 0.8]), truth)
    phases = [0.5 + truth / 2, truth / 2] * 5
    yield "moods", Setting(aw.worlds.phases(phases, 1.6 ** np.arange(10)), truth / 2)


class Run(NamedTuple):
    """One learner in one world with one seed."""

    network: str
    world: str
    learner: str
    seed: int
    cost: float
    """What the choices cost beyond the best person, in true losses."""
    seconds: float
    """A round."""


def play_all(
    network: Network,
    cover: aw.CliqueCover,
    horizon: int,
    seeds: range,
    worlds: tuple[str, ...] = ("honest", "fake likes", "fake likes and denials", "moods"),
    learners: tuple[str, ...] = LEARNERS,
) -> list[Run]:
    """Every learner in every world with every seed; each seed has fans and liars of its own."""
    built = {name: aw.make_learner(name, cover, horizon=horizon) for name in learners}

    def one(seed: int) -> list[Run]:
        truth, runs = true_losses(network, seed), []
        for world, setting in make_settings(truth, seed):
            for name in learners if world in worlds else ():
                trace = aw.play(built[name], setting.world, horizon, seed)
                cost = float(trace.counts @ (setting.truth - setting.truth.min()))
                runs.append(Run(network.name, world, name, seed, cost, trace.seconds / horizon))
        return runs

    first = one(seeds[0])  # alone, so that kernels are compiled once
    with ThreadPoolExecutor(2) as pool:
        return first + [run for runs in pool.map(one, seeds[1:]) for run in runs]


class Mean(NamedTuple):
    """The mean over seeds with its 95% interval, and the highest."""

    mean: float
    low: float
    high: float
    worst: float


def mean_of(values: Any) -> Mean:
    values = np.asarray(values, dtype=float)
    half = 0.0
    if values.size > 1:
        half = float(stats.t.ppf(0.975, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size))
    return Mean(float(values.mean()), float(values.mean() - half), float(values.mean() + half), float(values.max()))


def costs(runs: list[Run], world: str, learner: str) -> np.ndarray:
    return np.array([run.cost for run in runs if (run.world, run.learner) == (world, learner)])


def summary(runs: list[Run]) -> list[dict[str, Any]]:
    """A row for each network, world and learner; the time of a round is the least over seeds, free of other work."""
    rows = []
    for network, world, learner in dict.fromkeys((run.network, run.world, run.learner) for run in runs):
        mine = [run for run in runs if (run.network, run.world, run.learner) == (network, world, learner)]
        cost, micros = mean_of([run.cost for run in mine]), 1e6 * min(run.seconds for run in mine)
        rows.append(
            {"network": network, "world": world, "learner": learner, "seeds": len(mine)}
            | {"cost": cost._asdict(), "costs": [run.cost for run in mine], "microseconds": micros}
        )
    return rows


def print_table(rows: list[dict[str, Any]]) -> None:
    print(f"{'network':<14}{'world':<24}{'learner':<28}{'cost':>7}  {'95% interval':<16}{'worst':>7}{'µs a round':>12}")
    for row in rows:
        cost, learner = row["cost"], NAMES.get(row["learner"], row["learner"])
        interval = f"{cost['low']:,.0f} to {cost['high']:,.0f}"
        print(
            f"{row['network']:<14}{row['world']:<24}{learner:<28}{cost['mean']:>7,.0f}"
            f"  {interval:<16}{cost['worst']:>7,.0f}{row['microseconds']:>12,.1f}"
        )


# --- the large network ---


def find_cover(network: Network) -> tuple[aw.CliqueCover, dict[str, Any]]:
    """The cover, the proof that it is the smallest, and the seconds for both."""
    graph = make_graph(network)
    start = time.perf_counter()
    cover = aw.clique_cover(graph)
    found = time.perf_counter()
    proof = str(cover.certificate.check(graph))
    facts = {"network": network.name, "people": network.n_people, "pairs": len(network.edges)}
    facts |= {"circles": cover.n_cliques, "at_least": cover.lower_bound, "proof": proof}
    return cover, facts | {"seconds": found - start, "check_seconds": time.perf_counter() - found}


def shortlist(network: Network, cover: aw.CliqueCover, n_circles: int) -> tuple[np.ndarray, aw.CliqueCover]:
    """The people of the largest circles of the cover, and their cover: fewer circles, learnt sooner."""
    largest = sorted(cover.cliques, key=len, reverse=True)[:n_circles]
    people = np.sort(np.concatenate([np.asarray(circle) for circle in largest]))
    place = np.full(network.n_people, -1)
    place[people] = np.arange(people.size)
    pairs = place[network.edges]
    graph = aw.FeedbackGraph(people.size, pairs[(pairs >= 0).all(axis=1)])
    return people, aw.CliqueCover(graph, [place[np.asarray(circle)].tolist() for circle in largest])


def play_large(network: Network, cover: aw.CliqueCover, horizon: int, seeds: range, n_circles: int) -> list[Run]:
    """On everybody, and on the shortlist; compared with the keenest of everybody.

    Thompson sampling draws a number for every person in every round, so that on everybody only its time is measured.
    """
    people, few = shortlist(network, cover, n_circles)
    whole = {name: aw.make_learner(name, cover) for name in (OURS, "ucb-n", "uniform")}
    short = {name: aw.make_learner(name, few) for name in (OURS, "thompson-n", "ucb-n", "uniform")}
    runs = []
    for seed in seeds:
        truth = true_losses(network, seed)
        gaps = truth - truth.min()
        for title, group, part in (("everybody", whole, slice(None)), (f"{n_circles} circles", short, people)):
            for name, learner in group.items():
                trace = aw.play(learner, aw.worlds.stochastic(truth[part]), horizon, seed)
                cost = float(trace.counts @ gaps[part])
                runs.append(Run(network.name, title, name, seed, cost, trace.seconds / horizon))
    trace = aw.play(aw.make_learner("thompson-n", cover), aw.worlds.stochastic(truth), 100, seeds[-1])
    cost = float(trace.counts @ gaps)
    return [*runs, Run(network.name, FEW, "thompson-n", seeds[-1], cost, trace.seconds / 100)]


# --- pictures ---


def draw_network(network: Network, cover: aw.CliqueCover, path: Path) -> None:
    """Who knows whom, coloured by circle of the cover, and the fans of seed 0."""
    import networkx as nx
    from matplotlib.figure import Figure
    from PIL import Image

    graph = nx.Graph(network.edges.tolist())
    places = nx.spring_layout(graph, seed=4, k=2.2 / np.sqrt(network.n_people), iterations=150)
    at = np.array([places[i] for i in range(network.n_people)])
    circle = np.empty(network.n_people, dtype=int)
    for number, arms in enumerate(cover.cliques):
        circle[np.asarray(arms)] = number
    truth = true_losses(network, 0)
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.subplots()
    for i, j in network.edges:
        inside = circle[i] == circle[j]
        axes.plot(*at[[i, j]].T, color="#555555" if inside else "#E2E2E2", lw=1.2 if inside else 0.7, zorder=1 + inside)
    shades = np.random.default_rng(3).permutation(cover.n_cliques)[circle]
    axes.scatter(*at.T, c=shades, cmap="turbo", s=46, edgecolor="white", linewidth=0.6, zorder=3)
    fans = truth < 0.31
    axes.scatter(*at[fans].T, s=190, facecolor="none", edgecolor="black", linewidth=1.6, zorder=4, label="a fan")
    axes.set_title(f"{network.name}: {network.n_people} in {cover.n_cliques} circles (one colour each)", fontsize=11)
    axes.legend(frameon=False, loc="lower right")
    axes.axis("off")
    figure.savefig(path, dpi=100)
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(path, optimize=True)  # smaller


def draw_costs(runs: list[Run], title: str, path: Path) -> None:
    """A group of bars for each world: means with intervals, and the worst seed as a mark."""
    from matplotlib.figure import Figure

    worlds, learners = (list(dict.fromkeys(getattr(run, what) for run in runs)) for what in ("world", "learner"))
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for number, learner in enumerate(learners):
        found = [(place, costs(runs, world, learner)) for place, world in enumerate(worlds)]
        values = [(place, mean_of(cost)) for place, cost in found if cost.size]
        at = np.array([place for place, _ in values]) + (number - (len(learners) - 1) / 2) * 0.16
        mean = np.array([value.mean for _, value in values])
        half = np.array([value.high - value.mean for _, value in values])
        axes.bar(at, mean, 0.15, color=COLOURS[learner], label=NAMES.get(learner, learner))
        axes.errorbar(at, mean, half, fmt="none", ecolor="black", elinewidth=1.0, capsize=2)
        axes.plot(at, [value.worst for _, value in values], "_", color="black", ms=9, mew=1.6)
    axes.plot([], [], "_", color="black", ms=9, mew=1.6, label="worst seed")
    axes.set_xticks(range(len(worlds)), worlds)
    axes.set_ylabel("cost beyond the keenest person")
    axes.set_title(title, fontsize=11)
    axes.legend(frameon=False, fontsize=8.5, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.1))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


# --- the command ---


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("case-social"), help="folder for pictures")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--quick", action="store_true", help="a small network that comes with networkx, few rounds")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    horizon, seeds, notes = (500, range(2), []) if given.quick else (5000, range(10), [])
    try:
        network = load("miserables" if given.quick else "football")
    except NoData as error:
        notes.append(f"football is left out, les misérables stands in: {error}")
        network = load("miserables")
    cover, facts = find_cover(network)
    runs = play_all(network, cover, horizon, seeds)
    draw_network(network, cover, given.out / "network.png")
    draw_costs(runs, f"{network.name}, {horizon:,} rounds, {len(seeds)} seeds", given.out / "costs.png")
    covers, rows = [facts], summary(runs)
    for name in () if given.quick else ("netscience", "cond-mat-2003", "email-Enron"):
        try:
            network = load(name)
        except NoData as error:
            notes.append(f"{name} is left out: {error}")
            continue
        cover, facts = find_cover(network)
        covers.append(facts)
        if name == "netscience":
            rows += summary(play_all(network, cover, 5000, range(3), ("honest",)))
        elif name == "cond-mat-2003":
            large = play_large(network, cover, 4000, range(3), 300)
            rows += summary(large)
            shown = [run for run in large if run.world != FEW]
            draw_costs(shown, f"{name}: 31,163 people, 4,000 rounds, 3 seeds", given.out / "large.png")
    if given.json:
        print(json.dumps({"covers": covers, "rows": rows, "notes": notes}, indent=1))
        return
    for facts in covers:
        print(
            f"{facts['network']}: {facts['people']:,} people, {facts['pairs']:,} pairs, {facts['circles']:,} circles, "
            f"at least {facts['at_least']:,}; {facts['seconds']:.2f} s; {facts['proof']} (checked in "
            f"{facts['check_seconds']:.2f} s)"
        )
    print_table(rows)
    print("\n".join([*notes, f"pictures: {given.out}"]))


if __name__ == "__main__":
    main()
