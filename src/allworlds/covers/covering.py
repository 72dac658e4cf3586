"""Finding a cover with few cliques, and a proof of how few there can be."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from allworlds.covers.budget import Budget, check_time_limit
from allworlds.covers.certificate import Certificate, IndependentArms, Part, PartByPart
from allworlds.covers.cover import CliqueCover
from allworlds.covers.greedy import cover_in_order
from allworlds.covers.rebalancing import rebalance
from allworlds.covers.searching import METHODS, Best, begin, search
from allworlds.covers.structure import chordal_cover, component_of, reduce_dominated
from allworlds.foundation.checks import Ints
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import nearest
from allworlds.graphs.graph import FeedbackGraph, check_graph
from allworlds.graphs.storage import DisjointCliques, induced

Objective: TypeAlias = Literal["cliques"] | Callable[[int], float]

INTERRUPTED = "interrupted"
REDUCTION_WORK = 60_000_000
"""Looks at pairs of arms while dominated arms are put aside: a second or two."""
MOST_COMPONENTS = 1000
"""Components that are searched one by one; smaller ones beyond that go together."""


def clique_cover(
    graph: FeedbackGraph,
    time_limit: float | None = None,
    *,
    method: str = "auto",
    objective: Objective = "cliques",
) -> CliqueCover:
    """A partition of the arms into few cliques, with a proof of how few there can be.

    The fewest possible is NP-hard to find, and any valid cover keeps the learner's guarantee, with its own number of
    cliques. Disjoint cliques are read off; chordal graphs (so interval graphs and forests) and graphs without
    triangles are solved exactly. Elsewhere, arms that fit into another arm's clique whatever it is are put aside, and
    each component that is left is searched: DSATUR [Brélaz 1979], tabu search, branch and bound, and, if there is a
    time limit and the extra ``covers`` is installed, a SAT solver and set cover by HiGHS.

    Without a time limit, work is counted and not time: the same graph gets the same cover, every time and everywhere,
    within seconds. With one, the answer is the best found until then. Ctrl-C during the search ends it, too; the
    cover's ``method`` then ends in "interrupted".

    Parameters
    ----------
    graph:
        The graph to cover.
    time_limit:
        Seconds that the search may take; what it compiles on its first call is not counted.
    method:
        ``auto``; ``heuristic`` (no exact search); or one exact search: ``branch``, ``sat``, ``set-cover``. The last two
        need a time limit.
    objective:
        ``cliques`` for few of them. Or a function of a clique's size: the cover found is then changed, arm by arm and
        clique by clique, until its sum falls no more; ``allworlds.theory.clique_penalty`` is that of the regret bound.
        Disjoint cliques stay as they are. The lower bound is on the number of cliques in any case.

    Examples
    --------
    >>> cover = clique_cover(FeedbackGraph(4, [(0, 1), (1, 2), (0, 2), (2, 3)]))
    >>> cover
    CliqueCover(4 arms in 2 cliques, at least 2 needed, chordal)
    >>> cover.is_minimum, cover.certificate.check(cover.graph)
    (True, '2 arms do not see each other')
    """
    check_graph(graph)
    check_time_limit(time_limit)
    if nearest(method, METHODS, "method") in ("sat", "set-cover") and time_limit is None:
        raise InvalidParameter(
            f"method {method!r} needs a time limit, since its work cannot be counted; give time_limit"
        )
    if objective != "cliques" and not callable(objective):
        raise InvalidParameter(f"objective is {objective!r}; expected 'cliques' or a function of a clique's size")
    storage = graph._storage
    if isinstance(storage, DisjointCliques):
        apart = IndependentArms(storage.order[storage.starts[:-1]])
        return CliqueCover._trusted(graph, *storage.arrays(), apart.bound, "structure", apart)
    if time_limit is not None:
        compile_searches()
    owner, certificate, word = _cover(*storage.neighbours(), Budget(time_limit), method)
    if callable(objective):
        owner, word = rebalance(*storage.neighbours(), owner, objective), f"{word}, rebalanced"
    return CliqueCover.from_owner(graph, _by_smallest_arm(owner), method=word, certificate=certificate)


@functools.cache
def compile_searches() -> None:
    """Cover one small graph in two ways, so that compiling does not count as searching.

    It is a cycle of seven arms with two hubs, where nothing is proved by structure, and a cycle of five beside it.
    """
    rim = [(arm, (arm + 1) % 7) for arm in range(7)]
    spokes = [(arm, hub) for arm in range(7) for hub in (7, 8)]
    graph = FeedbackGraph(14, [*rim, *spokes, *((9 + arm, 9 + (arm + 1) % 5) for arm in range(5))])
    lists = graph._storage.neighbours()
    for method in ("auto", "heuristic"):
        owner, _, _ = _cover(*lists, Budget(), method)
    cover_in_order(*lists, np.argsort(owner))


def _cover(indptr: Ints, indices: Ints, budget: Budget, method: str) -> tuple[Ints, Certificate, str]:
    """The clique of each arm, what proves the bound, and the methods that were needed."""
    chordal = chordal_cover(indptr, indices)
    if chordal is not None:
        return chordal[0], IndependentArms(chordal[1]), "chordal"
    leader, left = reduce_dominated(indptr, indices, REDUCTION_WORK)
    parts = _components(indptr, indices, left)
    found = [begin(*induced(indptr, indices, arms)) for arms in parts]
    stopped = _search_all(found, budget, method)
    owner = np.full(len(indptr) - 1, -1)
    count = 0
    for arms, best in zip(parts, found, strict=True):
        owner[arms] = count + best.owner
        count += best.n_cliques
    words = list(dict.fromkeys(word for best in found for word in best.methods))
    if len(left) < len(owner):
        words = ["reduction", *(word for word in words if word != "chordal")]
    certificate = _joined(len(owner), parts, found)
    return owner[leader], certificate, " + ".join(words) + (f", {INTERRUPTED}" if stopped else "")


def _components(indptr: Ints, indices: Ints, left: Ints) -> list[Ints]:
    """The arms that are left by component; single arms together, and so are the smallest where there are too many."""
    component = component_of(*induced(indptr, indices, left))
    sizes = np.bincount(component)
    order = np.argsort(-sizes, kind="stable")
    together = np.zeros(len(sizes), dtype=np.bool_)
    together[order[MOST_COMPONENTS:]] = True
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[order] = np.arange(len(sizes))
    rank[together] = MOST_COMPONENTS
    rank[sizes == 1] = MOST_COMPONENTS + 1
    groups = rank[component]
    return [left[groups == group] for group in np.unique(groups)]


def _search_all(found: list[Best], budget: Budget, method: str) -> bool:
    """Search every component that is not solved yet, small ones first; True if Ctrl-C ended it."""
    open_ones = sorted((best for best in found if not best.is_proved), key=lambda best: len(best.owner))
    try:
        for number, best in enumerate(open_ones):
            search(best, budget.share(1.0 / (len(open_ones) - number)), method)
    except KeyboardInterrupt:
        return True
    return False


def _joined(n_arms: int, parts: list[Ints], found: list[Best]) -> Certificate:
    """One certificate for all parts; independent arms of different parts are independent together."""
    apart: list[Ints] = []
    others: list[Part] = []
    for arms, best in zip(parts, found, strict=True):
        if isinstance(best.certificate, IndependentArms):
            apart.append(arms[best.certificate.arms])
        else:
            others.append(Part(arms, best.certificate))
    if not others:
        return IndependentArms(np.concatenate(apart))
    if not apart and len(others) == 1 and len(others[0].arms) == n_arms:
        return others[0].certificate
    alone = np.sort(np.concatenate(apart)) if apart else np.zeros(0, dtype=np.int64)
    first = [Part(alone, IndependentArms(np.arange(len(alone))))] if apart else []
    return PartByPart((*first, *others))


def _by_smallest_arm(owner: Ints) -> Ints:
    """The same cliques, numbered by their smallest arm."""
    return DisjointCliques.from_owner(owner).owner.copy()
