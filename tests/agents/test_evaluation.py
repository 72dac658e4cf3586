"""Evaluation from logs: by enumeration, against the rules of others, and with its intervals' coverage."""

from __future__ import annotations

import ast
import io
import itertools
from pathlib import Path

import numpy as np
import pandas
import pytest

import allworlds as aw
import case_data
from allworlds.agents.confidence import LAMBDAS, LOG_WEIGHTS, intervals, margin
from allworlds.agents.evaluation import terms_of
from allworlds.agents.logged_rounds import logged_rounds
from case_evaluation import OPEN_BANDIT


def log_of(rows):
    return pandas.DataFrame(rows)


def row_of(arm, groups, chances, losses):
    group = next(group for group in groups if arm in group)
    chance = sum(chances[i] for i in group)
    return {
        "action": arm,
        "n_actions": len(chances),
        "pscore": chances[arm],
        "loss": losses[arm],
        "observed": list(group),
        "losses": [losses[i] for i in group],
        "seeing": [chance] * len(group),
    }


def test_estimates_are_unbiased_by_enumeration_of_all_logs():
    """Two rounds; the second distribution depends on the first choice, as an adaptive agent's does."""
    groups, losses = ((0, 1), (2,)), np.array([[0.1, 0.7, 0.4], [0.9, 0.2, 0.3]])
    first = np.array([0.5, 0.2, 0.3])
    second = np.array([[0.1, 0.1, 0.8], [0.6, 0.3, 0.1], [0.2, 0.5, 0.3]])
    means = np.zeros((3, 4))
    for a, b in itertools.product(range(3), range(3)):
        log = log_of([row_of(a, groups, first, losses[0]), row_of(b, groups, second[a], losses[1])])
        for value, place in zip(aw.evaluate(log).values, range(3), strict=True):
            found = value.seeing.ips, value.seeing.dr, value.playing.ips, value.playing.dr
            means[place] += first[a] * second[a, b] * np.array(found)
    assert np.allclose(means, losses.mean(axis=0)[:, None], atol=1e-12)


def test_a_distribution_is_the_mixture_of_its_arms():
    rng = np.random.default_rng(0)
    chances = np.array([0.2, 0.3, 0.5])
    log = log_of([row_of(int(rng.choice(3, p=chances)), ((0, 1), (2,)), chances, rng.random(3)) for _ in range(50)])
    each = [value.seeing.ips for value in aw.evaluate(log).values]
    mixed = aw.evaluate(log, {0: 0.25, 2: 0.75}).values[0].seeing.ips
    assert mixed == pytest.approx(0.25 * each[0] + 0.75 * each[2])
    assert aw.evaluate(log, [0.25, 0, 0.75]).values[0].seeing.ips == pytest.approx(mixed)


def test_the_margin_solves_its_equation_and_grows_with_the_variance():
    psi = -np.log1p(-LAMBDAS) - LAMBDAS
    variances = np.array([0.0, 1.0, 100.0, 1e6])
    for variance, found in zip(variances, margin(variances, 0.025), strict=True):
        assert np.exp(LOG_WEIGHTS + LAMBDAS * found - psi * variance).sum() == pytest.approx(40.0, rel=1e-6)
    assert np.exp(LOG_WEIGHTS).sum() < 1.0
    assert (np.diff(margin(variances, 0.025)) > 0).all()


def test_intervals_cover_at_all_times_in_data_of_an_adaptive_policy():
    """The next probability depends on the last loss; 400 logs, at most 5% may miss at some time, plus 3 sigmas."""
    rng, mean, missed = np.random.default_rng(7), 0.3, 0
    at = np.array([1, 2, 5, 10, 20, 50, 100, 200])
    for _ in range(400):
        terms, complements, chance = [], [], 0.5
        for _ in range(200):
            seen, loss = rng.random() < chance, float(rng.random() < mean)
            terms.append(seen * loss / chance)
            complements.append(seen * (1.0 - loss) / chance)
            chance = float(np.clip(chance * (0.8 if seen and loss else 1.1), 0.05, 0.9))
        low, high = intervals(np.array(terms), np.array(complements), 0.05, at)
        missed += bool(((mean < low) | (mean > high)).any())
    assert missed / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_at_each_end_the_mixture_reaches_two_over_alpha_with_guesses_older_than_the_round():
    rng, alpha, at = np.random.default_rng(3), 0.1, np.array([40, 400])
    seen, loss = rng.random(400) < 0.5, rng.random(400)
    terms, complements = seen * loss / 0.5, seen * (1.0 - loss) / 0.5
    low, high = intervals(terms, complements, alpha, at)
    for values, ends in ((terms, low), (complements, 1.0 - high)):
        for n, end in zip(at.tolist(), ends.tolist(), strict=True):
            variance = 0.0
            for t in range(n):
                guess = min(1.0, (0.5 + sum(values[:t])) / (1.0 + t))
                variance += (values[t] - guess) ** 2
            psi = -np.log1p(-LAMBDAS) - LAMBDAS
            mixture = np.exp(LOG_WEIGHTS + LAMBDAS * (sum(values[:n]) - n * end) - psi * variance).sum()
            assert mixture == pytest.approx(2.0 / alpha, rel=1e-6)


