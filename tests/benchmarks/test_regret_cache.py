"""Rivals are played once: what the cache of the regret suite finds, and what makes it look again."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest

import allworlds as aw
from regret_suite import Cache, Cell, by_spec, compare, score
from regret_suite import cache as caching
from regret_suite import rows as playing
from regret_suite.cache import PACKAGE, source_digest

CELL = Cell("small", "stochastic", (1, 1), aw.worlds.one_good_arm(2, 0.25), 100, 0.25)
RIVALS = ("thompson-n", "ucb-n")


@pytest.fixture
def played(monkeypatch):
    """What was played, as (learner, seed); the regret is the seed, and nothing is compiled."""
    log = []

    def play_many(learner, world, horizon, seeds, jobs):
        log.extend((learner.name, seed) for seed in seeds)
        return [SimpleNamespace(seed=seed, final_regret=float(seed), clean_regret=[2.0 * seed]) for seed in seeds]

    monkeypatch.setattr(playing, "play_many", play_many)
    return log


def our_score(folder, seeds, **options):
    return score(by_spec("tsallis-shannon"), [CELL], seeds, rivals=RIVALS, cache=Cache(folder), **options)


def test_rivals_are_played_once_and_ours_each_time(played, tmp_path):
    first = our_score(tmp_path, range(1, 4))
    assert len(played) == 9
    played.clear()
    assert our_score(tmp_path, range(1, 4)) == first
    assert played == [("tsallis-shannon", seed) for seed in (1, 2, 3)]


def test_only_new_seeds_are_played(played, tmp_path):
    our_score(tmp_path, range(1, 4))
    played.clear()
    (row,) = our_score(tmp_path, range(1, 6))
    assert [pair for pair in played if pair[0] == "ucb-n"] == [("ucb-n", 4), ("ucb-n", 5)]
    assert row.means == dict.fromkeys(["thompson-n", "ucb-n", "ours"], 3.0)
    assert row.clean["ucb-n"] == 6.0


def test_the_tail_seeds_are_ours_alone(played, tmp_path):
    (row,) = our_score(tmp_path, range(1, 3), tail=range(1, 6))
    assert row.regrets == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert row.means["ours"] == 1.5
    assert ("ucb-n", 3) not in played


def test_the_command_keeps_settings_apart(played, tmp_path):
    ours = {spec: by_spec(spec) for spec in ("tsallis-shannon", "tsallis-shannon:beta=1")}
    compare(ours, [CELL], [1], rivals=(), cache=Cache(tmp_path))
    assert len(played) == 2
    compare(ours, [CELL], [1], rivals=(), cache=Cache(tmp_path))
    assert len(played) == 2


def test_a_change_in_the_sources_is_noticed(played, tmp_path, monkeypatch):
    our_score(tmp_path, [1])
    monkeypatch.setattr(caching, "source_digest", lambda module: "ucb_n is new" if "ucb" in module else "old")
    our_score(tmp_path, [1])
    played.clear()
    monkeypatch.setattr(caching, "source_digest", lambda module: "newer" if "ucb" in module else "old")
    our_score(tmp_path, [1])
    assert played == [("ucb-n", 1), ("tsallis-shannon", 1)]


def test_another_horizon_is_another_file(played, tmp_path):
    our_score(tmp_path, [1])
    played.clear()
    longer = Cell("small", "stochastic", (1, 1), CELL.world, 101, 0.25)
    score(by_spec("tsallis-shannon"), [longer], [1], rivals=RIVALS, cache=Cache(tmp_path))
    assert len(played) == 3


def test_a_damaged_file_is_played_again(played, tmp_path):
    first = our_score(tmp_path, [1])
    for path in tmp_path.iterdir():
        path.write_text('{"plays": {"1": [')
    assert our_score(tmp_path, [1]) == first
    assert played.count(("ucb-n", 1)) == 2


def test_an_interrupted_run_keeps_what_was_played(played, tmp_path, monkeypatch):
    play_some = playing.play_many

    def interrupted(learner, world, horizon, seeds, jobs):
        if 5 in seeds:
            raise KeyboardInterrupt
        return play_some(learner, world, horizon, seeds, jobs)

    monkeypatch.setattr(playing, "play_many", interrupted)
    with pytest.raises(KeyboardInterrupt):
        our_score(tmp_path, range(1, 7), jobs=1)
    monkeypatch.setattr(playing, "play_many", play_some)
    played.clear()
    our_score(tmp_path, range(1, 7), jobs=1)
    assert [pair for pair in played if pair[0] == "thompson-n"] == [("thompson-n", 5), ("thompson-n", 6)]


def test_a_learner_of_ones_own_is_never_kept(played, tmp_path):
    class Mine(SimpleNamespace):
        pass

    cache = Cache(tmp_path)
    cache.write(CELL, Mine(name="mine"), {1: (1.0, 1.0)})
    assert cache.read(CELL, Mine(name="mine")) == {}
    assert list(tmp_path.iterdir()) == []


def changed_by_an_edit(tmp_path, edited):
    """Learner modules whose digest changes when the file ``edited`` does."""
    package = tmp_path / "allworlds"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "*.nb?"))
    modules = ("thompson_n", "ucb", "tsallis_shannon")
    before = {name: source_digest(f"allworlds.learners.{name}", package) for name in modules}
    with (package / edited).open("a") as file:
        file.write("# edited\n")
    source_digest.cache_clear()
    return {name for name in modules if source_digest(f"allworlds.learners.{name}", package) != before[name]}


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        ("learners/tsallis_shannon.py", {"tsallis_shannon"}),
        ("learners/tsallis_shannon_round.py", {"tsallis_shannon"}),
        ("ftrl/clock.py", {"tsallis_shannon"}),
        ("learners/ucb.py", {"ucb"}),
        ("worlds/losses.py", {"thompson_n", "ucb", "tsallis_shannon"}),
        ("simulation/play.py", {"thompson_n", "ucb", "tsallis_shannon"}),
        ("kernels/random.py", {"thompson_n", "ucb", "tsallis_shannon"}),
        ("learners/base.py", {"thompson_n", "ucb", "tsallis_shannon"}),
        ("worlds/by_name.py", set()),
        ("reporting/page.py", set()),
    ],
)
def test_an_edit_counts_for_the_learners_that_it_can_change(edited, expected, tmp_path):
    assert changed_by_an_edit(tmp_path, edited) == expected


def test_a_real_play_gives_the_regret_of_the_trace(tmp_path):
    (row,) = compare({"ucb-n": by_spec("ucb-n")}, [CELL], [1, 2], rivals=(), cache=Cache(tmp_path), jobs=1)
    learner = aw.make_learner("ucb-n", CELL.cover)
    traces = [aw.play(learner, CELL.world, CELL.horizon, seed) for seed in (1, 2)]
    assert row.regrets == tuple(trace.final_regret for trace in traces)
    (again,) = compare({"ucb-n": by_spec("ucb-n")}, [CELL], [1, 2], rivals=(), cache=Cache(tmp_path), jobs=1)
    assert again.regrets == row.regrets
