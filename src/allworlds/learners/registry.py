"""Every learner under its name, with a line for people: what it is for, what it must be told, what it promises."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import nearest
from allworlds.ftrl import Constants
from allworlds.graphs import FeedbackGraph
from allworlds.learners.aae_alphasample import AAEAlphaSample
from allworlds.learners.base import Learner
from allworlds.learners.exp3 import Exp3
from allworlds.learners.exp3_g import Exp3G
from allworlds.learners.exp3_ix import Exp3IX
from allworlds.learners.hedge import Hedge
from allworlds.learners.thompson_n import ThompsonN
from allworlds.learners.tsallis_inf import TsallisINF
from allworlds.learners.tsallis_shannon import TsallisShannon
from allworlds.learners.ucb_maxn import UCBMaxN
from allworlds.learners.ucb_n import UCBN
from allworlds.learners.uniform import Uniform

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


SETTINGS = {"practical": Constants.practical, "sharp": Constants.sharp, "unproved": Constants.unproved}
"""Settings of the constants that need no horizon, by name."""


def _tsallis_shannon(cover: CliqueCover, horizon: int | None, setting: str = "practical", **changes: Any) -> Learner:
    make = SETTINGS[nearest(setting, SETTINGS, "setting")]
    return _tuned(cover, make(cover), changes)


def _paper(cover: CliqueCover, horizon: int | None, **changes: Any) -> Learner:
    assert horizon is not None
    return _tuned(cover, Constants.paper(cover, horizon), changes)


def _sharp(cover: CliqueCover, horizon: int | None, kappa: float = 0.5, **changes: Any) -> Learner:
    return _tuned(cover, Constants.sharp(cover, kappa), changes)


CHANGEABLE = [field.name for field in fields(Constants) if field.name not in ("alpha", "rate_factor", "label")]
"""Constants that an option of a name may change."""


def _tuned(cover: CliqueCover, constants: Constants, changes: dict[str, Any]) -> Learner:
    """The learner with some of the setting's constants changed, by the names of their fields."""
    for name in changes:
        nearest(name, CHANGEABLE, "constant")
    if changes:
        words = [f"{name} = {value}" for name, value in changes.items()]
        constants = replace(constants, label=", ".join([constants.label, *words]), **changes)
    return TsallisShannon(cover, constants)


def _uniform(cover: CliqueCover, horizon: int | None) -> Learner:
    return Uniform(cover)


def _hedge(cover: CliqueCover, horizon: int | None) -> Learner:
    return Hedge(cover)


def _exp3(cover: CliqueCover, horizon: int | None) -> Learner:
    return Exp3(cover)


def _tsallis_inf(cover: CliqueCover, horizon: int | None) -> Learner:
    return TsallisINF(cover)


def _tsallis_inf_rv(cover: CliqueCover, horizon: int | None) -> Learner:
    return TsallisINF(cover, estimator="rv")


def _exp3_ix(cover: CliqueCover, horizon: int | None) -> Learner:
    return Exp3IX(cover)


def _exp3_set(cover: CliqueCover, horizon: int | None) -> Learner:
    return Exp3IX(cover, implicit=False)


def _exp3_g(cover: CliqueCover, horizon: int | None, **options: Any) -> Learner:
    return Exp3G(cover, horizon, **options)


def _ucb_n(cover: CliqueCover, horizon: int | None, **options: Any) -> Learner:
    return UCBN(cover, **options)


def _ucb_maxn(cover: CliqueCover, horizon: int | None, **options: Any) -> Learner:
    return UCBMaxN(cover, **options)


def _thompson_n(cover: CliqueCover, horizon: int | None) -> Learner:
    return ThompsonN(cover)


def _aae_alphasample(cover: CliqueCover, horizon: int | None, **options: Any) -> Learner:
    assert horizon is not None
    return AAEAlphaSample(cover, horizon, **options)


LEARNERS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "tsallis-shannon",
            _tsallis_shannon,
            "any",
            "undirected",
            "nothing",
            "sqrt(T sum_k R_k); sum_k log T / Delta_k where stochastic; sqrt(C) (docs/default_proof.md); the default",
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
        Entry("uniform", _uniform, "none", "ignores it", "nothing", "the mean gap times T"),
        Entry(
            "hedge",
            _hedge,
            "any",
            "sees everything",
            "all losses",
            "1.25 sqrt(T log N), and log N / Delta where stochastic [Amir et al. 2020]",
            rival=False,
        ),
        Entry(
            "exp3",
            _exp3,
            "adversarial",
            "ignores it",
            "nothing",
            "2 sqrt(N T log N) [Bubeck and Cesa-Bianchi 2012, Theorem 3.1]",
        ),
        Entry(
            "tsallis-inf",
            _tsallis_inf,
            "any",
            "ignores it",
            "nothing",
            "4 sqrt(N T) + 1, and sum of 4 log T / Delta where stochastic [Zimmert and Seldin 2021, Theorem 1]",
        ),
        Entry(
            "tsallis-inf-rv",
            _tsallis_inf_rv,
            "any",
            "ignores it",
            "nothing",
            "2 sqrt(N T) + 10 N log T + 16, and sum of log T / Delta + 28 N log T where stochastic "
            "[Zimmert and Seldin 2021, Theorem 1]",
        ),
        Entry(
            "exp3-ix",
            _exp3_ix,
            "adversarial",
            "undirected",
            "nothing",
            "sqrt(alpha T) polylog [Kocák et al. 2014]",
        ),
        Entry(
            "exp3-set",
            _exp3_set,
            "adversarial",
            "undirected",
            "nothing",
            "sqrt(2 alpha T log N) with a rate tuned for T [Alon et al. 2013]; none claimed for the adaptive rate",
        ),
        Entry(
            "exp3-g",
            _exp3_g,
            "adversarial",
            "undirected",
            "nothing; takes a horizon",
            "sqrt(alpha T) log(NT) with the horizon [Alon et al. 2015]",
        ),
        Entry(
            "ucb-n",
            _ucb_n,
            "stochastic",
            "undirected",
            "nothing",
            "log T log(NT) max over independent I of sum_I 1/Delta [Lykouris et al. 2020]",
        ),
        Entry(
            "ucb-maxn",
            _ucb_maxn,
            "stochastic",
            "undirected",
            "nothing",
            "none claimed; the proof of [Caron et al. 2012] has an issue [Hu et al. 2019]",
        ),
        Entry(
            "thompson-n",
            _thompson_n,
            "stochastic",
            "undirected",
            "nothing",
            "log T log(NT) max over independent I of sum_I 1/Delta [Lykouris et al. 2020]",
        ),
        Entry(
            "aae-alphasample",
            _aae_alphasample,
            "stochastic",
            "undirected",
            "horizon",
            "sum of log T / Delta over the 10 alpha log N smallest gaps [Cohen et al. 2016]",
            needs_horizon=True,
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
