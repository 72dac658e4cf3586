"""Rows as a function was told them are read, joined and evaluated as a log in a file is."""

from __future__ import annotations

import json

import numpy as np
import pandas
import pytest

import allworlds as aw

GRAPH = aw.FeedbackGraph(5, [(0, 1), (1, 2), (0, 2), (3, 4)], labels=list("abcde"))
TIMES = ["timestamp", "outcome_timestamp"]


def live(log):
    """An agent with masks, late and lost outcomes, and arms that come and go while decisions are open."""
    agent = aw.Agent(GRAPH, seed=3, reward=True, low=-1.0, high=3.0, log=log)
    rng, waiting = np.random.default_rng(5), []
    for number in range(120):
        waiting.append(agent.choose([arm for arm in agent.arms if arm != "b"] if number % 5 == 2 else None))
        if number == 40:
            agent.retire_arm("c")
            agent.add_arm("f", ["d", "e"])  # as many arms as before, and other numbers
        if number == 80:
            agent.retire_arm("e")
        while len(waiting) > 4:
            decision = waiting.pop(0)
            if decision.id % 11 == 0:
                agent.void(decision)
            elif decision.id % 7:
                agent.observe(decision, {arm: rng.uniform(-1.0, 3.0) for arm in decision.observes})
    if agent.log is not None:
        agent.log.flush()


def fleet_rows(rounds=400):
    rows, rng = [], np.random.default_rng(1)
    fleet = aw.Fleet(GRAPH, seed=7, log=rows.append)
    for number in range(rounds):
        segment = ("DE", "FR")[number % 2]
        decision = fleet.choose(segment)
        if number % 10:
            mean = 0.2 if segment == "DE" else 0.8
            fleet.observe(segment, decision, (rng.random(len(decision.observes)) < mean).astype(float))
    return rows, fleet


def same(one, other):
    """The tables, but for the times; probabilities of a file are those of single precision in nine digits."""
    assert list(one.columns) == list(other.columns)
    for name in one.columns:
        for left, right in zip(one[name], other[name], strict=True):
            if name in TIMES:
                assert pandas.isna(left) == pandas.isna(right)
            elif isinstance(left, str) or not np.ndim(left):
                assert left == right or (pandas.isna(left) and pandas.isna(right)) or left == pytest.approx(right)
            else:
                assert list(map(float, left)) == pytest.approx(list(map(float, right)), nan_ok=True)


@pytest.mark.parametrize("stored", [False, True])
def test_told_rows_give_the_table_of_a_log_in_a_file(tmp_path, stored):
    rows = []
    live(rows.append)
    live(tmp_path / "log.jsonl")
    told = rows
    if stored:
        told = tmp_path / "told.jsonl"
        told.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found, expected = aw.load_log(told), aw.load_log(tmp_path / "log.jsonl")
    same(found, expected)
    header = expected.attrs["log"]
    assert found.attrs["log"]["labels"] == header["labels"] == list("abcdef")
    assert [era["arms"] for era in found.attrs["log"]["eras"]] == [era["arms"] for era in header["eras"]]
    unit = "a loss of 0 is a reward of 3, a loss of 1 one of -1\n"  # the header of a file says it, rows do not
    said = str(aw.evaluate(tmp_path / "log.jsonl"))
    assert unit in said
    assert str(aw.evaluate(told)) == said.replace(unit, "")
    assert len(aw.load_log(iter(rows))) == 120
    assert str(aw.evaluate(iter(rows))) == str(aw.evaluate(rows))
    assert aw.export_log(iter(rows), "jsonl") == aw.export_log(rows, "jsonl")
    for read in (aw.evaluate, lambda log: aw.export_log(log, "jsonl")):
        with pytest.raises(aw.errors.InvalidParameter, match="outcomes in rows of their own"):
            read(pandas.DataFrame(rows))


def test_a_learner_is_replayed_on_told_rows_once_each_arm_was_chosen(tmp_path):
    rows, results = [], []
    for log in (rows.append, tmp_path / "log.jsonl"):
        agent = aw.Agent(GRAPH, seed=3, minimum_share=0.05, log=log)
        for number in range(200):
            decision = agent.choose()
            agent.observe(decision, {arm: float((number + ord(arm)) % 3 == 0) for arm in decision.observes})
        agent.log.flush()
        results.append(aw.evaluate(rows if callable(log) else log, aw.make_learner("ucb-n", GRAPH)))
    assert str(results[0]) == str(results[1])
    with pytest.raises(aw.AllWorldsError, match="does not say who shows whom"):
        aw.evaluate(rows[:4], aw.make_learner("ucb-n", GRAPH))


