"""The case of evaluation: estimates by their definition, savings by the variance, clicks out of a wheel."""

from __future__ import annotations

import json
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import allworlds as aw
import case_evaluation
from case_data import NoData
from case_evaluation import Case, ask, click_rate, distribution, mean_and_half, open_bandit, what_if, worth, write_log

MEANS = np.linspace(0.1, 0.9, 12)


def coins(rounds, seed):
    return (np.random.default_rng([seed, 5]).random((rounds, 12)) < MEANS).astype(float)


CLIQUES = Case("coins", aw.graphs.disjoint_cliques(3, 4), coins)
ALONE = Case("coins alone", aw.graphs.bandit(12), coins)


def test_one_decision_is_worth_as_many_as_the_variances_say():
    log = pd.DataFrame({"probabilities": [np.full(12, 1 / 12)] * 50})
    assert worth(CLIQUES, log, np.ones((50, 12))) == pytest.approx((12 - 1) / (3 - 1))
    assert worth(ALONE, log, np.ones((50, 12))) == pytest.approx(1.0)


@pytest.mark.compiled
def test_the_logged_probabilities_are_those_of_the_draw_and_keep_the_even_share():
    log, losses = write_log(CLIQUES, 100, 1)
    probabilities = np.array(log["probabilities"].tolist())
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities.min() >= case_evaluation.EVEN / 12 - 1e-12
    assert np.allclose(probabilities[np.arange(100), log["action"]], log["pscore"])
    assert np.allclose(losses[np.arange(100), log["action"]], log["loss"])


@pytest.mark.compiled
def test_side_observations_bring_smaller_errors_and_narrower_intervals_that_cover():
    answers = [ask(CLIQUES, 400, seed)[0] for seed in range(8)]
    for side, ordinary in (("error", "ordinary_error"), ("width", "ordinary_width")):
        mean, half = mean_and_half([getattr(answer, ordinary) - getattr(answer, side) for answer in answers])
        assert mean - half > 0.0
    mean, half = mean_and_half([answer.saved for answer in answers])
    assert mean - half > 3.0
    assert np.mean([answer.covered for answer in answers]) >= 0.95


@pytest.mark.compiled
def test_without_a_graph_nothing_is_saved():
    answer, _, _ = ask(ALONE, 200, 1)
    assert answer.saved == pytest.approx(1.0)
    assert (answer.error, answer.width) == (answer.ordinary_error, answer.ordinary_width)


def clicks(rounds, seed, probabilities):
    rng = np.random.default_rng(seed)
    position = rng.integers(1, 4, rounds)
    action = rng.choice(4, size=rounds, p=probabilities)
    click = (rng.random(rounds) < 0.05 * (1 + action)).astype(int)
    table = {"action": action, "loss": click, "pscore": np.asarray(probabilities)[action], "position": position}
    return pd.DataFrame(table).assign(n_actions=4)


def test_what_if_is_the_textbooks_estimate_position_by_position():
    log, target = clicks(3000, 1, [0.25] * 4), clicks(3000, 2, [0.1, 0.2, 0.3, 0.4])
    answer = what_if(log, target)
    weight = np.array([0.1, 0.2, 0.3, 0.4])[log.action] / log.pscore
    terms = weight * log.loss
    assert answer["ips"] == pytest.approx(terms.mean())
    shares = log.groupby("position").size() / len(log)
    snips = [terms[log.position == p].sum() / weight[log.position == p].sum() for p in shares.index]
    assert answer["snips"] == pytest.approx(shares.to_numpy() @ np.array(snips))
    truth = float(np.array([0.1, 0.2, 0.3, 0.4]) @ (0.05 * np.arange(1, 5)))
    assert answer["low"] <= truth <= answer["high"]
    assert answer["low"] < answer["normal_low"] < answer["normal_high"] < answer["high"]
    variance = sum(len(part) * part.var(ddof=1) for _, part in terms.groupby(log.position)) / len(log) ** 2
    assert answer["normal_high"] - answer["ips"] == pytest.approx(1.959964 * np.sqrt(variance), rel=1e-3)


def test_items_that_were_never_shown_share_what_is_left():
    log = pd.DataFrame({"action": [0, 2], "pscore": [0.5, 0.2], "n_actions": 4})
    assert distribution(log) == pytest.approx([0.5, 0.15, 0.2, 0.15])


def test_a_click_rate_has_the_interval_of_clopper_and_pearson():
    rate = click_rate(pd.DataFrame({"loss": [1] * 7 + [0] * 93}))
    assert rate["rate"] == 0.07
    assert rate["low"] == pytest.approx(stats.beta.ppf(0.025, 7, 94))
    assert rate["high"] == pytest.approx(stats.beta.ppf(0.975, 8, 93))


def test_clicks_are_read_out_of_a_wheel_that_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("ALLWORLDS_CASES", str(tmp_path))
    with pytest.raises(NoData, match=r"obp 0\.4\.1 is not in"):
        open_bandit("random", download=False)
    with zipfile.ZipFile(tmp_path / "obp-0.4.1-py3-none-any.whl", "w") as wheel:
        rows = "item_id,position,click,propensity_score,user_feature_0\n3,1,0,0.25,x\n1,2,1,0.25,y\n"
        wheel.writestr("obp/dataset/obd/random/men/men.csv", rows)
    log = open_bandit("random", download=False)
    assert log.action.tolist() == [3, 1]
    assert log.loss.tolist() == [0, 1]
    assert log.pscore.tolist() == [0.25, 0.25]
    assert log.n_actions.tolist() == [4, 4]


@pytest.mark.compiled
def test_the_command_prints_json_says_what_is_missing_and_draws(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ALLWORLDS_CASES", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["case_evaluation.py", "--quick", "--json", "--out", str(tmp_path / "out")])
    case_evaluation.main()
    answer = json.loads(capsys.readouterr().out)
    assert answer["open_bandit"] == {}
    assert "Open Bandit is left out: obp 0.4.1 is not in" in answer["notes"][-1]
    assert len(answer["logs"]) >= 2
    assert (tmp_path / "out" / "intervals.png").stat().st_size > 5000
