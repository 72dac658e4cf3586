"""Real states of Algorithm 1 for the lemmas: random losses, solved to the last digit, never invented."""

from __future__ import annotations

from allworlds.theory import Round
from allworlds.workflows.verify.instances import cover_of, random_round

__all__ = ["cover_of", "late", "random_round"]


def late(rounds: list[Round]) -> list[Round]:
    """The rounds t >= 4, of which the half-step lemma and what follows from it speak."""
    return [state for state in rounds if state.learning_rate <= 0.5]
