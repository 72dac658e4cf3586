"""Thompson-N: the posterior by counting, the distribution by quadrature, rounding as a function of the ticket."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from allworlds import graphs
from allworlds.kernels.random import uniform_pair
from allworlds.learners import ThompsonN
from allworlds.learners.thompson_n import chance_of_lowest, count_guesses

N_ARMS = 5


def learner_and_state(losses=None, rewards=None):
    learner = ThompsonN(graphs.disjoint_cliques([2, 3]))
    state = learner.init()
    if losses is not None:
        state.losses[:], state.rewards[:] = losses, rewards
    return learner, state


def chances(losses, rewards):
    """P(arm i has the lowest of independent Beta(1 + losses, 1 + rewards)), by one integral an arm."""
    posteriors = [stats.beta(1 + a, 1 + b) for a, b in zip(losses, rewards, strict=True)]

    def lowest(i):
        others = [posterior for j, posterior in enumerate(posteriors) if j != i]
        inside = integrate.quad(
            lambda x: posteriors[i].pdf(x) * np.prod([other.sf(x) for other in others]), 0.0, 1.0, limit=200
        )
        return inside[0]

    return np.array([lowest(i) for i in range(len(posteriors))])


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("losses", "rewards"),
    [
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),
        ([3, 1, 4, 1, 5], [9, 2, 6, 5, 3]),
        ([40, 45, 50, 0, 20], [60, 55, 50, 1, 30]),
    ],
)
def test_arms_are_drawn_as_often_as_their_posterior_is_lowest(losses, rewards):
    losses, rewards = np.array(losses, dtype=float), np.array(rewards, dtype=float)
    expected = chances(losses, rewards)
    assert expected.sum() == pytest.approx(1.0, abs=1e-6)
    counts = np.zeros(N_ARMS)
    count_guesses(losses, rewards, 100_000, counts)
    assert counts / 100_000 == pytest.approx(expected, abs=0.006)  # four standard deviations
    learner, state = learner_and_state(losses, rewards)
    assert learner.distribution(state) == pytest.approx(expected, abs=0.045)


def test_the_distribution_that_is_logged_is_that_of_the_posterior():
    losses, rewards = np.array([3.0, 1.0, 4.0, 1.0, 5.0]), np.array([9.0, 2.0, 6.0, 5.0, 3.0])
    learner, state = learner_and_state(losses, rewards)
    assert learner.logged_distribution(state) == pytest.approx(chances(losses, rewards), abs=1e-5)


def test_after_millions_of_losses_the_logged_distribution_is_that_of_normal_guesses():
    """The guesses are then so sharp that only a grid around them sees them."""
    a, b = np.array([5.0e7, 5.001e7]), np.array([5.0e7, 4.999e7])
    mean, variance = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1.0))
    first = stats.norm.cdf((mean[1] - mean[0]) / np.sqrt(variance.sum()))
    assert 0.9 < first < 0.95
    assert chance_of_lowest(a, b) == pytest.approx([first, 1.0 - first], abs=1e-4)


def test_the_posterior_counts_what_was_seen():
    learner, state = learner_and_state()
    seen, lost = np.zeros(N_ARMS), np.zeros(N_ARMS)
    for t in range(1, 101):
        ticket = learner.draw(state, *uniform_pair(3, 9, t, 0))
        losses = np.random.default_rng(t).integers(0, 2, N_ARMS).astype(float)
        clique = [0, 1] if ticket.arm < 2 else [2, 3, 4]
        seen[clique] += 1
        lost[clique] += losses[clique]
        learner.update(state, ticket, losses[clique])
    assert state.losses.tolist() == lost.tolist()
    assert state.rewards.tolist() == (seen - lost).tolist()


def test_a_loss_between_counts_as_a_whole_one_with_its_probability_apart_for_each_arm():
    n_rounds = 2000
    learner, state = learner_and_state()
    shown = np.array([0.1, 0.5, 0.9])
    together = 0
    for t in range(1, n_rounds + 1):
        before = state.losses.copy()
        ticket = learner.ticket_class(2, np.nan, *uniform_pair(4, 9, t, 0), t)
        learner.update(state, ticket, shown)
        gained = state.losses - before
        assert set(gained) <= {0.0, 1.0}
        together += gained[2] * gained[3]
    assert state.losses[:2].tolist() == [0.0, 0.0]
    assert (state.losses + state.rewards)[2:].tolist() == [n_rounds] * 3
    assert state.losses[2:] / n_rounds == pytest.approx(shown, abs=0.045)
    assert together / n_rounds == pytest.approx(0.05, abs=0.02)  # independent: 0.1 times 0.5


def test_rounding_depends_on_the_ticket_alone_and_not_on_when_the_outcome_comes():
    learner, state = learner_and_state()
    tickets = [learner.draw(state, *uniform_pair(5, 9, t, 0)) for t in range(40)]
    losses = {ticket: np.full(learner.observes(ticket.arm).size, 0.4) for ticket in tickets}
    backwards = learner.init()
    for ticket in tickets:
        learner.update(state, ticket, losses[ticket])
    for ticket in reversed(tickets):
        learner.update(backwards, learner.ticket([None if x != x else x for x in ticket]), losses[ticket])
    assert state.losses.tolist() == backwards.losses.tolist()
    assert 0 < state.losses.sum() < sum(map(len, losses.values()))


def test_an_arm_that_was_seen_to_be_best_a_thousand_times_is_played():
    learner, state = learner_and_state([900, 900, 100, 900, 900], [100, 100, 900, 100, 100])
    assert all(learner.draw(state, *uniform_pair(6, 9, t, 0)).arm == 2 for t in range(100))


def test_the_probability_of_a_choice_is_not_known_and_said_so():
    learner, state = learner_and_state()
    assert not learner.exact_probability
    assert np.isnan(learner.draw(state, 0.2, 0.7).probability)
