"""Every learner under its name, with a line for people: what it is for, what it must be told, what it promises."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from allworlds.errors import InvalidParameter
from allworlds.ftrl import Constants
from allworlds.graphs import CliqueCover, FeedbackGraph, clique_cover
from allworlds.learners.base import Learner
from allworlds.learners.tsallis_shannon import TsallisShannon

Make = Callable[..., Learner]


@dataclass(frozen=True)
class Entry:
    """One line of ``allworlds learners``."""

    name: str
    make: Make
    """Called with the cover, the horizon (an integer or None) and the user's options."""
    world: str
    """The world it is made for."""
    graphs: str
    """The graphs it takes."""
    told: str
    """What it must be told."""
    bound: str
    """What is proved, and by whom."""
    needs_horizon: bool = False
    rival: bool = True
    """False for a line that is drawn beside the learners but sees more than the graph shows."""


def _tsallis_shannon(cover: CliqueCover, horizon: int | None, **options: Any) -> Learner:
    return TsallisShannon(cover, Constants.practical(cover), **options)


def _paper(cover: CliqueCover, horizon: int | None, **options: Any) -> Learner:
    assert horizon is not None
    return TsallisShannon(cover, Constants.paper(cover, horizon), **options)


def _sharp(cover: CliqueCover, horizon: int | None, kappa: float = 0.5, **options: Any) -> Learner:
    return TsallisShannon(cover, Constants.sharp(cover, kappa), **options)


LEARNERS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "tsallis-shannon",
            _tsallis_shannon,
            "any",
            "undirected",
            "nothing",
            "none proved for this setting; the default",
        ),
        Entry(
            "tsallis-shannon-paper",
            _paper,
            "any",
            "undirected",
            "horizon",
            "min{sqrt(KT), Z + sqrt(CZ)} polylog [EK21, Theorem 1]",
            needs_horizon=True,
        ),
        Entry(
            "tsallis-shannon-sharp",
            _sharp,
            "any",
            "undirected",
            "nothing",
            "the same without log(NT) factors (docs/sharp_constants.md)",
        ),
    )
}
"""The learners by name, in the order in which they are listed."""


def make_learner(
    name: str,
    *,
    graph: FeedbackGraph | None = None,
    cover: CliqueCover | None = None,
    horizon: int | None = None,
    **options: Any,
) -> Learner:
    """A learner by its registry name, on a graph or on a cover of it.

    >>> from allworlds.graphs import disjoint_cliques
    >>> make_learner("tsallis-shannon", graph=disjoint_cliques(2, 3)).n_arms
    6
    """
    entry = find_learner(name)
    if cover is None:
        if graph is None:
            raise InvalidParameter(f"{name} needs a graph or a cover; none came")
        cover = clique_cover(graph)
    elif graph is not None and cover.graph != graph:
        raise InvalidParameter("the cover is of another graph; leave one of the two out")
    if entry.needs_horizon and horizon is None:
        raise InvalidParameter(f"{name} must be told the horizon; make_learner({name!r}, ..., horizon=100_000)")
    try:
        return entry.make(cover, horizon, **options)
    except TypeError as error:
        raise InvalidParameter(f"{name} does not take these options: {error}") from None


def find_learner(name: str) -> Entry:
    """The entry of a name, or an error that lists the nearest ones."""
    if name not in LEARNERS:
        near = difflib.get_close_matches(str(name), LEARNERS, n=3, cutoff=0.3) or list(LEARNERS)
        raise InvalidParameter(f"there is no learner {name!r}; the nearest are {', '.join(near)}")
    return LEARNERS[name]
