"""Logs in which arms were asleep, came and went: what is written, read again and evaluated."""

from __future__ import annotations

import itertools

import numpy as np
import pandas
import pytest

import allworlds as aw
from allworlds.agents import DecisionLog
from allworlds.agents.log_files import parts_in
from allworlds.agents.logged_rounds import logged_rounds

SUFFIXES = (".parquet", ".jsonl")
MEANS = {0: 0.3, 1: 0.5, 2: 0.6, 3: 0.7, "new": 0.1, "lone": 0.45}


def loss_of(number, arm):
    """A coin for each decision and arm, so that what was reported can be said again."""
    uniform = np.random.default_rng([number, list(MEANS).index(arm)]).random()
    return float(uniform < MEANS[arm])


def expected_of(agent, decision):
    """What a reader should find of a decision, by label."""
    chances = dict(zip(agent.arms, agent.distribution.tolist(), strict=True))
    sees = {arm: {agent.arms[j] for j in agent.learner.observes(i).tolist()} for i, arm in enumerate(agent.arms)}
    awake = agent.arms if decision.available is None else decision.available
    total = sum(chances[arm] for arm in awake)
    chances = {arm: chance / total if arm in awake else 0.0 for arm, chance in chances.items()}
    return {
        "chances": chances,
        "seeing": {arm: sum(chances[other] for other in chances if arm in sees[other]) for arm in decision.observes},
        "awake": set(awake),
    }


