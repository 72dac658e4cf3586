"""Real small races: the numbers are those of play, and what was finished is never lost or mixed up."""

from __future__ import annotations

import copy
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import allworlds as aw
from allworlds.analysis import comparison
from allworlds.experiments import load, parts, work
from allworlds.experiments.driver import Interrupted, Listener
from allworlds.experiments.load import read_cells
from allworlds.foundation import specs
from allworlds.foundation.errors import AllWorldsError, CellsFailed
from allworlds.learners.by_name import LEARNERS
from allworlds.reporting import race_report
from allworlds.workflows import experiments, race
from allworlds.workflows.race import BEYOND_COVERS, Race, fitting_learners, full_race, report_race, run_race
from allworlds.workflows.results import read_status, verify_results, write_report
from experiment_runs import write_file

pytestmark = pytest.mark.compiled

SMALL = {
    "graph": "disjoint-cliques:2x3",
    "worlds": ["stochastic:gap=0.5", "corrupted:attack=flip,budget=20,gap=0.5"],
    "learners": ["tsallis-shannon", "ucb-n", "hedge"],
    "horizon": 300,
    "seeds": 2,
}
TINY = {"graph": "bandit:3", "worlds": ["stochastic:gap=0.5"], "learners": ["ucb-n"], "horizon": 50, "seeds": 2}
TWO_WORLDS = TINY | {"worlds": ["stochastic:gap=0.5", "stochastic:gap=0.25"]}


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
    return run_race(**SMALL, out=out, jobs=1, report=False), out


def test_the_regrets_masses_and_bounds_are_those_of_play(small):
    result, out = small
    learner = aw.TsallisShannon(aw.clique_cover(aw.make_graph("disjoint-cliques:2x3")))
    world = aw.make_world("stochastic:gap=0.5", n_arms=6)
    mine = [one for one in read_cells(out) if one.record.cell.learner == "tsallis-shannon"]
    cells = [one for one in mine if one.record.cell.world == "stochastic:gap=0.5"]
    traces = [aw.play(learner, world, 300, one.record.cell.seed) for one in cells]
    for one, trace in zip(cells, traces, strict=True):
        assert one.rows.clique_mass.tobytes() == trace.clique_mass.tobytes()
        assert one.rows.regret_bound.tobytes() == trace.regret_bound.tobytes()
    key = SMALL["worlds"][0], "tsallis-shannon"
    row = next(row for row in result.standings if (row.world, row.learner) == key)
    assert row.regret.mean == pytest.approx(np.mean([trace.final_regret for trace in traces]), rel=1e-12)
    assert row.worst == max(trace.final_regret for trace in traces)
    runs = next(one for one in result.summary.runs if (one.world, one.learner) == key)
    assert runs.clique_mass == pytest.approx(np.mean([trace.clique_mass for trace in traces], axis=0))


def counting(monkeypatch, module, name, key):
    """How often ``module.name`` is called, by ``key`` of its arguments."""
    counts, original = Counter(), getattr(module, name)

    def counted(*args, **options):
        counts[key(*args, **options)] += 1
        return original(*args, **options)

    monkeypatch.setattr(module, name, counted)
    return counts


def test_cells_are_read_theory_lines_computed_figures_rendered_and_specs_parsed_once(tmp_path, monkeypatch):
    matplotlib_figure = pytest.importorskip("matplotlib.figure")
    parts_read = counting(monkeypatch, load, "read_part", lambda path: path.name)
    lines = counting(monkeypatch, comparison, "theory_lines", lambda played_on, world, *_: world.name)
    drawn = counting(monkeypatch, race_report, "regret_figure", lambda summary, world: world)
    saved = counting(
        monkeypatch, matplotlib_figure.Figure, "savefig", lambda figure, *_, **options: (figure, options["format"])
    )
    specs._parsed.cache_clear()
    summary = run_race(**SMALL, out=tmp_path, jobs=1).summary
    kept = {path.name for path in (tmp_path / "parts").iterdir()}
    assert parts_read == dict.fromkeys(kept, 1)
    assert len(lines) == len(summary.worlds) == 2
    assert set(lines.values()) == {1}
    assert drawn == dict.fromkeys(SMALL["worlds"], 1)
    assert len(saved) == 2 * len(list((tmp_path / "figures").glob("*.svg")))  # as SVG and as PDF
    assert set(saved.values()) == {1}
    parsed = specs._parsed.cache_info()
    assert parsed.misses == parsed.currsize >= len({SMALL["graph"], *SMALL["worlds"], *SMALL["learners"]})


