"""One compiled loop for all learners: ``draw``, ``update`` and the like are chosen by the class of the state.

``simulation/play.py`` calls these stubs. A learner file registers its kernels for its ``State`` with
:func:`register_kernels`; Numba then picks them when the loop is compiled for that state, and plain Python picks them by
``functools.singledispatch`` when compilation is off. Every specialisation is found again on disk by the next
process.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numba.core import config
from numba.extending import overload
from numpy.typing import NDArray

from allworlds.foundation.checks import frozen
from allworlds.graphs import AnyGraph, ChangingGraph, NoisyGraph
from allworlds.graphs.round_graphs import blank_lists, lists_of
from allworlds.graphs.storage import Arcs, DisjointCliques
from allworlds.graphs.storage import Visibility as Visibility
from allworlds.kernels.jit import lean_jit

Shows = Literal["neighbours", "itself", "everything"]


def visibility_of(graph: AnyGraph, shows: Shows) -> Visibility:
    """What a learner is shown: disjoint cliques are listed by clique, the neighbours in other graphs by arm.

    Of a changing graph it is room for the lists of a round, new in every call; until then arms see only themselves.
    """
    n_arms = graph.n_arms
    each = frozen(np.arange(n_arms))
    if shows == "itself":
        return Visibility(each, frozen(np.arange(n_arms + 1)), each)
    if shows == "everything":
        return Visibility(frozen(np.zeros(n_arms, dtype=np.int64)), frozen(np.array([0, n_arms])), each)
    if isinstance(graph, ChangingGraph):
        return blank_lists(n_arms)[0]
    if isinstance(graph, NoisyGraph):  # writable, as the arrays of every graph that is not a plain one
        return Visibility(np.arange(n_arms), *lists_of(graph.graph))
    storage = graph._storage
    if isinstance(storage, DisjointCliques):
        return Visibility(storage.owner, storage.starts, storage.order)
    return Visibility(each, storage.indptr, storage.indices)


def observers_of(graph: AnyGraph, visibility: Visibility) -> Visibility:
    """Who shows each arm: the same lists as ``visibility`` unless the graph is directed or changes."""
    if isinstance(graph, ChangingGraph):
        return blank_lists(graph.n_arms)[1]
    if isinstance(graph, NoisyGraph):
        return Visibility(visibility.where, *lists_of(graph.graph, back=True))
    storage = graph._storage
    return Visibility(visibility.where, *storage.observers) if isinstance(storage, Arcs) else visibility


@functools.singledispatch
def draw(state: Any, first: float, second: float) -> Any:
    """Choose an arm by two uniforms; return the ticket, change nothing."""
    raise TypeError(f"state is a {type(state).__name__}; expected one that register_kernels knows")


@functools.singledispatch
def update(state: Any, ticket: Any, losses: NDArray[np.float64]) -> None:
    """Learn the losses of the arms that ``ticket.arm`` shows, in the order of ``visibility``."""
    raise TypeError(f"state is a {type(state).__name__}; expected one that register_kernels knows")


@functools.singledispatch
def learn(state: Any, ticket: Any, losses: NDArray[np.float64], excess: float) -> float:
    """:func:`update`, holding back ``excess`` of the estimate, or what the learner finds if it is negative; return it.

    A learner that never holds anything back needs no kernel for this.
    """
    update(state, ticket, losses)
    return 0.0


@functools.singledispatch
def resolve(state: Any) -> None:
    """Compute what follows from the saved fields of a state; nothing where all fields are saved."""


@functools.singledispatch
def visibility(state: Any) -> Visibility:
    """What each arm shows; asked once, before the loop."""
    raise TypeError(f"state is a {type(state).__name__}; expected one that register_kernels knows")


@lean_jit
def _no_masses(state: Any, masses: NDArray[np.float64]) -> None:
    pass


@functools.singledispatch
def write_clique_masses(state: Any, masses: NDArray[np.float64]) -> None:
    """Write the clique masses of the coming round, for a trace; a learner without them writes nothing."""


@functools.singledispatch
def write_distribution(state: Any, distribution: NDArray[np.float64]) -> None:
    """Write the probability of each arm in the coming round; only for states that gave a ``distribution_kernel``."""
    raise TypeError(f"state is a {type(state).__name__}; expected one with a distribution_kernel")


@functools.singledispatch
def write_indices(state: Any) -> None:
    """Write the index of each arm into ``state.indices``; only for states that gave an ``index_kernel``."""
    raise TypeError(f"state is a {type(state).__name__}; expected one with an index_kernel")


WRITES_DISTRIBUTION: set[type] = set()
"""The classes of states that gave a ``distribution_kernel``."""


@lean_jit
def _no_safeguards(state: Any) -> tuple[float, float, float]:
    return math.nan, math.nan, math.nan


@functools.singledispatch
def safeguards(state: Any) -> tuple[float, float, float]:
    """A bound on the expected regret so far, what was held back so far, and the round of the handover.

    The last is the first round that was left to another learner. Each is NaN where there is none.
    """
    return math.nan, math.nan, math.nan


@lean_jit
def _no_graph(state: Any) -> None:
    pass


@functools.singledispatch
def regraph(state: Any) -> None:
    """Compute what depends on the round's graph, which has just been written; nothing where ``draw`` does that.

    A learner that is told the graph only after its choice keeps its distribution: it computes what it divides by.
    """


INLINE = {"forceinline": True}
"""For what a round calls: a state is a hundred words, and a call that only hands it on copies them all."""

_NAMESAKES: dict[str, list[type]] = {}
"""The registered states by their name in full."""


def register_kernels(
    state_class: type,
    draw_kernel: Callable[..., Any],
    update_kernel: Callable[..., None],
    resolve_kernel: Callable[..., object] | None = None,
    *,
    visibility_getter: Callable[..., Visibility] = operator.attrgetter("visibility"),
    masses_kernel: Callable[..., None] | None = None,
    safeguards_kernel: Callable[..., tuple[float, float, float]] | None = None,
    graph_kernel: Callable[..., None] | None = None,
    distribution_kernel: Callable[..., None] | None = None,
    learn_kernel: Callable[..., float] | None = None,
    index_kernel: Callable[..., None] | None = None,
) -> None:
    """Say which kernels belong to a state; ``visibility_getter`` is plain Python and reads ``state.visibility``.

    ``resolve_kernel`` computes what a state that was saved does not hold, such as the coming round's distribution.
    ``masses_kernel`` is for learners with cliques, ``safeguards_kernel`` for those with a bound on their regret so far
    (the three numbers of :func:`safeguards`), ``graph_kernel`` for those that compute something from a graph that may
    change, before they draw, ``distribution_kernel`` for those whose distribution is not a field of the state, so that
    a log can have it quickly, ``learn_kernel`` for those that hold back a part of an estimate, ``index_kernel`` for
    those that play the arm with the lowest index (``learners/indices.py``).

    Compiled code called from Python knows a named tuple again by the *name* of its class: two learners whose states
    are both called ``State`` and have fields of the same types would run each other's kernels. So the class is given
    its module's name too; and a further class of that name, as when a notebook cell runs again after an edit, a number.
    """
    name = f"{state_class.__module__}.{state_class.__qualname__}"
    namesakes = _NAMESAKES.setdefault(name, [])
    if state_class not in namesakes:
        namesakes.append(state_class)
        state_class.__name__ = name if len(namesakes) == 1 else f"{name}#{len(namesakes)}"
    masses_of, graph_of = masses_kernel or _no_masses, graph_kernel or _no_graph
    safeguards_of = safeguards_kernel or _no_safeguards
    kernels = {
        draw: draw_kernel,
        update: update_kernel,
        visibility: visibility_getter,
        write_clique_masses: masses_of,
        safeguards: safeguards_of,
        regraph: graph_of,
    }
    if resolve_kernel is not None:
        kernels[resolve] = resolve_kernel
    if distribution_kernel is not None:
        kernels[write_distribution] = distribution_kernel
        WRITES_DISTRIBUTION.add(state_class)
    if learn_kernel is not None:
        kernels[learn] = learn_kernel
    if index_kernel is not None:
        kernels[write_indices] = index_kernel
    for stub, kernel in kernels.items():
        stub.register(state_class, kernel)
    if config.DISABLE_JIT:
        return

    def mine(state: Any) -> bool:
        return getattr(state, "instance_class", None) is state_class

    # Numba compares the parameters of an overload with those of its implementation, annotations included.
    @overload(draw, jit_options=INLINE)
    def _draw(state, first, second):  # type: ignore[no-untyped-def]
        return (lambda state, first, second: draw_kernel(state, first, second)) if mine(state) else None

    @overload(update, jit_options=INLINE)
    def _update(state, ticket, losses):  # type: ignore[no-untyped-def]
        return (lambda state, ticket, losses: update_kernel(state, ticket, losses)) if mine(state) else None

    @overload(learn)
    def _learn(state, ticket, losses, excess):  # type: ignore[no-untyped-def]
        def update_alone(state, ticket, losses, excess):  # type: ignore[no-untyped-def]
            update_kernel(state, ticket, losses)
            return 0.0

        if learn_kernel is None:
            return update_alone if mine(state) else None
        return (
            (lambda state, ticket, losses, excess: learn_kernel(state, ticket, losses, excess)) if mine(state) else None
        )

    @overload(write_clique_masses)
    def _write_clique_masses(state, masses):  # type: ignore[no-untyped-def]
        return (lambda state, masses: masses_of(state, masses)) if mine(state) else None

    @overload(safeguards)
    def _safeguards(state):  # type: ignore[no-untyped-def]
        return (lambda state: safeguards_of(state)) if mine(state) else None

    @overload(regraph)
    def _regraph(state):  # type: ignore[no-untyped-def]
        return (lambda state: graph_of(state)) if mine(state) else None

    if distribution_kernel is not None:

        @overload(write_distribution)
        def _write_distribution(state, distribution):  # type: ignore[no-untyped-def]
            return (lambda state, distribution: distribution_kernel(state, distribution)) if mine(state) else None

    if index_kernel is not None:

        @overload(write_indices)
        def _write_indices(state):  # type: ignore[no-untyped-def]
            return (lambda state: index_kernel(state)) if mine(state) else None
