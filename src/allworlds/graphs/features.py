"""What a graph may ask of a learner, and how well its arms can be seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

FEATURES: dict[str, str] = {
    "directed": "directed",
    "loopless": "loopless",
    "weak": "weak",
    "changing": "changing if told before the choice",
    "uninformed": "changing if told after the choice",
    "noisy": "noisy",
}
"""What a graph may ask of a learner beyond mutual feedback among arms that see themselves, in words."""


class Observability(str):
    """``"strong"``, ``"weak"`` or ``"none"``, and in ``arms`` the arms that make it so.

    An arm is observable if some arm sees it, and strongly so if it sees itself or all other arms see it. The best
    regret is of order sqrt(T) if all arms are strongly observable, T^(2/3) if all are observable, and T otherwise
    [Alon, Cesa-Bianchi, Dekel and Koren 2015]. ``arms`` are those that are observable but not strongly, or not at all.
    """

    __slots__ = ("arms",)

    arms: tuple[int, ...]

    def __new__(cls, level: str, arms: Iterable[int] = ()) -> Self:  # noqa: D102  # told by the class
        made = super().__new__(cls, level)
        made.arms = tuple(arms)
        return made

    def __getnewargs__(self) -> tuple[str, tuple[int, ...]]:  # type: ignore[override]
        return str(self), self.arms