def test_learners_without_cliques_have_no_masses_and_the_checksum_covers_those_that_are(small, monkeypatch):
    _, out = small
    has = {one.record.cell.learner: one.rows.clique_mass is not None for one in read_cells(out)}
    assert has == {"tsallis-shannon": True, "ucb-n": False, "hedge": False}
    assert verify_results(out, replay=None).holds
    play = work.play

    def other_masses(*arguments):
        trace = play(*arguments)
        masses = None if trace.clique_mass is None else trace.clique_mass[:, ::-1]
        return replace(trace, clique_mass=masses)

    monkeypatch.setattr(work, "play", other_masses)
    different = verify_results(out, replay=None).different
    assert len(different) == 4
    assert all(title.startswith("tsallis-shannon in ") for title in different)


def test_every_learner_meets_every_world_and_hedge_is_no_rival(small):
    result, _ = small
    assert [(row.world, row.learner) for row in result.standings] == [
        (world, learner) for world in SMALL["worlds"] for learner in SMALL["learners"]
    ]
    assert {row.learner: row.rival for row in result.ratios} == {"tsallis-shannon": True, "ucb-n": True, "hedge": False}
    rivals = [row.ratio for row in result.standings if row.learner != "hedge"]
    assert min(rivals) == 1.0


def test_the_corruption_spent_is_reported_and_within_the_budget(small):
    result, _ = small
    spent = {row.world: row.corruption for row in result.standings}
    assert spent[SMALL["worlds"][0]] == 0.0
    assert 19.0 < spent[SMALL["worlds"][1]] <= 20.0


def test_the_number_of_threads_changes_only_timings(small, tmp_path):
    result, _ = small
    other = run_race(**SMALL, out=tmp_path, jobs=2, report=False)
    assert without_timing(other) == without_timing(result)


def test_the_json_file_is_the_result(small):
    result, out = small
    assert json.loads((out / "result.json").read_text()) == result.to_dict()


def test_the_result_can_be_read(small):
    assert repr(small[0]).startswith("RaceResult(disjoint-cliques:2x3, 2 worlds, 300 rounds, 2 seeds; worst ratios: ")


def test_a_second_start_plays_nothing_and_says_the_same(small, monkeypatch):
    result, out = small
    monkeypatch.setattr(work, "play", refuse)
    assert without_timing(run_race(**SMALL, out=out, report=False)) == without_timing(result)


def test_a_report_of_the_same_numbers_is_not_drawn_again_unless_asked_for_or_gone(tmp_path, monkeypatch):
    first = run_race(**TINY, out=tmp_path)
    drawn = []
    monkeypatch.setattr(race, "write_race_report", lambda summary, folder: drawn.append(folder))
    assert run_race(**TINY, out=tmp_path).report == first.report
    assert drawn == []
    run_race(**(TINY | {"seeds": 3}), out=tmp_path)  # other numbers
    run_race(**(TINY | {"seeds": 3}), out=tmp_path)
    assert drawn == [tmp_path]
    report_race(tmp_path)
    assert drawn == [tmp_path] * 2
    (tmp_path / "report.html").unlink()
    run_race(**(TINY | {"seeds": 3}), out=tmp_path)
    assert drawn == [tmp_path] * 3


def refuse(*arguments, **options):
    raise AssertionError("nothing may be played")


def played_in(monkeypatch):
    """The seeds that are played from now on, warming up left out."""
    seeds, play = [], work.play

    def note(learner, world, horizon, seed=0):
        if horizon > 2:
            seeds.append(seed)
        return play(learner, world, horizon, seed)

    monkeypatch.setattr(work, "play", note)
    return seeds


def test_more_seeds_or_another_race_in_the_folder_play_only_new_cells_and_lose_none(tmp_path, monkeypatch):
    first = without_timing(run_race(**TINY, out=tmp_path, report=False))
    played = played_in(monkeypatch)
    run_race(**(TINY | {"seeds": 5}), out=tmp_path, report=False)
    assert len(played) == 3
    run_race(**(TINY | {"learners": ["uniform"]}), out=tmp_path, report=False)
    assert len(played) == 5
    assert read_status(tmp_path).done == 2
    heard = []
    again = run_race(**TINY, out=tmp_path, report=False, listener=Listener(on_notice=heard.append))
    assert without_timing(again) == first
    assert len(played) == 5
    assert f"replaces the result of another race (graph bandit:3) in '{tmp_path}'" in heard
    assert verify_results(tmp_path).holds


