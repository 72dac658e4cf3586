"""What every learner must do, as functions of a learner: each raises AssertionError where the promise is broken.

A learner joins by its line in ``learners/__init__.py`` and, if ``Learner(graph)`` alone does not build it, by a line
in ``FACTORIES``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba.core import config

from allworlds import graphs
from allworlds.covers import CliqueCover, clique_cover
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Kong2022, Learner
from allworlds.learners.by_name import BY_NAME, make_learner

FACTORIES: dict[str, Callable[[Any], Learner]] = {
    **{name: partial(make_learner, name) for name in BY_NAME},
    "aae-alphasample": partial(make_learner, "aae-alphasample:scale=0.02", horizon=1000),  # phases of some 6, 24, 96
    "moss": partial(make_learner, "moss", horizon=1000),
    "ucb-window": partial(make_learner, "ucb-window:window=15"),  # shorter than the runs
    "ucb-lp": partial(make_learner, "ucb-lp", horizon=1000),
    "lu-nonstationary": partial(make_learner, "lu-nonstationary:window=20"),  # shorter than the runs
    "barbar": partial(make_learner, "barbar:scale=0.0002", horizon=1000),  # a first epoch of 2 to 13 rounds
    "barbar-g": partial(make_learner, "barbar-g:scale=0.0002", horizon=1000),
    "kong-2022": lambda cover: Kong2022(  # every arm dominates: a smaller set must break ties by numbers
        cover.graph if isinstance(cover, CliqueCover) else cover, tuple(range(cover.n_arms)), scale=1e-4
    ),
    "lykouris": partial(make_learner, "lykouris:scale=0.02", horizon=1000),  # drops arms within some ten rounds
    "sao": partial(make_learner, "sao:scale=0.002", horizon=1000),  # drops arms, and then switches
}
"""How a learner is made from a cover or a graph; overwrite an entry where more than that is needed."""

BY_NUMBER = frozenset({"exp3-dom"})
"""Learners whose rule prefers the smaller number among equal arms: relabelling arms need not relabel their answer."""

ESTIMATED = 0.05
"""How far a distribution estimated from 2,000 guesses may be off: more than four standard deviations."""


def _bridged() -> CliqueCover:
    """Two triangles with a bridge: arms that see more than their clique, cliques that interleave."""
    graph = FeedbackGraph(6, [(0, 2), (2, 4), (0, 4), (1, 3), (3, 5), (1, 5), (4, 5)])
    return CliqueCover(graph, [[0, 2, 4], [1, 3, 5]])


COVERS: dict[str, Callable[[], CliqueCover]] = {
    "one arm": lambda: clique_cover(graphs.bandit(1)),
    "one clique": lambda: clique_cover(graphs.full_information(5)),
    "singletons": lambda: clique_cover(graphs.bandit(4)),
    "unequal cliques": lambda: clique_cover(graphs.disjoint_cliques([1, 3, 2])),
    "bridged triangles": _bridged,
    "pentagon": lambda: clique_cover(graphs.cycle(5)),
}


GRAPHS: dict[str, Callable[[], FeedbackGraph]] = {
    "bids": lambda: graphs.first_price_bids(5),
    "ring of arrows": lambda: graphs.directed_cycle(5),
    "star of arrows": lambda: graphs.loopy_star(4),
    "random arrows": lambda: graphs.random_directed(6, 0.4, seed=2),
    "clique without loops": lambda: graphs.loopless_clique(4),
    "apple tasting": graphs.apple_tasting,
    "some loops": lambda: FeedbackGraph(
        4, [(0, 1), (1, 0), (0, 3), (1, 3), (2, 3)], directed=True, self_loops=[0, 1, 2]
    ),
    "revealing action": lambda: graphs.revealing_action(4),
    "clique with a gap": lambda: graphs.clique_with_a_gap(4),
}
"""Graphs that only some learners take: directed, without self-loops, weakly observable."""


def losses_of(round: int, n_arms: int, seed: int = 5) -> np.ndarray:
    """(N,) a fixed world: random losses in [0, 1], some of them exactly 0 and 1."""
    losses = np.random.default_rng([seed, round]).uniform(-0.2, 1.2, n_arms)
    return np.clip(losses, 0.0, 1.0)


def bits(learner: Learner, state: Any) -> list[bytes]:
    """Everything that lasts in a state, as bytes: what it packs and every array it holds."""
    lasting = [part for name, part in zip(state._fields, state, strict=True) if name not in learner.scratch]
    return [array.tobytes() for _, array in sorted(learner.pack(state).items())] + _leaves(lasting)


def _leaves(value: Any) -> list[bytes]:
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in _leaves(part)]
    if isinstance(value, np.ndarray):
        return [value.tobytes()]
    return [repr(value).encode()]


def play(learner: Learner, n_rounds: int, seed: int = 1, state: Any = None, first: int = 1) -> tuple[Any, list[Any]]:
    """Play some rounds of the fixed world; the state and the tickets."""
    state = learner.init() if state is None else state
    tickets = []
    for t in range(first, first + n_rounds):
        ticket = learner.draw(state, *uniform_pair(seed, 9, t, 0))
        learner.update(state, ticket, losses_of(t, learner.n_arms)[learner.observes(ticket.arm)])
        tickets.append(ticket)
    return state, tickets


def assert_state_is_finite(learner: Learner, state: Any) -> None:
    for name, array in learner.pack(state).items():
        assert np.isfinite(array).all(), f"{name} is not finite: {array}"
    assert np.isfinite(learner.distribution(state)).all()


def check_its_distribution_is_one(learner: Learner) -> None:
    state = learner.init()
    for step in range(4):
        p = learner.distribution(state)
        assert p.shape == (learner.n_arms,)
        assert p.min() >= 0.0
        assert abs(p.sum() - 1.0) <= 1e-9
        play(learner, 10, state=state, first=1 + 10 * step)


def check_draws_follow_the_distribution(learner: Learner, side: int = 48 if config.DISABLE_JIT else 128) -> None:
    """Integrate ``draw`` over a grid of both uniforms: exact up to the grid's two edges."""
    for n_rounds in (0, 40):
        state, _ = play(learner, n_rounds)
        p = learner.distribution(state)
        grid = (np.arange(side) + 0.5) / side
        counts = np.zeros(learner.n_arms)
        for first in grid.tolist():
            for second in grid.tolist():
                ticket = learner.draw(state, first, second)
                counts[ticket.arm] += 1
                assert not learner.exact_probability or abs(ticket.probability - p[ticket.arm]) <= 1e-9
                assert learner.exact_probability or np.isnan(ticket.probability)
        assert np.abs(counts / side**2 - p).max() <= (2.0 / side if learner.exact_probability else ESTIMATED)
    edge = np.nextafter(1.0, 0.0)
    for first in (0.0, edge):
        for second in (0.0, edge):
            ticket = learner.draw(state, first, second)
            assert 0 <= ticket.arm < learner.n_arms
            assert ticket.probability > 0.0 or not learner.exact_probability


