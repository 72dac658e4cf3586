from __future__ import annotations

import numpy as np
import pytest

from allworlds.theory import Round
from allworlds.theory.rounds import PracticalRound
from theory.practical_states import practical_state
from theory.states import random_round


@pytest.fixture(scope="session")
def sharp_rounds() -> list[Round]:
    rng = np.random.default_rng(20210601)
    return [random_round(rng) for _ in range(250)]


@pytest.fixture(scope="session")
def paper_rounds() -> list[Round]:
    rng = np.random.default_rng(20210602)
    return [random_round(rng, "paper") for _ in range(100)]


@pytest.fixture(scope="session")
def states() -> list[PracticalRound]:
    rng = np.random.default_rng(20261117)
    return [practical_state(rng) for _ in range(300)]
