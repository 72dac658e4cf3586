"""A log: what it says is what was drawn, it survives a kill, and it never stands in the agent's way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import allworlds as aw
from allworlds.agents import DecisionLog, log_files
from allworlds.agents import log as module
from allworlds.agents.log_files import FAN, parts_in
from allworlds.learners.thompson_n import ThompsonN, chance_of_lowest

SUFFIXES = (".parquet", ".jsonl")


def play(agent, n_rounds, seed=0):
    losses = np.random.default_rng(seed).random((n_rounds, agent.learner.n_arms))
    for row in losses:
        decision = agent.choose()
        agent.observe(decision, {arm: row[int(arm)] for arm in decision.observes})
    return losses


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_log_says_what_was_drawn_and_seen(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    edges = [(0, 1), (1, 2), (3, 4)]
    graph = aw.FeedbackGraph(6, edges)
    joined = {*edges, *((b, a) for a, b in edges), *((a, a) for a in range(6))}
    agent = aw.Agent(aw.make_learner("exp3-set", graph), seed=5, log=path)
    twin = aw.Agent(aw.make_learner("exp3-set", graph), seed=5)
    expected = []
    for row in np.random.default_rng(1).random((40, 6)):
        expected.append((twin.distribution, row))
        for one in (agent, twin):
            decision = one.choose()
            one.observe(decision, {arm: row[arm] for arm in decision.observes})
    agent.log.flush()
    table = aw.load_log(path)
    assert table["decision_id"].tolist() == list(range(1, 41))
    for (distribution, losses), row in zip(expected, table.itertuples(), strict=True):
        assert np.allclose(row.probabilities, distribution, rtol=1e-6)
        assert row.pscore == pytest.approx(distribution[row.action], rel=1e-12)
        sees = [arm for arm in range(6) if (arm, row.action) in joined]
        assert list(row.observed) == sees
        assert list(row.losses) == losses[sees].tolist()
        assert row.loss == losses[row.action]
        by_definition = [distribution[[j for j in range(6) if (i, j) in joined]].sum() for i in sees]
        assert np.allclose(row.seeing, by_definition, rtol=1e-12)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_outcomes_that_come_late_are_joined_and_lost_ones_stay_open(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, reward=True, high=10.0, log=path)
    first, second, third = agent.choose(), agent.choose(), agent.choose()
    agent.log.flush()
    agent.observe(second, dict.fromkeys(second.observes, 2.5))
    agent.void(third)
    agent.log.flush()
    table = aw.load_log(path)
    assert table["status"].tolist() == ["open", "observed", "void"]
    assert table["loss"].tolist()[1] == 0.75
    assert aw.evaluate(table).notes[0] == "a loss of 0 is a reward of 10, a loss of 1 one of 0"
    assert table["pscore"].tolist() == [first.probability, second.probability, third.probability]


def test_a_restored_agent_goes_on_in_the_same_log(tmp_path):
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=tmp_path / "log.parquet")
    play(agent, 3)
    waiting = agent.choose()
    agent.log.flush()
    agent.save(tmp_path / "agent.json")
    again = aw.Agent.load(tmp_path / "agent.json", log=tmp_path / "log.parquet")
    again.observe(waiting.id, dict.fromkeys(waiting.observes, 0.5))
    play(again, 2)
    again.log.flush()
    table = aw.load_log(tmp_path / "log.parquet")
    assert table["decision_id"].tolist() == [1, 2, 3, 4, 5, 6]
    assert set(table["status"]) == {"observed"}


CHILD = """
import sys
import allworlds as aw
from allworlds.agents import DecisionLog
from allworlds.agents import log as module
agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=DecisionLog(sys.argv[1], flush_seconds=0.0))
while True:
    decision = agent.choose()
    agent.observe(decision, [0.5] * len(decision.observes))
    print(decision.id, flush=True)
"""


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_was_flushed_can_be_read_after_a_kill(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path)],
        stdout=subprocess.PIPE,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        text=True,
    )
    told = 0
    while told < 60:  # more than one joining of parts
        told = int(child.stdout.readline())
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    table = aw.load_log(path)
    assert len(table) >= told
    assert table["decision_id"].tolist() == list(range(1, len(table) + 1))
    assert set(table["status"][:told]) == {"observed"}


ENDS = """
import sys
import allworlds as aw
agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=sys.argv[1])
for _ in range(7):
    decision = agent.choose()
    agent.observe(decision, [0.5] * len(decision.observes))
