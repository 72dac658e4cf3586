"""Finding a cover with few cliques, and a proof of how many every cover needs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from allworlds.covers.budget import Budget, check_time_limit
from allworlds.covers.certificate import Certificate, IndependentArms, Part, PartByPart
from allworlds.covers.cover import CliqueCover, read_cover
from allworlds.covers.greedy import cover_in_order, rebalance
from allworlds.covers.searching import METHODS, BestCover, first_cover, search
from allworlds.covers.structure import chordal_cover, reduce_graph
from allworlds.foundation.checks import Ints
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.specs import check_known
from allworlds.graphs.by_name import graph_spec, make_graph
from allworlds.graphs.graph import FeedbackGraph, check_graph
from allworlds.graphs.storage import DisjointCliques, induced

Objective: TypeAlias = Literal["cliques"] | Callable[[int], float]

INTERRUPTED = "interrupted"
MOST_COMPONENTS = 1000
"""Components that are searched one by one; the smaller ones are searched together."""


def clique_cover(
    graph: FeedbackGraph,
    time_limit: float | None = None,
    *,
    method: str = "auto",
    objective: Objective = "cliques",
) -> CliqueCover:
    """A partition of the arms into few cliques, with a proof of how many every cover needs.

    To find the fewest is NP-hard; any valid cover keeps the learner's guarantee, with its own number of cliques.
    Disjoint cliques are read off. Chordal graphs (such as interval graphs and forests) and graphs without triangles are
    solved exactly. In other graphs, arms that fit into another arm's clique whatever it is are put aside, and each
    component of the rest is searched: by DSATUR [Brélaz 1979], tabu search, branch and bound and, with a time limit,
    set cover by HiGHS and a SAT solver (with the extra ``covers``).

    Without a time limit, work is counted and not time: the same graph gets the same cover everywhere, within seconds.
    With one, the result is the best cover found in that time. Ctrl-C also ends the search; the cover's ``method`` then
    ends in "interrupted".

    Parameters
    ----------
    graph:
        The graph to cover.
    time_limit:
        Seconds that the search may take, not counting compilation on the first call.
    method:
        ``auto``, ``heuristic`` (no exact search), or one exact search: ``branch``, ``sat`` or ``set-cover``; the last
        two need a time limit.
    objective:
        ``cliques`` for few cliques, or a cost as a function of a clique's size, such as
        ``allworlds.theory.clique_penalty`` of the regret bound: then arms are moved and cliques joined until the total
        cost falls no more. Disjoint cliques are never changed. The lower bound is on the number of cliques in any case.

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
    if check_known(method, METHODS, "method") in ("sat", "set-cover") and time_limit is None:
        raise InvalidParameter(f"time_limit is None; expected a number of seconds for method {method!r}")
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


def make_cover(spec: str) -> CliqueCover:
    """A cover of the graph that a spec names: for ``cover:PATH`` the one in the file, otherwise a new one.

    >>> make_cover("cycle:5").n_cliques
    3
    """
    parsed = graph_spec(spec)
    if parsed.name == "cover" and parsed.positional:
        return read_cover(str(parsed.positional[0]))
    return clique_cover(check_graph(make_graph(spec)))


@functools.cache
def compile_searches() -> None:
    """Compile the searches by covering a small graph, so that a time limit does not include compilation.

    The graph is a cycle of seven arms with two hubs, where structure proves nothing, and a separate cycle of five.
    """
    rim = [(arm, (arm + 1) % 7) for arm in range(7)]
    spokes = [(arm, hub) for arm in range(7) for hub in (7, 8)]
    graph = FeedbackGraph(14, [*rim, *spokes, *((9 + arm, 9 + (arm + 1) % 5) for arm in range(5))])
    lists = graph._storage.neighbours()
    for method in ("auto", "heuristic"):
        owner, _, _ = _cover(*lists, Budget(), method)
    cover_in_order(*lists, np.argsort(owner))


def _cover(indptr: Ints, indices: Ints, budget: Budget, method: str) -> tuple[Ints, Certificate, str]:
    """The clique of each arm, the certificate, and the methods that contributed."""
    chordal = chordal_cover(indptr, indices)
    if chordal is not None:
        return chordal[0], IndependentArms(chordal[1]), "chordal"
    leader, parts = reduce_graph(indptr, indices, MOST_COMPONENTS)
    found = [first_cover(*induced(indptr, indices, arms)) for arms in parts]
    stopped = _search_all(found, budget, method)
    owner = np.full(len(indptr) - 1, -1)
    count = 0
    for arms, best in zip(parts, found, strict=True):
        owner[arms] = count + best.owner
        count += best.n_cliques
    words = list(dict.fromkeys(word for best in found for word in best.methods))
    if np.any(owner < 0):
        words = ["reduction", *(word for word in words if word != "chordal")]
    certificate = _joined(len(owner), parts, found)
    return owner[leader], certificate, " + ".join(words) + (f", {INTERRUPTED}" if stopped else "")


def _search_all(found: list[BestCover], budget: Budget, method: str) -> bool:
    """Search every component that is not solved yet, small ones first; True if Ctrl-C ended the search."""
    open_ones = sorted((best for best in found if not best.is_proved), key=lambda best: len(best.owner))
    try:
        for number, best in enumerate(open_ones):
            search(best, budget.share(1.0 / (len(open_ones) - number)), method)
    except KeyboardInterrupt:
        return True
    return False


def _joined(n_arms: int, parts: list[Ints], found: list[BestCover]) -> Certificate:
    """One certificate for all parts; independent arms of different parts are joined into one set."""
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
