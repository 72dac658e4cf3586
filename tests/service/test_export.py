"""Exports: the journal as a log that every reader of logs takes, also after the arms have changed; evaluation."""

from __future__ import annotations

import io
import json

import httpx
import numpy as np
import pytest

import allworlds as aw
from served import served

__all__ = ["served"]
LEARNER = {"name": "prices", "arms": ["a", "b", "c"], "graph": {"cliques": [["a", "b"], ["c"]]}}
MEANS = {"a": 0.2, "b": 0.6, "c": 0.8, "d": 0.4}


@pytest.fixture(scope="module")
def prices(served):
    """300 decisions: some open, some voided; then an arm more, and one less. The client and all answers."""
    rng = np.random.default_rng(1)
    answers = {}
    with httpx.Client(base_url=served.url, timeout=60.0) as client:
        client.post("/v1/learners", json=LEARNER).raise_for_status()
        path = "/v1/learners/prices"
        for number in range(300):
            if number == 100:
                client.post(f"{path}/arms", json={"label": "d", "neighbours": ["c"]}).raise_for_status()
            if number == 200:
                client.delete(f"{path}/arms/b").raise_for_status()
            id = f"n/{number}"
            segment = {"segment": "north"} if number % 7 == 0 else {}
            answer = client.post(f"{path}/decisions", json={"id": id, **segment}).raise_for_status().json()
            place = f"{path}/decisions/n%2F{number}"
            losses = {arm: float(rng.uniform() < MEANS[arm]) for arm in answer["observe"]}
            if number % 10 == 3:
                client.post(f"{place}/void").raise_for_status()
                answers[id] = answer, "void", None
            elif number % 10 == 4:
                answers[id] = answer, "open", None
            else:
                client.put(f"{place}/outcome", json=losses).raise_for_status()
                answers[id] = answer, "observed", losses
        yield client, answers


def download(client, format):
    answer = client.get("/v1/learners/prices/export", params={"format": format})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"].startswith('attachment; filename="prices.')
    return answer.content


def test_every_decision_is_a_row_with_what_was_answered_and_reported(prices):
    client, answers = prices
    header, *rows = map(json.loads, download(client, "jsonl").splitlines())
    labels = header["log"]["labels"]
    assert labels == ["a", "b", "c", "d"]
    assert [row["id"] for row in rows] == list(answers)
    for number, row in enumerate(rows, 1):
        answer, status, losses = answers[row["id"]]
        assert (row["decision_id"], row["status"]) == (number, status)
        assert (row["arm"], row["pscore"], row["round"]) == (answer["arm"], answer["probability"], answer["round"])
        assert labels[row["action"]] == answer["arm"]
        assert [labels[arm] for arm in row["observed"]] == answer["observe"]
        assert row["clique_pscore"] == answer["clique_probability"]
        assert row["seeing"] == pytest.approx([answer["clique_probability"]] * len(answer["observe"]), rel=1e-12)
        assert row["losses"] == (None if losses is None else [losses[arm] for arm in answer["observe"]])
        assert row["loss"] == (None if losses is None else losses[answer["arm"]])
        assert sum(row["probabilities"]) == pytest.approx(1.0, abs=1e-6)
        there = range(4) if row["available"] is None else row["available"]
        assert all(row["probabilities"][arm] == 0.0 for arm in range(4) if arm not in there)
        names = "abc" if number <= 100 else "abcd" if number <= 200 else "acd"
        assert "".join(labels[arm] for arm in there) == names
        assert row["segment"] == ("north" if (number - 1) % 7 == 0 else "")


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_log_that_was_downloaded_can_be_loaded_and_evaluated(prices, ending, tmp_path):
    client, answers = prices
    path = tmp_path / f"log.{ending}"
    path.write_bytes(download(client, ending))
    table = aw.load_log(path)
    assert table["status"].tolist() == [status for _, status, _ in answers.values()]
    assert table["arm"].tolist() == [answer["arm"] for answer, _, _ in answers.values()]
    assert table["id"].tolist() == list(answers)
    assert table["segment"].tolist()[:8] == ["north", "", "", "", "", "", "", "north"]
    evaluation = aw.evaluate(table)
    served = client.get("/v1/learners/prices/evaluate").json()
    for value in served["values"]:
        assert value["seeing"]["dr"] == pytest.approx(evaluation[value["policy"]].seeing.dr, rel=1e-6)