print("made", flush=True)
if sys.argv[2] == "interrupt":
    sys.stdin.read()
"""


@pytest.mark.parametrize(("suffix", "end"), [(".parquet", "interrupt"), (".jsonl", "interrupt"), (".jsonl", "run out")])
def test_what_waits_is_written_when_the_program_ends_also_by_ctrl_c(tmp_path, suffix, end):
    path = tmp_path / f"log{suffix}"
    child = subprocess.Popen(
        [sys.executable, "-c", ENDS, str(path), end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        text=True,
    )
    assert child.stdout.readline() == "made\n"
    if end == "interrupt":
        child.send_signal(signal.SIGINT)
    error = child.communicate(timeout=120)[1]
    assert ("KeyboardInterrupt" in error) == (end == "interrupt")
    assert aw.load_log(path)["status"].tolist() == ["observed"] * 7


def test_a_saved_agent_has_learnt_nothing_that_is_not_in_the_log(tmp_path):
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=tmp_path / "log.parquet")
    play(agent, 3)
    agent.save(tmp_path / "agent.json")
    assert len(aw.load_log(tmp_path / "log.parquet")) == 3


def test_a_line_that_was_cut_short_is_left_out_and_ended_by_the_next_writer(tmp_path):
    path = tmp_path / "log.jsonl"
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=path)
    play(agent, 4)
    agent.log.flush()
    path.write_bytes(path.read_bytes()[:-30])
    assert len(aw.load_log(path)) == 3
    play(agent, 1)
    agent.log.flush()
    assert aw.load_log(path)["decision_id"].tolist() == [1, 2, 3, 5]


def test_many_small_parts_are_joined_and_a_kill_in_between_costs_nothing(tmp_path):
    path = tmp_path / "log.parquet"
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=path)
    for _ in range(FAN - 1):
        play(agent, 1)
        agent.log.flush()
    before = {part.name: part.read_bytes() for part in path.iterdir()}
    play(agent, 1)
    agent.log.flush()
    assert parts_in(path) == [(1, FAN)]
    for name, content in before.items():  # as a kill between writing and deleting leaves them
        (path / name).write_bytes(content)
    assert aw.load_log(path)["decision_id"].tolist() == list(range(1, FAN + 1))


def test_a_function_gets_every_event():
    rows = []
    agent = aw.Agent(aw.graphs.disjoint_cliques(1, 2), seed=1, log=rows.append)
    agent.observe(agent.choose(), [0.25, 0.5])
    agent.void(agent.choose())
    assert [row["status"] for row in rows] == ["open", "observed", "open", "void"]
    assert rows[1]["losses"] == [0.25, 0.5]
    assert json.dumps(rows)


@pytest.mark.parametrize("learner", ["tsallis-shannon", "exp3-set", "thompson-n"])
def test_a_function_is_told_what_a_file_says_of_each_event(tmp_path, learner):
    graph = aw.FeedbackGraph(5, [(0, 1), (1, 2), (3, 4)], labels=list("abcde"))
    rows: list[dict] = []
    logs = [rows.append, DecisionLog(tmp_path / "log.jsonl", flush_seconds=0.0)]
    for log in logs:
        agent = aw.Agent(aw.make_learner(learner, graph), seed=3, reward=True, low=-1.0, high=3.0, log=log)
        rng = np.random.default_rng(4)
        for k in range(12):
            decision = agent.choose(available=["a", "d", "e"] if k % 3 == 1 and learner != "thompson-n" else None)
            if k % 4 == 3:
                agent.void(decision)
            else:
                agent.observe(decision, {arm: rng.uniform(-1.0, 3.0) for arm in decision.observes})
    written = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()[1:]]
    assert len(rows) == len(written) == 24
    for told, said in zip(rows, written, strict=True):
        assert list(told) == [*said, "arms"]  # a file says it in its header
        assert told["arms"] == (tuple("abcde") if told["kind"] == "decision" else None)
        for name in said:
            same = told[name] == said[name] or told[name] == pytest.approx(said[name], rel=1e-6, abs=1e-12)
            assert name.endswith("timestamp") or same if told[name] is not None else said[name] is None, name
    assert json.dumps(rows)


def test_a_log_that_fails_warns_and_the_agent_goes_on():
    def fail(row):
        raise OSError("no space left")

    agent = aw.Agent(aw.graphs.disjoint_cliques(1, 2), seed=1, log=fail)
    with pytest.warns(RuntimeWarning, match="the log cannot be written: no space left"):
        decision = agent.choose()
    with pytest.warns(RuntimeWarning):
        agent.observe(decision, [0.0, 1.0])
    assert agent.round == 2


def test_a_warning_names_the_line_that_asked():
    def fail(row):
        raise OSError("no")

    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=fail)
    with pytest.warns(RuntimeWarning, match="no") as caught:
        agent.observe(agent.choose(), [0.5, 0.5])
    assert [one.filename for one in caught] == [__file__] * 2


def test_rows_that_could_not_be_written_are_written_later(tmp_path):
    path = tmp_path / "folder" / "log.jsonl"
    path.parent.mkdir()
    agent = aw.Agent(aw.graphs.disjoint_cliques(1, 2), seed=1, log=DecisionLog(path, flush_seconds=0.0))
    path.parent.rmdir()
    with pytest.warns(RuntimeWarning, match="rows wait in memory"):
        decision = agent.choose()
    path.parent.mkdir()
    agent.observe(decision, [0.0, 1.0])
    assert aw.load_log(path)["status"].tolist() == ["observed"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_full_blocks_are_written_beside_the_agent(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(module, "BLOCK_ROWS", 16)
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=tmp_path / f"log{suffix}")
    append, threads = agent.log._file._append, []
    monkeypatch.setattr(
        agent.log._file, "_append", lambda *rows: (threads.append(threading.current_thread().name), append(*rows))
    )
    play(agent, 100)
    late = agent.choose()
    agent.log.flush()
    agent.observe(late, [0.5, 0.5])
    agent.log.flush()
    assert len([name for name in threads if name.startswith("allworlds-log")]) == 6
    table = aw.load_log(tmp_path / f"log{suffix}")
    assert table["decision_id"].tolist() == list(range(1, 102))
    assert set(table["status"]) == {"observed"}


def test_a_full_block_that_could_not_be_written_is_written_later_and_once(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 16)
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=tmp_path / "log.jsonl")
    append, calls = agent.log._file._append, []

    def fail_at_first(*rows):
        calls.append(rows)
        if len(calls) < 4:
            raise OSError("the disk is full")
        append(*rows)

    monkeypatch.setattr(agent.log._file, "_append", fail_at_first)
    with pytest.warns(RuntimeWarning, match=r"the disk is full; \d+ rows wait in memory") as caught:
        play(agent, 200)
    assert all(one.filename == __file__ for one in caught)
    agent.log.flush()
    assert aw.load_log(tmp_path / "log.jsonl")["decision_id"].tolist() == list(range(1, 201))


def test_an_interrupt_while_a_block_is_written_costs_no_row(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 16)
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=tmp_path / "log.jsonl")
    play(agent, 20)
    with monkeypatch.context() as patch:
        patch.setattr(module, "wait", lambda futures: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            agent.log.flush()
    agent.log.flush()
    assert aw.load_log(tmp_path / "log.jsonl")["decision_id"].tolist() == list(range(1, 21))


def test_an_interrupt_as_a_block_is_handed_over_costs_no_row_and_none_stands_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 16)
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=tmp_path / "log.jsonl")
    play(agent, 20)
    submit = agent.log._writer.submit

    def interrupted(write):
        submit(write)
        agent.log._writer.submit = submit
        raise KeyboardInterrupt

    agent.log._writer.submit = interrupted
    with pytest.raises(KeyboardInterrupt):
        play(agent, 20)
    assert agent.log._blocks[0] is not agent.log._block  # what the other thread writes does not grow
    play(agent, 40)
    agent.log.flush()
    ids = aw.load_log(tmp_path / "log.jsonl")["decision_id"].tolist()
    assert ids == list(range(1, len(ids) + 1))
    assert len(ids) == agent.round - 1 + len(agent.pending)


def test_a_decision_that_was_written_again_counts_once(tmp_path):
    path = tmp_path / "log.jsonl"
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=path)
    play(agent, 2)
    late = agent.choose()
    agent.log.flush()
    written = path.read_text().splitlines(keepends=True)
    with path.open("a") as file:  # an interrupt as the writing was over
        file.writelines(written[1:])
    assert aw.load_log(path)["status"].tolist() == ["observed", "observed", "open"]
    agent.observe(late, [0.25] * 2)
    agent.log.flush()
    table = aw.load_log(path)
    assert table["decision_id"].tolist() == [1, 2, 3]
    assert table["loss"].tolist()[2] == 0.25
    whole = json.loads(written[3]) | {"kind": "both", "status": "observed", "loss": 0.5, "losses": [0.5, 0.75]}
    with path.open("w") as file:  # the outcome is in the second one alone
        file.writelines([*written, json.dumps(whole) + "\n"])
    assert aw.load_log(path)["losses"].tolist()[2] == [0.5, 0.75]


def test_parts_that_cannot_be_joined_do_not_stand_twice(tmp_path, monkeypatch):
    path = tmp_path / "log.parquet"
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=path)
    real = log_files.write_atomic

    def full(where, content):
        if int(where.name[18:30]) - int(where.name[5:17]) > 0:
            raise OSError("no space left on device")
        real(where, content)

    with monkeypatch.context() as patch:
        patch.setattr(log_files, "write_atomic", full)
        for _ in range(FAN + 1):
            play(agent, 1)
            agent.log.flush()
    assert len(parts_in(path)) == FAN + 1
    assert aw.load_log(path)["decision_id"].tolist() == list(range(1, FAN + 2))
    play(agent, 1)
    agent.log.flush()
    assert len(parts_in(path)) < FAN
    assert aw.load_log(path)["decision_id"].tolist() == list(range(1, FAN + 3))


def test_a_part_that_could_not_be_synced_does_not_stand_twice(tmp_path, monkeypatch):
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=tmp_path / "log.parquet")
    real = log_files.write_atomic

    def unsynced(where, content):
        real(where, content)
        raise OSError("input/output error")

    play(agent, 1)
    with monkeypatch.context() as patch:
        patch.setattr(log_files, "write_atomic", unsynced)
        with pytest.raises(aw.errors.InvalidParameter, match="input/output error"):
            agent.log.flush()
    agent.log.flush()
    assert [part.name for part in (tmp_path / "log.parquet").iterdir()] == [log_files.part_name(1, 1)]


LOSES = """
import shutil, sys
import allworlds as aw
agents = [aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=path) for path in sys.argv[1:]]
for agent in agents:
    agent.observe(agent.choose(), [0.5, 0.5])