def test_results_of_another_version_are_played_again(tmp_path, monkeypatch):
    first = without_timing(run_race(**TINY, out=tmp_path, report=False))
    for module in (work, experiments, parts):
        monkeypatch.setattr(module, "code_version", lambda: "9.9.9+abc")
    played = played_in(monkeypatch)
    assert without_timing(run_race(**TINY, out=tmp_path, report=False)) == first
    assert len(played) == 2


def test_a_folder_with_an_experiment_is_left_alone(tmp_path):
    aw.run_experiment(write_file(tmp_path), tmp_path / "out")
    with pytest.raises(AllWorldsError, match="holds the experiment small; choose another folder with --out"):
        run_race(**TINY, out=tmp_path / "out", report=False)
    with pytest.raises(AllWorldsError, match="holds the experiment small; expected the folder of a race"):
        report_race(tmp_path / "out")
    run_race(**TINY, out=tmp_path / "race", report=False)
    with pytest.raises(AllWorldsError, match="holds another experiment: 2 of its 2 cells are not in"):
        aw.run_experiment(tmp_path / "small.toml", tmp_path / "race")


def test_a_stored_cover_is_the_one_that_is_played_on(tmp_path, monkeypatch):
    poor = aw.CliqueCover(aw.make_graph("full-information:4"), [[0], [1, 2], [3]])
    aw.covers.write_cover(poor, tmp_path / "mine.json")
    monkeypatch.chdir(tmp_path)
    result = run_race(
        **(TINY | {"graph": "cover:mine.json", "learners": ["tsallis-shannon"]}), out="race", report=False
    )
    assert result.summary.cover == poor
    assert {one.record.cell.n_cliques for one in read_cells("race")} == {3}
    assert read_cells("race")[0].rows.clique_mass.shape[1] == 3
    monkeypatch.chdir("/")
    assert verify_results(tmp_path / "race").holds


def test_the_report_can_be_written_again_from_the_folder(small, tmp_path):
    run_race(**TINY, out=tmp_path)
    before = (tmp_path / "report.html").read_bytes()
    assert write_report(tmp_path).ratios[0].learner == "ucb-n"
    assert (tmp_path / "report.html").read_bytes() == before


def test_a_report_written_again_keeps_the_timing_the_machine_and_the_versions_of_the_run(tmp_path, monkeypatch):
    run_race(**TINY, out=tmp_path, jobs=2)
    result, description = tmp_path / "result.json", tmp_path / "experiment.json"
    before = json.loads(result.read_text())
    assert before["timing"]["seconds"] > 0.0
    described = json.loads(description.read_text())
    described |= {"machine": {"system": "Other", "cores": 64, "simd": []}, "versions": {"numba": "0.0.1"}}
    description.write_text(json.dumps(described))
    again = report_race(tmp_path).to_dict()
    assert again["timing"] == before["timing"]
    assert (again["machine"], again["versions"]) == ("system Other, cores 64", {"numba": "0.0.1"})
    result.unlink()
    assert report_race(tmp_path).to_dict()["timing"] == {"jobs": None, "seconds": None}


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
    race = {"graph": "bandit:4", "worlds": ["stochastic:gap=0.5"], "learners": ["ucb-n"], "horizon": 50, "seeds": 3}
    ids = [{cell.id for cell in Race(**one).plan().cells} for one in (race, race | change)]
    assert ids[0] & ids[1] == set()


def test_a_recorded_table_that_changed_is_another_race(tmp_path):
    table = tmp_path / "losses.csv"
    race = Race("bandit:2", (f"recorded:{table}",), ("ucb-n",), horizon=2, seeds=1)
    ids = []
    for text in ("0,1\n1,0\n", "0,1\n1,1\n"):
        table.write_text(text)
        ids.append(race.plan().cells[0].id)
    assert ids[0] != ids[1]


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 nonsense", None])
def test_a_damaged_part_is_played_again(tmp_path, damage):
    before = without_timing(run_race(**TINY, out=tmp_path, report=False))
    (file,) = (tmp_path / "parts").iterdir()
    file.write_bytes(file.read_bytes()[:-100] if damage is None else damage)
    assert without_timing(run_race(**TINY, out=tmp_path, report=False)) == before


