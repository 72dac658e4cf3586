"""Estimates by definition: every arm that an agent can draw now, its probability, and what its outcome would add."""

from __future__ import annotations

import copy

import numpy as np

import allworlds as aw
from allworlds.agents import agent as agent_module


def forced(agent, arm_place, available=None):
    """A copy of the agent that draws the arm in this place, and its decision."""
    twin = copy.deepcopy(agent)
    kept = agent_module.pick
    agent_module.pick = lambda distribution, uniform: arm_place
    try:
        return twin, twin.choose(available)
    finally:
        agent_module.pick = kept


def estimates_of(agent):
    """(N,) the cumulative loss estimates, in the order of the arms."""
    learner, state = agent.learner, agent._state
    if hasattr(learner, "cumulative_losses"):
        return learner.cumulative_losses(state)
    if hasattr(state, "cliques"):  # tsallis-shannon-all keeps them in clique order
        return state.cumulative_losses[state.cliques.place].copy()
    for name, scale in (("cumulative_losses", 1.0), ("negative_gains", 1.0), ("forgone", 1.0)):
        if hasattr(state, name):
            return scale * getattr(state, name).copy()
    raise AssertionError(learner.name)


def expected_increase(agent, losses, available=None):
    """The mean over all draws of what the outcome adds to each estimate, with the probabilities that are reported.

    Also the sum of those probabilities, and whether each arm is seen by some arm that can be drawn.
    """
    labels = agent.learner.graph.labels or range(agent.learner.n_arms)
    before, mean, total = estimates_of(agent), np.zeros(len(losses)), 0.0
    seen = np.zeros(len(losses), dtype=bool)
    for place, label in enumerate(labels):
        if available is not None and label not in available:
            continue
        twin, decision = forced(agent, place, list(labels) if available is None else available)
        assert decision.arm == label
        total += decision.probability
        places = [list(labels).index(arm) for arm in decision.observes]
        seen[places] = True
        twin.observe(decision, {arm: losses[i] for arm, i in zip(decision.observes, places, strict=True)})
        mean += decision.probability * (estimates_of(twin) - before)
    return mean, total, seen


def baseline_of(agent):
    """What the estimate of a decision that was made now would take off every loss."""
    twin = copy.deepcopy(agent)
    return twin.choose().details["baseline"]


def held_back(agent, losses, available=None):
    """The mean over all draws of what was held back: the plain estimate less what was really added."""
    labels, before = list(agent.arms), estimates_of(agent)
    mean = np.zeros(len(losses))
    for place, label in enumerate(labels):
        if available is not None and label not in available:
            continue
        twin, decision = forced(agent, place, labels if available is None else available)
        places = [labels.index(arm) for arm in decision.observes]
        twin.observe(decision, {arm: losses[i] for arm, i in zip(decision.observes, places, strict=True)})
        plain = np.zeros(len(losses))
        divisor = decision.details["clique_probability"] + decision.details["damping"]
        plain[places] = (losses[places] - decision.details["baseline"]) / divisor
        taken = plain - (estimates_of(twin) - before)
        assert taken.min() >= -1e-6 * max(1.0, np.abs(plain).max())
        assert (taken <= np.maximum(plain, 0.0) + 1e-6 * max(1.0, np.abs(plain).max())).all()
        mean += decision.probability * taken
    return mean


def unlimited(cover):
    """The paper's constants: importance weights with nothing taken off and nothing held back."""
    return aw.Constants.paper(cover, 1000)