def live(path, tmp_path):
    """An agent whose arms change twice, with open decisions, and that is saved and loaded in between."""
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 2), seed=3, log=path)
    expected, waiting = {}, []

    def go(count, mask=None):
        for _ in range(count):
            decision = agent.choose(mask)
            expected[decision.id] = (decision, expected_of(agent, decision))
            waiting.append(decision)

    def tell(keep=0):
        while len(waiting) > keep:
            decision = waiting.pop(0)
            agent.observe(decision.id, {arm: loss_of(decision.id, arm) for arm in decision.observes})

    go(40)
    tell(keep=3)
    agent.add_arm("new", [0, 1])
    go(30)
    tell(keep=4)
    agent.retire_arm(3)
    agent.add_arm("lone")
    agent.log.flush()
    agent.save(tmp_path / "agent.json")
    agent = aw.Agent.load(tmp_path / "agent.json", log=path)
    go(20, mask=[0, "lone", "new"])
    tell(keep=1)
    agent.void(waiting.pop())
    go(30)
    tell()
    agent.log.flush()
    return agent, expected


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_arms_come_and_go_in_a_log_and_nothing_of_it_is_lost(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    _, expected = live(path, tmp_path)
    table = aw.load_log(path)
    assert table.attrs["log"]["labels"] == [0, 1, 2, 3, "new", "lone"]
    labels = table.attrs["log"]["labels"]
    assert table["decision_id"].tolist() == sorted(expected)
    assert table["status"].tolist().count("void") == 1
    assert set(table["status"]) == {"observed", "void"}
    assert table["era"].tolist() == sorted(table["era"])
    assert table["era"].nunique() >= 3
    for row in table.itertuples():
        decision, known = expected[row.decision_id]
        assert labels[row.action] == decision.arm
        assert row.pscore == pytest.approx(decision.probability, rel=1e-9)
        assert {labels[i] for i in row.observed} == set(decision.observes)
        found = dict(zip((labels[i] for i in row.observed), row.seeing, strict=True))
        assert found == pytest.approx(known["seeing"], rel=1e-6)
        chances = {label: chance for label, chance in zip(labels, row.probabilities, strict=True) if chance > 0}
        assert chances == pytest.approx({a: c for a, c in known["chances"].items() if c > 0}, rel=1e-5)
        awake = set(labels) if row.available is None else {labels[i] for i in row.available}
        assert awake == known["awake"]
        if row.status == "observed":
            found = dict(zip((labels[i] for i in row.observed), row.losses, strict=True))
            assert found == {arm: loss_of(row.decision_id, arm) for arm in decision.observes}
            assert row.loss == loss_of(row.decision_id, decision.arm)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_arm_is_evaluated_over_the_rounds_in_which_it_was_there(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    _, expected = live(path, tmp_path)
    result = aw.evaluate(path)
    told = aw.load_log(path)["status"].tolist().count("observed")
    for arm in MEANS:
        rounds = [(decision, known) for decision, known in expected.values() if arm in known["awake"]]
        rounds = [(d, known) for d, known in rounds if d.id in _observed(path)]
        terms = [loss_of(d.id, arm) / known["seeing"][arm] if arm in d.observes else 0.0 for d, known in rounds]
        value = result[arm]
        assert value.rounds == len(rounds)
        assert value.seeing.ips == pytest.approx(np.mean(terms), rel=1e-6)
        assert value.seeing.low <= MEANS[arm] <= value.seeing.high
        assert any("available in" in note for note in value.notes) == (len(rounds) < told)
    assert aw.evaluate(path, {0: 0.5, "lone": 0.5}).values[0].rounds == result["lone"].rounds


def _observed(path, known={}):  # noqa: B006  # read once
    if path not in known:
        table = aw.load_log(path)
        known[path] = set(table["decision_id"][table["status"] == "observed"])
    return known[path]


@pytest.mark.parametrize("format", ["obp", "vw", "dsjson", "coba", "jsonl"])
def test_every_export_takes_a_log_whose_arms_changed(tmp_path, format):
    live(tmp_path / "log.jsonl", tmp_path)
    table = aw.load_log(tmp_path / "log.jsonl")
    made = aw.export_log(tmp_path / "log.jsonl", format)
    usable = table[table["status"] == "observed"]
    if format == "coba":
        names = [str(label) for label in table.attrs["log"]["labels"]]
        assert made["action"].tolist() == [names[arm] for arm in usable["action"]]
        assert all(action in actions for action, actions in zip(made["action"], made["actions"], strict=True))
    elif format == "obp":
        assert made["n_actions"] == 6
        assert made["action"].tolist() == usable["action"].tolist()
    elif format == "vw":
        blocks = [block.split("\n") for block in "\n".join(made).strip().split("\n\n")]
        sizes = [6 if mask is None else len(mask) for mask in usable["available"]]
        assert [len(block) - 1 for block in blocks] == sizes


def test_a_masked_arm_that_was_not_reported_is_not_in_the_log(tmp_path):
    """The learner takes it to have lost what the chosen arm lost; a reader of the log must not."""
    path = tmp_path / "log.jsonl"
    agent = aw.Agent(aw.graphs.disjoint_cliques(1, 2), seed=1, log=path)
    for _ in range(20):
        agent.observe(agent.choose([0]), {0: 0.25})
        agent.observe(agent.choose(), [0.25, 0.75])
    agent.log.flush()
    table = aw.load_log(path)
    assert [list(losses) for losses in table["losses"][:2]] == [[0.25, None], [0.25, 0.75]]
    result = aw.evaluate(path)
    assert (result[0].rounds, result[1].rounds) == (40, 20)
    assert result[1].seeing.ips == pytest.approx(0.75)
    assert agent.report().arms[1].mean == 0.75


def test_estimates_are_unbiased_by_enumeration_with_a_mask_that_follows_the_past():
    """Three arms in the cliques {0, 1} and {2}; what is asleep in the second round depends on the first choice."""
    groups, losses = ((0, 1), (2,)), np.array([[0.1, 0.7, 0.4], [0.9, 0.2, 0.3]])
    first, own = np.array([0.5, 0.2, 0.3]), np.array([0.3, 0.3, 0.4])
    masks = {0: [1, 2], 1: [0, 1, 2], 2: [0, 1]}
    sums, expected = np.zeros(3), np.zeros(3)
    for a in range(3):
        second = np.where(np.isin(np.arange(3), masks[a]), own, 0.0)
        second /= second.sum()
        for arm in range(3):
            expected[arm] += first[a] * (losses[0, arm] + (arm in masks[a]) * losses[1, arm])
        for b in masks[a]:
            rows = []
            for t, (arm, chances, mask) in enumerate([(a, first, None), (b, second, masks[a])]):
                group = next(group for group in groups if arm in group)
                chance = sum(chances[i] for i in group)
                rows.append(
                    {
                        "action": arm,
                        "n_actions": 3,
                        "pscore": chances[arm],
                        "loss": losses[t, arm],
                        "observed": list(group),
                        "losses": [losses[t, i] for i in group],
                        "seeing": [chance] * len(group),
                        "available": mask,
                    }
                )
            for arm, value in enumerate(aw.evaluate(pandas.DataFrame(rows)).values):
                sums[arm] += first[a] * second[b] * value.seeing.ips * value.rounds
    assert sums == pytest.approx(expected, abs=1e-12)


def test_an_arm_that_was_never_available_has_no_estimate():
    log = pandas.DataFrame({"action": [0], "pscore": [1.0], "loss": [0.5], "n_actions": [2], "available": [[0]]})
    value = aw.evaluate(log)[1]
    assert value.rounds == 0
    assert (value.seeing.low, value.seeing.high) == (0.0, 1.0)
    assert "never seen" in value.notes[-1]


def test_a_learner_is_replayed_among_the_available_arms_and_learns_equally_often_whatever_it_draws(tmp_path):
    path, graph = tmp_path / "log.jsonl", aw.graphs.disjoint_cliques(2, 2)
    agent, rng = aw.Agent(graph, seed=1, log=path), np.random.default_rng(5)
    masks = [None, [0, 2], [1, 2, 3], [0, 1]]
    for t in range(600):
        decision = agent.choose(masks[t % 4])
        agent.observe(decision, (rng.random(4) < [0.3, 0.3, 0.6, 0.6]).astype(float)[list(decision.observes)])
    agent.log.flush()
    from allworlds.agents.replay import replay

    rounds = logged_rounds(path)
    lived = replay(aw.TsallisShannon(graph), rounds, acceptance=0.05)
    used = lived.distributions[lived.version]
    assert used.sum(axis=1) == pytest.approx(np.ones(600))
    assert not used[~rounds.available].any()
    assert abs(lived.n_learnt - 30) < 3 * np.sqrt(600 * 0.05 * 0.95)
    with pytest.raises(aw.errors.InvalidParameter, match="ucb-n does not take the masks of available arms in this log"):
        aw.evaluate(path, aw.make_learner("ucb-n", graph))


def test_a_learner_is_replayed_on_all_arms_that_there_ever_were(tmp_path):
    live(tmp_path / "log.jsonl", tmp_path)
    graph = aw.FeedbackGraph(6, [(0, 1), (2, 3)], labels=[0, 1, 2, 3, "new", "lone"])
    value = aw.evaluate(tmp_path / "log.jsonl", aw.TsallisShannon(graph)).values[0]
    assert value.replayed > 0
    assert value.seeing.low <= 0.7


def test_rows_that_wait_while_arms_change_keep_the_arms_they_were_made_with(tmp_path):
    path = tmp_path / "folder" / "log.jsonl"
    path.parent.mkdir()
    agent = aw.Agent(aw.graphs.disjoint_cliques(1, 2), seed=1, log=DecisionLog(path, flush_seconds=0.0))
    path.parent.rmdir()
    with pytest.warns(RuntimeWarning, match="rows wait in memory"):
        first = agent.choose()
    with pytest.warns(RuntimeWarning, match="rows wait in memory"):
        agent.observe(first, [0.0, 1.0])
    with pytest.warns(RuntimeWarning, match="rows wait in memory"):
        second = agent.choose()
    agent.add_arm("new", [0])
    path.parent.mkdir()
    agent.observe(second, [0.5, 0.25])
    third = agent.choose(["new"])
    agent.observe(third, [0.75])
    table = aw.load_log(path)
    assert table["arm"].tolist() == [str(first.arm), str(second.arm), "new"]
    assert [list(losses) for losses in table["losses"]] == [[0.0, 1.0], [0.5, 0.25], [0.75]]
    assert [len(chances) for chances in table["probabilities"]] == [3, 3, 3]


def test_two_agents_that_write_to_one_folder_overwrite_nothing(tmp_path):
    path = tmp_path / "log.parquet"
    agents = [aw.Agent(aw.graphs.disjoint_cliques(1, 2), seed=seed, log=path) for seed in (1, 2)]
    for _, agent in itertools.product(range(3), agents):
        agent.observe(agent.choose(), [0.5, 0.5])
        agent.log.flush()
    assert parts_in(path)[-1][1] == 6
    assert len(aw.load_log(path)) == 6


def test_a_function_is_told_of_outcomes_of_arms_that_are_gone():
    rows = []
    agent = aw.Agent(aw.graphs.disjoint_cliques(2, 1), seed=1, log=rows.append)
    decision = agent.choose([1])
    agent.retire_arm(1)
    agent.observe(decision, 0.25)
    assert (rows[-1]["arm"], rows[-1]["action"], rows[-1]["loss"], rows[-1]["losses"]) == ("1", None, 0.25, [0.25])
