"""Families of graphs whose feedback is directed, or whose arms do not all see themselves.

``alpha`` is the independence number, the most arms of which no two are joined by an edge in either direction. A graph
is strongly observable if every arm sees itself or is seen by all others, and weakly if every arm is at least seen by
someone; ``delta`` is the weak domination number, the fewest arms that together see all arms that are not strongly
observable. The best regret is of order sqrt(alpha T) up to logarithms in the first case and delta^(1/3) T^(2/3) in the
second [Alon, Cesa-Bianchi, Dekel and Koren 2015].
"""

from __future__ import annotations

import numpy as np

from allworlds.foundation.checks import flag
from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs.families import Seed, check_count, check_probability, random_generator, successes
from allworlds.graphs.graph import FeedbackGraph


def apple_tasting() -> FeedbackGraph:
    """Arm 0 tastes the apple and sees both losses; arm 1 sells it unseen and sees none. Strongly observable, alpha = 1.

    [Helmbold, Littlestone and Long 2000].

    >>> apple_tasting().sees(0), apple_tasting().sees(1).size, apple_tasting().observability
    (array([0, 1]), 0, 'strong')
    """
    return revealing_action(2)


def revealing_action(n: int) -> FeedbackGraph:
    """Arm 0 sees all arms, the others see none: a learner must play it to learn anything. alpha = n - 1 for n >= 2.

    Weakly observable with delta = 1 for n >= 3: the smallest example of a regret of order T^(2/3) [Alon et al. 2015].

    >>> revealing_action(4).observability.arms
    (1, 2, 3)
    """
    arms = np.arange(check_count("n", n))
    return FeedbackGraph(n, np.column_stack([np.zeros_like(arms), arms]), directed=True, self_loops=False)


def label_efficient(n: int) -> FeedbackGraph:
    """``n`` predictions that show nothing, and arm 0, which asks for the label and so shows all: ``n + 1`` arms.

    The graph of :func:`revealing_action`; asking costs what the world says it costs. Weakly observable with delta = 1
    and alpha = n, for n >= 2 [Cesa-Bianchi, Lugosi and Stoltz 2005].

    >>> label_efficient(2).sees(0), label_efficient(2).observability
    (array([0, 1, 2]), 'weak')
    """
    return revealing_action(check_count("n", n) + 1)


def loopy_star(n: int) -> FeedbackGraph:
    """A bandit with one arm that reveals all: every arm sees itself, arm 0 sees the others too. alpha = n - 1.

    Strongly observable. One arm sees everything, but alpha is large: for T below alpha^3, looking first at the price of
    T^(2/3) is better than sqrt(alpha T) [Kocák and Carpentier 2023].

    >>> loopy_star(3).sees(0), loopy_star(3).sees(1)
    (array([0, 1, 2]), array([1]))
    """
    arms = np.arange(check_count("n", n))
    return FeedbackGraph(n, np.column_stack([np.zeros_like(arms), arms]), directed=True)


def first_price_bids(n: int) -> FeedbackGraph:
    """Bids in a first-price auction, from low to high: a bid shows what it and every higher bid would have earned.

    A winner learns that every higher bid would have won, too; a loser is told the winning bid. The graph is
    transitive and strongly observable, alpha = 1, with n (n - 1) / 2 edges; [Han, Zhou and Weissman 2020].

    >>> first_price_bids(4).sees(2), first_price_bids(4).seen_by(2)
    (array([2, 3]), array([0, 1, 2]))
    """
    return total_order(n)


def total_order(n: int, self_loops: bool = True) -> FeedbackGraph:
    """Arms in a row that see all arms after them. alpha = 1.

    With self-loops it is strongly observable. Without them only arm 0, which nobody else sees, sees itself; for n >= 3
    that is weakly observable with delta = 1.

    >>> total_order(4).observability, total_order(4, self_loops=False).observability.arms
    ('strong', (1, 2))
    """
    pairs = np.column_stack(np.triu_indices(check_count("n", n), 1))
    loops = True if flag("self_loops", self_loops, InvalidGraph) else [0]
    return FeedbackGraph(n, pairs, directed=True, self_loops=loops)