shutil.rmtree(sys.argv[1].rpartition("/")[0])
"""


def test_rows_that_are_lost_at_the_end_are_said_once_and_other_logs_are_written(tmp_path):
    (tmp_path / "gone").mkdir()
    paths = [str(tmp_path / "gone" / "log.jsonl"), str(tmp_path / "log.jsonl")]
    done = subprocess.run(
        [sys.executable, "-c", LOSES, *paths],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        stderr=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stderr.count("No such file or directory; 1 rows are lost") == 1
    assert len(aw.load_log(paths[1])) == 1


def test_a_warning_does_not_need_a_module_that_has_a_name():
    def fail(row):
        raise OSError("no")

    agent = aw.Agent(aw.graphs.disjoint_cliques(1, 2), seed=1, log=fail)
    with pytest.warns(RuntimeWarning, match="the log cannot be written"):
        exec("agent.choose()", {"agent": agent})


FORKED = """
import os, sys, time
import allworlds as aw
from allworlds.agents import log
log.BLOCK_ROWS = 16
agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=1, log=sys.argv[1])
append = agent.log._file._append
agent.log._file._append = lambda *rows: (time.sleep(0.5), append(*rows))
for _ in range(20):
    agent.observe(agent.choose(), [0.5, 0.5])
child = os.fork()
agent.log.flush()  # the parent's thread is not in the child
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_leaves_what_waits_to_its_parent(tmp_path):
    path = str(tmp_path / "log.jsonl")
    subprocess.run([sys.executable, "-c", FORKED, path], check=True, timeout=120)
    assert aw.load_log(path)["decision_id"].tolist() == list(range(1, 21))