def test_the_intervals_of_an_evaluation_hold_the_true_means(prices):
    client, _ = prices
    answer = client.get("/v1/learners/prices/evaluate").json()
    assert [value["policy"] for value in answer["values"]] == ["a", "b", "c", "d"]
    assert (answer["n_rounds"], answer["n_missing"], answer["n_void"]) == (240, 30, 30)
    value = answer["values"][0]["seeing"]
    assert value["low"] < MEANS["a"] < value["high"]
    mixed = client.get("/v1/learners/prices/evaluate", params={"policy": "a=0.5,c=0.5", "level": 0.5}).json()
    assert mixed["level"] == 0.5
    assert len(mixed["values"]) == 1


@pytest.mark.parametrize("query", ["policy=z", "level=2", "level=x", "missing=all", "policy=a%3Dx"])
def test_a_question_that_makes_no_sense_is_422(prices, query):
    client, _ = prices
    assert client.get(f"/v1/learners/prices/evaluate?{query}").status_code == 422


def test_other_tools_get_their_formats(prices):
    client, answers = prices
    observed = [answer for answer, status, _ in answers.values() if status == "observed"]
    arrays = np.load(io.BytesIO(download(client, "obp")))
    assert arrays["pscore"].tolist() == [answer["probability"] for answer in observed]
    assert download(client, "vw").decode().count("shared |") == len(observed)
    events = [json.loads(line) for line in download(client, "dsjson").splitlines()]
    assert [event["_label_probability"] for event in events] == [answer["probability"] for answer in observed]
    rows = json.loads(download(client, "coba"))
    assert [row["action"] for row in rows] == [answer["arm"] for answer in observed]


def test_where_there_is_no_outcome_yet_nothing_can_be_evaluated_and_that_is_409(served):
    with httpx.Client(base_url=served.url, timeout=60.0) as client:
        client.post("/v1/learners", json={**LEARNER, "name": "fresh"}).raise_for_status()
        path = "/v1/learners/fresh"
        assert client.get(f"{path}/export").text.count("\n") == 1
        for wanted in ("evaluate", "export?format=vw", "export?format=obp"):
            assert client.get(f"{path}/{wanted}").status_code == 409
        client.post(f"{path}/decisions", json={}).raise_for_status()
        assert client.get(f"{path}/evaluate").status_code == 409
        assert client.get(f"{path}/export?format=parquet").status_code == 200


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_an_arm_that_was_left_out_because_it_was_not_available_has_no_loss(served, ending, tmp_path):
    """As in an agent's log: the learner takes it to have lost what the chosen arm lost, but nobody saw that."""
    with httpx.Client(base_url=served.url, timeout=60.0) as client:
        client.post("/v1/learners", json={**LEARNER, "name": "asleep"}).raise_for_status()
        for id, losses in (("left-out", {"b": 0.25}), ("told", {"b": 0.25, "a": 0.25})):
            path = "/v1/learners/asleep/decisions"
            client.post(path, json={"id": id, "available": ["b"]}).raise_for_status()
            client.put(f"{path}/{id}/outcome", json=losses).raise_for_status()
        (tmp_path / f"log.{ending}").write_bytes(
            client.get("/v1/learners/asleep/export", params={"format": ending}).content
        )
    table = aw.load_log(tmp_path / f"log.{ending}")
    assert [np.asarray(arms).tolist() for arms in table["observed"]] == [[0, 1], [0, 1]]
    losses = [np.asarray(losses, dtype=float) for losses in table["losses"]]
    assert np.array_equal(losses, [[np.nan, 0.25], [0.25, 0.25]], equal_nan=True)
    assert table["loss"].tolist() == [0.25, 0.25]


def test_only_so_many_journals_are_read_at_once(served, prices):
    app = served.app
    held = [app._begin_download() for _ in range(app.limits.downloads)]
    try:
        answer = httpx.get(f"{served.url}/v1/learners/prices/export")
        assert answer.status_code == 429
    finally:
        for release in held:
            release()
    assert httpx.get(f"{served.url}/v1/learners/prices/export", timeout=60.0).status_code == 200
