"""The benchmark on tiny sizes: what is measured, what is skipped, what the table says. No time is judged here."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from allworlds.covers import clique_cover
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import disjoint_cliques
from allworlds.theory.regulariser import log_barrier, tsallis_shannon
from speed.child import ChildFailed, ask
from speed.config import FULL, QUICK, Size
from speed.page import as_markdown, write_result
from speed.rivals import RIVALS, NumpyTsallisInf, Rival, time_rivals
from speed.rows import Row, judge
from speed.run import run_bench
from speed.solvers import Step, scipy_solver, time_solvers

TINY = replace(
    FULL,
    name="tiny",
    repeats=2,
    loops=(Size(2, 3, 40, 20),),
    by_arms=(Size(2, 2, 20, 10), Size(3, 3, 20)),
    by_cliques=(Size(2, 2, 20),),
    by_size=(Size(2, 2, 20),),
    threads=Size(2, 2, 20),
    memory=Size(2, 2, 20),
    solved=(5,),
    rival_seconds=0.01,
    patience=60.0,
    seeds=4,
    starts=1,
    rivals=("allworlds.Agent", "NumPy Tsallis-INF"),
    solvers=("SLSQP",),
)


def timed(part, name, size, value, unit="s/round"):
    return Row(part, name, size, unit, value)


def test_the_loop_measures_both_floors_and_both_steps_at_every_size_and_growth_in_three_ways():
    result = run_bench(TINY, ["rounds", "scaling"])
    assert [(row.part, row.name) for row in result.rows[:4]] == [
        ("rounds", name) for name in ("first floor (null)", "second floor", "lazy step", "exact step")
    ]
    assert {row.part for row in result.rows} == {"rounds", "by arms", "by cliques", "by size"}
    assert all(row.value is not None and 0.0 < row.low <= row.value <= row.high for row in result.rows if row.low)
    sizes = [row.size for row in result.rows if row.name == "exact step"]
    assert sizes == ["2x3", "2x2"]  # where it was given rounds
    memory = [row.value for row in result.rows if row.unit == "bytes" and row.part == "by arms"]
    assert memory == sorted(memory)


def test_children_measure_memory_threads_solvers_and_rivals():
    result = run_bench(TINY, ["memory", "threads", "solvers", "rivals"])
    found = {(row.part, row.name): row for row in result.rows}
    null, lazy = (found["memory", name] for name in ("first floor (null)", "lazy step"))
    assert 10.0 < null.value < 2000.0
    assert abs(found["memory", "lazy step above null"].value - (lazy.value - null.value)) <= 0.5 * null.value
    assert found["threads", "two threads"].value > 0.0
    assert found["threads", "two null processes"].value > 0.0
    assert found["solvers", "SciPy SLSQP"].value > 0.0
    assert found["rivals", "allworlds.Agent"].repeats == 2
    assert found["rivals", "NumPy Tsallis-INF"].value > 0.0


def test_what_fails_or_does_not_end_is_skipped_with_a_sentence(monkeypatch):
    monkeypatch.setitem(RIVALS, "ghost", Rival(lambda n_cliques, size: lambda: None))  # unknown to the child
    (row,) = time_rivals(replace(TINY, rivals=("ghost",)))
    assert (row.value, row.note) == (None, "skipped: KeyError: 'ghost'")
    (row,) = time_solvers(replace(TINY, patience=0.01))
    assert (row.value, row.note) == (None, "skipped: given up after 0 s")
    with pytest.raises(ChildFailed, match="nobody"):
        ask("rival", "nobody", 0.01, patience=60.0)


def test_the_objective_handed_to_solvers_is_the_papers_and_its_gradient_is_right():
    cover = clique_cover(disjoint_cliques([2, 3]))
    step = Step(cover, 20)
    p = np.array([0.1, 0.25, 0.2, 0.3, 0.15])
    value, gradient = step.objective(p)
    by_definition = step.losses @ p
    for clique, alpha, factor in zip(cover.cliques, step.constants.alpha, step.constants.rate_factors, strict=True):
        only = np.zeros(5)
        only[clique] = p[clique]
        by_definition += tsallis_shannon(only, cover, alpha) / (step.eta * factor)
    assert value == pytest.approx(by_definition + log_barrier(p, cover, step.constants.beta), rel=1e-12)
    for i in range(5):
        h = 1e-6 * np.eye(5)[i]
        assert gradient[i] == pytest.approx((step.objective(p + h)[0] - step.objective(p - h)[0]) / 2e-6, rel=1e-6)


def test_a_general_solver_finds_our_answer():
    step = Step(clique_cover(disjoint_cliques([2, 3])), 20)
    assert np.abs(scipy_solver(step, "SLSQP")() - step.answer().distribution).max() <= 1e-6


def test_the_plain_tsallis_inf_meets_its_optimality_conditions():
    learner = NumpyTsallisInf(6)
    for t in range(200):
        arm = learner.choose()
        learner.observe(arm, float((arm + t) % 3 == 0))
    eta = 2.0 / np.sqrt(learner.round)
    prices = learner.losses - 2.0 / (eta * np.sqrt(learner.weights))
    assert learner.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.ptp(prices) <= 1e-6 * np.abs(prices).max()


def test_goals_are_judged_from_the_rows_and_say_by_how_much_they_are_missed():
    rows = [timed("rounds", "second floor", "10x10", 1.0), timed("rounds", "lazy step", "10x10", 1.8)]
    rows += [timed("rounds", "exact step", "10x10", 18.0), timed("solvers", "SciPy SLSQP", "10x10", 180_000.0)]
    rows += [timed("by arms", "lazy step", "100x100", 1.0), timed("by arms", "lazy step", "1000x1000", 10.0)]
    rows += [timed("threads", "two threads", "10x10", 1.9, "speed-up")]
    rows += [timed("threads", "two null processes", "10x10", 2.0, "speed-up")]
    said = {goal.work: (goal.measured, goal.verdict) for goal in judge(rows)}
    assert said["lazy step over the second floor, 10x10"] == (1.8, "missed by 20 %")
    assert said["lazy step against the exact step, 10x10"] == (pytest.approx(10.0), "reached")
    assert said["against SciPy's SLSQP on the same step, 10x10"] == (pytest.approx(100_000.0), "reached")
    assert said["growth of a round from N = 1e4 to 1e6 at K = sqrt(N)"] == (pytest.approx(0.5), "reached")
    assert said["two threads, 8 seeds, over what two null processes bring"] == (pytest.approx(0.95), "reached")
    assert said["memory above the null learner's process, 1000x1000"] == (None, "not measured")


def test_the_full_run_measures_every_goal_and_the_quick_one_is_smaller():
    assert [str(size) for size in FULL.loops] == ["10x10", "100x100", "1000x1000"]
    assert {size.rounds for size in FULL.loops} == {100_000}
    assert {size.n_cliques == size.size for size in FULL.by_arms} == {True}
    assert [FULL.by_arms[0].n_arms, FULL.by_arms[-1].n_arms] == [100, 1_000_000]
    assert sum(size.rounds for size in QUICK.loops) < sum(size.rounds for size in FULL.loops)


def test_the_files_hold_the_same_numbers_and_the_page_gets_the_table(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Speed\n<!-- bench: begin -->\nold\n<!-- bench: end -->\nlast\n", encoding="utf-8")
    result = run_bench(TINY, ["rounds"])
    files = write_result(result, tmp_path / "out", page)
    assert [file.name for file in files] == ["bench.md", "bench.json", "bench.svg", "page.md"]
    saved = json.loads(files[1].read_text(encoding="utf-8"))
    assert saved == json.loads(json.dumps(result.to_dict()))
    assert [row["value"] for row in saved["rows"]] == [row.value for row in result.rows]
    text = page.read_text(encoding="utf-8")
    assert as_markdown(result) in text
    assert "old" not in text
    assert text.startswith("# Speed\n")
    assert text.endswith("<!-- bench: end -->\nlast\n")
    assert "| lazy step | 2x3 |" in files[0].read_text(encoding="utf-8")


def test_a_table_from_a_busy_machine_says_so():
    result = run_bench(TINY, ["rounds"])
    assert "other work was running" in as_markdown(replace(result, load=(2.0, 2.0)))
    assert "other work was running" not in as_markdown(replace(result, load=(0.1, 1.0)))
    assert "load average" not in as_markdown(replace(result, load=(None, None)))


def test_a_page_without_marks_is_refused_and_nothing_is_written(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(InvalidParameter, match="no place for the table"):
        write_result(run_bench(TINY, ["rounds"]), tmp_path / "out", page)
    assert not (tmp_path / "out").exists()
    assert page.read_text(encoding="utf-8") == "no marks"


@pytest.mark.slow
def test_a_start_is_a_whole_race_in_a_process_of_its_own():
    result = run_bench(TINY, ["start"])
    assert [row.unit for row in result.rows] == ["s", "s"]
    assert all(row.value > 0.0 for row in result.rows)