def check_drawing_changes_nothing(learner: Learner) -> None:
    state, _ = play(learner, 15)
    before = bits(learner, state)
    for t in range(50):
        learner.draw(state, *uniform_pair(3, 9, t, 0))
    learner.distribution(state)
    assert bits(learner, state) == before


def check_equal_seeds_give_equal_traces(learner: Learner) -> None:
    state, tickets = play(learner, 40, seed=1)
    again, same = play(learner, 40, seed=1)
    assert _leaves(tickets) == _leaves(same)
    assert bits(learner, state) == bits(learner, again)
    if learner.n_arms > 1 and any(ticket.probability != 1.0 for ticket in tickets):
        arms = [ticket.arm for ticket in tickets]  # a rule that only breaks ties may agree now and then
        assert any([ticket.arm for ticket in play(learner, 40, seed)[1]] != arms for seed in (2, 3, 4, 5))


def check_rounds_count_the_outcomes_learnt(learner: Learner) -> None:
    state = learner.init()
    assert learner.round(state) == learner.draw(state, 0.3, 0.6).round == 1
    state, _ = play(learner, 7, state=state)
    assert learner.round(state) == learner.draw(state, 0.3, 0.6).round == 8


def check_state_survives_saving(learner: Learner) -> None:
    """Mid-run, through JSON: the copy holds the same bits and goes on with the same bits."""
    state, _ = play(learner, 25)
    ticket = learner.draw(state, 0.3, 0.6)
    saved = json.dumps({name: array.tolist() for name, array in learner.pack(state).items()})
    kind, settings = type(learner), json.loads(json.dumps(learner.settings()))
    other = kind.from_settings(getattr(learner, "cover", learner.graph), settings)
    copy = other.unpack({name: np.asarray(values) for name, values in json.loads(saved).items()})
    assert [a.tobytes() for a in other.pack(copy).values()] == [a.tobytes() for a in learner.pack(state).values()]
    assert other.distribution(copy).tobytes() == learner.distribution(state).tobytes()
    copied = other.ticket(json.loads(json.dumps(list(ticket), default=np.ndarray.tolist)))
    assert type(copied) is type(ticket)
    assert _leaves(copied) == _leaves(ticket)
    _, tickets = play(learner, 25, state=state, first=26)
    _, same = play(other, 25, state=copy, first=26)
    assert _leaves(tickets) == _leaves(same)
    assert bits(learner, state) == bits(other, copy)


