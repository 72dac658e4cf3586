"""The constants of Algorithm 1 as one visible value: what was printed, what is needed, what works.

Four settings are offered. :meth:`Constants.paper` is [EK21, Algorithm 1] to the letter; it plays almost
uniformly for the first million rounds. :meth:`Constants.sharp` keeps the proof and drops what it does not
need: ``alpha`` from the exact condition of ``docs/sharp_constants.md``, no floor, no horizon.
:meth:`Constants.practical` is the setting to use: faster, and covered by a theorem of its own
(``docs/default_proof.md``). :meth:`Constants.unproved` is what the practical setting was at first.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.covers.cover import check_cover
from allworlds.foundation.checks import whole
from allworlds.foundation.errors import InvalidConstants
from allworlds.ftrl.sharp import rebound, sharp_alpha, sharp_alphas

Estimator = Literal["importance", "baseline"]

SCALARS = (
    "beta",
    "gamma",
    "eta0",
    "power",
    "implicit_exploration",
    "variance_floor",
    "head_start",
    "memory",
    "baseline_share",
    "barrier_slope",
    "deficit_root",
)
"""The constants that are one finite number each."""
LARGEST = 1e30
"""Larger constants have no use, and would leave the range of doubles inside the step."""


@dataclass(frozen=True)
class Constants:
    """All that Algorithm 1 leaves open; plain data, hashable, the same for ever once made.

    >>> from allworlds.covers import clique_cover
    >>> from allworlds.graphs import disjoint_cliques
    >>> cover = clique_cover(disjoint_cliques(2, 5))
    >>> Constants.paper(cover, horizon=1000).beta
    9.0
    >>> round(Constants.sharp(cover).alpha[0], 3)
    3.879
    """

    alpha: tuple[float, ...]
    """One per clique: weight of the Tsallis entropy, equation (3)."""
    beta: float
    """Weight of the log barrier, equation (4)."""
    gamma: float
    """Smallest probability of an arm: the shrunk simplex."""
    eta0: float
    """The learning rate of round t is ``eta0 / (t + head_start)**power``."""
    power: float = 0.5
    estimator: Estimator = "importance"
    """``importance``: ``l / p(V)``, as in the paper. ``baseline``: ``(l - b) / p(V)``, ``b`` a share of
    the running mean loss."""
    implicit_exploration: float = 0.0
    """Estimates divide by ``p(V)`` plus this over ``t + head_start``: what is rarely seen is believed less, and so is
    what is seen first. 0, as in the paper, keeps them unbiased."""
    variance_floor: float = 1.0
    """Barrier and implicit exploration of a round are multiplied by ``4 variance`` of the recent losses, but by no less
    than this and by no more than 1; 1 keeps them constant, as in the paper."""
    head_start: float = 0.0
    """So many rounds count as already played, of losses with mean 1/2 and variance 1/4: no early luck weighs much."""
    rate_factor: tuple[float, ...] = ()
    """One per clique: by how much its learning rate is larger than the round's; none means 1 for all, as in the
    paper."""
    memory: float = 0.0
    """The baseline starts at 0 and moves by ``memory / (t + 100)`` of the way to each loss incurred, at most all of it:
    it remembers about the last ``t / memory`` losses. With 0 it starts at 1/2 and remembers the last 20."""
    baseline_share: float = 1.0
    """With a ``memory``, the baseline is this share of the mean loss that it remembers. Below 1, a clique that is
    played loses a little ground in every round, and one that is not drawn comes back."""
    barrier_slope: float = 0.0
    """The barrier is ``beta`` plus this times the highest baseline so far, so that it never falls."""
    deficit_limit: float = math.inf
    """An estimate that would lift a clique's lowest cumulative loss more than this times ``t + head_start`` above the
    multiplier of the step is lowered by the excess: what a rare draw says can only count for so much. In a clique of
    several arms the lowest loss may still end a little higher, as no arm is lowered by more than it was raised."""
    deficit_root: float = 0.0
    """The deficit limit has this times the root of ``t + head_start`` added: early rounds may say more than a share of
    so few rounds would let them, and the share may be smaller."""
    label: str = "custom"
    """Which setting this is, for people."""

    def __post_init__(self) -> None:
        """Raise InvalidConstants unless every field is a number that some cover can use."""
        if not isinstance(self.alpha, Iterable) or isinstance(self.alpha, str):
            raise InvalidConstants(f"alpha is {self.alpha!r}; expected one number for each clique")
        alpha = tuple(_finite("alpha", value) for value in self.alpha)
        object.__setattr__(self, "alpha", alpha)
        factors = () if isinstance(self.rate_factor, str) else self.rate_factor
        object.__setattr__(self, "rate_factor", tuple(_finite("rate_factor", value) for value in factors))
        for name in SCALARS:
            object.__setattr__(self, name, _finite(name, getattr(self, name)))
        if self.deficit_limit != math.inf:
            object.__setattr__(self, "deficit_limit", _finite("deficit_limit", self.deficit_limit))
        if not alpha or min(alpha) < 0.0:
            raise InvalidConstants(f"alpha is {_short(alpha)}; expected a number of at least 0 for each clique")
        if self.beta < 0.0 or self.gamma < 0.0:
            raise InvalidConstants(f"beta is {self.beta} and gamma {self.gamma}; expected numbers of at least 0")
        if self.eta0 <= 0.0 or not 0.0 <= self.power <= 1.0:
            raise InvalidConstants(
                f"the learning rate is {self.eta0} / t**{self.power}; expected eta0 above 0 and power from 0 to 1"
            )
        if self.implicit_exploration < 0.0:
            raise InvalidConstants(f"implicit_exploration is {self.implicit_exploration}; expected at least 0")
        if not 0.0 <= self.variance_floor <= 1.0:
            raise InvalidConstants(f"variance_floor is {self.variance_floor}; expected a share from 0 to 1")
        if self.rate_factor and (len(self.rate_factor) != len(alpha) or not min(self.rate_factor) > 0.0):
            raise InvalidConstants(
                f"rate_factor is {_short(self.rate_factor)}; expected one above 0 for each of {len(alpha)} cliques"
            )
        if min(self.memory, self.barrier_slope, self.deficit_root) < 0.0 or not self.deficit_limit > 0.0:
            raise InvalidConstants(
                f"memory is {self.memory}, barrier_slope {self.barrier_slope}, deficit_limit {self.deficit_limit} and "
                f"deficit_root {self.deficit_root}; expected numbers of at least 0, and a limit above 0"
            )
        if not 0.0 <= self.baseline_share <= 1.0:
            raise InvalidConstants(f"baseline_share is {self.baseline_share}; expected a share from 0 to 1")
        if self.memory > 0.0 and self.baseline_share < 1.0 and self.variance_floor < 1.0:
            raise InvalidConstants(
                f"baseline_share is {self.baseline_share} and variance_floor {self.variance_floor}; expected 1 for one "
                "of them, since the variance is taken around the baseline"
            )
        if self.head_start < 0.0:
            raise InvalidConstants(f"head_start is {self.head_start}; expected a number of rounds, at least 0")
        if self.estimator not in get_args(Estimator):
            raise InvalidConstants(f"estimator is {self.estimator!r}; expected one of {get_args(Estimator)}")

    @classmethod
    def paper(cls, cover: CliqueCover, horizon: int) -> Constants:
        """[EK21, Algorithm 1] as printed; the horizon ``T`` must be known."""
        check_cover(cover)
        rounds = whole("horizon", horizon)
        log_nt = math.log(cover.n_arms * rounds)
        return cls(
            alpha=(2.0 * (1.0 + log_nt**2),) * cover.n_cliques,  # [EK21, Lemma 2] with gamma = 1/(NT)
            beta=9.0,  # [EK21, Lemma 7]: keeps a clique's mass within a factor 7/3
            gamma=1.0 / (cover.n_arms * rounds),
            eta0=1.0,
            label=f"paper, T = {rounds}",
        )

    @classmethod
    def sharp(cls, cover: CliqueCover, kappa: float = 0.5) -> Constants:
        """The smallest ``alpha`` for which Lemma 2 holds with ``kappa`` in place of 1/2; the proof covers 1/2."""
        check_cover(cover)
        return cls(
            alpha=tuple(sharp_alphas(cover.sizes, kappa).tolist()),
            beta=9.0,  # [EK21, Lemma 7]
            gamma=0.0,
            eta0=1.0,
            label=f"sharp, kappa = {kappa:g}",
        )

    @classmethod
    def practical(cls, cover: CliqueCover) -> Constants:
        """What ``TsallisShannon`` plays unless told otherwise, covered by Theorem C of ``docs/default_proof.md``.

        Each clique has the rate that its own size asks for. Estimates take off a baseline, 85 % of the mean
        loss over the last twentieth of the rounds: a clique that is not drawn gains on those that are. The barrier
        follows the baseline, and what would put a clique further behind than 4 % of the rounds so far plus six times
        their root is held back.
        With one clique there is nothing to explore, and what is left are exponential weights with the rate
        ``2 sqrt(log d / t)``. They need no head start: no estimate is divided by a small probability.
        """
        check_cover(cover)
        if cover.n_cliques == 1:
            return cls(
                alpha=tuple(sharp_alphas(cover.sizes, 0.25).tolist()),
                beta=1.0,
                gamma=0.0,
                eta0=2.0 * math.sqrt(math.log(max(2, cover.n_arms))),  # (1/c + c/4) sqrt(T log d) is least at c = 2
                estimator="baseline",
                memory=20.0,
                label="practical",
            )
        alpha = sharp_alphas(cover.sizes, 0.25)
        reach = alpha + np.log(cover.sizes)  # how far the regulariser of a clique can go
        slope = 1.25
        return cls(
            alpha=tuple(alpha.tolist()),
            beta=0.2 + slope * rebound(int(cover.sizes.max())),
            gamma=0.0,
            eta0=4.0,
            estimator="baseline",
            head_start=300.0,
            rate_factor=tuple(np.sqrt(reach).tolist()),
            memory=20.0,
            baseline_share=0.85,
            barrier_slope=slope,
            deficit_limit=0.04,
            deficit_root=6.0,
            label="practical",
        )

    @classmethod
    def forgetting(cls, cover: CliqueCover) -> Constants:
        """The default of a learner with a half-life; no theorem covers it.

        Its memory is short, and after a change it has to find the new best clique before the next one: so it has four
        times the rate, and a rare draw may say more. Found on tuning seeds in the worlds ``switching`` and
        ``drifting`` (``docs/practical.md``). With one clique it is the practical setting.
        """
        settled = cls.practical(cover)
        if cover.n_cliques == 1:
            return settled
        return replace(settled, eta0=16.0, baseline_share=0.75, deficit_limit=0.2, deficit_root=4.0, label="forgetting")

    @classmethod
    def unproved(cls, cover: CliqueCover) -> Constants:
        """What the practical setting was at first, so that published numbers can be repeated.

        Implicit exploration (Kocák et al. 2014) bounds what one rare or early loss can do, be it luck or an attack; a
        head start of 300 rounds does the same for the rate. Barrier and implicit exploration buy exploration in case
        losses vary as much as they can; where they vary less, less is enough. With one clique there is nothing to
        explore, and what is left are exponential weights. **No theorem covers this setting, and it can be broken**: in
        the world ``lock-in`` its expected regret is 0.015 T, and one run in eight loses more than 0.1 T.
        """
        check_cover(cover)
        alpha = sharp_alphas(cover.sizes, 0.25)
        reach = float(np.max(alpha + np.log(cover.sizes)))  # how far the regulariser can go in one clique
        eta0, implicit_exploration = 3.0 * math.sqrt(reach), 30.0 * math.sqrt(reach)
        if cover.n_cliques == 1:
            eta0, implicit_exploration = 2.0 * math.sqrt(math.log(max(2, cover.n_arms))), 0.0
        return cls(
            alpha=tuple(alpha.tolist()),
            beta=1.5,
            gamma=0.0,
            eta0=eta0,
            estimator="baseline",
            implicit_exploration=implicit_exploration,
            variance_floor=0.25,
            head_start=300.0,  # without it one run in 300 follows a wrong clique for a thousand rounds
            label="unproved",
        )

    @property
    def rate_factors(self) -> NDArray[np.float64]:
        """(K,) the rate factor of each clique."""
        return np.array(self.rate_factor) if self.rate_factor else np.ones(len(self.alpha))

    def learning_rate(self, round: int) -> float:
        """``eta_t = eta0 / (t + head_start)**power``."""
        return learning_rate(self.eta0, self.power, float(round) + self.head_start)

    def check_fits(self, cover: CliqueCover) -> None:
        """Refuse constants for which the step on ``cover`` has no unique answer."""
        if len(self.alpha) != cover.n_cliques:
            raise InvalidConstants(
                f"alpha has {len(self.alpha)} numbers but the cover has {cover.n_cliques} cliques; "
                "expected one for each clique"
            )
        if self.gamma * cover.n_arms > 1.0 + 1e-12:
            raise InvalidConstants(
                f"gamma is {self.gamma:g}, but {cover.n_arms} arms cannot all have more than "
                f"1/{cover.n_arms}; choose a smaller gamma"
            )
        if cover.n_cliques == 1:
            return  # alpha and beta drop out
        sizes = cover.sizes
        alpha = np.asarray(self.alpha)
        for size in np.unique(sizes):
            lowest = float(alpha[sizes == size].min())
            limit = sharp_alpha(int(size), 0.0)
            if lowest < limit * (1.0 - 1e-12):
                raise InvalidConstants(
                    f"alpha is {lowest:g} for a clique of {size} arms, below {limit:.6g}, the limit under which the "
                    "regulariser is not convex; allworlds.sharp_alpha(size, kappa) gives safe values"
                )
        if self.beta * self.variance_floor == 0.0 and float(alpha.min()) == 0.0:
            raise InvalidConstants(
                "alpha and the least barrier (beta times variance_floor) are both 0 for some clique, which leaves its "
                "mass undetermined; raise one of them"
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; a run of equal alphas stays one number for each clique."""
        limit = None if self.deficit_limit == math.inf else self.deficit_limit  # JSON has no infinity
        return asdict(self) | {
            "alpha": list(self.alpha),
            "rate_factor": list(self.rate_factor),
            "deficit_limit": limit,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Constants:
        """The inverse of :meth:`to_dict`."""
        limit = data.get("deficit_limit")
        numbers = {"alpha": tuple(data["alpha"]), "rate_factor": tuple(data.get("rate_factor", ()))}
        return cls(**(data | numbers | {"deficit_limit": math.inf if limit is None else limit}))

    def digest(self) -> str:
        """A hash of all values, equal for equal constants on every machine."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    @property
    def is_unbiased(self) -> bool:
        """Whether estimates are those of Algorithm 1, ``l / p(V)``, which the proofs are about."""
        return self.estimator == "importance" and self.implicit_exploration == 0.0

    def __repr__(self) -> str:
        more = ""
        if self.implicit_exploration > 0.0:
            more += f", implicit exploration={self.implicit_exploration:.4g}/{self._rounds()}"
        if self.variance_floor < 1.0:
            more += f", variance floor={self.variance_floor:g}"
        if self.memory > 0.0:
            more += f", memory={self.memory:g}"
        if self.baseline_share < 1.0:
            more += f", baseline share={self.baseline_share:g}"
        if self.barrier_slope > 0.0:
            more += f", barrier slope={self.barrier_slope:g}"
        if self.deficit_limit < math.inf:
            more += f", deficit limit={self.deficit_limit:g}"
        if self.deficit_root > 0.0:
            more += f", deficit root={self.deficit_root:g}"
        return (
            f"Constants({self.label}: alpha={_short(self.alpha)}, beta={self.beta:g}, gamma={self.gamma:g}, "
            f"learning rate={self.eta0:.4g}/{self._rounds()}**{self.power:g}, estimator={self.estimator}{more})"
        )

    def _rounds(self) -> str:
        return "t" if self.head_start == 0.0 else f"(t + {self.head_start:g})"


def learning_rate(eta0: float, power: float, round: float) -> float:
    """``eta0 / round**power``, with the exact square root for the usual power of one half."""
    return eta0 / (math.sqrt(round) if power == 0.5 else round**power)


def _finite(name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    except OverflowError:
        number = math.inf
    if not abs(number) <= LARGEST:
        raise InvalidConstants(f"{name} is {value!r}; expected a number of at most {LARGEST:g} in size")
    return number


def _short(values: tuple[float, ...]) -> str:
    few = ", ".join(f"{value:.4g}" for value in values[:3])
    return f"({few}, … {len(values)} in all)" if len(values) > 3 else f"({few})"
