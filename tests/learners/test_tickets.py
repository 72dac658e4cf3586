"""What a saved ticket may say: up to the ends of each field's range it is taken back, beyond it is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidState
from allworlds.graphs import disjoint_cliques
from allworlds.learners.by_name import BY_NAME, LEARNERS, make_learner

GRAPH = disjoint_cliques([2, 1])
N = GRAPH.n_arms
ABOVE_ONE = math.nextafter(1.0, 2.0)
ANY: dict[str, tuple[list[Any], list[Any]]] = {
    "arm": ([], [-1, N, 0.5, math.nan, None, True]),
    "round": ([1, 10**6], [0, -1, 1.5, None]),
    "probability": ([1e-300, 1.0, 1.0 + 0.9e-9], [0.0, -0.1, 1.0 + 1.1e-9, math.inf]),
}
ALGORITHM_1: dict[str, tuple[list[Any], list[Any]]] = {
    "clique_probability": ([1e-300, 1.0], [0.0, ABOVE_ONE, math.nan, 1, None]),
    "baseline": ([0.0, 1.0], [-1e-300, ABOVE_ONE, math.nan, 0, None]),
    "damping": ([0.0, 1e300], [-1e-300, math.inf, math.nan, 0, None]),
    "clique": ([], [1, 2, -1]),
}
"""Of the tickets of ``tsallis-shannon``, which ``guarded`` writes too."""
OWN: dict[str, dict[str, tuple[list[Any], list[Any]]]] = {
    "chen-2024": {"clique_probability": ([1e-300, 1.0, 1.0 + 0.9e-9], [0.0, 1.0 + 1.1e-9, math.nan])},
    "dann-blackbox": {
        "candidate": ([0, N - 1], [-1, N]),
        "epoch": ([0, 5], [-1, 0.5]),
        "share": ([1e-300, 1.0], [0.0, ABOVE_ONE, math.nan]),
    },
    "exp3-dom": {"copy": ([0], [-1, N + 1])},
    "guarded": ALGORITHM_1,
    "lykouris": {"layer": ([-1, 0], [-2, 10**6])},
    "q-ftrl": {"shifted": ([-1, 0, N - 1], [-2, N])},
    "tsallis-shannon": ALGORITHM_1,
    "tsallis-shannon-all": {"baseline": ([0.0, 1.0], [-1e-300, ABOVE_ONE, math.nan])},
}
"""By the learner's name and the field: what is taken, and what is refused. The ticket drawn is for arm 0."""
NAMES = sorted(BY_NAME)


def drawn(name: str) -> tuple[Any, list[Any]]:
    """A learner, and the fields of a ticket that it drew, for arm 0 if it can."""
    learner: Any = make_learner(name, GRAPH, 100)
    state = learner.init()
    for first in np.linspace(0.0, 0.999, 60):
        ticket = learner.draw(state, float(first), 0.01)
        if ticket.arm == 0:
            break
    return learner, [field.copy() if isinstance(field, np.ndarray) else field for field in ticket]


@pytest.mark.parametrize("name", NAMES)
def test_a_ticket_is_taken_back_up_to_the_ends_of_its_ranges_and_refused_beyond(name: str) -> None:
    assert LEARNERS[name].kind is BY_NAME[name]
    learner, fields = drawn(name)
    names = learner.ticket_class._fields
    learner.ticket(list(fields))
    for field, (taken, refused) in {**ANY, **OWN.get(name, {})}.items():
        if field not in names:  # the default's ticket has its clique's probability in place of the arm's
            assert field == "probability"
            continue
        place = names.index(field)
        for value in taken:
            assert learner.ticket([*fields[:place], value, *fields[place + 1 :]])[place] == value
        for value in refused:
            with pytest.raises(InvalidState):
                learner.ticket([*fields[:place], value, *fields[place + 1 :]])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("unknown", [math.nan, None])
def test_a_probability_may_be_unknown_only_where_the_learner_does_not_know_it(name: str, unknown: float | None) -> None:
    learner, fields = drawn(name)
    if "probability" not in learner.ticket_class._fields:
        return
    fields[learner.ticket_class._fields.index("probability")] = unknown
    if learner.exact_probability:
        with pytest.raises(InvalidState):
            learner.ticket(fields)
    else:
        assert math.isnan(learner.ticket(fields).probability)


def test_every_field_of_a_ticket_is_tried() -> None:
    untried = {"divisor", "divisors", "spread", "growth", "first", "second"}  # any number is taken there
    for name in NAMES:
        fields = set(BY_NAME[name].ticket_class._fields)
        assert fields - untried <= {*ANY, *OWN.get(name, {})}, name