def test_an_interruption_keeps_finished_cells_and_tells_how_many(tmp_path):
    expected = without_timing(run_race(**TWO_WORLDS, out=tmp_path / "whole", report=False))

    def interrupt(progress):
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        run_race(**TWO_WORLDS, out=tmp_path / "cut", report=False, listener=Listener(on_progress=interrupt))
    kept = read_status(tmp_path / "cut").done
    assert (caught.value.done, caught.value.total) == (kept, 4)
    assert kept >= 1
    assert without_timing(run_race(**TWO_WORLDS, out=tmp_path / "cut", report=False)) == expected


def test_a_cell_that_fails_does_not_take_the_others_with_it(tmp_path, monkeypatch):
    original = work.play
    first = aw.make_world("stochastic:gap=0.5", n_arms=3).means.tolist()

    def fail(learner, world, horizon, seed=0):
        if world.means.tolist() == first:
            raise MemoryError("no room")
        return original(learner, world, horizon, seed)

    monkeypatch.setattr(work, "play", fail)
    with pytest.raises(CellsFailed, match=r"2 of 4 cells failed.*ucb-n in stochastic:gap=0.5 \(MemoryError: no room\)"):
        run_race(**TWO_WORLDS, out=tmp_path, report=False)
    assert read_status(tmp_path).done == 2


def test_progress_counts_to_the_end_and_notices_say_that_it_compiles(tmp_path):
    heard, notices = [], []
    listener = Listener(on_progress=heard.append, on_notice=notices.append)
    run_race(**(TINY | {"seeds": 6}), out=tmp_path, jobs=1, report=False, listener=listener)
    assert notices[0] == "bandit:3: 3 arms in 3 cliques, 0 edges"
    assert notices[1] == "6 of 6 cells to do on 1 thread; compiling first where needed"
    assert [one.done for one in heard] == sorted(one.done for one in heard)
    assert (heard[-1].done, heard[-1].total) == (6, 6)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"graph": "bandti:3"}, "there is no graph 'bandti'; the nearest are bandit"),
        ({"learners": ("ucb-m",)}, "there is no learner 'ucb-m'; the nearest are"),
        ({"learners": ("tsallis-shannon:kappa=1",)}, "there is no option of tsallis-shannon: 'kappa'"),
        ({"learners": ("ucb-n:3,4",)}, "has 2 values, but ucb-n takes 1"),
        ({"learners": ("ucb-n:horizon=3",)}, "there is no option of ucb-n: 'horizon'"),
        ({"worlds": ("stochastic:means=0.1/0.2",)}, "has 2 arms; expected 3, as many as the graph has"),
        (
            {"graph": "first-price-bids:3", "learners": ("ucb-n", "tsallis-shannon")},
            "arm 0 sees arm 1 but not the other way round, which tsallis-shannon does not take; learners that",
        ),
        (
            {"graph": "random-edges:3,p=0.5", "learners": ("tsallis-shannon",)},
            "the graph changes and is told after the choice, which tsallis-shannon does not take; learners that take",
        ),
        ({"graph": "random-directed:3,p=0,loops=0,seed=0", "learners": "default"}, "no arm sees arm 0; expected that"),
        ({"learners": "everything"}, "learners is 'everything'; expected a list"),
        ({"worlds": ()}, "worlds is .*; expected a list"),
        ({"worlds": "stochastic"}, "worlds is 'stochastic'; expected a list"),
        ({"worlds": 5}, "worlds is 5; expected a list"),
        ({"horizon": 0}, "horizon is 0; expected an integer of at least 1"),
        ({"seeds": True}, "seeds is True; expected an integer"),
        ({"seeds": 10**12}, "seeds is 1000000000000; expected an integer from 1 to 1000000"),
        ({"first_seed": 2**62}, "first_seed is 4611686018427387904; expected an integer below 2"),
        ({"jobs": 0}, "jobs is 0; expected an integer of at least 1"),
        ({"jobs": "two"}, "jobs is 'two'; expected an integer of at least 1"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(tmp_path, monkeypatch, change, sentence):
    monkeypatch.setattr(work, "play", refuse)
    with pytest.raises(AllWorldsError, match=sentence):
        run_race(**(TINY | change), out=tmp_path / "out", report=False)
    assert not (tmp_path / "out").exists()


def test_a_table_that_is_too_short_is_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "play", refuse)
    (tmp_path / "losses.csv").write_text("0,1\n1,0\n")
    with pytest.raises(AllWorldsError, match="has 2 rounds, but the horizon is 3; play at most 2"):
        run_race("bandit:2", [f"recorded:{tmp_path}/losses.csv"], ["ucb-n"], 3, out=tmp_path / "out", report=False)


