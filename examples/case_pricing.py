"""Prices and limit orders: what one answer says about the prices that were not asked.

(a) Twenty prices for a visit to the doctor. Demand is that of the RAND health insurance experiment, in which families
were given coinsurance rates by lot. Buyers who refuse can be asked once or twice more, or name a price: graphs.
(b) Limit orders on real days of Apple, where only a filled order shows the day's low.

    python examples/case_pricing.py --out case-pricing
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from river.drift import datasets
from scipy import stats
from statsmodels.datasets import randhie

import allworlds as aw

BLUE, ORANGE, GREEN, PURPLE, GREY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#7F7F7F", "#D55E00"
PRICES = np.linspace(95.0, 4.75, 20)
"""From high to low, in per cent of the usual charge: a price shows those after it, if buyers name a price."""
CEILING = 40.0
"""While they collude, buyers refuse every price above this."""

NONE = aw.graphs.bandit(20)
PAIRS = aw.graphs.disjoint_cliques(10, 2)
FOURS = aw.graphs.disjoint_cliques(5, 4)
NAMED = aw.graphs.total_order(20)
SETUPS = [
    ("no question", "tsallis-inf", NONE),
    ("no question", "thompson-n", NONE),
    ("no question", "ucb-n", NONE),
    ("no question", "tsallis-shannon", NONE),
    ("1 question", "tsallis-shannon", PAIRS),
    ("2 questions", "tsallis-shannon", FOURS),
    ("2 questions", "thompson-n", FOURS),
    ("2 questions", "ucb-n", FOURS),
    ("name a price", "exp3-ix", NAMED),
    ("name a price", "thompson-n", NAMED),
    ("name a price", "ucb-n", NAMED),
]

SHOWN = {
    ("no question", "tsallis-inf"): (GREY, ":"),
    ("no question", "thompson-n"): (ORANGE, ":"),
    ("no question", "tsallis-shannon"): (BLUE, ":"),
    ("2 questions", "tsallis-shannon"): (BLUE, "-"),
    ("2 questions", "thompson-n"): (ORANGE, "-"),
    ("name a price", "exp3-ix"): (GREEN, "--"),
    ("name a price", "ucb-n"): (PURPLE, "--"),
}
"""What the picture of the regret shows, with colour and style."""


def demand() -> dict[str, np.ndarray]:
    """The share of people with at least one visit in a year at each coinsurance, and its standard error.

    People with an individual deductible are left out: the file gives them coinsurance 0, but they did pay.
    """
    data = randhie.load_pandas().data
    data = data[data.idp == 0]
    rate = np.round(np.exp(data.lncoins) - 1.0)
    levels = np.unique(rate)
    groups = [(data.mdvis[rate == level] > 0).to_numpy() for level in levels]
    shares = np.array([group.mean() for group in groups])
    return {
        "levels": levels,
        "shares": shares,
        "errors": np.sqrt(shares * (1 - shares) / [len(group) for group in groups]),
        "people": np.array([len(group) for group in groups]),
    }


def valuations(curve: dict[str, np.ndarray], n: int, seed: int) -> np.ndarray:
    """(n,) the highest price that each buyer accepts; demand is straight between the prices of the experiment."""
    drawn = np.random.default_rng([seed, 15]).random(n)
    values = np.interp(drawn, curve["shares"][::-1], curve["levels"][::-1])
    return np.where(drawn > curve["shares"][0], -1.0, values)


def revenue(values: np.ndarray) -> np.ndarray:
    """(n, 20) what each price earns from each buyer, in shares of the highest price."""
    return np.where(values[:, None] >= PRICES, PRICES / PRICES[0], 0.0)


def gaps_of(curve: dict[str, np.ndarray]) -> np.ndarray:
    """(20,) by how much each price earns less than the best one, in the mean of real buyers."""
    means = PRICES / PRICES[0] * np.interp(PRICES, curve["levels"], curve["shares"])
    return means.max() - means


def shown_to_seller(values: np.ndarray, manipulated: bool) -> np.ndarray:
    """From a tenth of the time to three tenths buyers collude, and refuse whatever is above the ceiling."""
    shown, n = values.copy(), len(values)
    if manipulated:
        phase = slice(n // 10, 3 * n // 10)
        shown[phase] = np.minimum(shown[phase], CEILING)
    return shown


def regret_of(learner: Any, shown: np.ndarray, gaps: np.ndarray, seed: int, rounds: list[int]) -> np.ndarray:
    """The regret at some rounds: what real buyers would have paid more at the best price."""
    world = aw.worlds.recorded(1.0 - revenue(shown))
    return np.array([float(aw.play(learner, world, t, seed).counts @ gaps) for t in rounds])


def trusting_regret(shown: np.ndarray, gaps: np.ndarray) -> float:
    """The regret of a rule that averages all it can infer: an accepted price shows all lower, a refused one all higher.

    It is UCB on these averages, and a trap: whether a price is seen depends on the answer, so averages are biased.
    """
    earned = revenue(shown)
    sums, counts, total = np.zeros(20), np.full(20, 1e-9), 0.0
    for t, row in enumerate(earned, start=1):
        index = np.where(counts < 1.0, 2.0, sums / counts + np.sqrt(2.0 * np.log(t) / counts))
        arm = int(index.argmax())
        total += gaps[arm]
        seen = slice(arm, None) if row[arm] > 0.0 else slice(0, arm + 1)
        sums[seen] += row[seen]
        counts[seen] += 1.0
    return total


def interval(values: Any) -> tuple[float, float]:
    """The mean over seeds, and half the width of its 95 per cent interval."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float(values.mean()), float("nan")
    return float(values.mean()), float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))


