"""Learners by name: ``make_learner("ucb-n:width=0.5", graph)``.

A learner is added by one file, which ends with its recipes, and by one line in ``learners/__init__.py``, which imports
its class. The registry collects the recipes of all files that are imported there. Only the recipes of our own learner
are written here: they are its settings of the constants, by name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from allworlds.covers import CliqueCover
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import Kind, Registry, Spec, check_known
from allworlds.ftrl import Constants
from allworlds.graphs import AnyGraph
from allworlds.learners.base import Learner, graph_for
from allworlds.learners.recipe import GROUPS, LearnerRecipe
from allworlds.learners.tsallis_shannon import TsallisShannon


def make_learner(spec: str | Spec, graph: AnyGraph | CliqueCover, horizon: int | None = None) -> Learner:
    """The learner that a spec names, on a graph or a cover; see :mod:`allworlds.foundation.specs` for the grammar.

    Learners that play on cliques take the cover, or compute one; the others take its graph. The horizon goes to those
    that can use it.

    >>> from allworlds.graphs import disjoint_cliques
    >>> make_learner("tsallis-shannon-sharp:kappa=0.25", disjoint_cliques(2, 3)).n_arms
    6
    """
    recipe = LEARNERS.find(spec)
    if not isinstance(graph, AnyGraph | CliqueCover):
        raise InvalidParameter(f"graph is a {type(graph).__name__}; expected a FeedbackGraph or a CliqueCover of one")
    if recipe.horizon == "needed" and horizon is None:
        raise InvalidParameter(f"{recipe.name} needs the horizon; make_learner({str(spec)!r}, graph, horizon=100_000)")
    told = {} if recipe.horizon == "ignored" else {"horizon": horizon}
    learner: Learner = LEARNERS.build(spec, graph=graph_for(recipe.kind, graph), **told)
    return learner


SETTINGS = {
    "practical": Constants.practical,
    "forgetting": Constants.forgetting,
    "sharp": Constants.sharp,
    "unproved": Constants.unproved,
}
"""Settings of the constants that need no horizon, by name."""
CHANGEABLE: dict[str, Kind] = {
    field.name: "word" if field.name == "estimator" else "number"
    for field in fields(Constants)
    if field.name not in ("alpha", "rate_factor", "label")
}
"""Constants that an option of a name may change."""


def _tsallis_shannon(
    graph: AnyGraph | CliqueCover, setting: str | None = None, half_life: int | None = None, **changes: float | str
) -> TsallisShannon:
    if setting is None:
        setting = "practical" if half_life is None else "forgetting"
    return _tuned(graph, SETTINGS[check_known(setting, SETTINGS, "setting")], changes, half_life)


def _paper(graph: AnyGraph | CliqueCover, horizon: int, **changes: float | str) -> TsallisShannon:
    return _tuned(graph, lambda cover: Constants.paper(cover, horizon), changes)


def _sharp(graph: AnyGraph | CliqueCover, kappa: float = 0.5, **changes: float | str) -> TsallisShannon:
    return _tuned(graph, lambda cover: Constants.sharp(cover, kappa), changes)


def _tuned(
    graph: AnyGraph | CliqueCover,
    setting: Callable[[CliqueCover], Constants],
    changes: dict[str, Any],
    half_life: int | None = None,
) -> TsallisShannon:
    """The learner with some of the setting's constants changed, by the names of their fields."""
    cover = TsallisShannon(graph).cover
    constants = setting(cover)
    if changes:
        words = [f"{name} = {str(value).removesuffix('.0')}" for name, value in changes.items()]
        constants = replace(constants, label=", ".join([constants.label, *words]), **changes)
    return TsallisShannon(cover, constants, half_life=half_life)


PAPER = 'Erez and Koren, "Best-of-all-worlds bounds for online learning with feedback graphs", NeurIPS 2021'

OURS = (
    LearnerRecipe(
        "tsallis-shannon",
        _tsallis_shannon,
        "sqrt(T sum_k R_k); sum_k log T / Delta_k where stochastic; sqrt(C) (docs/default_proof.md)",
        "tsallis-shannon",
        {"setting": "word", "half_life": "integer", **CHANGEABLE},
        kind=TsallisShannon,
        world="any",
        source=PAPER,
    ),
    LearnerRecipe(
        "tsallis-shannon-paper",
        _paper,
        "min{sqrt(KT), Z + sqrt(CZ)} polylog [EK21, Theorem 1]",
        "tsallis-shannon-paper",
        CHANGEABLE,
        kind=TsallisShannon,
        world="any",
        source=PAPER,
        told="horizon",
        horizon="needed",
        rendering="as printed",
    ),
    LearnerRecipe(
        "tsallis-shannon-sharp",
        _sharp,
        "the same without log(NT) factors (docs/sharp_constants.md)",
        "tsallis-shannon-sharp:kappa=0.25",
        {"kappa": "number", **CHANGEABLE},
        kind=TsallisShannon,
        world="any",
        source=PAPER,
    ),
)
"""Our own learner, under the names of its settings."""


def _collected() -> list[LearnerRecipe]:
    """The recipes of all learner files, by the world they are made for; ours are first in theirs."""
    names = vars(sys.modules[__package__]).values()
    classes = [value for value in names if isinstance(value, type) and issubclass(value, Learner)]
    files = {kind.__module__: sys.modules[kind.__module__] for kind in classes if kind not in (Learner, TsallisShannon)}
    others = [recipe for file in files.values() for recipe in file.RECIPES]
    order = list(GROUPS)
    return sorted([*OURS, *others], key=lambda recipe: order.index(recipe.world))


LEARNERS = Registry("learner", *_collected())
"""The learners by name, in the order in which they are listed."""

BY_NAME: dict[str, type[Learner]] = {recipe.kind.name: recipe.kind for recipe in LEARNERS.values()}
"""Learner classes under the name that agents save them with."""
if len(BY_NAME) < len({recipe.kind for recipe in LEARNERS.values()}):
    raise InvalidParameter(f"two learners have one name among {sorted(BY_NAME)}; rename one")
