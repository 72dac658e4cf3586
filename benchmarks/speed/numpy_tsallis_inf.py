"""Tsallis-INF in plain NumPy, as one would write it in an afternoon [Zimmert and Seldin 2021]."""

from __future__ import annotations

import numpy as np


class NumpyTsallisInf:
    """Follow the regularised leader with the 1/2-Tsallis entropy on bandit feedback.

    ``w_i = 4 / (eta (L_i - x))^2`` with ``x`` such that they sum to one, by Newton's method from the last ``x``;
    ``eta = 2 / sqrt(t)``.

    >>> learner = NumpyTsallisInf(4)
    >>> learner.observe(2, 1.0)
    >>> learner.weights.round(3).tolist()
    [0.318, 0.318, 0.047, 0.318]
    """

    def __init__(self, n_arms: int, seed: int = 1) -> None:
        self.losses = np.zeros(n_arms)
        self.round = 1
        self.random = np.random.default_rng(seed)
        self.offset = -np.sqrt(n_arms)
        self.weights = np.full(n_arms, 1.0 / n_arms)

    def choose(self) -> int:
        """An arm by the weights."""
        place = int(np.searchsorted(np.cumsum(self.weights), self.random.random()))
        return min(place, self.losses.size - 1)

    def observe(self, arm: int, loss: float) -> None:
        """Importance-weighted estimate, then the weights of the next round."""
        self.losses[arm] += loss / self.weights[arm]
        self.round += 1
        eta = 2.0 / np.sqrt(self.round)
        x = min(self.offset, self.losses.min() - 2.0 / eta)
        for _ in range(100):
            weights = 4.0 / (eta * (self.losses - x)) ** 2
            excess = weights.sum() - 1.0
            if abs(excess) < 1e-10:
                break
            x -= excess / (eta * (weights**1.5).sum())
        self.offset, self.weights = x, weights / weights.sum()