def test_a_folder_that_cannot_be_written_is_found_before_the_first_round(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "play", refuse)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(AllWorldsError, match=r"cannot write to .*; choose another folder$"):
        run_race(**SMALL, out=tmp_path / "file" / "out", report=False)


def test_the_full_race_has_every_learner_every_kind_of_world_and_every_attack():
    from allworlds.foundation.specs import parse_spec
    from allworlds.worlds.by_name import WORLDS
    from allworlds.worlds.corrupted import ATTACKS

    full = full_race()
    worlds = [parse_spec(world) for world in full["worlds"]]
    assert full["learners"] == "all"
    assert fitting_learners("bandit:3", tuple(LEARNERS)) == (list(LEARNERS), [])
    # nothing without numbers or a graph of one's own; the lock-in stands for all phases
    yours = {"recorded", "phases", "misleading-graph"}
    assert {world.name for world in worlds} == set(WORLDS) - yours
    assert {world.options["attack"] for world in worlds if world.name == "corrupted"} == set(ATTACKS)
    assert Race(**(full | {"learners": tuple(LEARNERS)})).plan().cells


def test_the_default_race_can_be_planned():
    assert len(Race().plan().cells) == 4 * 9 * 20
    assert Race().ours == "guarded"


def test_two_spellings_of_a_learner_or_a_world_are_one():
    race = Race("bandit:3", ("stochastic:0.25", "stochastic:gap=0.25"), ("ucb-n:0.5", "ucb-n:width=0.5"), seeds=1)
    assert (race.worlds, race.learners) == (("stochastic:gap=0.25",), ("ucb-n:width=0.5",))
    assert len(race.plan().cells) == 1


def test_the_command_repeats_the_race():
    import shlex

    words = shlex.split(Race(worlds=("switching",), learners=("ucb-n",), first_seed=3).command("my out"))
    assert words[:2] == ["allworlds", "race"]
    assert words[-4:] == ["--first-seed", "3", "--out", "my out"]


@pytest.mark.parametrize(
    "graph", ["first-price-bids:4", "random-edges:4,p=0.5", "alternating-cliques:4,sizes=2/4,period=5"]
)
def test_a_race_runs_on_a_graph_without_a_cover_and_writes_its_report(tmp_path, graph):
    race = TINY | {"graph": graph, "learners": ["exp3-ix", "ucb-n"]}
    result = run_race(**race, out=tmp_path, jobs=1)
    world = aw.make_world("stochastic:gap=0.5", n_arms=4)
    for one in read_cells(tmp_path):
        learner = aw.make_learner(one.record.cell.learner, aw.make_graph(graph))
        trace = aw.play(learner, world, 50, one.record.cell.seed)
        assert one.rows.values[-1, 0] == trace.final_regret
        assert (one.record.cell.n_arms, one.record.cell.n_cliques) == (4, 0)
    assert result.to_dict()["race"]["n_cliques"] is None
    page = result.report.read_text()
    assert f"graph {graph}: 4 arms" in page


def test_learners_that_do_not_take_the_graph_are_left_out_with_a_notice_unless_they_are_named(tmp_path):
    notices = []
    race = {key: value for key, value in TINY.items() if key != "learners"} | {"graph": "revealing-action:3"}
    result = run_race(**race, out=tmp_path, jobs=1, report=False, listener=Listener(on_notice=notices.append))
    played = {row.learner for row in result.standings}
    assert played == {"exp3-g"}
    left_out = [name for name in BEYOND_COVERS if name not in played]
    assert notices[0] == f"left out, because they do not take this graph: {', '.join(left_out)}"
    assert notices[1].startswith("revealing-action:3: 3 arms, 2 directed edges, weakly observable")
