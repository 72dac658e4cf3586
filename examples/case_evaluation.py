"""What would another policy have cost? Estimates from logs of the other cases, with and without side observations.

An agent plays on a social network, on prices and on models, and logs what it saw. It keeps three tenths of its choices
even, so that the log can be asked about every arm. We ask what each arm by itself would have lost. The answer is known
here, because the losses of all arms are. Ordinary estimators use the chosen arm only; ours use all that was seen. The
factor by which the variance falls is the factor by which decisions are saved.

Then the Open Bandit sample of ``obp``, real clicks on real fashion items shown at random: there are no side
observations there, and nothing is saved.

    python examples/case_evaluation.py --out case-evaluation
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

import allworlds as aw
from case_data import NoData, read_member

OPEN_BANDIT = ("obp", "0.4.1")
EVEN = 0.3
"""The share of the choices that the agent divides evenly among all arms, by default."""
SIDE, ORDINARY, TRUTH = "#0072B2", "#D5D5D5", "#D55E00"


class Case(NamedTuple):
    """Where a log comes from: a feedback graph, and the losses (rounds, arms) that a seed has."""

    name: str
    graph: aw.FeedbackGraph
    losses: Callable[[int, int], np.ndarray]


def social_case() -> Case:
    """Les misérables: an offer to one of 77 people shows the reaction of their circle."""
    from case_social import make_graph, true_losses
    from case_social_data import load

    network = load("miserables")

    def losses(rounds: int, seed: int) -> np.ndarray:
        drawn = np.random.default_rng([seed, 1]).random((rounds, network.n_people))
        return (drawn < true_losses(network, seed)).astype(float)

    return Case("social: 77 people, circles", make_graph(network), losses)


def pricing_case() -> Case:
    """Twenty prices; a buyer who refuses is asked for the three prices beside it, too."""
    from case_pricing import FOURS, demand, revenue, valuations

    curve = demand()
    return Case("prices: 20, in fours", FOURS, lambda rounds, seed: 1.0 - revenue(valuations(curve, rounds, seed)))


def model_case() -> Case:
    """Fifteen classifiers of handwritten digits in three families; evaluating one of a family evaluates all."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    pixels, digit = load_digits(return_X_y=True)
    models = [KNeighborsClassifier(k) for k in (1, 5, 15, 40, 80)]
    models += [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 4, 6, 10)]
    models += [LogisticRegression(C=c, max_iter=2000) for c in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)]
    wrong = np.column_stack(
        [model.fit(pixels[:200], digit[:200]).predict(pixels[200:]) != digit[200:] for model in models]
    )

    def losses(rounds: int, seed: int) -> np.ndarray:
        return wrong[np.random.default_rng([seed, 2]).integers(len(wrong), size=rounds)].astype(float)

    return Case("models: 15, in families", aw.graphs.disjoint_cliques(3, 5), losses)


def write_log(case: Case, rounds: int, seed: int, even: float = EVEN) -> tuple[pd.DataFrame, np.ndarray]:
    """The log of an agent, and (rounds, arms) what every arm would have lost."""
    losses = case.losses(rounds, seed)
    names = {label: arm for arm, label in enumerate(case.graph.labels or range(case.graph.n_arms))}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        agent = aw.Agent(case.graph, seed=seed, log=path, minimum_share=even / case.graph.n_arms)
        for row in losses:
            decision = agent.choose()
            agent.observe(decision, {label: row[names[label]] for label in decision.observes})
        agent.log.close()
        return aw.load_log(path), losses


class Answer(NamedTuple):
    """How well one log answers for all arms, with side observations and without (``ordinary_``)."""

    case: str
    seed: int
    error: float
    ordinary_error: float
    """The root of the mean squared error of the unbiased estimate over arms."""
    width: float
    ordinary_width: float
    """Of the intervals, in the mean over arms."""
    covered: float
    """The share of arms whose interval contains the truth."""
    saved: float
    """How many ordinary decisions one decision is worth: the ratio of the variances, median over arms."""