def pricing(n: int, seeds: int, curve_points: int = 10) -> dict[str, Any]:
    """Regret of every setup, with and without collusion."""
    curve = demand()
    gaps = gaps_of(curve)
    rounds = sorted({int(t) for t in np.linspace(n / curve_points, n, curve_points)})
    buyers = [valuations(curve, n, seed) for seed in range(seeds)]
    rows = []
    for question, name, graph in SETUPS:
        learner = aw.make_learner(name, graph)
        row: dict[str, Any] = {"question": question, "learner": name}
        drawn = (question, name) in SHOWN
        for kind, manipulated in (("honest", False), ("collusion", True)):
            runs = [
                regret_of(learner, shown_to_seller(values, manipulated), gaps, seed, rounds if drawn else [n])
                for seed, values in enumerate(buyers)
            ]
            row[kind], row[f"{kind}_curve"] = [float(run[-1]) for run in runs], np.array(runs).mean(axis=0).tolist()
        rows.append(row)
    trap: dict[str, Any] = {"question": "inferred from yes and no", "learner": "averages (a trap)"}
    for kind, manipulated in (("honest", False), ("collusion", True)):
        few = buyers[: max(2, seeds // 4)]
        trap[kind] = [trusting_regret(shown_to_seller(values, manipulated), gaps) for values in few]
    return {"rows": [*rows, trap], "rounds": rounds, "gaps": gaps.tolist(), "buyers": n}


DISCOUNTS = np.arange(0.0, 6.5, 0.5) / 100.0
"""Below the day's opening price, from none to the deepest: an order shows all deeper ones."""
ORDERS = [
    ("own order only", "tsallis-inf", aw.graphs.bandit(13)),
    ("own order only", "thompson-n", aw.graphs.bandit(13)),
    ("own order only", "ucb-n", aw.graphs.bandit(13)),
    ("all deeper orders", "exp3-ix", aw.graphs.total_order(13)),
    ("all deeper orders", "thompson-n", aw.graphs.total_order(13)),
    ("all deeper orders", "ucb-n", aw.graphs.total_order(13)),
]


def apple() -> dict[str, np.ndarray]:
    """For each day and discount: the improvement on the opening price, and the money made at the close.

    An order is filled if the day's low reaches it. The improvement is the discount if filled, and 0 if not. Money is
    that of a buyer who must buy every day: the discount if filled; if not, he pays the closing price.
    """
    days = [day for _, day in datasets.Apple()]
    opened, low, close = (np.array([day[name] for day in days])[:, None] for name in ("Open", "Low", "Close"))
    filled = low <= opened * (1.0 - DISCOUNTS)
    return {"improvement": np.where(filled, DISCOUNTS, 0.0), "money": np.where(filled, DISCOUNTS, 1.0 - close / opened)}


def fake_prints(improvement: np.ndarray) -> np.ndarray:
    """From a tenth of the days to three tenths somebody prints false lows: every order is reported as filled."""
    shown, n = improvement.copy(), len(improvement)
    shown[n // 10 : 3 * n // 10] = DISCOUNTS
    return shown


def trade(learner: Any, shown: np.ndarray, seed: int) -> np.ndarray:
    """(days,) the discount that an agent chooses each day; it is told what its order shows."""
    agent, chosen = aw.Agent(learner, seed, reward=True, high=float(DISCOUNTS[-1])), []
    for row in shown:
        decision = agent.choose()
        agent.observe(decision, row[list(decision.observes)])
        chosen.append(decision.arm)
    return np.array(chosen)


def orders(seeds: int, days: int | None = None) -> dict[str, Any]:
    """What the agents gain on real days, when all that they see is true and after false prints."""
    table = {name: values[:days] for name, values in apple().items()}
    every, rows = np.arange(len(table["money"])), []
    for sees, name, graph in ORDERS:
        learner = aw.make_learner(name, graph)
        row: dict[str, Any] = {"sees": sees, "learner": name}
        for kind, shown in (("true", table["improvement"]), ("false", fake_prints(table["improvement"]))):
            chosen = [trade(learner, shown, seed) for seed in range(seeds)]
            row[kind] = [100.0 * float(table["improvement"][every, arms].mean()) for arms in chosen]
            row[f"{kind}_money"] = [100.0 * float(table["money"][every, arms].mean()) for arms in chosen]
        rows.append(row)
    best = table["improvement"].mean(axis=0)
    return {"rows": rows, "best": 100.0 * float(best.max()), "best_discount": 100.0 * float(DISCOUNTS[best.argmax()])}


def words(values: Any, digits: int = 0) -> str:
    mean, half = interval(values)
    return f"{mean:,.{digits}f} ± {half:,.{digits}f}"


def print_tables(prices: dict[str, Any], limits: dict[str, Any]) -> None:
    print(f"(a) regret after {prices['buyers']:,} buyers, in full prices; 95 % intervals over seeds\n")
    print(f"{'what buyers tell':<26}{'learner':<20}{'honest':>16}{'collusion':>18}")
    for row in prices["rows"]:
        cells = f"{words(row['honest']):>16}{words(row['collusion']):>18}"
        print(f"{row['question']:<26}{row['learner']:<20}{cells}")
    best = f"{limits['best']:.2f} % at a discount of {limits['best_discount']:.1f} %"
    print(f"\n(b) improvement on the opening price, per cent a day; the best fixed order has {best}\n")
    print(f"{'what an order shows':<26}{'learner':<20}{'true':>16}{'false prints':>18}{'money at the close':>20}")
    for row in limits["rows"]:
        cells = f"{words(row['true'], 2):>16}{words(row['false'], 2):>18}{words(row['true_money'], 2):>20}"
        print(f"{row['sees']:<26}{row['learner']:<20}{cells}")


def draw_demand(prices: dict[str, Any], folder: Path) -> None:
    """What the experiment found, and what each price earns."""
    curve = demand()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.1), layout="constrained")
    left.errorbar(curve["levels"], curve["shares"], 1.96 * curve["errors"], fmt="o-", color=BLUE, capsize=3)
    left.set(
        xlabel="price, % of the charge", ylabel="share with a visit", ylim=(0, 1), title="Demand in the experiment"
    )
    earned = PRICES * np.interp(PRICES, curve["levels"], curve["shares"])
    right.plot(PRICES, earned, "o-", color=BLUE, label="real buyers", markersize=4)
    colluding = np.where(PRICES <= CEILING, earned, 0.0)
    right.plot(PRICES, colluding, "o--", color=RED, label="while they collude", markersize=3)
    right.set(xlabel="price, % of the charge", ylabel="revenue from a buyer, %", title="What each price earns")
    right.legend(frameon=False)
    save(figure, folder / "pricing-demand.png")


def draw_regret(prices: dict[str, Any], folder: Path) -> None:
    """Regret as buyers come, honest ones and some who collude for a while."""
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained", sharey=True)
    rounds, n = np.array([0, *prices["rounds"]]), prices["buyers"]
    for axes, kind, title in zip(
        panels, ("honest", "collusion"), ("Honest buyers", "Some time of collusion"), strict=True
    ):
        for row in prices["rows"]:
            if (style := SHOWN.get((row["question"], row["learner"]))) is not None:
                curve = [0.0, *row[f"{kind}_curve"]]
                axes.plot(rounds, curve, style[1], color=style[0], label=f"{row['question']}: {row['learner']}")
        axes.set(xlabel="buyers", title=title)
    panels[1].axvspan(n / 10, 3 * n / 10, color=RED, alpha=0.12, lw=0)
    panels[0].set_ylabel("regret, full prices")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize=8)
    save(figure, folder / "pricing-regret.png")