def test_intervals_shrink_to_the_mean():
    rng = np.random.default_rng(1)
    seen, loss = rng.random(20_000) < 0.5, (rng.random(20_000) < 0.3).astype(float)
    low, high = intervals(seen * loss / 0.5, seen * (1 - loss) / 0.5, 0.05)
    assert low[0] < 0.3 < high[0]
    assert high[0] - low[0] < 0.06


@pytest.mark.parametrize("size", [5, 10])
def test_side_observations_divide_the_variance_by_three_at_least(size):
    rng = np.random.default_rng(size)
    n_arms, groups = 2 * size, (tuple(range(size)), tuple(range(size, 2 * size)))
    chances, means = np.full(n_arms, 1.0 / n_arms), np.linspace(0.2, 0.8, n_arms)
    rows = [
        row_of(int(rng.integers(n_arms)), groups, chances, (rng.random(n_arms) < means).astype(float))
        for _ in range(3000)
    ]
    for value in aw.evaluate(log_of(rows)).values:
        assert value.playing.variance / value.seeing.variance >= 3.0
        assert value.seeing.effective / value.playing.effective >= 3.0


def test_missing_outcomes_are_counted_and_the_worst_case_holds_whatever_was_lost():
    """Losses of 1 are never reported; dropping them is wrong, and allowing for them is not."""
    rng = np.random.default_rng(3)
    losses = (rng.random(2000) < 0.6).astype(float)
    log = log_of([row_of(0, ((0,),), np.ones(1), [loss]) for loss in losses])
    log["status"] = np.where(losses == 1.0, "open", "observed")
    dropped, worst = aw.evaluate(log, 0), aw.evaluate(log, 0, missing="worst")
    assert dropped.n_missing == worst.n_missing == int(losses.sum())
    assert "without an outcome" in str(dropped)
    assert dropped.values[0].seeing.high < 0.6
    assert worst.values[0].seeing.low < 0.6 < worst.values[0].seeing.high


def test_poor_overlap_is_said():
    rows = [row_of(0, ((0,), (1,)), np.array([0.999, 0.001]), [0.5, 0.5]) for _ in range(99)]
    rows.append(row_of(1, ((0,), (1,)), np.array([0.999, 0.001]), [0.5, 0.5]))
    values = aw.evaluate(log_of(rows)).values
    assert values[0].notes == ()
    assert "poor overlap: 1 effective rounds" in values[1].notes[0]
    never = aw.evaluate(log_of(rows[:99])).values[1]
    assert "never seen" in never.notes[0]
    assert (never.seeing.low, never.seeing.high) == (0.0, 1.0)


def test_a_replayed_learner_lives_through_a_fair_version_of_a_lopsided_log(tmp_path):
    """The log prefers the first clique; the replayed learner must learn equally often whatever it draws."""
    path, graph = tmp_path / "log.jsonl", aw.graphs.disjoint_cliques(2, 2)
    agent = aw.Agent(graph, seed=1, log=path)
    rng, means = np.random.default_rng(5), np.array([0.3, 0.3, 0.6, 0.6])
    for _ in range(800):
        decision = agent.choose()
        drawn = (rng.random(4) < means).astype(float)
        agent.observe(decision, drawn[list(decision.observes)])
    agent.log.flush()
    value = aw.evaluate(path, aw.TsallisShannon(graph)).values[0]
    assert value.replayed is not None
    assert 0 < value.replayed < 800
    assert value.seeing.low < 0.6  # it cannot be worse than the worse clique
    assert value.seeing.low < value.loss < value.seeing.high
    assert aw.evaluate(path, aw.TsallisShannon(graph)).values[0] == value
    first = aw.evaluate(path).values[0].seeing
    assert first.low < 0.3 < first.high


