"""Learners by spec: ``learner_of("tsallis-shannon-sharp:kappa=0.25", cover, horizon)``."""

from __future__ import annotations

from typing import Any

from allworlds.covers import CliqueCover
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import parse_spec
from allworlds.learners.base import Learner
from allworlds.learners.registry import Entry, find_learner, make_learner


def learner_of(spec: str, cover: CliqueCover, horizon: int | None = None) -> Learner:
    """The learner that a spec names, on a cover; its options go by key.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> learner_of("tsallis-shannon-sharp:kappa=0.25", clique_cover(disjoint_cliques(2, 3))).n_arms
    6
    """
    parsed = parse_spec(spec)
    find_learner(parsed.name)
    if parsed.positional:
        raise InvalidParameter(
            f"'{spec}' has a value without a key; options of a learner go by key, such as "
            "'tsallis-shannon-sharp:kappa=0.25'"
        )
    options: dict[str, Any] = dict(parsed.options)
    clash = {"graph", "cover", "horizon"} & options.keys()
    if clash:
        raise InvalidParameter(f"'{spec}' sets {min(clash)}, which comes from the race itself; leave it out")
    return make_learner(parsed.name, cover=cover, horizon=horizon, **options)


def entry_of(spec: str) -> Entry:
    """The line of the registry that a spec belongs to."""
    return find_learner(parse_spec(spec).name)