def directed_cycle(n: int, self_loops: bool = True) -> FeedbackGraph:
    """Arms in a ring that see the next one, n >= 3. alpha = floor(n / 2).

    Strongly observable with self-loops. Without them each arm is seen by one other only: weakly, with delta = n.

    >>> directed_cycle(4).sees(3), directed_cycle(4, self_loops=False).sees(3)
    (array([0, 3]), array([0]))
    """
    arms = np.arange(check_count("n", n, at_least=3))
    loops = flag("self_loops", self_loops, InvalidGraph)
    return FeedbackGraph(n, np.column_stack([arms, (arms + 1) % n]), directed=True, self_loops=loops)


def loopless_clique(n: int) -> FeedbackGraph:
    """Every arm sees all others but not itself, n >= 2. Strongly observable, alpha = 1: as good as full information.

    [Alon et al. 2015].

    >>> loopless_clique(3).sees(1), loopless_clique(3).observability
    (array([0, 2]), 'strong')
    """
    pairs = np.column_stack(np.triu_indices(check_count("n", n, at_least=2), 1))
    return FeedbackGraph(n, pairs, self_loops=False)


def clique_with_a_gap(n: int) -> FeedbackGraph:
    """Full information without two of its edges: arm 0 is not seen by itself and not by arm 1, n >= 3. alpha = 1.

    That little makes it weakly observable, with delta = 1 [Alon et al. 2015].

    >>> clique_with_a_gap(3).seen_by(0), clique_with_a_gap(3).observability
    (array([2]), 'weak')
    """
    sees = np.ones((check_count("n", n, at_least=3), n), dtype=np.bool_)
    sees[:2, 0] = False
    return FeedbackGraph.from_adjacency(sees, directed=True)


def bipartite(left: int, right: int, p: float = 1.0, seed: Seed = 0) -> FeedbackGraph:
    """The first ``left`` arms see each of the ``right`` others with probability ``p``; all arms see themselves.

    Nobody sees the left arms but themselves. Strongly observable. With p = 1, alpha = max(left, right); always
    alpha = left + right - the largest matching.

    >>> bipartite(2, 2).sees(0), bipartite(2, 2).sees(3)
    (array([0, 2, 3]), array([3]))
    """
    left, right = check_count("left", left), check_count("right", right)
    places = successes(left * right, check_probability("p", p), random_generator(seed))
    return FeedbackGraph(left + right, np.column_stack([places // right, left + places % right]), directed=True)


def tournament(n: int, seed: Seed) -> FeedbackGraph:
    """Of every two arms one sees the other, which one at random; all see themselves. Strongly observable, alpha = 1.

    >>> tournament(5, seed=1)
    FeedbackGraph(5 arms, 10 directed edges)
    """
    pairs = np.column_stack(np.triu_indices(check_count("n", n), 1))
    turned = random_generator(seed).random(len(pairs)) < 0.5
    pairs[turned] = pairs[turned, ::-1]
    return FeedbackGraph(n, pairs, directed=True)


def random_directed(n: int, p: float, loops: float = 1.0, *, seed: Seed) -> FeedbackGraph:
    """Arm i sees arm j with probability ``p``, and itself with probability ``loops``, all independently.

    With loops = 1 it is strongly observable; otherwise some arm may be unobservable, which ``observability`` tells.

    >>> random_directed(10, 1.0, loops=0.0, seed=0) == loopless_clique(10)
    True
    """
    n, p, loops = check_count("n", n), check_probability("p", p), check_probability("loops", loops)
    rng = random_generator(seed)
    places = successes(n * (n - 1), p, rng)
    rows, columns = places // max(1, n - 1), places % max(1, n - 1)
    pairs = np.column_stack([rows, columns + (columns >= rows)])  # without the diagonal
    return FeedbackGraph(n, pairs, directed=True, self_loops=np.flatnonzero(rng.random(n) < loops))
