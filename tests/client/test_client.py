"""The client and a real service, also with a network in between that loses requests and answers."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

import allworlds as aw
from allworlds.client import (
    AsyncClient,
    Client,
    Conflict,
    InvalidRequest,
    NotFound,
    PartlyFailed,
    Unreachable,
)
from allworlds.foundation.errors import InvalidParameter, MissingExtra

LOSSES = {"a": 0.25, "b": 0.75, "c": 0.5}
SEEN = {"a": {"a", "b"}, "b": {"a", "b"}, "c": {"c"}}


def outcome(decision):
    return {arm: LOSSES[arm] for arm in decision.observes}


def impatient(address: str) -> Client:
    return Client(address, timeout=10.0, retry_for=0.0)


def test_choose_and_observe_speak_the_words_of_the_agent(client, name):
    first = client.choose(name)
    assert uuid.UUID(first.id)
    assert set(first.observes) == SEEN[first.arm]
    assert 0.0 < first.probability <= first.clique_probability < 1.0
    assert (first.learner, first.round, first.also_visible, first.deadline) == (name, 1, (), None)
    client.observe(first, outcome(first))
    assert client.choose(name).round == 2
    assert client.decision(name, first.id)["status"] == "observed"


def test_the_same_id_gives_the_same_decision_also_after_it_was_observed(client, name):
    first = client.choose(name, id="order/17 ü?")
    assert client.choose(name, id="order/17 ü?") == first
    client.observe(first.id, outcome(first), learner=name)
    client.observe(first, [LOSSES[arm] for arm in first.observes])
    assert client.choose(name, id="order/17 ü?") == first
    with pytest.raises(Conflict) as caught:
        client.observe(first, dict.fromkeys(first.observes, 0.125))
    assert (caught.value.status, caught.value.id) == (409, first.id)


def test_a_voided_decision_takes_no_outcome(client, name):
    decision = client.choose(name)
    client.void(decision)
    client.void(decision.id, learner=name)
    with pytest.raises(Conflict):
        client.observe(decision, outcome(decision))
    assert client.decision(name, decision.id)["status"] == "voided"


def test_only_available_arms_are_chosen_and_a_segment_learns_alone(client, name):
    assert client.choose(name, available=["c"]).arm == "c"
    here = client.choose(name, segment="here")
    client.observe(here, outcome(here))
    assert client.choose(name, segment="here").round == 2
    assert client.choose(name, segment="there").round == 1


def test_a_batch_has_a_decision_for_each_id_in_order(client, name):
    made = client.choose_many(name, ["x", {"id": "y", "available": ["c"]}])
    assert [decision.id for decision in made] == ["x", "y"]
    assert made[1].arm == "c"
    assert client.choose(name, id="x") == made[0]
    assert len({decision.id for decision in client.choose_many(name, 5)}) == 5


def test_a_batch_that_fails_in_part_keeps_what_was_made(client, name):
    with pytest.raises(PartlyFailed, match="1 of 2 decisions failed") as caught:
        client.choose_many(name, [{"id": "good"}, {"id": "bad", "available": ["nobody"]}])
    good, bad = caught.value.answers
    assert client.choose(name, id="good") == good
    assert isinstance(bad, InvalidRequest)


def test_one_that_is_malformed_does_not_spoil_a_batch(client, name):
    with pytest.raises(PartlyFailed, match="1 of 2 decisions failed; id is not valid") as caught:
        client.choose_many(name, [{"id": "fine"}, {"id": "x" * 201}])
    assert client.choose(name, id="fine") == caught.value.answers[0]
    with pytest.raises(PartlyFailed, match="1 of 1 decisions failed"):
        client.choose_many(name, [{"id": "x" * 201}])
    with pytest.raises(NotFound):
        client.choose_many("nobody", [{"id": "x" * 201}])


def test_sentences_of_the_service_become_errors(client, name):
    decision = client.choose(name)
    with pytest.raises(InvalidRequest) as caught:
        client.observe(decision, dict.fromkeys(decision.observes, 2.0))
    assert caught.value.status == 422
    assert isinstance(caught.value, ValueError)
    with pytest.raises(NotFound):
        client.choose("nobody")
    with pytest.raises(LookupError):
        client.void("never-made", learner=name)
    with pytest.raises(Conflict):
        client.create(name, graph={"cliques": [["a", "b", "c"]]})


def test_creating_again_gives_the_same_learner(client, name):
    again = client.create(name, graph={"cliques": [["a", "b"], ["c"]]})
    assert again["name"] == name
    assert sorted(again["arms"]) == ["a", "b", "c"]
    assert name in {view["name"] for view in client.learners()}
    assert client.learner(name)["name"] == name


def test_a_graph_of_the_library_creates_the_same_cliques(client):
    graph = aw.FeedbackGraph(n_arms=3, edges=[(0, 2)], labels=["a", "b", "c"])
    client.create("from-a-graph", graph=graph)
    chosen = [client.choose("from-a-graph") for _ in range(20)]
    assert all(set(one.observes) == ({"b"} if one.arm == "b" else {"a", "c"}) for one in chosen)


def test_arms_come_and_go(client, name):
    client.add_arm(name, "d", neighbours=["c"])
    decision = client.choose(name, available=["d"])
    assert decision.arm == "d"
    assert set(decision.observes) == {"c", "d"}
    client.retire_arm(name, "d")
    client.observe(decision, {"c": 0.5, "d": 0.5})
    with pytest.raises(InvalidRequest):
        client.choose(name, available=["d"])


def test_an_archived_learner_makes_no_decisions_and_still_takes_outcomes(client, name):
    decision = client.choose(name)
    client.archive(name)
    client.archive(name)
    with pytest.raises(aw.AllWorldsError) as caught:
        client.choose(name)
    assert caught.value.status == 410
    client.observe(decision, outcome(decision))


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_an_export_is_a_log_that_can_be_loaded_and_evaluated(suffix, client, name, tmp_path):
    decisions = client.choose_many(name, 30)
    for decision in decisions[:-1]:
        client.observe(decision, outcome(decision))
    file = client.export(name, tmp_path / f"log.{suffix}")
    table = aw.load_log(file)
    assert len(table) == 30
    assert list(table["arm"]) == [decision.arm for decision in decisions]
    assert table["pscore"].tolist() == [decision.probability for decision in decisions]
    assert table["loss"][:-1].tolist() == [LOSSES[decision.arm] for decision in decisions[:-1]]
    here, there = aw.evaluate(file).to_dict(), client.evaluate(name)
    assert here["n_rounds"] == there["n_rounds"] == 29
    assert [value["policy"] for value in there["values"]] == ["a", "b", "c"]
    for mine, theirs in zip(here["values"], there["values"], strict=True):
        assert theirs["seeing"]["ips"] == pytest.approx(mine["seeing"]["ips"])
    assert list(tmp_path.iterdir()) == [file]


def test_an_export_that_is_cut_short_begins_again_and_one_that_fails_leaves_nothing(client, name, proxy, tmp_path):
    for _ in range(5):
        client.choose(name)
    with Client(proxy.address, retry_for=10.0) as through:
        proxy.faults[:] = ["cut", "drop"]
        cut = through.export(name, tmp_path / "cut.jsonl").read_bytes()
    assert cut == client.export(name, tmp_path / "whole.jsonl").read_bytes()
    (tmp_path / "old.jsonl").write_bytes(b"old")
    proxy.faults[:] = ["cut"]
    with impatient(proxy.address) as through, pytest.raises(Unreachable):
        through.export(name, tmp_path / "old.jsonl")
    assert (tmp_path / "old.jsonl").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("fault", ["drop", "lose", "cut", "503", "html"])
def test_a_request_that_is_repeated_counts_once(fault, client, name, proxy):
    with Client(proxy.address, retry_for=10.0) as through:
        proxy.faults[:] = [fault, fault]
        decision = through.choose(name)
        bodies = {body for method, _, body in proxy.seen if method == "POST"}
        assert len(proxy.seen) == 3
        assert bodies == {json.dumps({"id": decision.id}).encode()}
        proxy.faults[:] = [fault, fault]
        through.observe(decision, outcome(decision))
    assert client.choose(name).round == 2


def test_silence_ends_with_the_timeout_and_the_answer_comes_with_the_next_attempt(client, name, proxy):
    with Client(proxy.address, timeout=0.3, retry_for=30.0) as through:
        proxy.faults[:] = ["mute"]
        decision = through.choose(name)
    assert len(proxy.seen) >= 2
    assert client.choose(name, id=decision.id) == decision


def test_impatience_leaves_the_id_to_repeat_with(client, name, proxy):
    proxy.faults[:] = ["lose"]
    with impatient(proxy.address) as through:
        with pytest.raises(Unreachable, match="no answer from") as caught:
            through.choose(name)
        assert through.choose(name, id=caught.value.id).id == caught.value.id
    assert client.decision(name, caught.value.id)["status"] == "open"


def test_threads_share_a_client(client, name):
    with ThreadPoolExecutor(8) as pool:
        decisions = list(pool.map(lambda _: client.choose(name), range(40)))
        list(pool.map(lambda one: client.observe(one, outcome(one)), decisions))
    assert client.choose(name).round == 41


def test_tasks_share_an_asynchronous_client(service, client, name, proxy, tmp_path):
    async def work() -> list[aw.client.Decision]:
        async with AsyncClient(proxy.address, retry_for=10.0) as many:
            await many.wait_until_ready()
            proxy.faults[:] = ["lose", "503", "drop"]
            decisions = await asyncio.gather(*(many.choose(name) for _ in range(20)))
            await asyncio.gather(*(many.observe(one, outcome(one)) for one in decisions[1:]))
            await many.void(decisions[0])
            with pytest.raises(Conflict):
                await many.observe(decisions[0], outcome(decisions[0]))
            proxy.faults[:] = ["cut"]
            cut = await many.export(name, tmp_path / "cut.jsonl")
            assert cut.read_bytes() == client.export(name, tmp_path / "whole.jsonl").read_bytes()
            assert (await many.evaluate(name))["n_rounds"] == 19
            assert [one.id for one in await many.choose_many(name, ["x", "y"])] == ["x", "y"]
            assert (await many.decision(name, "x"))["status"] == "open"
            return decisions

    decisions = asyncio.run(work())
    assert client.choose(name).round == 20
    assert [client.choose(name, id=one.id) for one in decisions] == decisions


def test_both_clients_have_the_same_verbs_and_parameters():
    def verbs(kind: type) -> dict[str, str]:
        public = {key: value for key, value in vars(kind).items() if not key.startswith("_")}
        return {
            key: str(inspect.signature(value)).replace("httpx.AsyncClient", "httpx.Client")
            for key, value in public.items()
        }

    assert verbs(Client) == verbs(AsyncClient)


def test_address_and_key_come_from_the_environment(monkeypatch, service):
    monkeypatch.setenv("ALLWORLDS_SERVER", service + "/")
    monkeypatch.setenv("ALLWORLDS_KEY", "id.s3cret")
    with Client() as client:
        assert client.server == service
        assert client._settings.headers["Authorization"] == "Bearer id.s3cret"
        assert "s3cret" not in repr(client)
    monkeypatch.delenv("ALLWORLDS_SERVER")
    with Client() as client:
        assert client.server == "http://127.0.0.1:8080"


def test_proxies_of_the_environment_are_not_used(monkeypatch, service):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with impatient(service) as client:
        client.wait_until_ready()


def test_a_connection_of_ones_own_is_used_and_left_open(service):
    with httpx.Client(trust_env=False) as mine:
        with Client(service, http=mine) as client:
            client.learners()
        assert not mine.is_closed


def test_nobody_at_home_is_a_sentence():
    with impatient("http://127.0.0.1:9") as client, pytest.raises(Unreachable, match="expected a running service"):
        client.learners()
    with pytest.raises(InvalidParameter, match="expected an address"):
        Client("localhost:8080")


def test_a_disk_that_cannot_be_written_is_a_sentence(client, name, tmp_path):
    with pytest.raises(InvalidParameter, match="choose another folder"):
        client.export(name, tmp_path / "nowhere" / "log.jsonl")


def test_without_httpx_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r'a client needs httpx, which is not installed; try pip install "allworlds'):
        Client()


def test_the_client_loads_neither_numpy_nor_numba():
    code = "import sys, allworlds as aw; aw.Client().close(); print({'numpy', 'numba'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