WRONG = [
    ({"policy": "nobody"}, "policy names arm 'nobody'; expected \"each\", or one of the arms 0, 1"),
    ({"policy": 7}, "policy names arm 7"),
    ({"policy": [0.5, 0.4]}, "policy adds up to 0.9; expected probabilities that add up to 1"),
    ({"policy": [1.0]}, "policy has shape"),
    ({"policy": [1.5, -0.5]}, "policy gives arm '1' -0.5; expected a probability"),
    ({"policy": {0: np.nan, 1: 1.0}}, "policy gives arm '0' nan; expected a probability"),
    ({"policy": {0: np.inf}}, "policy adds up to inf; expected probabilities that add up to 1"),
    ({"policy": {0: "x"}}, "the probabilities of policy"),
    ({"policy": 0.5}, "policy is a float; expected"),
    ({"level": 1.0}, "level is 1.0; expected a number above 0 and below 1"),
    ({"level": 0.0}, "level is 0.0; expected a number above 0 and below 1"),
    ({"missing": "ignore"}, 'expected "drop" or "worst"'),
    ({"log": 5}, "log is a int; expected a path or a table"),
    ({"log": "no.parquet"}, "there is no log 'no.parquet'"),
    ({"log": "log.csv"}, "expected a name ending in .parquet or .jsonl"),
    ({"log": pandas.DataFrame({"action": [0]})}, "the log has no column 'pscore'"),
    ({"log": pandas.DataFrame({"action": [0], "pscore": [0.5]})}, "the log has no column 'loss'"),
    ({"log": pandas.DataFrame({"action": [], "pscore": [], "loss": []})}, "the log has no decisions"),
    ({"log": pandas.DataFrame({"action": [0], "pscore": [0.5], "loss": [3.0]})}, "a loss in the log is 3.0"),
    (
        {"log": pandas.DataFrame({"action": 0, "pscore": 0.5, "loss": [None, 0.5], "kind": ["decision", "outcome"]})},
        "outcomes in rows of their own, as a function is told them; expected one row for each decision",
    ),
    (
        {"log": pandas.DataFrame({"action": [0], "pscore": [0.0], "loss": [1.0]})},
        "is 0.0; expected a number above 0 and at most 1",
    ),
    ({"log": pandas.DataFrame({"action": [0], "pscore": [np.nan], "loss": [1.0]})}, "the log has no probabilities"),
    ({"log": pandas.DataFrame({"action": [0], "pscore": [0.5], "loss": [np.nan]})}, "no decision with an outcome"),
    ({"log": pandas.DataFrame({"action": [-1], "pscore": [0.5], "loss": [1.0]})}, "an action in the log is -1"),
    ({"policy": aw.TsallisShannon(aw.graphs.bandit(3))}, "the learner has 3 arms; expected those of the log, 2"),
    ({"policy": aw.TsallisShannon(aw.graphs.bandit(2))}, "a learner can be replayed only on logs with both"),
]


@pytest.mark.parametrize(("change", "sentence"), WRONG)
def test_wrong_input_gets_its_sentence(change, sentence):
    log = pandas.DataFrame({"action": [0, 1], "pscore": 0.5, "loss": 0.5, "n_actions": 2})
    with pytest.raises(aw.AllWorldsError) as caught:
        aw.evaluate(**({"log": log, "policy": "each"} | change))
    assert sentence in str(caught.value)


