"""The multi-layer race against its pseudo-code by sets, and an attack that fools the fast layers only."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba.core import config

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Lykouris
from allworlds.learners.by_name import make_learner
from allworlds.worlds import one_good_arm


class BySets:
    """The pseudo-code, with a list of rewards for each layer and arm."""

    def __init__(self, n_arms, horizon, scale):
        self.n_layers = math.ceil(math.log2(horizon))
        self.log = scale * math.log(4 * n_arms * horizon * math.log2(horizon) * horizon)
        self.rewards = [[[] for _ in range(n_arms)] for _ in range(self.n_layers)]
        self.active = [set(range(n_arms)) for _ in range(self.n_layers)]

    def choices(self, layer):
        """The arms that may be played when ``layer`` is drawn."""
        at = next(k for k in range(layer, self.n_layers) if self.active[k])
        fewest = min(len(self.rewards[at][i]) for i in self.active[at])
        return {i for i in self.active[at] if len(self.rewards[at][i]) == fewest}

    def distribution(self, n_arms):
        p = np.zeros(n_arms)
        for layer in range(self.n_layers):
            chance = 2.0 ** -(layer + 1) + (2.0**-self.n_layers if layer == 0 else 0.0)
            for arm in self.choices(layer):
                p[arm] += chance / len(self.choices(layer))
        return p

    def learn(self, layer, arm, reward):
        if not self.active[layer]:
            return
        self.rewards[layer][arm].append(reward)

        def interval(i):
            seen = self.rewards[layer][i]
            if not seen:
                return -math.inf, math.inf
            wide = math.sqrt(self.log / len(seen)) + self.log / len(seen)
            return np.mean(seen) - wide, np.mean(seen) + wide

        while True:
            bad = [a for a in self.active[layer] for b in self.active[layer] if interval(b)[0] > interval(a)[1]]
            if not bad:
                return
            for faster in range(layer + 1):
                self.active[faster].discard(bad[0])


def test_every_round_agrees_with_the_pseudo_code_by_sets():
    n_arms, horizon, scale = 4, 500, 0.05
    learner, other = Lykouris(graphs.bandit(n_arms), horizon, scale), BySets(n_arms, horizon, scale)
    state = learner.init()
    for t in range(400):
        p = learner.distribution(state)
        assert p == pytest.approx(other.distribution(n_arms), abs=1e-12)
        first, second = uniform_pair(4, 9, t, 0)
        ticket = learner.draw(state, first, second)
        chances = 0.5 ** np.arange(1, other.n_layers + 1)
        layer = int(np.searchsorted(np.cumsum(chances), first, side="right")) % other.n_layers
        assert ticket.arm in other.choices(layer)
        assert ticket.layer == (layer if other.active[layer] else -1)
        assert ticket.probability == pytest.approx(p[ticket.arm], rel=1e-12)
        loss = float(np.random.default_rng(t).uniform() < [0.05, 0.5, 0.8, 0.95][ticket.arm])
        learner.update(state, ticket, np.array([loss]))
        other.learn(layer, ticket.arm, 1.0 - loss)
        assert [set(np.flatnonzero(row)) for row in state.active] == other.active
    assert other.active[0] == {0}
    assert len(other.active[-1]) == n_arms


def test_a_slow_layer_overrules_the_fast_ones_and_an_empty_one_asks_the_next():
    """Layer 1 was told that arm 0 is bad; layer 2 finds that arm 1 is: nobody is left in layer 1, arm 0 in layer 2."""
    learner = Lykouris(graphs.bandit(2), horizon=8, scale=1e-3)
    state = learner.init()
    for arm, loss in ((0, 1.0), (1, 0.0)):
        ticket = learner.draw(state, 0.1, 0.0)._replace(arm=arm, layer=0)
        learner.update(state, ticket, np.array([loss]))
    assert state.active.tolist() == [[0, 1], [1, 1], [1, 1]]
    for arm, loss in ((0, 0.0), (1, 1.0)):
        learner.update(state, ticket._replace(arm=arm, layer=1), np.array([loss]))
    assert state.active.tolist() == [[0, 0], [1, 0], [1, 1]]
    ticket = learner.draw(state, 0.1, 0.5)
    assert (ticket.arm, ticket.layer) == (0, -1)
    before = learner.pack(state)
    learner.update(state, ticket, np.array([1.0]))
    assert all(np.array_equal(before[name], learner.pack(state)[name]) for name in ("totals", "played", "active"))
    assert learner.distribution(state) == pytest.approx([15 / 16, 1 / 16])  # layer 3: 1/8 between both arms


def test_the_width_is_that_of_the_head():
    learner = Lykouris(graphs.bandit(5), horizon=1024, failure=0.25)
    assert learner.init().width == pytest.approx(math.log(4 * 5 * 1024 * 10 / 0.25))
    assert Lykouris(graphs.bandit(5), horizon=1).n_layers == 1


@pytest.mark.compiled
def test_lies_at_the_beginning_cost_it_little():
    """The first 200 rounds show the best arm at its worst; a race must still end with it."""
    if config.DISABLE_JIT:
        pytest.skip("long")
    n_arms, horizon = 3, 20_000
    learner = Lykouris(graphs.bandit(n_arms), horizon, scale=0.05)
    state, late = learner.init(), 0
    for t in range(horizon):
        ticket = learner.draw(state, *uniform_pair(2, 9, t, 0))
        mean = [0.1, 0.7, 0.7][ticket.arm]
        lied = 1.0 - mean if t < 200 else mean
        learner.update(state, ticket, np.array([float(np.random.default_rng(t).uniform() < lied)]))
        late += t >= horizon // 2 and ticket.arm == 0
    assert state.active[0, 0] == 0 or late > 0.9 * horizon / 2
    assert late > 0.8 * horizon / 2


@pytest.mark.compiled
def test_its_regret_is_far_below_uniform_play():
    learner = make_learner("lykouris:scale=0.1", graphs.bandit(5), horizon=20_000)
    traces = play_many(learner, one_good_arm(5, gap=0.4), 20_000, range(6))
    assert np.mean([trace.final_regret for trace in traces]) < 0.3 * 0.4 * 0.8 * 20_000


def test_what_cannot_be_raises():
    learner = Lykouris(graphs.bandit(2), horizon=8)
    ticket = learner.draw(learner.init(), 0.5, 0.5)
    with pytest.raises(InvalidState, match="a ticket's layer"):
        learner.ticket([*ticket._replace(layer=3)])
    with pytest.raises(InvalidParameter, match=r"failure is 0.*; expected a number above 0 and at most 1"):
        Lykouris(graphs.bandit(2), horizon=8, failure=0)


def test_a_ticket_names_a_layer_or_none():
    learner = Lykouris(graphs.bandit(3), horizon=100)
    state = learner.init()
    ticket = learner.draw(state, 0.3, 0.6)
    for layer in (-1, 0, 1, learner.n_layers - 1):
        assert learner.ticket(list(ticket._replace(layer=layer))).layer == layer
    for layer in (-2, learner.n_layers):
        with pytest.raises(InvalidState, match="a ticket's layer is"):
            learner.ticket(list(ticket._replace(layer=layer)))
