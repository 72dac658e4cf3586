"""Learners by name: ``make_learner("ucb-n:width=0.5", graph)``.

A learner is added by one file and, here, by its recipe in :data:`LEARNERS`: what it must be told, which graphs it
accepts, what is proved and by whom.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Literal

from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import Kind, Recipe, Registry, Spec, check_known
from allworlds.ftrl import Constants
from allworlds.graphs import FeedbackGraph
from allworlds.learners.aae_alphasample import AAEAlphaSample
from allworlds.learners.base import Learner, graph_for
from allworlds.learners.exp3 import Exp3
from allworlds.learners.exp3_g import Exp3G
from allworlds.learners.exp3_ix import Exp3IX
from allworlds.learners.hedge import Hedge
from allworlds.learners.thompson_n import ThompsonN
from allworlds.learners.tsallis_inf import TsallisINF
from allworlds.learners.tsallis_shannon import TsallisShannon
from allworlds.learners.ucb import UCBN, UCBMaxN
from allworlds.learners.uniform import Uniform


@dataclass(frozen=True, kw_only=True)
class LearnerRecipe(Recipe):
    """One line of ``allworlds learners``; ``line`` is the bound: what is proved, and by whom."""

    kind: type[Learner]
    world: str
    """The world it is made for."""
    graphs: str = "undirected"
    """The graphs it accepts."""
    told: str = "nothing"
    """What it must be told."""
    horizon: Literal["ignored", "taken", "needed"] = "ignored"
    rival: bool = True
    """False for a reference that sees more than the graph shows; reported but not ranked."""

    @property
    def bound(self) -> str:
        """What is proved, and by whom."""
        return self.line


def make_learner(spec: str | Spec, graph: FeedbackGraph | CliqueCover, horizon: int | None = None) -> Learner:
    """The learner that a spec names, on a graph or a cover; see :mod:`allworlds.foundation.specs` for the grammar.

    Learners that play on cliques take the cover, or compute one; the others take its graph. The horizon goes to those
    that can use it.

    >>> from allworlds.graphs import disjoint_cliques
    >>> make_learner("tsallis-shannon-sharp:kappa=0.25", disjoint_cliques(2, 3)).n_arms
    6
    """
    recipe = LEARNERS.find(spec)
    if not isinstance(graph, FeedbackGraph | CliqueCover):
        raise InvalidParameter(f"graph is a {type(graph).__name__}; expected a FeedbackGraph or a CliqueCover of one")
    if recipe.horizon == "needed" and horizon is None:
        raise InvalidParameter(f"{recipe.name} needs the horizon; make_learner({str(spec)!r}, graph, horizon=100_000)")
    told = {} if recipe.horizon == "ignored" else {"horizon": horizon}
    learner: Learner = LEARNERS.build(spec, graph=graph_for(recipe.kind, graph), **told)
    return learner


SETTINGS = {"practical": Constants.practical, "sharp": Constants.sharp, "unproved": Constants.unproved}
"""Settings of the constants that need no horizon, by name."""
CHANGEABLE: dict[str, Kind] = {
    field.name: "word" if field.name == "estimator" else "number"
    for field in fields(Constants)
    if field.name not in ("alpha", "rate_factor", "label")
}
"""Constants that an option of a name may change."""


def _tsallis_shannon(
    graph: FeedbackGraph | CliqueCover, setting: str = "practical", **changes: float | str
) -> TsallisShannon:
    return _tuned(graph, SETTINGS[check_known(setting, SETTINGS, "setting")], changes)


def _paper(graph: FeedbackGraph | CliqueCover, horizon: int, **changes: float | str) -> TsallisShannon:
    return _tuned(graph, lambda cover: Constants.paper(cover, horizon), changes)


def _sharp(graph: FeedbackGraph | CliqueCover, kappa: float = 0.5, **changes: float | str) -> TsallisShannon:
    return _tuned(graph, lambda cover: Constants.sharp(cover, kappa), changes)


def _tuned(
    graph: FeedbackGraph | CliqueCover, setting: Callable[[CliqueCover], Constants], changes: dict[str, Any]
) -> TsallisShannon:
    """The learner with some of the setting's constants changed, by the names of their fields."""
    cover = clique_cover(graph) if isinstance(graph, FeedbackGraph) else graph
    constants = setting(cover)
    if changes:
        words = [f"{name} = {str(value).removesuffix('.0')}" for name, value in changes.items()]
        constants = replace(constants, label=", ".join([constants.label, *words]), **changes)
    return TsallisShannon(cover, constants)


