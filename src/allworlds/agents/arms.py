"""Arms that come and go: the graph and cover after a change, where a new arm starts, and decisions older than it.

**Where a new arm starts.** Its clique, if it joined one, knows what an arm of it loses: the new arm starts at the
clique's mean estimate, weighted by how often its arms are chosen. An arm in a clique of its own starts at that mean
over all arms: as if it had lost, so far, what the agent's own choices lost. Both are near the best known arm, so the
new arm is tried soon, and what it loses decides from then on.

**A decision that was open** when the arms changed keeps the probabilities with which it was drawn, arm by arm. Its
late outcome adds ``(loss - baseline) / divisor`` to every arm of it that still exists, which is unbiased for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.checks import real, shorten
from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.inputs import Label
from allworlds.graphs.storage import DisjointCliques
from allworlds.learners import Learner
from allworlds.learners.base import CliqueLearner


class Carried(NamedTuple):
    """What the estimate of a decision needs that is older than the last change of the arms."""

    arm: Label
    probability: float
    round: int
    observes: tuple[Label, ...]
    divisors: list[float]
    """For each observed arm, what its loss is divided by."""
    baseline: float
    details: dict[str, float]


def as_carried(fields: list[Any]) -> Carried:
    """A saved :class:`Carried`; raise InvalidState unless a draw could have made it."""
    arm, probability, round, observes, divisors, baseline, details = fields
    numbers = np.asarray(divisors, dtype=np.float64)
    if numbers.shape != (len(observes),) or not np.all(numbers > 0.0):
        raise InvalidState(f"a ticket for arm {arm!r} has divisors {divisors}; expected one above 0 for each arm")
    likely = real("a ticket's probability", probability, above=0, at_most=1 + 1e-9, error=InvalidState)
    taken_off = real("a ticket's baseline", baseline, error=InvalidState)
    return Carried(arm, likely, int(round), tuple(observes), numbers.tolist(), taken_off, dict(details))


def names_of(graph: FeedbackGraph) -> tuple[Label, ...]:
    """The labels of all arms, or their numbers."""
    return graph.labels or tuple(range(graph.n_arms))


def check_texts(names: Iterable[Label]) -> None:
    """Raise InvalidParameter if two labels have one text, such as 0 and "0": logs and tables know texts alone."""
    seen: dict[str, Label] = {}
    for name in names:
        other = seen.setdefault(str(name), name)
        if other != name:
            raise InvalidParameter(
                f"the labels {other!r} and {name!r} have the same text, and logs and tables cannot tell such arms "
                "apart; expected labels whose texts differ, also from those of retired arms"
            )


def with_arm(graph: FeedbackGraph, label: Any, neighbours: Iterable[Any]) -> tuple[FeedbackGraph, list[int]]:
    """The graph with one arm more, which is last, and the numbers of its neighbours, sorted."""
    names = names_of(graph)
    if not isinstance(label, str) and (isinstance(label, bool) or not isinstance(label, int)):
        raise InvalidParameter(f"label is {shorten(label)}; expected a string or an integer")
    if label in names:
        raise InvalidParameter(f"there is already an arm {label!r}; expected a new label")
    if isinstance(neighbours, str | bytes) or not isinstance(neighbours, Iterable):
        raise InvalidParameter(f"neighbours is {shorten(neighbours)}; expected a list of arms")
    seen: set[int] = set()
    for arm in neighbours:
        try:
            seen.add(graph.index_of(arm))
        except InvalidParameter as error:
            raise InvalidParameter(f"neighbours names an unknown arm: {error}") from None
    numbers, new = sorted(seen), graph.n_arms
    labels = [*names, label]
    cliques = _disjoint(graph)
    if cliques is not None:
        if not numbers:
            return FeedbackGraph.from_cliques(new + 1, [*cliques, [new]], labels), numbers
        if numbers in cliques:
            grown = [[*clique, new] if clique == numbers else clique for clique in cliques]
            return FeedbackGraph.from_cliques(new + 1, grown, labels), numbers
    edges = [*map(tuple, graph.edges().tolist()), *((i, new) for i in numbers)]
    if graph.is_directed or not graph.self_loops.all():
        edges += [(new, i) for i in numbers]
        loops = [*np.flatnonzero(graph.self_loops).tolist(), new]
        return FeedbackGraph(new + 1, edges, labels, directed=True, self_loops=loops), numbers
    return FeedbackGraph(new + 1, edges, labels), numbers


def without_arm(graph: FeedbackGraph, arm: int) -> FeedbackGraph:
    """The graph without one arm; the others keep their names."""
    if graph.n_arms == 1:
        raise InvalidParameter("this is the last arm; expected one to be left; add another one first")
    names = names_of(graph)
    labels = [name for i, name in enumerate(names) if i != arm]
    place = [i - (i > arm) for i in range(graph.n_arms)]
    cliques = _disjoint(graph)
    if cliques is not None:
        left = [[place[i] for i in clique if i != arm] for clique in cliques]
        return FeedbackGraph.from_cliques(graph.n_arms - 1, [clique for clique in left if clique], labels)
    edges = [(place[i], place[j]) for i, j in graph.edges().tolist() if arm not in (i, j)]
    if graph.is_directed or not graph.self_loops.all():
        loops = [place[i] for i in np.flatnonzero(graph.self_loops).tolist() if i != arm]
        return FeedbackGraph(graph.n_arms - 1, edges, labels, directed=True, self_loops=loops)
    return FeedbackGraph(graph.n_arms - 1, edges, labels)


def _disjoint(graph: FeedbackGraph) -> list[list[int]] | None:
    """The cliques of a graph of disjoint cliques, which is never expanded into edges."""
    storage = graph._storage
    if not isinstance(storage, DisjointCliques):
        return None
    return [part.tolist() for part in np.split(storage.order, storage.starts[1:-1])]


def cover_with_arm(cover: CliqueCover, graph: FeedbackGraph, neighbours: list[int]) -> CliqueCover:
    """The cover of the graph with its last arm: in the largest clique that it sees whole, or else in one of its own."""
    seen = set(neighbours)
    whole = [k for k, clique in enumerate(cover.cliques) if seen.issuperset(clique.tolist())]
    joined = max(whole, key=lambda k: (cover.sizes[k], -k), default=cover.n_cliques)
    return CliqueCover.from_owner(graph, np.append(cover.owner, joined))


def cover_without_arm(cover: CliqueCover, graph: FeedbackGraph, arm: int) -> CliqueCover:
    """The cover of the graph without an arm; a clique that it leaves empty is gone."""
    owner = np.delete(cover.owner, arm)
    return CliqueCover.from_owner(graph, np.unique(owner, return_inverse=True)[1])


def starting_losses(old: Learner, state: Any, new: FeedbackGraph | CliqueCover) -> NDArray[np.float64]:
    """(N',) the estimate of each arm of ``new``: what was learnt, or for a new arm where it starts."""
    losses, p = old.estimates(state), old.distribution(state)
    places = {name: i for i, name in enumerate(names_of(graph_of(old)))}
    graph = new.graph if isinstance(new, CliqueCover) else new
    names = names_of(graph)
    known = [places.get(name, -1) for name in names]
    overall = float(p @ losses)
    out = np.array([losses[i] if i >= 0 else overall for i in known])
    for arm, i in enumerate(known):
        if i < 0:
            mates = new.cliques[new.owner[arm]] if isinstance(new, CliqueCover) else graph.sees(arm)
            kept = [known[mate] for mate in mates.tolist() if known[mate] >= 0]
            mass = float(p[kept].sum()) if kept else 0.0
            if mass > 0.0:
                out[arm] = float(p[kept] @ losses[kept]) / mass
    return out


def carry(learner: Learner, ticket: Any) -> Carried:
    """The ticket of an open decision in words that survive a change of the arms."""
    names = names_of(graph_of(learner))
    divisors, baseline = learner.weights_of(ticket)
    observes = tuple(names[i] for i in learner.observes(ticket.arm).tolist())
    return Carried(
        names[ticket.arm],
        ticket.probability,
        ticket.round,
        observes,
        divisors.tolist(),
        baseline,
        learner.details(ticket),
    )


def late_outcome(learner: Learner, state: Any, ticket: Carried, losses: NDArray[np.float64]) -> Any:
    """The state after the outcome of a decision that is older than the arms: losses in [0, 1], in its own order."""
    estimates = learner.estimates(state)
    places = {name: i for i, name in enumerate(names_of(graph_of(learner)))}
    for name, loss, divisor in zip(ticket.observes, losses.tolist(), ticket.divisors, strict=True):
        if name in places:
            estimates[places[name]] += (loss - ticket.baseline) / divisor
    shown = dict(zip(ticket.observes, losses.tolist(), strict=True))
    incurred = shown.get(ticket.arm, float(losses.mean()) if losses.size else 0.0)
    return learner.with_estimates(state, estimates, incurred)


def check_movable(learner: Learner) -> None:
    """Raise InvalidParameter unless the learner can go on with other arms."""
    if not learner.movable:
        raise InvalidParameter(
            f"the arms of {learner.title} cannot change while it runs; learners whose arms can: exp3, exp3-ix, "
            "guarded, tsallis-shannon"
        )


def place_for(learner: Learner, graph: FeedbackGraph | CliqueCover) -> FeedbackGraph | CliqueCover:
    """What the learner plays on: a cover, computed where only a graph is given, or the graph."""
    if isinstance(learner, CliqueLearner) and isinstance(graph, FeedbackGraph):
        return type(learner)(graph).cover
    return graph.graph if isinstance(graph, CliqueCover) and not isinstance(learner, CliqueLearner) else graph


def graph_of(learner: Learner) -> FeedbackGraph:
    """The graph of an agent's learner, which is fixed."""
    graph = learner.graph
    assert isinstance(graph, FeedbackGraph)
    return graph
