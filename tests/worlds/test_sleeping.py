"""Arms that sleep: a pure function of seed and round, with the frequency that is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.worlds.sleeping import SleepingArms


def test_arms_are_awake_as_often_as_asked_and_never_all_asleep():
    masks = np.array([SleepingArms(5, 0.6, 1, 3).mask(t) for t in range(1, 2001)])
    assert masks.any(axis=1).all()
    assert masks.mean(axis=0) == pytest.approx(0.6 + 0.4**5 / 5, abs=5 * np.sqrt(0.24 / 2000))
    never = SleepingArms(5, 0.0, 1, 3)
    assert {len(never.available(t)) for t in range(1, 50)} == {1}


def test_a_block_keeps_its_arms_and_seeds_differ():
    sleeping = SleepingArms(8, 0.5, 7, 1)
    assert [sleeping.available(t) for t in range(1, 8)] == [sleeping.available(1)] * 7
    assert len({tuple(sleeping.available(t)) for t in range(1, 100)}) > 5
    assert SleepingArms(8, 0.5, 7, 2).available(1) != sleeping.available(1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [((0,), "n_arms is 0"), ((3, 1.5), "awake is 1.5"), ((3, 0.5, 0), "block is 0"), ((3, 0.5, 1, -1), "seed")],
)
def test_a_wrong_setting_gets_a_sentence(arguments, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        SleepingArms(*arguments)