def test_rows_that_were_written_but_not_synced_do_not_stand_twice(tmp_path, monkeypatch):
    path = tmp_path / "log.jsonl"
    agent = aw.Agent(aw.graphs.disjoint_cliques(1, 2), seed=1, log=DecisionLog(path, flush_seconds=0.0))
    agent.observe(agent.choose(), [0.5, 1.0])
    real = os.fsync

    def fail(number):
        monkeypatch.setattr(os, "fsync", real)
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.warns(RuntimeWarning, match="rows wait in memory"):
        decision = agent.choose()
    agent.observe(decision, [0.0, 1.0])
    assert aw.load_log(path)["decision_id"].tolist() == [1, 2]
    with path.open("ab") as file:
        file.write(b"{")  # a kill
    assert aw.load_log(path)["decision_id"].tolist() == [1, 2]


def test_many_arms_are_logged_without_the_whole_vector(tmp_path):
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 3), seed=1, log=DecisionLog(tmp_path / "log.jsonl", most_arms=5))
    play(agent, 3)
    agent.log.flush()
    table = aw.load_log(tmp_path / "log.jsonl")
    assert table["probabilities"].tolist() == [None] * 3
    assert [row[0] for row in table["seeing"]] == pytest.approx(table["clique_pscore"].tolist())