def check_packing_is_a_snapshot(learner: Learner) -> None:
    state, _ = play(learner, 5)
    packed = learner.pack(state)
    before = [array.tobytes() for array in packed.values()]
    play(learner, 5, state=state, first=6)
    assert [array.tobytes() for array in packed.values()] == before


def check_an_outcome_may_come_late(learner: Learner) -> None:
    """A ticket keeps what its estimate needs: its outcome may come after others, and the state stays sound."""
    state = learner.init()
    waiting = [learner.draw(state, *uniform_pair(4, 9, t, 0)) for t in range(10)]
    play(learner, 20, state=state)
    for t, ticket in enumerate(reversed(waiting)):
        learner.update(state, ticket, losses_of(100 + t, learner.n_arms)[learner.observes(ticket.arm)])
    assert learner.round(state) == 31
    assert_state_is_finite(learner, state)


def check_losses_it_may_not_see_never_surface(learner: Learner) -> None:
    """By the *graph*, not by the learner's own word, unless it says that it sees everything: the rest is NaN."""
    state = learner.init()
    for t in range(1, 60):
        ticket = learner.draw(state, *uniform_pair(6, 9, t, 0))
        shown = np.full(learner.n_arms, np.nan)
        seen = np.arange(learner.n_arms) if learner.shows == "everything" else learner.graph.sees(ticket.arm)
        shown[seen] = losses_of(t, learner.n_arms)[seen]
        observes = learner.observes(ticket.arm)
        assert ticket.arm in observes or not learner.graph.self_loops[ticket.arm]
        assert np.array_equal(observes, np.unique(observes))
        learner.update(state, ticket, shown[observes])
        assert_state_is_finite(learner, state)


def tickets_by_arm(learner: Learner, state: Any, side: int = 24) -> dict[int, Any]:
    """One ticket for each arm that a grid of uniforms can draw."""
    grid = ((np.arange(side) + 0.5) / side).tolist()
    return {ticket.arm: ticket for ticket in (learner.draw(state, a, b) for a in grid for b in grid)}


def check_relabelling_arms_relabels_the_answer(
    where: CliqueCover | FeedbackGraph, factory: Callable[[Any], Learner], n_rounds: int = 20
) -> None:
    """The same graph with other numbers for arms and cliques, the same choices, the same losses."""
    rng = np.random.default_rng(8)
    learner, n_arms = factory(where), where.n_arms
    new = rng.permutation(n_arms)  # arm i is now called new[i]
    old = np.argsort(new)
    renamed = FeedbackGraph.from_adjacency(learner.graph.adjacency()[np.ix_(old, old)], directed=True)
    if isinstance(where, CliqueCover):
        owner = np.empty(n_arms, dtype=np.int64)
        owner[new] = rng.permutation(where.n_cliques)[where.owner]
        other = factory(CliqueCover.from_owner(renamed, owner))
    else:
        other = factory(renamed)
    mine, theirs = learner.init(), other.init()
    accuracy = 1e-12 if learner.exact_probability else 2 * ESTIMATED
    for t in range(1, n_rounds):
        assert np.allclose(other.distribution(theirs)[new], learner.distribution(mine), rtol=1e-9, atol=accuracy)
        here, there = tickets_by_arm(learner, mine), tickets_by_arm(other, theirs)
        arm = [i for i in sorted(here) if int(new[i]) in there][t % 2 - 1]
        losses = losses_of(t, n_arms)
        if not learner.exact_probability:
            losses = losses.round()  # a loss between 0 and 1 may be rounded by a number of the arm's
        relabelled = np.empty(n_arms)
        relabelled[new] = losses
        assert sorted(new[learner.observes(arm)]) == other.observes(int(new[arm])).tolist()
        learner.update(mine, here[arm], losses[learner.observes(arm)])
        other.update(theirs, there[int(new[arm])], relabelled[other.observes(int(new[arm]))])


CHECKS: list[Callable[[Learner], None]] = [
    check_its_distribution_is_one,
    check_draws_follow_the_distribution,
    check_drawing_changes_nothing,
    check_equal_seeds_give_equal_traces,
    check_rounds_count_the_outcomes_learnt,
    check_state_survives_saving,
    check_packing_is_a_snapshot,
    check_an_outcome_may_come_late,
    check_losses_it_may_not_see_never_surface,
]
