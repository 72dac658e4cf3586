"""Real states of Algorithm 1 for the lemmas: random losses, solved to the last digit, never invented."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allworlds.covers import CliqueCover
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.solve import solve_ftrl
from allworlds.theory import Round
from allworlds.workflows.verify.instances import cover_of, random_round

__all__ = ["Run", "cover_of", "late", "played", "random_round"]


def late(rounds: list[Round]) -> list[Round]:
    """The rounds t >= 4, of which the half-step lemma and what follows from it speak."""
    return [state for state in rounds if state.learning_rate <= 0.5]


class Run(NamedTuple):
    distributions: np.ndarray
    half_steps: np.ndarray
    estimates: np.ndarray
    losses: np.ndarray
    rates: np.ndarray


def played(cover: CliqueCover, constants: Constants, horizon: int, seed: int) -> Run:
    """Algorithm 1 from its definition, with stochastic losses and random draws."""
    rng = np.random.default_rng(seed)
    losses = (rng.random((horizon, cover.n_arms)) < rng.random(cover.n_arms)).astype(float)
    cumulative = np.zeros(cover.n_arms)
    rates = 1.0 / np.sqrt(np.arange(1, horizon + 1))
    rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for loss, eta in zip(losses, rates, strict=True):
        p = solve_ftrl(cover, cumulative, eta, constants).distribution
        clique = cover.cliques[cover.owner[rng.choice(cover.n_arms, p=p / p.sum())]]
        estimate = np.zeros(cover.n_arms)
        estimate[clique] = loss[clique] / p[clique].sum()
        cumulative = cumulative + estimate
        rows.append((p, solve_ftrl(cover, cumulative, eta, constants).distribution, estimate))
    p, half, estimates = (np.array(column) for column in zip(*rows, strict=True))
    return Run(p, half, estimates, losses, rates)