def test_the_chances_of_thompson_sampling_are_those_of_its_guesses():
    a, b = np.array([3.0, 5.0, 40.0]), np.array([4.0, 5.0, 60.0])
    guesses = np.random.default_rng(0).beta(a, b, size=(400_000, 3)).argmin(axis=1)
    counted = np.bincount(guesses, minlength=3) / 400_000
    assert np.abs(chance_of_lowest(a, b) - counted).max() < 0.004
    agent_log = []
    agent = aw.Agent(ThompsonN(aw.graphs.bandit(3)), seed=1, log=agent_log.append)
    agent.choose()
    assert agent_log[0]["pscore"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        ("log.csv", "expected a name ending in .parquet or .jsonl"),
        (7, "log is 7; expected a name ending in .parquet or .jsonl, or a function"),
        ("nowhere/log.jsonl", "is not a folder; create it first"),
    ],
)
def test_a_log_that_cannot_be_is_refused(log, sentence):
    with pytest.raises(aw.errors.InvalidParameter, match=sentence):
        aw.Agent(aw.graphs.disjoint_cliques(1, 2), log=log)


def test_the_log_of_another_agent_is_refused_and_its_file_is_not(tmp_path):
    graph = aw.graphs.disjoint_cliques(1, 2)
    first = aw.Agent(graph, seed=1, log=tmp_path / "log.jsonl")
    with pytest.raises(aw.errors.InvalidParameter, match="log is the log of another agent"):
        aw.Agent(graph, seed=2, log=first.log)
    second = aw.Agent(graph, seed=2, log=tmp_path / "log.jsonl")
    for agent in (first, second):
        play(agent, 2)
        agent.log.flush()
    assert len(aw.load_log(tmp_path / "log.jsonl")) == 4


def test_rows_of_two_agents_in_one_file_stand_below_their_own_headers(tmp_path):
    path = tmp_path / "log.jsonl"
    agents = [aw.Agent(aw.graphs.disjoint_cliques(1, size), seed=1, log=path) for size in (2, 3)]
    for agent in (*agents, *agents):
        play(agent, 2)
        agent.log.flush()
    headers, rows = [], []
    for line in map(json.loads, path.read_text().splitlines()):
        if "log" in line:
            headers.append(line["log"]["n_actions"])
        else:
            rows.append((headers[-1], line["n_actions"]))
    assert headers == [2, 3, 2, 3]
    assert rows == [pair for n in headers for pair in [(n, n)] * 2]
    play(agents[1], 1)
    agents[1].log.flush()
    assert path.read_text().count('{"log"') == 4  # nobody else has written since


def test_files_that_are_no_logs_are_refused(tmp_path):
    with pytest.raises(aw.errors.InvalidParameter, match="there is no log"):
        aw.load_log(tmp_path / "log.parquet")
    (tmp_path / "log.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(aw.errors.InvalidState, match="is not a log of decisions"):
        aw.load_log(tmp_path / "log.jsonl")
    (tmp_path / "log.jsonl").write_text("hello\n")
    with pytest.raises(aw.errors.InvalidState, match=r"line 1 .* is not JSON"):
        aw.load_log(tmp_path / "log.jsonl")


def test_waiting_rows_are_written_when_time_has_passed(tmp_path):
    agent = aw.Agent(
        aw.graphs.disjoint_cliques(1, 2), seed=1, log=DecisionLog(tmp_path / "log.jsonl", flush_seconds=0.05)
    )
    agent.choose()
    time.sleep(0.06)
    agent.choose()
    assert len(aw.load_log(tmp_path / "log.jsonl")) == 2