def draw_orders(limits: dict[str, Any], folder: Path) -> None:
    """What each fixed discount would have made on the real days, by two measures."""
    table = apple()
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
    titles = {"improvement": "Improvement on the opening price", "money": "Money at the close, bought every day"}
    for axes, (name, title) in zip(panels, titles.items(), strict=True):
        values = 100.0 * table[name]
        error = 1.96 * values.std(axis=0) / np.sqrt(len(values))
        axes.errorbar(100.0 * DISCOUNTS, values.mean(axis=0), error, fmt="o", color=BLUE, capsize=3)
        axes.axhline(0.0, color=GREY, lw=0.8)
        axes.set(xlabel="discount of the order, %", ylabel="% a day", title=title)
    for row, colour in zip(limits["rows"], (GREY, ORANGE, PURPLE, GREEN, ORANGE, PURPLE), strict=True):
        style = ":" if row["sees"] == "own order only" else "-"
        label = f"{row['learner']}, {row['sees']}"
        panels[0].axhline(interval(row["true"])[0], color=colour, ls=style, lw=1.2, label=label)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    save(figure, folder / "pricing-orders.png")


def save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--buyers", type=int, default=10_000, help="how many buyers come")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="1,000 buyers, 300 days and 2 seeds")
    parser.add_argument("--out", type=Path, default=Path("case-pricing"), help="folder of the pictures")
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON")
    given = parser.parse_args()
    n, seeds, days = (1_000, 2, 300) if given.quick else (given.buyers, given.seeds, None)
    prices, limits = pricing(n, seeds), orders((seeds + 1) // 2, days)
    given.out.mkdir(parents=True, exist_ok=True)
    draw_demand(prices, given.out)
    draw_regret(prices, given.out)
    draw_orders(limits, given.out)
    if given.json:
        print(json.dumps({"prices": prices, "orders": limits}))
    else:
        print_tables(prices, limits)


if __name__ == "__main__":
    main()