def worth(case: Case, log: pd.DataFrame, losses: np.ndarray) -> float:
    """The variance of the ordinary estimate over that of ours, exactly, from the probabilities that were logged.

    A term of the estimate is ``1{seen} loss / P``, with variance ``loss^2 (1 / P - 1)``. NaN where some arm could not
    be drawn, as without an even share: then ordinary decisions say nothing of it.
    """
    playing = np.array(log["probabilities"].tolist())
    if playing.min() <= 0.0:
        return float("nan")
    seeing = np.empty_like(playing)
    for arms in aw.clique_cover(case.graph).cliques:
        seeing[:, arms] = playing[:, arms].sum(axis=1, keepdims=True)
    ours, ordinary = ((losses**2 * (1.0 / chance - 1.0)).mean(axis=0) for chance in (seeing, playing))
    return float(np.median(ordinary[ours > 0.0] / ours[ours > 0.0]))


def ask(
    case: Case, rounds: int, seed: int, even: float = EVEN
) -> tuple[Answer, aw.agents.evaluation.Evaluation, np.ndarray]:
    """What every arm would have lost, and how far that is from the truth, which is given too."""
    log, losses = write_log(case, rounds, seed, even)
    result, truth = aw.evaluate(log), losses.mean(axis=0)
    errors, widths = [], []
    for views in ([value.seeing for value in result.values], [value.playing for value in result.values]):
        errors.append(float(np.sqrt(np.mean((np.array([view.ips for view in views]) - truth) ** 2))))
        widths.append(float(np.mean([view.high - view.low for view in views])))
    inside = [value.seeing.low <= mean <= value.seeing.high for value, mean in zip(result.values, truth, strict=True)]
    answer = Answer(case.name, seed, *errors, *widths, float(np.mean(inside)), worth(case, log, losses))
    return answer, result, truth


def cases(notes: list[str]) -> Iterator[Case]:
    """Those whose packages are installed; a note for each of the others."""
    for make in (social_case, pricing_case, model_case):
        try:
            yield make()
        except ImportError as error:
            notes.append(f"{make.__name__} is left out: {error}")


# --- the Open Bandit sample ---


def open_bandit(policy: str, campaign: str = "men", download: bool = True) -> pd.DataFrame:
    """A log as ``aw.evaluate`` takes it, of the policy ``random`` or ``bts``, with the position on the page.

    Clicks are rare. So a click counts as the "loss": then the weights act on the few clicks, as in the textbooks, and
    not on the many rounds without one.
    """
    member = f"obp/dataset/obd/{policy}/{campaign}/{campaign}.csv"
    table = list(csv.DictReader(io.StringIO(read_member(*OPEN_BANDIT, member, download=download).decode())))
    columns = {"action": "item_id", "loss": "click", "pscore": "propensity_score", "position": "position"}
    frame = pd.DataFrame({name: pd.to_numeric([row[column] for row in table]) for name, column in columns.items()})
    return frame.assign(n_actions=frame.action.max() + 1)


def click_rate(log: pd.DataFrame) -> dict[str, float]:
    """As measured, with its 95% interval (Clopper and Pearson)."""
    clicks, shown = int(log.loss.sum()), len(log)
    exact = stats.binomtest(clicks, shown).proportion_ci(0.95)
    return {"rate": clicks / shown, "low": float(exact.low), "high": float(exact.high)}


def distribution(log: pd.DataFrame) -> np.ndarray:
    """(N,) the probabilities with which a policy shows items; those that it never showed share what is left to one."""
    shown = log.groupby("action").pscore.mean()
    policy = np.full(int(log.n_actions.max()), np.nan)
    policy[shown.index] = shown
    absent = np.isnan(policy)
    policy[absent] = max(0.0, 1.0 - policy[~absent].sum()) / max(1, absent.sum())
    return policy / policy.sum()


def what_if(log: pd.DataFrame, target: pd.DataFrame, level: float = 0.95) -> dict[str, float]:
    """The click rate of the policy of ``target``, from the log of another one; position by position.

    Two intervals: ``low`` to ``high`` holds for any number of rounds (each position has a third of the error, so that
    the sum holds), ``normal_low`` to ``normal_high`` is the textbook's, which trusts the central limit theorem.
    """
    n_positions, parts, variance = log.position.nunique(), [], 0.0
    for position, mine in log.groupby("position"):
        policy = distribution(target[target.position == position])
        view = aw.evaluate(mine, policy, level=1.0 - (1.0 - level) / n_positions).values[0].playing
        parts.append([len(mine) / len(log) * x for x in (view.ips, view.snips, view.dr, view.low, view.high)])
        variance += len(mine) * view.variance / len(log) ** 2
    rates = dict(zip(("ips", "snips", "dr", "low", "high"), np.sum(parts, axis=0).tolist(), strict=True))
    half = float(stats.norm.ppf(0.5 + level / 2) * np.sqrt(variance))
    return rates | {"normal_low": rates["ips"] - half, "normal_high": rates["ips"] + half}


