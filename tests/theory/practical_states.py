"""Rounds of the learner with its default constants: random, from undecided to nearly sure, and those of a run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from allworlds.ftrl.clock import HIGHEST, MULTIPLIER
from allworlds.ftrl.constants import Constants
from allworlds.learners.tsallis_shannon import TsallisShannon
from allworlds.theory import Check, practical
from allworlds.theory.practical_coefficients import numbers_of
from allworlds.theory.rounds import PracticalRound
from theory.states import cover_of

Step = Callable[[PracticalRound], Check]
EVERY: list[Step] = [
    practical.deficit,
    practical.held_back_mass,
    practical.bias_cost,
    practical.price_falls,
    practical.price_rises,
    practical.curvature,
    practical.drawn_mass,
    practical.mass_growth,
    practical.stability_by_local_norm,
    practical.plain_stability,
    practical.drawn_elsewhere,
    practical.stability_along_a_run,
]
HALF: list[Step] = [
    practical.other_masses,
    practical.drawn_best_arm,
    practical.not_drawn,
    practical.drawn_other_arms,
    practical.half_step_lemma,
]


def practical_state(rng: np.random.Generator, *, late: bool | None = None) -> PracticalRound:
    """2 to 5 cliques of 1 to 30 arms; masses down to 1e-8; losses 0 and 1 or uniform; limits that act."""
    sizes = [int(size) for size in rng.integers(1, 7, int(rng.integers(2, 6)))]
    if rng.random() < 0.3:
        sizes[int(rng.integers(len(sizes)))] = int(rng.integers(8, 31))
    cover = cover_of(sizes)
    constants = Constants.practical(cover)
    t0 = numbers_of(cover.sizes).last_early_round
    is_late = rng.random() < 0.6 if late is None else late
    t = t0 + int(10.0 ** rng.uniform(0.0, 5.0)) if is_late else int(rng.integers(1, t0 + 1))
    s = t + constants.head_start
    highest = constants.baseline_share * float(rng.choice([0.0, 1.0, rng.random()]))
    baseline = highest * float(rng.choice([0.0, 1.0, rng.random()]))
    within = 10.0 ** rng.uniform(-1.5, 1.3) * np.sqrt(s) / 4.0
    between = 10.0 ** rng.uniform(-1.5, 1.3) * np.sqrt(s) / 4.0
    cumulative = rng.random(cover.n_arms) * within
    cumulative += (rng.random(cover.n_cliques) * between)[cover.owner]
    far = rng.random()
    if far < 0.15:  # one clique with almost no mass
        cumulative[cover.owner == 0] += 10.0 ** rng.uniform(3.0, 8.0)
    elif far < 0.4:  # near the limit that holds estimates back
        cumulative[cover.owner == 0] += (0.04 * s + 6.0 * np.sqrt(s)) * rng.uniform(0.2, 1.0)
    best_arm = int(cumulative.argmin()) if rng.random() < 0.8 else int(rng.integers(cover.n_arms))
    losses = rng.random(cover.n_arms)
    if rng.random() < 0.6:
        losses = (losses < rng.random()).astype(np.float64)
    if rng.random() < 0.3:
        losses[best_arm] = 1.0
    if rng.random() < 0.2:
        losses[:] = float(rng.integers(2))
    return PracticalRound(cover, constants, t, baseline, highest, cumulative, losses, best_arm)


def late(states: list[PracticalRound], *, half: bool = False) -> list[PracticalRound]:
    found = [state for state in states if state.numbers.is_late(state.round)]
    return [state for state in found if state.best_mass >= 0.5] if half else found


def shipped_run(sizes: list[int], rounds: int, seed: int) -> tuple[list[PracticalRound], list[int], np.ndarray]:
    """Play the shipped learner; one state of the theorem a round, the drawn clique, and what ``Lhat`` grew by."""
    rng, cover = np.random.default_rng(seed), cover_of(sizes)
    learner = TsallisShannon(cover)
    memory = learner.init()
    states, drawn, added = [], [], []
    for t in range(1, rounds + 1):
        losses = (rng.random(cover.n_arms) < np.where(np.arange(cover.n_arms) == 0, 0.2, 0.95)).astype(np.float64)
        before = learner.cumulative_losses(memory)
        ticket = learner.draw(memory, rng.random(), rng.random())
        states.append(
            PracticalRound(
                cover,
                Constants.practical(cover),
                t,
                ticket.baseline,
                float(memory.clock[HIGHEST]),
                before,
                losses,
                best_arm=0,
            )
        )
        now = learner.constants_now(memory)
        assert now.beta == states[-1].barrier
        np.testing.assert_allclose(learner.distribution(memory), states[-1].distribution, rtol=1e-6, atol=1e-12)
        clique, weight = cover.cliques[ticket.clique], 1.0 / ticket.clique_probability
        limit = float(memory.clock[MULTIPLIER]) + 0.04 * (t + 300.0) + 6.0 * float(np.sqrt(t + 300.0))
        learner.update(memory, ticket, losses[clique])
        exact = before.copy()  # the rule of the theorem with the learner's own mass and multiplier, to the last bit
        exact[clique] += (losses[clique] - ticket.baseline) * weight
        excess = max(0.0, exact[clique].min() - max(before[clique].min(), limit))
        if excess > 0.0:
            exact[clique] -= np.minimum(excess, np.maximum(0.0, (losses[clique] - ticket.baseline) * weight))
        np.testing.assert_array_equal(learner.cumulative_losses(memory), exact)
        drawn.append(ticket.clique)
        added.append(learner.cumulative_losses(memory) - before)
    return states, drawn, np.array(added)