def test_rows_of_a_fleet_are_joined_by_segment(tmp_path):
    rows, fleet = fleet_rows()
    table = aw.load_log(rows)
    assert len(table) == 400
    assert table["segment"].tolist() == ["DE", "FR"] * 200
    assert table["decision_id"].tolist() == [number for k in range(200) for number in (k + 1, k + 1)]
    assert (table["status"] == "open").sum() == 40
    for segment in fleet:
        mine = table[table["segment"] == segment]
        answer = aw.evaluate(mine)
        assert answer.n_missing == (40 if segment == "DE" else 0)
        assert abs(answer.logged_loss - (0.2 if segment == "DE" else 0.8)) < 0.15
        agent = fleet[segment]
        assert answer.n_rounds == agent.round - 1
    (tmp_path / "fleet.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    same(aw.load_log(tmp_path / "fleet.jsonl"), table)
    assert aw.evaluate(rows).n_rounds == 360


def test_segments_may_have_other_arms():
    rows, fleet = fleet_rows(20)
    fleet["DE"].add_arm("f")
    fleet["FR"].retire_arm("a")
    for segment in ("DE", "FR", "IT"):
        fleet.observe(segment, decision := fleet.choose(segment), [0.5] * len(decision.observes))
    table = aw.load_log(rows)
    labels = table.attrs["log"]["labels"]
    assert labels == list("abcdef")
    assert [labels[action] for action in table["action"]] == table["arm"].tolist()
    awake = ["abcdef" if mask is None else "".join(labels[i] for i in mask) for mask in table["available"][-3:]]
    assert awake == ["abcdef", "bcde", "abcde"]


def test_rows_without_the_list_of_arms_are_read_while_the_arms_stay():
    rows, _ = fleet_rows(60)
    old = [{name: value for name, value in row.items() if name != "arms"} for row in rows]
    same(aw.load_log(old), aw.load_log(rows))
    few = [row for row in old if row["arm"] in "ad"]
    assert aw.load_log(few).attrs["log"]["labels"] == ["a", "arm 1", "arm 2", "d", "arm 4"]
    numbers = []
    aw.Agent(aw.graphs.bandit(300), seed=1, log=numbers.append).choose()
    assert numbers[0]["arms"] is None  # as its probabilities: there are too many
    assert aw.load_log(numbers).attrs["log"]["labels"] is None
    changed = next(row for row in old if row["kind"] == "decision") | {"arm": "z"}
    with pytest.raises(aw.errors.InvalidParameter, match="came or went, and not all rows say which there were"):
        aw.load_log([*old, changed])


def rows_of(agent_on, rounds=6, change=None):
    rows = []
    agent = aw.Agent(agent_on, seed=1, log=rows.append)
    for number in range(rounds):
        if change is not None and number == rounds // 2:
            change(agent)
        agent.observe(agent.choose(), [0.5])
    return rows


def test_an_arm_that_was_never_chosen_does_not_get_the_name_of_another():
    labels = [f"arm {number + 1}" for number in range(300)]
    rows = rows_of(aw.FeedbackGraph(300, [], labels=labels))
    table = aw.load_log(rows)
    assert table["n_actions"].eq(300).all()
    assert table["action"].tolist() == [row["action"] for row in rows if row["kind"] == "decision"]
    assert len(set(table.attrs["log"]["labels"])) == 300


def test_rows_from_before_and_after_256_arms_are_not_joined_by_guessing():
    labels = [10 * number for number in range(256)]
    rows = rows_of(aw.FeedbackGraph(256, [], labels=labels), change=lambda agent: agent.add_arm(9999))
    with pytest.raises(aw.errors.InvalidParameter, match="came or went"):
        aw.load_log(rows)


def test_one_label_under_two_numbers_shows_that_arms_went():
    rows = rows_of(aw.graphs.bandit(300), 2)
    made = next(row for row in rows if row["kind"] == "decision")
    with pytest.raises(aw.errors.InvalidParameter, match="came or went"):
        aw.load_log([*rows, made | {"decision_id": 9, "action": made["action"] - 1}])


def test_rows_that_do_not_say_the_arms_take_them_from_those_that_do():
    rows, _ = fleet_rows(60)
    mixed = [row | {"arms": None} if row["decision_id"] < 2 else row for row in rows]
    same(aw.load_log(mixed), aw.load_log(rows))


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (5, "log is a int; expected a path, or rows as a function is told them"),
        ([], "there are 0 rows, none of them a decision; expected at least one decision"),
        ([{"a": 1}], r"a row is \{'a': 1\}; expected rows as Agent\(graph, log=function\) tells them"),
        ([3], "a row is 3; expected rows"),
        ([{"decision_id": 1, "kind": "decision", "status": "open"}], "a row is .*; expected rows"),
    ],
)
def test_what_is_not_rows_gets_a_sentence(log, sentence):
    with pytest.raises(aw.errors.InvalidParameter, match=sentence):
        aw.load_log(log)


def test_a_file_with_two_kinds_of_rows_is_refused(tmp_path):
    rows, _ = fleet_rows(4)
    file = tmp_path / "told.jsonl"
    file.write_text(json.dumps(rows[0]) + "\n" + '{"log": {}}\n')
    with pytest.raises(aw.errors.InvalidState, match="expected one kind in a file"):
        aw.load_log(file)
    file.write_text(json.dumps(rows[0]) + "\n" + json.dumps(rows[1])[:30])  # a kill cut it short
    assert len(aw.load_log(file)) == 1