# --- pictures and the command ---


def draw(shown: list[tuple[Case, Any, np.ndarray]], path: Path) -> None:
    """For each log and arm: the truth, the interval with side observations, and the ordinary one."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    for axes, (case, result, truth) in zip(np.atleast_1d(figure.subplots(1, len(shown))), shown, strict=True):
        order = np.argsort(truth)
        for place, arm in enumerate(order):
            mine, other = result.values[arm].seeing, result.values[arm].playing
            wide = 0.9 * 72 * 2.7 / len(order)
            axes.plot([place, place], [other.low, other.high], color=ORDINARY, lw=wide, solid_capstyle="butt", zorder=1)
            axes.plot([place, place], [mine.low, mine.high], color=SIDE, lw=0.5 * wide, solid_capstyle="butt", zorder=2)
        axes.plot(truth[order], "_", color=TRUTH, ms=max(4, 160 / len(order)), mew=2.0, zorder=3)
        axes.set(title=case.name, xlabel="arms, best first", ylim=(0, 1), xticks=[])
        axes.title.set_fontsize(10.5)
    figure.axes[0].set_ylabel("loss a round")
    for colour, name in ((ORDINARY, "ordinary interval"), (SIDE, "with side observations"), (TRUTH, "the truth")):
        figure.axes[0].plot([], [], color=colour, lw=5 if colour != TRUTH else 2, label=name)
    figure.legend(frameon=False, ncols=3, loc="outside lower center")
    figure.savefig(path, dpi=110)


def mean_and_half(values: Any) -> tuple[float, float]:
    values = np.asarray(values, dtype=float)
    if values.size < 2:
        return float(values.mean()), float("nan")
    return float(values.mean()), float(stats.t.ppf(0.975, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("case-evaluation"), help="folder for pictures")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--quick", action="store_true", help="few decisions and seeds, nothing downloaded")
    parser.add_argument("--even", type=float, default=EVEN, help="the share of the choices divided evenly")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    rounds, seeds, notes = (200, range(2), []) if given.quick else (2000, range(10), [])
    answers, shown = [], []
    for case in cases(notes):
        asked = [ask(case, rounds, seed, given.even) for seed in seeds]
        answers += [answer for answer, _, _ in asked]
        shown.append((case, *asked[0][1:]))
    draw(shown, given.out / "intervals.png")
    clicks: dict[str, Any] = {}
    try:
        random, thompson = (open_bandit(policy, download=not given.quick) for policy in ("random", "bts"))
        clicks = {"random, measured": click_rate(random), "thompson, measured": click_rate(thompson)}
        clicks["thompson, from the random log"] = what_if(random, thompson)
        clicks["random, from the thompson log"] = what_if(thompson, random)
    except NoData as error:
        notes.append(f"Open Bandit is left out: {error}")
    table = {}
    for name in dict.fromkeys(answer.case for answer in answers):
        mine = [answer for answer in answers if answer.case == name]
        table[name] = {field: mean_and_half([getattr(one, field) for one in mine]) for field in Answer._fields[2:]}
    if given.json:
        print(json.dumps({"rounds": rounds, "logs": table, "open_bandit": clicks, "notes": notes}, indent=1))
        return
    print(f"{rounds:,} decisions, {len(seeds)} logs each; the mean over logs ± half its 95% interval")
    heads = "".join(f"{head:>15}" for head in ("error", "ordinary", "width", "ordinary"))
    print(f"{'log':<28}{heads}{'covered':>9}{'one is worth':>14}")
    for name, row in table.items():
        cells = [f"{mean:.3f} ± {half:.3f}" for mean, half in list(row.values())[:4]]
        ratio = f"{row['saved'][0]:.1f} ± {row['saved'][1]:.1f}"
        print(f"{name:<28}" + "".join(f"{cell:>15}" for cell in cells) + f"{row['covered'][0]:>9.3f}{ratio:>14}")
    for name, row in clicks.items():
        print(f"{name}: " + ", ".join(f"{key} {100 * value:.2f}%" for key, value in row.items()))
    print("\n".join([*notes, f"pictures: {given.out}"]))


if __name__ == "__main__":
    main()
