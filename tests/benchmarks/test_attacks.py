"""The attack bench in its short form: attacks by definition, a search that finds what is broken, honest numbers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import allworlds as aw
import attacks
from attack_bench.evolution import FRESH_SEEDS, Candidate, search_with_effort
from attack_bench.fixed import SIZES, fixed_attacks, lock_in
from attack_bench.mutation import MOST_PHASES, SHORTEST, Shapes, crossed, mutant, random_table
from attack_bench.summary import Row, as_page, growth, measure
from attack_bench.tables import Table, by_spec, evaluate, parse_sizes, write_sizes
from instances_of_worlds import bare

BROKEN = by_spec("ucb-n")
"""An index rule trusts old means: an oblivious adversary makes its regret linear."""
HORIZON = 2_000


# --- tables and fixed attacks -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table", [table for sizes in SIZES for table in fixed_attacks(sizes)], ids=lambda table: table.name
)
def test_the_best_arm_of_a_fixed_attack_is_in_the_middle_clique(table):
    clique = np.repeat(np.arange(len(table.sizes)), table.sizes)
    totals = bare(table.world, 1_000).means.sum(axis=0)
    best = clique[np.isclose(totals, totals.min())]
    assert set(best) == {len(table.sizes) // 2}


@pytest.mark.parametrize("sizes", SIZES)
def test_fixed_attacks_have_names_of_their_own(sizes):
    names = [table.name for table in fixed_attacks(sizes)]
    assert len(names) == len(set(names)) >= 15


def test_the_lock_in_of_the_bench_is_the_world_by_that_name():
    ours, theirs = lock_in((1, 1)).world, aw.worlds.lock_in(2)
    np.testing.assert_array_equal(bare(ours, 500).losses, bare(theirs, 500).losses)


@pytest.mark.compiled
@pytest.mark.parametrize("learner", ["guarded", "tsallis-shannon"])
@pytest.mark.parametrize("name", ["lock-in", "half, one, zero", "late switch", "late end", "baseline too low"])
def test_the_default_and_what_it_falls_back_to_keep_their_promise_in_the_short_form(name, learner):
    """No run loses a tenth of the rounds, and the mean is below 3 sqrt(KT)."""
    (table,) = [table for table in fixed_attacks((1, 1)) if table.name == name]
    measured = measure(evaluate(by_spec(learner), table, 20_000, range(40)), 20_000, 2)
    assert measured.share_failed == 0.0
    assert measured.per_root < 3.0


@pytest.mark.compiled
def test_the_short_form_notices_the_setting_that_was_broken():
    """What the default was at first: about one run in ten is locked in."""
    regrets = evaluate(by_spec("tsallis-shannon:setting=unproved"), lock_in((1, 1)), 20_000, range(60))
    assert measure(regrets, 20_000, 2).share_failed > 0.03


def test_a_table_survives_being_written():
    table = fixed_attacks((1, 1, 3))[3]
    again = Table.from_json(json.loads(json.dumps(table.as_json())))
    assert again.as_json() == table.as_json()
    np.testing.assert_array_equal(bare(again.world, 100).losses, bare(table.world, 100).losses)


@pytest.mark.parametrize(("text", "sizes"), [("2x1", (1, 1)), ("2x3", (3, 3)), ("1,1,3", (1, 1, 3))])
def test_sizes_are_read_and_written(text, sizes):
    assert parse_sizes(text) == sizes
    assert write_sizes(sizes) == text


def test_a_table_whose_cliques_do_not_hold_its_arms_is_refused():
    with pytest.raises(ValueError, match=r"levels have 2 arms, sizes \(1, 2\)"):
        Table((1, 2), np.zeros((1, 2)), np.ones(1), np.zeros((1, 2), dtype=bool))


@pytest.mark.compiled
@pytest.mark.parametrize("jobs", [1, 2])
def test_regrets_are_those_of_play(jobs):
    table = lock_in((1, 2))
    traces = aw.play_many(BROKEN(table.cover, 300), table.world, 300, range(5, 12))
    expected = [trace.final_regret for trace in traces]
    assert evaluate(BROKEN, table, 300, range(5, 12), jobs).tolist() == expected


class AlwaysFirst:
    def choose(self):
        return 0

    def observe(self, arm, losses):
        pass


def test_a_plain_python_learner_can_be_attacked():
    regrets = evaluate(lambda cover, horizon: AlwaysFirst(), lock_in((1, 1)), 1_000, [1, 2])
    # arm 0 is B: 0.1, 0.02 and 1 in 430, 87 and 483 rounds, against 0.1, 0.9 and 0.05
    assert regrets == pytest.approx([87 * (0.02 - 0.9) + 483 * 0.95] * 2)


# --- the search ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", [Shapes(), Shapes(3), Shapes(sizes=(1, 2))], ids=str)
def test_tables_stay_within_the_limits_of_the_search(shapes):
    rng = np.random.default_rng(3)
    table = random_table(shapes, rng)
    seen = set()
    for step in range(400):
        before = table
        table = random_table(shapes, rng) if step % 50 == 49 else mutant(table, shapes, rng)
        if before.sizes == table.sizes and step % 7 == 0:
            table = crossed(before, table, rng)
        seen.add(table.sizes)
        assert 1 <= table.lengths.size <= MOST_PHASES
        assert table.lengths.sum() == pytest.approx(1.0, abs=1e-3)
        assert table.lengths.min() > SHORTEST / 2.0
        assert 2 <= len(table.sizes) <= 4
        assert all(1 <= size <= 3 for size in table.sizes)
    if shapes.sizes is not None:
        assert seen == {shapes.sizes}
    elif shapes.n_cliques is not None:
        assert {len(sizes) for sizes in seen} == {shapes.n_cliques}
    else:
        assert {len(sizes) for sizes in seen} == {2, 3, 4}


def test_cliques_and_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="n_cliques is 3, but sizes"):
        Shapes(3, (1, 1))


def short_search(tables, **options):
    few = {"horizon": HORIZON, "runs": 6, "final_runs": 40, "starts": []}
    return search_with_effort(BROKEN, Shapes(sizes=(1, 1)), None, 1, tables=tables, **few, **options)


@pytest.mark.compiled
def test_the_search_breaks_a_learner_that_is_broken():
    """With this effort seeds 0 to 7 all found 0.16 T or more; against Tsallis-INF seeds 0 to 2 found at most 0.04 T."""
    found = short_search(300)
    score, worst = found.tables[0]
    regrets = evaluate(BROKEN, worst, HORIZON, range(FRESH_SEEDS, FRESH_SEEDS + 40))
    assert score == pytest.approx(regrets.mean() / math.sqrt(2 * HORIZON))
    assert regrets.mean() > 0.1 * HORIZON
    assert sorted((score for score, _ in found.tables), reverse=True) == [score for score, _ in found.tables]


@pytest.mark.compiled
def test_a_search_by_tables_tries_that_many_and_can_be_repeated():
    heard = []
    found = short_search(40, on_generation=lambda tried, best: heard.append(tried))
    assert (found.tried, found.generations) == (heard[-1], len(heard))
    assert heard[-2] < 40 <= heard[-1]
    again = short_search(found.tried)
    assert [table.as_json() for _, table in again.tables] == [table.as_json() for _, table in found.tables]


def test_rare_failures_outrank_luck_that_cancels_out():
    rare = Candidate(lock_in((1, 1)), np.array([18.0] * 10 + [-1.0] * 90))
    even = Candidate(lock_in((1, 1)), np.array([9.0, -9.0] * 50))
    assert rare.rank == pytest.approx(1.8 - 0.9 + np.std(rare.regrets) / 10.0)
    assert even.rank == pytest.approx(0.9)  # the plain mean is 0, its standard error 9 / 10
    assert Candidate(lock_in((1, 1)), np.array([1.0, 1.0])).rank == 1.0


@pytest.mark.compiled
def test_the_search_by_minutes_ends_and_begins_with_the_fixed_attacks():
    found = attacks.search(BROKEN, 2, None, 0.0, 0, horizon=200, runs=2, final_runs=2, keep=3)
    assert len(found) == 3
    assert all(len(table.sizes) == 2 and score >= 0.0 for score, table in found)


def test_a_search_needs_a_limit():
    with pytest.raises(ValueError, match="minutes and tables are both None"):
        search_with_effort(BROKEN, minutes=None)


# --- the report ------------------------------------------------------------------------------------------------


def test_the_numbers_of_a_report_are_what_they_say():
    regrets = np.arange(1.0, 101.0)
    cell = measure(regrets, 900, 4)
    assert (cell.runs, cell.mean, cell.share_failed) == (100, 50.5, 0.1)  # 91 to 100 are above 90
    assert cell.error == pytest.approx(math.sqrt(100 * 101 / 12) / 10)
    assert (cell.quantile95, cell.quantile99) == pytest.approx((95.05, 99.01))
    assert cell.per_root == pytest.approx(50.5 / 60)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_the_exponent_of_a_power_is_found_exactly(exponent):
    found = growth({horizon: np.full(5, 3.0 * horizon**exponent) for horizon in (20_000, 100_000, 400_000)})
    assert (found.exponent, found.low, found.high) == pytest.approx((exponent,) * 3)


def test_the_interval_of_the_exponent_covers_it_about_as_often_as_promised():
    rng, covered = np.random.default_rng(8), 0
    for _ in range(60):
        regrets = {horizon: math.sqrt(horizon) * rng.exponential(1.0, 80) for horizon in (1_000, 5_000, 20_000)}
        found = growth(regrets)
        assert found.low <= found.exponent <= found.high
        covered += found.low <= 0.5 <= found.high
    assert covered >= 50  # 57 expected, standard deviation 1.7


def test_there_is_no_exponent_without_positive_means():
    assert math.isnan(growth({100: np.full(4, -1.0), 200: np.full(4, 5.0)}).exponent)
    often = growth({100: np.array([-1.0, 1.5]), 200: np.array([5.0, 6.0])})  # a resample in four is negative
    assert often.exponent == pytest.approx(math.log(5.5 / 0.25) / math.log(2.0))
    assert math.isnan(often.low)
    assert math.isnan(growth({100: np.ones(3)}).exponent)


@pytest.mark.compiled
def test_what_was_found_is_written_and_reported_again(tmp_path, capsys):
    found, page = tmp_path / "found.json", tmp_path / "attacks.md"
    short = ["--horizons", "200,400", "--runs", "20,10", "--jobs", "1"]
    effort = ["--tables", "1", "--search-horizon", "100", "--sizes", "2x1"]
    attacks.main(["--search", *effort, "--learner", "ucb-n", "--found", str(found), *short])
    first = capsys.readouterr().out.splitlines()
    assert len(first) == 1 + 2 * 3  # a head, and two horizons of three tables
    document = json.loads(found.read_text())["ucb-n"]
    assert document["again"].startswith("--search --learner ucb-n --tables ")
    assert document["again"].endswith("--sizes 2x1")
    attacks.main(["--load", str(found), "--worst", "1", "--json", "--out", str(page), *short])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [cell["horizon"] for cell in rows[0]["measured"]] == [200, 400]
    assert f"{rows[0]['measured'][0]['mean']:.1f}" in first[1]
    assert len(page.read_text().splitlines()) == 2 + 2
    elsewhere = ["--load", str(found), "--worst", "1", "--json", "--learner", "uniform", *short]
    attacks.main(elsewhere)
    attacks.main([*elsewhere, "--first-seed", "77"])
    by_seed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["learner"], row["attack"]) for row in by_seed] == [("uniform", "found 1")] * 2
    assert by_seed[0]["measured"] != by_seed[1]["measured"]


def test_the_page_has_a_line_for_each_attack_with_means_in_units_of_the_root():
    regrets = {900: np.array([30.0, 90.0, 120.0]), 3600: np.array([0.0, 60.0, 480.0])}
    cells = [measure(values, horizon, 4) for horizon, values in regrets.items()]
    head, _, line = as_page([Row("ours", "trap", "4x1", cells, growth(regrets))])
    assert head.startswith("| attack | cliques | T = 900 | T = 3,600 | 99 % |")
    tail = np.quantile(regrets[3600], 0.99) / 120.0
    assert line.startswith(f"| trap | 4x1 | 1.33 | 1.50 | {tail:.1f} | 1 of 3, 1 of 3 | T^")


@pytest.mark.compiled
def test_fixed_attacks_are_chosen_by_name_and_a_name_that_fits_none_is_an_error(capsys):
    short = ["--learner", "ucb-n", "--sizes", "2x1", "--horizons", "100", "--runs", "3"]
    attacks.main([*short, "--only", "late switch"])
    expected = ["learner", *(["ucb-n"] * 3)]
    assert [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()] == expected
    with pytest.raises(SystemExit, match="no attack has 'nonsense' in its name"):
        attacks.main([*short, "--only", "nonsense"])
    with pytest.raises(SystemExit):
        attacks.main([*short, "--runs", "3,3"])
