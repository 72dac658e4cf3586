"""Saved agents: they go on bit for bit, and a file that is not as it was written is refused."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import allworlds as aw
from agents.agent_runs import everything, learner_bits, make, play, report, resign
from allworlds.agents.files import read_file, write_file
from allworlds.covers.cover import cover_to_data
from allworlds.foundation.errors import InvalidParameter, InvalidState

SUFFIXES = pytest.mark.parametrize("suffix", [".json", ".npz"])

CONTINUE = """
import sys
import allworlds as aw
from agents.agent_runs import play, report

agent = aw.Agent.load(sys.argv[1])
for number in sorted(agent.pending, reverse=True):
    decision = agent.pending[number]
    agent.observe(number, report(decision))
print([(d.id, d.arm, d.probability.hex(), d.details["baseline"].hex()) for d in play(agent, 25)])
agent.save(sys.argv[1])
"""


def busy_agent(**options):
    """After some rounds, with decisions waiting and others gone."""
    agent = make(**options)
    play(agent, 30)
    agent.void(agent.choose())
    for _ in range(4):
        agent.choose()
    play(agent, 30)
    return agent


@SUFFIXES
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"labels": list("abcdefg")},
        {"labels": ["ü", "\ud800", '"', "\\", "", " ", "10"]},
        {"labels": [3, 1, 4, 15, 9, 2, 6]},
        {"reward": True, "low": -1.5, "high": 0.1 + 0.2},
        {"constants": lambda cover: aw.Constants.paper(cover, 100)},
        {"constants": aw.Constants.sharp},
    ],
    ids=["plain", "labels", "odd labels", "numbers", "rewards", "paper", "sharp"],
)
def test_a_loaded_agent_goes_on_bit_for_bit(tmp_path, suffix, options):
    agent = make(**options)
    values = options.get("low", 0.0), options.get("high", 1.0)
    for t in range(40):
        decision = agent.choose()
        if t % 5:
            agent.observe(decision, dict.fromkeys(decision.observes, values[t % 2]))
    before = everything(agent)
    agent.save(tmp_path / f"agent{suffix}")
    assert everything(agent) == before
    again = aw.Agent.load(tmp_path / f"agent{suffix}")
    assert everything(again) == before
    assert again.learner == agent.learner
    assert again.seed == agent.seed
    for number in list(agent.pending)[::-1]:
        decision = agent.pending[number]
        for one in (agent, again):
            one.observe(decision, dict.fromkeys(decision.observes, values[1]))
    for t in range(40):
        decision, same = agent.choose(), again.choose()
        assert decision == same
        for one in (agent, again):
            one.observe(decision, dict.fromkeys(decision.observes, values[t % 2]))
    assert everything(again) == everything(agent)


@SUFFIXES
@pytest.mark.parametrize("graph", [aw.graphs.bandit(1), aw.graphs.full_information(4), aw.graphs.cycle(9)], ids=str)
def test_any_graph_is_saved(tmp_path, suffix, graph):
    agent = aw.Agent(aw.TsallisShannon(aw.clique_cover(graph)), seed=2**63 - 1)
    play(agent, 5)
    agent.save(tmp_path / f"agent{suffix}")
    again = aw.Agent.load(tmp_path / f"agent{suffix}")
    assert again.learner.graph == graph
    assert again.learner.cover.lower_bound == agent.learner.cover.lower_bound
    assert play(again, 5) == play(agent, 5)


@SUFFIXES
def test_another_process_goes_on_bit_for_bit(tmp_path, suffix):
    agent = busy_agent()
    path = tmp_path / f"agent{suffix}"
    agent.save(path)
    paths = [str(Path(aw.__file__).parent.parent), str(Path(__file__).parent.parent)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", CONTINUE, str(path)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    for number in sorted(agent.pending, reverse=True):
        agent.observe(number, report(agent.pending[number]))
    mine = [(d.id, d.arm, d.probability.hex(), d.details["baseline"].hex()) for d in play(agent, 25)]
    assert answer.stdout.strip() == str(mine)
    assert everything(aw.Agent.load(path)) == everything(agent)


@SUFFIXES
def test_a_decision_from_before_saving_may_be_reported_to_the_loaded_agent(tmp_path, suffix):
    agent = make()
    decision = agent.choose()
    agent.save(tmp_path / f"agent{suffix}")
    again = aw.Agent.load(str(tmp_path / f"agent{suffix}"))
    again.observe(decision, report(decision))
    assert again.round == 2
    with pytest.raises(aw.AllWorldsError, match="already reported"):
        again.observe(decision, report(decision))


def test_a_file_from_before_there_was_a_baseline_share_goes_on_as_it_was(tmp_path):
    path = tmp_path / "agent.json"
    old = busy_agent(constants=lambda cover: dataclasses.replace(aw.Constants.practical(cover), baseline_share=1.0))
    old.save(path)
    resign(path, lambda agent: agent["settings"]["constants"].pop("baseline_share"))
    again = aw.Agent.load(path)
    assert again.learner.constants.baseline_share == 1.0
    assert again.learner == old.learner
    assert everything(again) == everything(old)
    assert play(again, 25) == play(old, 25)
    assert everything(again) == everything(old)


def test_a_file_is_json_that_anyone_can_read(tmp_path):
    busy_agent().save(tmp_path / "agent.json")
    data = json.loads((tmp_path / "agent.json").read_text(encoding="utf-8"))
    assert (data["format"], data["version"]) == ("allworlds agent", 3)
    assert data["agent"]["learner"] == "tsallis-shannon"
    assert len(data["agent"]["pending"]) == 4


def test_an_npz_file_holds_no_pickle(tmp_path):
    busy_agent().save(tmp_path / "agent.npz")
    with np.load(tmp_path / "agent.npz", allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "iuf" for name in file.files)


# --- damage ---------------------------------------------------------------------------------------------


@SUFFIXES
def test_a_file_that_was_cut_short_is_refused_wherever_the_cut_is(tmp_path, suffix):
    path = tmp_path / f"agent{suffix}"
    busy_agent().save(path)
    content = path.read_bytes()
    cuts = [len(content) * part // 20 for part in range(20)] + [len(content) - 2]
    for cut in cuts:
        path.write_bytes(content[:cut])
        with pytest.raises(InvalidState, match=re.escape(str(path))):
            aw.Agent.load(path)


def test_an_edited_digit_of_the_contents_is_refused_unless_it_is_the_same_number(tmp_path):
    path = tmp_path / "agent.json"
    make().save(path)
    text = path.read_text(encoding="utf-8")
    values = json.loads(text)
    digits = [i for i in range(text.index('"sha256"'), len(text)) if text[i].isdigit()]
    n_refused = 0
    for i in digits[:: max(1, len(digits) // 150)]:
        edited = text[:i] + str((int(text[i]) + 1) % 10) + text[i + 1 :]
        path.write_text(edited, encoding="utf-8")
        if json.loads(edited) == values:  # a 17th digit may not change the double
            continue
        n_refused += 1
        with pytest.raises(InvalidState):
            aw.Agent.load(path)
    assert n_refused > 100


def test_a_flipped_bit_anywhere_in_an_npz_file_is_refused_or_without_consequence(tmp_path):
    path = tmp_path / "agent.npz"
    agent = busy_agent()
    agent.save(path)
    content = path.read_bytes()
    intact, n_refused = everything(agent), 0
    places = range(0, len(content), max(1, len(content) // 400))
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            again = aw.Agent.load(path)
        except InvalidState:
            n_refused += 1
        else:
            assert everything(again) == intact
    assert n_refused > len(places) // 2


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"format": "allworlds agent"}']
)
@SUFFIXES
def test_what_is_no_saved_agent_is_refused(tmp_path, content, suffix):
    path = tmp_path / f"agent{suffix}"
    path.write_bytes(content)
    with pytest.raises(InvalidState, match=re.escape(str(path))):
        aw.Agent.load(path)


def test_other_numpy_files_are_refused(tmp_path):
    np.savez(tmp_path / "agent.npz", header=np.zeros(3))
    with pytest.raises(InvalidState):
        aw.Agent.load(tmp_path / "agent.npz")
    with open(tmp_path / "agent.npz", "wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InvalidState):
        aw.Agent.load(tmp_path / "agent.npz")


@pytest.mark.parametrize("version", [0, 1, 2, "3", None, 99])
def test_a_file_of_another_version_is_refused_and_says_who_wrote_it(tmp_path, version):
    path = tmp_path / "agent.json"
    make().save(path)
    outer = json.loads(path.read_text()) | {"version": version, "written_by": "allworlds 9.9"}
    path.write_text(json.dumps(outer))
    with pytest.raises(InvalidState, match=r"written by allworlds 9.9.*reads version 3; load it with the version"):
        aw.Agent.load(path)


def test_another_version_inside_an_npz_file_is_refused_too(tmp_path):
    make().save(tmp_path / "agent.npz")
    with np.load(tmp_path / "agent.npz") as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes()) | {"version": 4}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(tmp_path / "agent.npz", **arrays)
    with pytest.raises(InvalidState, match="the file is of version 4"):
        aw.Agent.load(tmp_path / "agent.npz")


@pytest.mark.parametrize(
    "change",
    [
        lambda agent: agent.update(learner="oracle"),
        lambda agent: agent.pop("state"),
        lambda agent: agent.pop("seed"),
        lambda agent: agent["state"].update(cumulative_losses=[0.0]),
        lambda agent: agent["state"].pop("clock"),
        lambda agent: agent["settings"]["constants"].update(beta=-1.0),
        lambda agent: agent["settings"]["constants"].update(omega=1.0),
        lambda agent: agent["cover"].update(owner=[0, 0, 0, 0, 1, 1, 2]),
        lambda agent: agent["cover"]["graph"].update(edges=[[0, 99]]),
        lambda agent: agent.update(pending=[[1, [0, 0.5]]]),
        lambda agent: agent.update(pending=[[1, [99, 0.5, 0, 0.5, 0.5, 1]]]),
        lambda agent: agent.update(low=2.0),
        lambda agent: agent.update(state=[1, 2]),
    ],
)
def test_a_whole_file_with_contents_that_make_no_agent_is_refused(tmp_path, change):
    path = tmp_path / "agent.json"
    make().save(path)
    resign(path, lambda agent: None)
    aw.Agent.load(path)  # signing again is not what is refused
    resign(path, change)
    with pytest.raises(InvalidState, match=re.escape(str(path))):
        aw.Agent.load(path)


# --- writing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["agent", "agent.pkl", "agent.json.gz", "agent.JSON"])
def test_another_suffix_is_refused(tmp_path, name):
    with pytest.raises(InvalidParameter, match=r"expected a name ending in .json or .npz"):
        make().save(tmp_path / name)
    with pytest.raises(
        InvalidParameter, match=re.escape(f"path is {str(tmp_path / name)!r}; expected a name ending in")
    ):
        aw.Agent.load(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidState, match=r"cannot read .*No such file"):
        aw.Agent.load(tmp_path / "agent.json")


def test_a_directory_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "file").write_text("no directory")
    for parent in ("missing", "file"):
        with pytest.raises(InvalidParameter, match=r"cannot write to .*choose another directory"):
            make().save(tmp_path / parent / "agent.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(InvalidParameter, match="cannot write"):
        make().save(tmp_path / "folder.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.json"]


def test_a_read_only_directory_is_refused(tmp_path, monkeypatch):
    def refuse(*_arguments, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InvalidParameter, match=r"cannot write to .*Permission denied; .* choose another directory"):
        make().save(tmp_path / "agent.json")


@SUFFIXES
@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, suffix, step):
    path = tmp_path / f"agent{suffix}"
    agent = make()
    agent.save(path)
    old = path.read_bytes()
    play(agent, 5)
    before = everything(agent)

    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(InvalidParameter, match=r"cannot write .*No space left on device; the old file"):
            agent.save(path)
    assert path.read_bytes() == old
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert everything(agent) == before
    agent.save(path)
    assert everything(aw.Agent.load(path)) == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


FIRST_LEARNERS = [
    *("uniform", "hedge", "exp3", "exp3-ix", "exp3-set", "exp3-g", "tsallis-inf", "tsallis-inf-rv", "tsallis-shannon"),
    *("ucb-n", "ucb-maxn", "thompson-n", "aae-alphasample"),
]
"""Those that there were when files held a cover."""


@SUFFIXES
@pytest.mark.parametrize("name", FIRST_LEARNERS)
def test_files_from_when_every_learner_had_a_cover_go_on_bit_for_bit(tmp_path, suffix, name):
    """They hold a cover in place of the graph, and EXP3.G took its number of cliques from there."""
    graph = aw.FeedbackGraph(5, [(0, 1), (1, 2), (0, 2), (3, 4)], list("abcde"))
    cover = aw.CliqueCover(graph, [[0, 1], [2], [3], [4]])
    agent = aw.Agent(aw.make_learner(name, cover, 1000), seed=3)
    play(agent, 20)
    agent.choose()
    agent.save(tmp_path / f"new{suffix}")
    old = read_file(tmp_path / f"new{suffix}")
    old.pop("graph", None)
    old["cover"] = cover_to_data(cover)
    if name == "exp3-g":
        assert old["settings"]["independence"] == 4
        old["settings"]["independence"] = None
    path = tmp_path / f"agent{suffix}"
    write_file(path, old)
    again = aw.Agent.load(path)
    assert again.learner == agent.learner
    assert repr([*play(again, 20), again.pending]) == repr([*play(agent, 20), agent.pending])
    assert learner_bits(again) == learner_bits(agent)


def test_both_kinds_of_file_hold_the_same(tmp_path):
    agent = aw.Agent(aw.TsallisShannon(aw.clique_cover(aw.graphs.disjoint_cliques(20, 50))), seed=1)
    play(agent, 50)
    for suffix in (".json", ".npz"):
        agent.save(tmp_path / f"agent{suffix}")
    assert zipfile.is_zipfile(tmp_path / "agent.npz")
    assert everything(aw.Agent.load(tmp_path / "agent.npz")) == everything(aw.Agent.load(tmp_path / "agent.json"))


@pytest.mark.parametrize(
    "change",
    [
        lambda agent: agent["pending"][0][1].__setitem__(0, 99),  # no such arm
        lambda agent: agent["pending"][0][1].__setitem__(2, 9),  # another clique than the arm's
        lambda agent: agent["pending"][0][1].__setitem__(3, 0.0),  # a clique that could not be drawn
        lambda agent: agent["pending"][0].__setitem__(0, 77),  # an id that was never given
        lambda agent: agent.__setitem__("next_id", "x"),
        lambda agent: agent.__setitem__("next_id", 1),
        lambda agent: agent["state"]["clock"].__setitem__(0, -3.0),
        lambda agent: agent["state"]["temperature"].__setitem__(0, -1.0),
    ],
    ids=["arm", "clique", "probability", "id", "next id", "next id again", "round", "temperature"],
)
def test_a_signed_file_whose_numbers_no_agent_could_have_is_refused(tmp_path, change):
    """Kernels check nothing, so nothing may reach them that could not have come from a draw."""
    path = tmp_path / "agent.json"
    agent = aw.Agent(aw.TsallisShannon(aw.clique_cover(aw.graphs.disjoint_cliques([2, 3]))), seed=1)
    agent.choose()
    agent.save(path)
    resign(path, change)
    with pytest.raises(InvalidState):
        aw.Agent.load(path)
