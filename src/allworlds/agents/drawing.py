"""Which arms may be drawn, and with what probability: masks and minimum shares, for all learners in one place.

A learner says ``w``, its own distribution. The agent may have to draw from another one: some arms are not available
now, and some must have at least a share ``f`` of the choices. Over the available arms ``A``,

    p_i = f_i + (1 - sum_A f) w_i / sum_A w          for i in A,  and p_i = 0 elsewhere,

which sums to one and gives every available arm its share. (Clipping ``w`` at ``f`` and dividing by the sum gives less
than the share.) The ticket is then made from ``p`` (``Learner.ticket_from``): an estimate divides by the probability
with which the loss was really seen, so it is right whatever the mask and the shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.checks import real, shorten
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.learners import Learner


def check_redrawn(learner: Learner, wish: str) -> None:
    """Raise InvalidParameter unless the learner's estimates can follow another distribution than its own."""
    if learner.redrawn:
        return
    from allworlds.learners.by_name import LEARNERS

    able = sorted({recipe.name for recipe in LEARNERS.values() if recipe.kind.redrawn})
    raise InvalidParameter(
        f"{learner.name} does not take {wish}: it chooses by a rule of its own; learners that do: {', '.join(able)}"
    )


def as_mask(available: Iterable[Any], graph: FeedbackGraph) -> NDArray[np.int64]:
    """The numbers of the available arms, sorted; raise InvalidParameter unless they are arms, at least one."""
    if isinstance(available, str | bytes | Mapping) or not isinstance(available, Iterable):
        raise InvalidParameter(f"available is {shorten(available)}; expected a list of arms")
    numbers: list[int] = []
    for arm in available:
        try:
            numbers.append(graph.index_of(arm))
        except InvalidParameter as error:
            raise InvalidParameter(f"available names an unknown arm: {error}") from None
    if not numbers:
        raise InvalidParameter("available is empty; expected at least one arm to choose from")
    return np.unique(np.array(numbers, dtype=np.int64))


def as_shares(minimum_share: float | Mapping[Any, float] | None, graph: FeedbackGraph) -> dict[Any, float]:
    """The minimum share of each arm that has one, by label; raise InvalidParameter unless they sum to at most 1."""
    if minimum_share is None:
        return {}
    if isinstance(minimum_share, Mapping):
        shares = {}
        for arm, share in minimum_share.items():
            try:
                graph.index_of(arm)
            except InvalidParameter as error:
                raise InvalidParameter(f"minimum_share names an unknown arm: {error}") from None
            shares[arm] = real(f"the minimum share of arm {arm!r}", share, at_least=0, at_most=1)
    else:
        share = real("minimum_share", minimum_share, at_least=0, at_most=1)
        shares = dict.fromkeys(graph.labels or range(graph.n_arms), share)
    total = sum(shares.values())
    if total > 1.0 + 1e-12:
        raise InvalidParameter(f"the minimum shares sum to {total:g}; expected at most 1")
    return {arm: share for arm, share in shares.items() if share > 0.0}


def restricted(
    weights: NDArray[np.float64], available: NDArray[np.int64] | None, floors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(N,) ``p = f + (1 - sum f) w`` over the available arms (None: all), 0 elsewhere.

    Where the learner has no probability left for any available arm, it is shared equally among them.

    >>> restricted(np.array([0.5, 0.3, 0.2]), np.array([0, 2]), np.array([0.0, 0.1, 0.3])).round(9)
    array([0.5, 0. , 0.5])
    """
    arms = np.arange(weights.size) if available is None else available
    w, f = weights[arms], floors[arms]
    total = float(w.sum())
    w = w / total if total > 0.0 else np.full(arms.size, 1.0 / arms.size)
    p = np.zeros(weights.size)
    p[arms] = f + max(0.0, 1.0 - float(f.sum())) * w
    return p
