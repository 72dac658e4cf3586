"""The cells of the regret suite: fixed, varied, and apart from each other."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import numpy as np
import pytest

from allworlds.worlds.corrupted import ATTACKS
from allworlds.worlds.losses import GAUSSIAN
from regret_suite import drawn_cells, named_cells, reporting_cells, reporting_seeds, tuning_cells, tuning_seeds
from regret_suite.cells import NEVER_NEGATIVE, Group, in_words, sizes_of
from regret_suite.drawn import MOST_PLAYED

EVERY_CELL = [*tuning_cells(), *reporting_cells()]


def test_cells_are_the_same_each_time_whatever_was_drawn_before():
    np.random.default_rng(0).random(10)
    again = [*tuning_cells(), *reporting_cells()]
    assert [(cell.name, cell.key) for cell in again] == [(cell.name, cell.key) for cell in EVERY_CELL]


def test_no_problem_is_for_choosing_and_for_reporting():
    tuning, reporting = tuning_cells(), reporting_cells()
    assert not {cell.name for cell in tuning} & {cell.name for cell in reporting}
    assert not {(cell.world_key, cell.sizes) for cell in tuning} & {(cell.world_key, cell.sizes) for cell in reporting}
    assert not set(tuning_seeds(10_000)) & set(reporting_seeds(10_000))


def test_no_cell_is_there_twice():
    assert max(Counter(cell.name for cell in EVERY_CELL).values()) == 1
    assert max(Counter(cell.key for cell in EVERY_CELL).values()) == 1


@pytest.mark.parametrize("cells", [tuning_cells(), drawn_cells()], ids=["tuning", "drawn"])
def test_there_are_about_sixty_cells_of_every_group(cells):
    assert 55 <= len(cells) <= 70
    assert {cell.group for cell in cells} == set(get_args(Group))


@pytest.mark.parametrize("cells", [tuning_cells(), drawn_cells(), named_cells()], ids=["tuning", "drawn", "named"])
def test_every_attack_has_two_budgets(cells):
    budgets = {attack: {cell.world.budget for cell in cells if cell.attack == attack} for attack in ATTACKS}
    assert {attack: len(found) for attack, found in budgets.items()} == dict.fromkeys(ATTACKS, 2)


@pytest.mark.parametrize("cell", EVERY_CELL, ids=lambda cell: cell.name)
def test_a_cell_agrees_with_its_world(cell):
    world = cell.world
    assert world.n_arms == sum(cell.sizes)
    assert len(cell.sizes) >= 2
    assert 10_000 <= cell.horizon <= 100_000
    assert cell.name.startswith(cell.group)
    assert (cell.attack is not None) == (world.budget is not None) == (cell.group == "corruption")
    if world.means is not None:
        lowest, next_lowest = np.sort(world.means)[:2]
        assert next_lowest > lowest  # where clipping moves means, it moves them alike
        if world.arrays.noise != GAUSSIAN:
            assert cell.gap == pytest.approx(next_lowest - lowest)


def test_the_drawn_cells_are_spread_over_their_ranges():
    gaps = [cell.gap for cell in drawn_cells() if cell.group == "adversary"]
    assert min(gaps) < 0.05 < 0.3 < max(gaps)
    assert all(sum(cell.sizes) * cell.horizon <= MOST_PLAYED + 1000 * sum(cell.sizes) for cell in drawn_cells())


def test_a_cell_has_another_key_for_another_world_size_or_horizon():
    by_name = {cell.name: cell for cell in named_cells()}
    single, paired = by_name["low variance 10x1 0.05"], by_name["low variance 2x5 0.05"]
    assert single.world_key == paired.world_key
    assert single.key != paired.key
    attacked = [cell for cell in named_cells() if cell.attack == "flip"]
    assert attacked[0].world_key != attacked[1].world_key  # only the budget differs


def test_sizes_in_words_are_read_back():
    for sizes in ((10,) * 10, (1, 2, 4), (1, 1), (5,)):
        assert sizes_of(in_words(sizes)) == sizes
    assert sizes_of("2x5") == (5, 5)


def test_the_floor_depends_on_whether_regret_can_be_negative():
    for cell in EVERY_CELL:
        expected = 1.0 if cell.group in NEVER_NEGATIVE else 0.1 * (len(cell.sizes) * cell.horizon) ** 0.5
        assert cell.floor == pytest.approx(expected)