def test_ordinary_estimates_on_rows_of_the_open_bandit_data_follow_the_published_rules():
    """Saito et al. 2021, with iw = pi(action) / pscore: IPW is mean(iw r), SNIPW is mean(iw r) / mean(iw)."""
    sample = pandas.read_csv(Path(__file__).with_name("open_bandit_rows.csv"), comment="#")
    log = pandas.DataFrame(
        {"action": sample["item_id"], "reward": sample["click"], "pscore": sample["propensity_score"], "n_actions": 34}
    )
    shares = np.random.default_rng(0).dirichlet(np.ones(34))
    for chosen in (shares, np.full(34, 1 / 34), np.eye(34)[sample["item_id"][0]]):
        found, weights, terms = aw.evaluate(log, chosen).values[0].playing, [], []
        for row in sample.itertuples():
            weights.append(chosen[row.item_id] / row.propensity_score)
            terms.append(weights[-1] * row.click)
        assert np.mean(weights) - found.ips == pytest.approx(np.mean(terms), abs=1e-12)  # ours are losses, 1 - reward
        assert 1.0 - found.snips == pytest.approx(np.mean(terms) / np.mean(weights), abs=1e-12)
        assert aw.evaluate(log, chosen).values[0].seeing == found  # nothing but the chosen item was seen


@pytest.fixture(scope="module")
def obp_file():
    """A file of obp by its path: out of its wheel, which is downloaded once; installed, it would need torch."""
    try:
        case_data.wheel(*OPEN_BANDIT)
    except case_data.NoData as error:
        pytest.skip(str(error))
    return lambda path: case_data.read_member(*OPEN_BANDIT, f"obp/{path}").decode()


@pytest.mark.parametrize(("policy", "campaign"), [("random", "men"), ("bts", "men"), ("random", "all")])
def test_ordinary_estimates_on_the_open_bandit_sample_equal_the_rules_of_obp(policy, campaign, obp_file):
    """OBP needs torch to be imported, so its rules are taken from the text of its file and run by themselves."""
    tree = ast.parse(obp_file("ope/estimators.py"))
    rules = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in (
            "InverseProbabilityWeighting",
            "SelfNormalizedInverseProbabilityWeighting",
        ):
            rule = next(part for part in node.body if getattr(part, "name", "") == "_estimate_round_rewards")
            rule.returns, rule.decorator_list = None, []
            for argument in (*rule.args.args, *rule.args.kwonlyargs):
                argument.annotation = None
            space = {"np": np}
            exec(compile(ast.Module([rule], []), "obp", "exec"), space)
            rules[node.name] = space["_estimate_round_rewards"]
    sample = pandas.read_csv(io.StringIO(obp_file(f"dataset/obd/{policy}/{campaign}/{campaign}.csv")), index_col=0)
    action, reward = sample["item_id"].to_numpy(), sample["click"].to_numpy(dtype=float)
    pscore, n_actions = sample["propensity_score"].to_numpy(), int(sample["item_id"].max()) + 1
    log = pandas.DataFrame({"action": action, "reward": reward, "pscore": pscore, "n_actions": n_actions})
    shares = np.random.default_rng(0).dirichlet(np.ones(n_actions))
    for chosen in (shares, np.full(n_actions, 1.0 / n_actions), np.eye(n_actions)[3]):
        found = aw.evaluate(log, chosen).values[0].playing
        spread = np.tile(chosen[None, :, None], (len(sample), 1, 1))
        terms = {
            name: rule(None, reward=reward, action=action, pscore=pscore, action_dist=spread)
            for name, rule in rules.items()
        }
        weights = chosen[action] / pscore
        ips = terms["InverseProbabilityWeighting"].mean()
        assert weights.mean() - found.ips == pytest.approx(ips, abs=1e-12)  # ours are losses, 1 - reward
        snips = terms["SelfNormalizedInverseProbabilityWeighting"].mean()
        assert 1.0 - found.snips == pytest.approx(snips, abs=1e-12)


@pytest.mark.slow
@pytest.mark.compiled
def test_intervals_cover_in_the_logs_of_agents():
    """1,000 logs of each of three collectors; see benchmarks/evaluation.py."""
    evaluation = pytest.importorskip("evaluation")
    for name in ("tsallis-shannon", "thompson-n", "uniform"):
        row = evaluation.coverage(name, 1000, 200)
        assert row["covered_at_any_time"] >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 1000)


def test_terms_of_each_arm_are_those_of_its_sightings():
    log = log_of([row_of(0, ((0, 1),), np.array([0.25, 0.75]), [0.5, 0.25])] * 3)
    rounds = logged_rounds(log)
    assert terms_of(rounds.seen, np.array([0.0, 1.0]), 3).losses.tolist() == [0.25] * 3
    assert terms_of(rounds.played, np.array([1.0, 0.0]), 3).losses.tolist() == [2.0] * 3
