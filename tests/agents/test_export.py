"""Logs in the words of other tools, loaded in these tools."""

from __future__ import annotations

import json

import numpy as np
import pytest

import allworlds as aw


@pytest.fixture
def log(tmp_path):
    graph = aw.FeedbackGraph(4, [(0, 1), (2, 3)], labels=["a", "b", "c", "d"])
    agent = aw.Agent(graph, seed=1, log=tmp_path / "log.jsonl")
    rng = np.random.default_rng(2)
    for _ in range(60):
        decision = agent.choose()
        agent.observe(decision, rng.random(len(decision.observes)))
    agent.choose()  # stays open
    agent.log.flush()
    return tmp_path / "log.jsonl"


@pytest.mark.parametrize(("format", "options"), [("vw", "--cb_adf"), ("dsjson", "--cb_explore_adf --dsjson")])
def test_vowpal_wabbit_reads_it(log, tmp_path, format, options):
    vw = pytest.importorskip("vowpalwabbit", reason="vowpalwabbit is not installed")
    lines = aw.export_log(log, format, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text().splitlines() == lines
    table = aw.load_log(log)[:60]
    first = vw.Workspace(f"{options} -d {tmp_path / 'out.txt'} --quiet")
    assert first.get_weighted_examples() == 60
    first.finish()
    reader = vw.Workspace(f"{options} --quiet")
    for (_, row), text in zip(table.iterrows(), lines if format == "dsjson" else blocks(lines), strict=True):
        examples = reader.parse(text)
        labels = [example.get_label(vw.LabelType.CONTEXTUAL_BANDIT) for example in examples]
        costs = [(k, one.costs[0]) for k, one in enumerate(labels) if one.costs and one.costs[0].probability > 0]
        assert len(costs) == 1
        place, cost = costs[0]
        arms = (
            [k for k in range(len(labels)) if k >= len(labels) - 4] if format == "vw" else list(range(len(labels)))[-4:]
        )
        assert arms.index(place) == row["action"]
        assert cost.cost == pytest.approx(row["loss"], rel=1e-6)
        assert cost.probability == pytest.approx(row["pscore"], rel=1e-6)
        reader.finish_example(examples)
    reader.finish()


def blocks(lines):
    return ["\n".join(block.split("\n")) for block in "\n".join(lines).strip().split("\n\n")]


def test_coba_reads_it(log):
    coba = pytest.importorskip("coba", reason="coba is not installed")
    interactions = list(coba.Environments.from_dataframe(aw.export_log(log, "coba"))[0].read())
    table = aw.load_log(log)[:60]
    assert [one["action"] for one in interactions] == table["arm"].tolist()
    assert [one["reward"] for one in interactions] == pytest.approx((1 - table["loss"]).tolist())
    assert [one["probability"] for one in interactions] == table["pscore"].tolist()
    assert interactions[0]["actions"] == ["a", "b", "c", "d"]


def test_the_dictionary_follows_the_rules_of_obp(log, tmp_path):
    """``check_bandit_feedback_inputs`` of obp: arrays of one length, whole actions, 0 < pscore <= 1, 2-d contexts."""
    feedback = aw.export_log(log, "obp", tmp_path / "out.npz")
    n = feedback["n_rounds"]
    assert feedback["context"].ndim == feedback["action_context"].ndim == 2
    for name in ("action", "reward", "pscore"):
        assert feedback[name].shape == (n,) == (60,)
    assert feedback["context"].shape[0] == n
    assert np.issubdtype(feedback["action"].dtype, np.integer)
    assert feedback["action"].min() >= 0
    assert feedback["action"].max() < feedback["n_actions"] == feedback["action_context"].shape[0]
    assert ((feedback["pscore"] > 0) & (feedback["pscore"] <= 1)).all()
    assert feedback["position"] is None
    with np.load(tmp_path / "out.npz") as saved:
        assert (saved["reward"] == feedback["reward"]).all()


def test_json_lines_have_every_decision(log, tmp_path):
    lines = aw.export_log(log, "jsonl", tmp_path / "out.txt")
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 61
    assert rows[-1]["status"] == "open"
    assert rows[-1]["loss"] is None
    assert sum(rows[0]["probabilities"]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("csv",), "format is 'csv'; expected one of obp, vw, dsjson, coba, jsonl"),
        (("obp", "out.txt"), "out is 'out.txt'; expected a name ending in .npz"),
        (("coba", "out.txt"), "expected a name ending in .pkl or .json"),
        (("vw", "nowhere/out.txt"), "cannot write to nowhere"),
    ],
)
def test_wrong_input_gets_its_sentence(log, arguments, sentence):
    with pytest.raises(aw.errors.InvalidParameter, match=sentence):
        aw.export_log(log, *arguments)