LEARNERS = Registry(
    "learner",
    LearnerRecipe(
        "tsallis-shannon",
        _tsallis_shannon,
        "sqrt(T sum_k R_k); sum_k log T / Delta_k where stochastic; sqrt(C) (docs/default_proof.md); the default",
        "tsallis-shannon",
        {"setting": "word", **CHANGEABLE},
        kind=TsallisShannon,
        world="any",
    ),
    LearnerRecipe(
        "tsallis-shannon-paper",
        _paper,
        "min{sqrt(KT), Z + sqrt(CZ)} polylog [EK21, Theorem 1]",
        "tsallis-shannon-paper",
        CHANGEABLE,
        kind=TsallisShannon,
        world="any",
        told="horizon",
        horizon="needed",
    ),
    LearnerRecipe(
        "tsallis-shannon-sharp",
        _sharp,
        "the same without log(NT) factors (docs/sharp_constants.md)",
        "tsallis-shannon-sharp:kappa=0.25",
        {"kappa": "number", **CHANGEABLE},
        kind=TsallisShannon,
        world="any",
    ),
    LearnerRecipe(
        "uniform",
        Uniform,
        "the mean gap times T",
        "uniform",
        kind=Uniform,
        world="none",
        graphs="ignores it",
    ),
    LearnerRecipe(
        "hedge",
        Hedge,
        "1.25 sqrt(T log N), and log N / Delta where stochastic [Amir et al. 2020]",
        "hedge",
        kind=Hedge,
        world="any",
        graphs="sees everything",
        told="all losses",
        rival=False,
    ),
    LearnerRecipe(
        "exp3",
        Exp3,
        "2 sqrt(N T log N) [Bubeck and Cesa-Bianchi 2012, Theorem 3.1]",
        "exp3",
        kind=Exp3,
        world="adversarial",
        graphs="ignores it",
    ),
    LearnerRecipe(
        "tsallis-inf",
        TsallisINF,
        "4 sqrt(N T) + 1, and sum of 4 log T / Delta where stochastic [Zimmert and Seldin 2021, Theorem 1]",
        "tsallis-inf",
        kind=TsallisINF,
        world="any",
        graphs="ignores it",
    ),
    LearnerRecipe(
        "tsallis-inf-rv",
        partial(TsallisINF, estimator="rv"),
        "2 sqrt(N T) + 10 N log T + 16, and sum of log T / Delta + 28 N log T where stochastic "
        "[Zimmert and Seldin 2021, Theorem 1]",
        "tsallis-inf-rv",
        kind=TsallisINF,
        world="any",
        graphs="ignores it",
    ),
    LearnerRecipe(
        "exp3-ix",
        Exp3IX,
        "sqrt(alpha T) polylog [Kocák et al. 2014]",
        "exp3-ix",
        kind=Exp3IX,
        world="adversarial",
    ),
    LearnerRecipe(
        "exp3-set",
        partial(Exp3IX, implicit=False),
        "sqrt(2 alpha T log N) with a rate tuned for T [Alon et al. 2013]; none claimed for the adaptive rate",
        "exp3-set",
        kind=Exp3IX,
        world="adversarial",
    ),
    LearnerRecipe(
        "exp3-g",
        Exp3G,
        "sqrt(alpha T) log(NT) with the horizon [Alon et al. 2015]",
        "exp3-g:independence=5",
        {"independence": "integer"},
        kind=Exp3G,
        world="adversarial",
        told="nothing; takes a horizon",
        horizon="taken",
    ),
    LearnerRecipe(
        "ucb-n",
        UCBN,
        "log T log(NT) max over independent I of sum_I 1/Delta [Lykouris et al. 2020]",
        "ucb-n:width=0.5",
        {"width": "number"},
        kind=UCBN,
        world="stochastic",
    ),
    LearnerRecipe(
        "ucb-maxn",
        UCBMaxN,
        "none claimed; the proof of [Caron et al. 2012] has an issue [Hu et al. 2019]",
        "ucb-maxn:width=0.5",
        {"width": "number"},
        kind=UCBMaxN,
        world="stochastic",
    ),
    LearnerRecipe(
        "thompson-n",
        ThompsonN,
        "log T log(NT) max over independent I of sum_I 1/Delta [Lykouris et al. 2020]",
        "thompson-n",
        kind=ThompsonN,
        world="stochastic",
    ),
    LearnerRecipe(
        "aae-alphasample",
        AAEAlphaSample,
        "sum of log T / Delta over the 10 alpha log N smallest gaps [Cohen et al. 2016]",
        "aae-alphasample:scale=0.1",
        {"scale": "number"},
        kind=AAEAlphaSample,
        world="stochastic",
        told="horizon",
        horizon="needed",
    ),
)
"""The learners by name, in the order in which they are listed."""

BY_NAME: dict[str, type[Learner]] = {recipe.kind.name: recipe.kind for recipe in LEARNERS.values()}
"""Learner classes under the name that agents save them with."""
if len(BY_NAME) < len({recipe.kind for recipe in LEARNERS.values()}):
    raise InvalidParameter(f"two learners have one name among {sorted(BY_NAME)}; rename one")
