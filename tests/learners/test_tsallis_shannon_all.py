"""The heuristic that uses every loss seen: ours on disjoint cliques, unbiased up to a constant elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from allworlds import graphs, play_many
from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.ftrl import Constants, solve_ftrl
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.random import uniform_pair
from allworlds.learners import TsallisShannon, TsallisShannonAll
from allworlds.worlds import one_good_arm

SETTINGS = {
    "practical": Constants.practical,
    "sharp": Constants.sharp,
    "unproved": Constants.unproved,
    "paper": lambda cover: Constants.paper(cover, 1000),
    "tight": lambda cover: replace(Constants.practical(cover), deficit_limit=1e-3, deficit_root=0.0),
}
BRIDGED = FeedbackGraph(6, [(0, 2), (2, 4), (0, 4), (1, 3), (3, 5), (1, 5), (4, 5)])


def losses_of(t, n_arms):
    return (np.random.default_rng([8, t]).uniform(size=n_arms) < np.linspace(0.1, 0.9, n_arms)).astype(float)


def play_by_hand(learner, n_rounds):
    state = learner.init()
    for t in range(1, n_rounds):
        ticket = learner.draw(state, *uniform_pair(5, 9, t, 0))
        learner.update(state, ticket, losses_of(t, learner.n_arms)[learner.observes(ticket.arm)])
    return state


@pytest.mark.parametrize("setting", list(SETTINGS))
def test_on_disjoint_cliques_it_is_tsallis_shannon(setting):
    """The mass of an arm's neighbourhood is that of its clique. Both are given the same arm to observe."""
    cover = clique_cover(graphs.disjoint_cliques([3, 1, 4]))
    mine = TsallisShannonAll(cover, SETTINGS[setting](cover))
    theirs = TsallisShannon(cover, SETTINGS[setting](cover))
    one, other = mine.init(), theirs.init()
    for t in range(1, 120):
        p = mine.distribution(one)
        assert p == pytest.approx(theirs.distribution(other), rel=1e-8)
        assert mine.clique_mass(one) == pytest.approx(theirs.clique_mass(other), rel=1e-8)
        arm = t % 8 if t % 3 else int(p.argmax())
        clique = int(cover.owner[arm])
        first, inside = mine.clique_mass(one)[:clique].sum(), mine.clique_mass(one)[clique]
        before = p[cover.order[cover.starts[clique] : cover.starts[clique + 1]]]
        where = int(np.flatnonzero(cover.order == arm)[0] - cover.starts[clique])
        second = (before[:where].sum() + before[where] / 2) / inside
        ticket = mine.draw(one, p[:arm].sum() + p[arm] / 2, 0.0)
        same = theirs.draw(other, first + inside / 2, second)
        assert ticket.arm == same.arm == arm
        losses = losses_of(t, 8)[mine.observes(arm)]
        mine.update(one, ticket, losses)
        theirs.update(other, same, losses)


def test_the_distribution_is_the_exact_step():
    learner = TsallisShannonAll(BRIDGED, Constants.sharp(clique_cover(BRIDGED)))
    state = play_by_hand(learner, 50)
    losses = np.empty(6)
    losses[learner.cover.order] = state.cumulative_losses
    answer = solve_ftrl(learner.cover, losses, learner.constants.learning_rate(50), learner.constants)
    assert learner.distribution(state) == pytest.approx(answer.distribution, rel=1e-9)


def test_estimates_are_right_on_average_up_to_the_baseline_and_use_losses_outside_the_clique():
    cover = CliqueCover(BRIDGED, [[0, 2, 4], [1, 3, 5]])
    learner = TsallisShannonAll(cover)
    state = play_by_hand(learner, 60)
    assert learner.observes(4).tolist() == [0, 2, 4, 5]
    p, packed, losses = learner.distribution(state), learner.pack(state), np.linspace(0.1, 0.9, 6)
    mean = np.zeros(6)
    for arm in range(6):
        copy = learner.unpack(packed)
        ticket = learner.draw(copy, p[:arm].sum() + p[arm] / 2, 0.0)
        assert ticket.arm == arm
        learner.update(copy, ticket, losses[learner.observes(arm)])
        mean[cover.order] += p[arm] * (copy.cumulative_losses - packed["cumulative_losses"])
    assert ticket.baseline > 0.1
    assert mean == pytest.approx(losses - ticket.baseline, rel=1e-9)


def test_a_clique_is_not_put_further_behind_than_the_deficit_limit():
    """One loss of a rare arm, divided by a thousandth: its clique stays within a tenth of the rounds."""
    cover = CliqueCover(BRIDGED, [[0, 2, 4], [1, 3, 5]])
    rises = []
    for limit in (0.1, 1e9):
        learner = TsallisShannonAll(cover, Constants.practical(cover))
        changed = vars(learner.constants) | {"deficit_limit": limit, "deficit_root": 0.0}
        object.__setattr__(learner, "constants", Constants(**changed))
        state = learner.init()
        state.clock[0] = 10.0
        state.cumulative_losses[3:] = 25.0  # the second clique
        learner = learner.from_settings(cover, learner.settings())
        state = learner.unpack(learner.pack(state))
        ticket = learner.draw(state, 0.0, 0.0)._replace(arm=1, divisors=np.full(3, 1e-3))
        learner.update(state, ticket, np.ones(3))
        rises.append(state.cumulative_losses[3] - 25.0)
    assert rises[0] < 40.0 < 900.0 < rises[1]


def test_what_is_not_constants_or_not_a_baseline_raises():
    with pytest.raises(InvalidParameter, match="constants is a float; expected Constants"):
        TsallisShannonAll(BRIDGED, 2.0)
    learner = TsallisShannonAll(BRIDGED)
    fields = learner.draw(learner.init(), 0.5, 0.5)._asdict()
    with pytest.raises(InvalidState, match=r"a ticket's baseline is 2\.0; expected a number from 0 to 1"):
        learner.ticket(list((fields | {"baseline": 2.0}).values()))


@pytest.mark.compiled
def test_where_arms_see_beyond_their_clique_its_regret_is_lower():
    """On a cycle an arm sees two neighbours, a clique has two arms."""
    graph, world = graphs.cycle(12), one_good_arm(12, gap=0.2)

    def regret(kind):
        return np.mean([trace.final_regret for trace in play_many(kind(graph), world, 10_000, range(12))])

    assert 0.3 < regret(TsallisShannonAll) / regret(TsallisShannon) < 0.95


@pytest.mark.parametrize("setting", ["practical", "unproved"])
def test_a_ticket_for_an_arm_drawn_elsewhere_is_the_one_of_a_draw(setting):
    cover = CliqueCover(BRIDGED, [[0, 2, 4], [1, 3, 5]])
    learner = TsallisShannonAll(cover, SETTINGS[setting](cover))
    state = play_by_hand(learner, 40)
    p = learner.distribution(state)
    for arm in range(6):
        drawn, made = learner.draw(state, p[:arm].sum() + p[arm] / 2, 0.0), learner.ticket_from(state, arm, p)
        assert (made.arm, made.round) == (drawn.arm, drawn.round) == (arm, 40)
        assert made.baseline == drawn.baseline > 0.1
        assert made.probability == pytest.approx(drawn.probability, rel=1e-9)
        assert made.divisors == pytest.approx(drawn.divisors, rel=1e-9)
