"""Real small races: the numbers are those of play, and what was finished is never lost or mixed up."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import allworlds as aw
from allworlds.foundation.errors import AllWorldsError
from allworlds.learners import LEARNERS
from allworlds.workflows.race import CellsFailed, Race, RaceInterrupted, full_race, run_race
from allworlds.workflows.race import run as running
from allworlds.workflows.race.cells import read_cell
from allworlds.workflows.race.plan import make_plan

pytestmark = pytest.mark.compiled

SMALL = Race(
    "disjoint-cliques:2x3",
    ("stochastic:gap=0.5", "corrupted:attack=flip,budget=20,gap=0.5"),
    ("tsallis-shannon", "ucb-n", "hedge"),
    horizon=300,
    seeds=2,
    jobs=1,
)


def without_timing(result):
    data = copy.deepcopy(result.to_dict())
    for key in ("timing", "report", "command"):
        del data[key]
    for row in data["standings"]:
        del row["rounds_per_second"]
    return data


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    out = tmp_path_factory.mktemp("race")
    return run_race(SMALL, out, report=False), out


def test_the_regrets_are_those_of_play(small):
    result, _ = small
    graph = aw.graphs.disjoint_cliques(2, 3)
    learner = aw.TsallisShannon(aw.clique_cover(graph))
    world = aw.worlds.one_good_arm(6, 0.5, best_arm=3)
    expected = [aw.play(learner, world, 300, seed).final_regret for seed in (0, 1)]
    row = next(row for row in result.standings if (row.world, row.learner) == (SMALL.worlds[0], "tsallis-shannon"))
    assert row.regret.mean == pytest.approx(np.mean(expected), rel=1e-12)
    assert row.worst == max(expected)


def test_every_learner_meets_every_world_and_hedge_is_no_rival(small):
    result, _ = small
    assert [(row.world, row.learner) for row in result.standings] == [
        (world, learner) for world in SMALL.worlds for learner in SMALL.learners
    ]
    assert {row.learner: row.rival for row in result.ratios} == {"tsallis-shannon": True, "ucb-n": True, "hedge": False}
    rivals = [row.ratio for row in result.standings if row.learner != "hedge"]
    assert min(rivals) == 1.0


def test_the_corruption_spent_is_reported_and_within_the_budget(small):
    result, _ = small
    spent = {row.world: row.corruption for row in result.standings}
    assert spent[SMALL.worlds[0]] == 0.0
    assert 19.0 < spent[SMALL.worlds[1]] <= 20.0


def test_the_number_of_threads_changes_only_timings(small, tmp_path):
    result, _ = small
    other = run_race(Race(**(vars(SMALL) | {"jobs": 2})), tmp_path, report=False)
    assert without_timing(other) == without_timing(result)


def test_the_json_file_is_the_result(small):
    result, out = small
    assert json.loads((out / "result.json").read_text()) == result.to_dict()


def test_a_second_start_plays_nothing_and_says_the_same(small, monkeypatch):
    result, out = small
    monkeypatch.setattr(running, "play", refuse)
    monkeypatch.setattr(running, "play_many", refuse)
    assert without_timing(run_race(SMALL, out, report=False)) == without_timing(result)


def refuse(*arguments, **options):
    raise AssertionError("nothing may be played")


def test_more_seeds_use_the_finished_blocks(tmp_path, monkeypatch):
    five = Race("bandit:3", ("stochastic:gap=0.5",), ("ucb-n",), horizon=50, seeds=5, jobs=1)
    run_race(five, tmp_path, report=False)
    played = []
    original = running.play_many

    def note(learner, world, horizon, seeds, **options):
        played.extend(seeds)
        return original(learner, world, horizon, seeds, **options)

    monkeypatch.setattr(running, "play_many", note)
    run_race(Race(**(vars(five) | {"seeds": 8})), tmp_path, report=False)
    assert played == [5, 6, 7]


@pytest.mark.parametrize(
    "change",
    [
        {"horizon": 51},
        {"graph": "disjoint-cliques:3,1"},
        {"worlds": ("stochastic:gap=0.25",)},
        {"learners": ("uniform",)},
        {"first_seed": 5},
    ],
)
def test_cells_of_another_race_are_never_taken(change):
    race = Race("bandit:4", ("stochastic:gap=0.5",), ("ucb-n",), horizon=50, seeds=3)
    other = Race(**(vars(race) | change))
    digests = [{cell.digest for cell in make_plan(one).cells} for one in (race, other)]
    assert digests[0] & digests[1] == set()


def test_a_recorded_table_that_changed_is_another_race(tmp_path):
    table = tmp_path / "losses.csv"
    race = Race("bandit:2", (f"recorded:{table}",), ("ucb-n",), horizon=2, seeds=1)
    digests = []
    for text in ("0,1\n1,0\n", "0,1\n1,1\n"):
        table.write_text(text)
        digests.append(make_plan(race).cells[0].digest)
    assert digests[0] != digests[1]


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 nonsense", None])
def test_a_damaged_cell_is_played_again(tmp_path, damage):
    race = Race("bandit:3", ("stochastic:gap=0.5",), ("ucb-n",), horizon=50, seeds=2, jobs=1)
    before = without_timing(run_race(race, tmp_path, report=False))
    (cell,) = make_plan(race).cells
    file = tmp_path / "cells" / cell.file_name
    file.write_bytes(file.read_bytes()[:-100] if damage is None else damage)
    assert read_cell(tmp_path, cell) is None
    assert without_timing(run_race(race, tmp_path, report=False)) == before


def test_an_interruption_keeps_finished_cells_and_tells_how_many(tmp_path, monkeypatch):
    race = Race("bandit:3", ("stochastic:gap=0.5", "stochastic:gap=0.25"), ("ucb-n",), horizon=50, seeds=2, jobs=1)
    expected = without_timing(run_race(race, tmp_path / "whole", report=False))

    def interrupt(done, total, what):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(RaceInterrupted) as caught:
        run_race(race, tmp_path / "cut", interrupt, report=False)
    kept = len(list((tmp_path / "cut/cells").glob("*.npz")))
    assert (caught.value.kept, caught.value.total) == (kept, 2)
    assert kept >= 1
    assert without_timing(run_race(race, tmp_path / "cut", report=False)) == expected


def test_a_cell_that_fails_does_not_take_the_others_with_it(tmp_path, monkeypatch):
    race = Race("bandit:3", ("stochastic:gap=0.5", "stochastic:gap=0.25"), ("ucb-n",), horizon=50, seeds=2, jobs=1)
    original = running.play_many
    first = make_plan(race).worlds[race.worlds[0]].means.tolist()

    def fail(learner, world, horizon, seeds, **options):
        if world.means.tolist() == first:
            raise MemoryError("no room")
        return original(learner, world, horizon, seeds, **options)

    monkeypatch.setattr(running, "play_many", fail)
    with pytest.raises(CellsFailed, match=r"1 of 2 cells failed.*ucb-n in stochastic:gap=0.5 \(MemoryError: no room\)"):
        run_race(race, tmp_path, report=False)
    assert len(list((tmp_path / "cells").glob("*.npz"))) == 1


def test_progress_counts_to_the_end_and_says_that_it_compiles(tmp_path):
    heard = []
    race = Race("bandit:3", ("stochastic:gap=0.5",), ("ucb-n",), horizon=50, seeds=6, jobs=1)
    run_race(race, tmp_path, lambda *news: heard.append(news), report=False)
    assert heard[0] == (0, 2, "compiling ucb-n (1 of 1)")
    assert [done for done, _, _ in heard] == sorted(done for done, _, _ in heard)
    assert heard[-1][:2] == (2, 2)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"graph": "bandti:3"}, "there is no graph 'bandti'; the nearest are bandit"),
        ({"learners": ("ucb-m",)}, "there is no learner 'ucb-m'; the nearest are"),
        ({"learners": ("tsallis-shannon:kappa=1",)}, "there is no constant 'kappa'"),
        ({"learners": ("ucb-n:3",)}, "options of a learner go by key"),
        ({"learners": ("ucb-n:horizon=3",)}, "sets horizon, which comes from the race itself"),
        ({"worlds": ("stochastic:means=0.1/0.2",)}, "has 2 arms, but the graph has 3"),
        ({"worlds": ()}, "worlds is .*; expected a list"),
        ({"worlds": "stochastic"}, "worlds is 'stochastic'; expected a list"),
        ({"horizon": 0}, "horizon is 0; expected a whole number of at least 1"),
        ({"seeds": True}, "seeds is True; expected a whole number"),
        ({"jobs": 0}, "jobs is 0; expected a whole number"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(tmp_path, monkeypatch, change, sentence):
    monkeypatch.setattr(running, "play", refuse)
    settings = {"graph": "bandit:3", "worlds": ("stochastic:gap=0.5",), "learners": ("ucb-n",), "horizon": 50}
    with pytest.raises(AllWorldsError, match=sentence):
        run_race(Race(**(settings | change)), tmp_path / "out", report=False)
    assert not (tmp_path / "out").exists()


def test_a_table_that_is_too_short_is_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "play", refuse)
    (tmp_path / "losses.csv").write_text("0,1\n1,0\n")
    race = Race("bandit:2", (f"recorded:{tmp_path}/losses.csv",), ("ucb-n",), horizon=3)
    with pytest.raises(AllWorldsError, match="has 2 rounds, but the horizon is 3; race with --horizon 2 or less"):
        run_race(race, tmp_path / "out", report=False)


def test_a_folder_that_cannot_be_written_is_found_before_the_first_round(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "play", refuse)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(AllWorldsError, match=r"cannot write to .*; choose another folder with --out"):
        run_race(SMALL, tmp_path / "file" / "out", report=False)


def test_the_full_race_has_every_learner_every_kind_of_world_and_every_attack():
    from typing import get_args

    from allworlds.foundation.specs import parse_spec
    from allworlds.worlds.by_name import WORLDS
    from allworlds.worlds.corrupted import Attack

    full = full_race()
    worlds = [parse_spec(world) for world in full["worlds"]]
    assert set(full["learners"]) == set(LEARNERS)
    yours = {"recorded", "phases"}  # nothing without numbers of one's own; the lock-in stands for all phases
    assert {world.name for world in worlds} == set(WORLDS) - yours
    assert {world.options["attack"] for world in worlds if world.name == "corrupted"} == set(get_args(Attack))
    make_plan(Race(**full))


def test_the_default_race_can_be_planned():
    assert make_plan(Race()).ours == "tsallis-shannon"


def test_the_command_repeats_the_race():
    import shlex

    words = shlex.split(Race(worlds=("switching",), learners=("ucb-n",), first_seed=3).command("my out"))
    assert words[:2] == ["allworlds", "race"]
    assert words[-4:] == ["--first-seed", "3", "--out", "my out"]
