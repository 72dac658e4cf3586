"""How a learner looks: one colour and one kind of line each, the same in every figure of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

OURS = "#0072B2"
# Okabe and Ito's colours without ours, and without yellow, which is too pale for a line on white.
OTHERS = ("#D55E00", "#009E73", "#CC79A7", "#E69F00", "#222222", "#56B4E9")
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (1.2, 1.2)))
BESIDE = "#777777"


class Style(NamedTuple):
    """Colour, dashes and width of a line."""

    colour: str
    dashes: Any
    width: float


def learner_styles(learners: Sequence[str], ours: str, rivals: Mapping[str, bool]) -> dict[str, Style]:
    """Ours thick and blue; who sees more than the graph grey and thin; the others by colour and dashes.

    Up to 24 others differ in colour or in dashes, and neighbours in the list in both.

    >>> styles = learner_styles(["a", "b", "c"], "a", {"a": True, "b": True, "c": False})
    >>> styles["a"].colour == OURS, styles["c"].colour == BESIDE
    (True, True)
    """
    styles = {ours: Style(OURS, "solid", 2.6)}
    number = 0
    for learner in learners:
        if learner == ours:
            continue
        if not rivals[learner]:
            styles[learner] = Style(BESIDE, (0, (4, 1, 1, 1, 1, 1)), 1.3)
            continue
        dashes = DASHES[(number + number // len(OTHERS)) % len(DASHES)]
        styles[learner] = Style(OTHERS[number % len(OTHERS)], dashes, 1.6)
        number += 1
    return styles
