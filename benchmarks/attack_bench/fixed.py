"""Fixed attacks: each a function of clique sizes and a few numbers.

Where an attack knows two sides, A is one clique (the middle one) and B all others; A is the better choice over the
whole run. The published counterexamples are those of the lock-in and its kin: each was found by a search against one
learner and makes its regret linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from attack_bench.tables import Table

Sizes = tuple[int, ...]
Attack = Callable[[Sizes], Table]
Row = tuple[float, float]
SIZES: tuple[Sizes, ...] = ((1, 1), (1, 1, 1, 1), (3, 3), (1, 1, 3))
"""The cliques on which the report plays every fixed attack."""


def two_sides(
    sizes: Sizes,
    name: str,
    lengths: Sequence[float],
    rows: Sequence[Row],
    constant: Sequence[tuple[bool, bool]] | bool = False,
    one_arm: bool = False,
) -> Table:
    """Levels (A, B) for each phase; A is the middle clique, or only its middle arm."""
    clique = np.repeat(np.arange(len(sizes)), sizes)
    inside = np.flatnonzero(clique == len(sizes) // 2)
    side = np.ones(clique.size, dtype=np.int64)
    side[inside[inside.size // 2] if one_arm else inside] = 0
    flags = [(constant, constant)] * len(rows) if isinstance(constant, bool) else constant
    return Table(sizes, np.array(rows)[:, side], np.array(lengths), np.array(flags)[:, side], name)


# --- published counterexamples ---------------------------------------------------------------------------------


def lock_in(sizes: Sizes, quiet: float = 0.43, trap: float = 0.087, one_arm: bool = False) -> Table:
    """Against a baseline that follows the last losses: see :func:`allworlds.worlds.lock_in`."""
    return two_sides(
        sizes,
        "lock-in, one arm" if one_arm else "lock-in",
        [quiet, trap, 1.0 - quiet - trap],
        [(0.1, 0.1), (0.9, 0.02), (0.05, 1.0)],
        [(False, False), (False, False), (True, True)],
        one_arm,
    )


def mean_baseline(sizes: Sizes) -> Table:
    """Against a baseline that is the mean of all losses, with implicit exploration; all losses constant."""
    lengths = [0.131, 0.333, 0.057, 1.0 - 0.521]
    return two_sides(sizes, "mean baseline", lengths, [(0.9, 0.75), (0.5, 0.5), (1.0, 0.5), (0.0, 0.5)], True)


def matched_exploration(sizes: Sizes) -> Table:
    """Against implicit exploration matched to the rate, whose baseline remembers in proportion to time."""
    return two_sides(
        sizes,
        "matched exploration",
        [0.21, 0.045, 0.004, 1.0 - 0.259],
        [(0.95, 0.95), (0.95, 0.75), (0.95, 0.4), (0.02, 0.1)],
        [(False, False), (True, False), (False, True), (True, False)],
    )


def half_one_zero(sizes: Sizes, quiet: float = 0.43, trap: float = 0.087) -> Table:
    """B is a coin throughout; A is one at first, then always loses 1, then 0."""
    lengths = [quiet, trap, 1.0 - quiet - trap]
    return two_sides(sizes, "half, one, zero", lengths, [(0.5, 0.5), (1.0, 0.5), (0.0, 0.5)])


# --- switches and shifts of level ------------------------------------------------------------------------------


def late_switch(sizes: Sizes, at: float = 0.8, gap: float = 0.1, constant: bool = False) -> Table:
    """B is better by ``gap`` for long, so that A becomes rare; then A loses 0 and B 1."""
    name = "late switch" + (", constant" if constant else "") + (", wide" if gap >= 0.3 else "")
    return two_sides(sizes, name, [at, 1.0 - at], [(0.5, 0.5 - gap), (0.0, 1.0)], constant)


def late_reward(sizes: Sizes, at: float = 0.35) -> Table:
    """A loses 1, later 0, and B always 1/2: only draws of A show the change."""
    return two_sides(sizes, "late reward", [at, 1.0 - at], [(1.0, 0.5), (0.0, 0.5)], True)


def late_end(sizes: Sizes, at: float = 0.9) -> Table:
    """Nothing to choose for very long; then B looks better for a moment, and A is better for the rest."""
    rest = 1.0 - at
    return two_sides(sizes, "late end", [at, 0.2 * rest, 0.8 * rest], [(0.5, 0.5), (0.7, 0.3), (0.0, 1.0)])


def shift_of_one(sizes: Sizes, at: float = 0.5) -> Table:
    """The level of one clique drops below that of the others, which stay."""
    return two_sides(sizes, "shift of one", [at, 1.0 - at], [(0.6, 0.4), (0.0, 0.4)])


def shift_of_all_but_one(sizes: Sizes, at: float = 0.5) -> Table:
    """All levels but one rise above it."""
    return two_sides(sizes, "shift of all but one", [at, 1.0 - at], [(0.4, 0.2), (0.4, 0.9)])


def shift_of_all(sizes: Sizes, gap: float = 0.1) -> Table:
    """A stays better by ``gap`` while all levels jump together, up and down."""
    rows = [(low, low + gap) for low in (0.0, 1.0 - gap) * 3]
    return two_sides(sizes, "shift of all", [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], rows)


# --- losses of a special kind ----------------------------------------------------------------------------------


def constant_losses(sizes: Sizes, gap: float = 0.1) -> Table:
    """No noise and no change."""
    return two_sides(sizes, "constant", [1.0], [(0.5 - gap / 2.0, 0.5 + gap / 2.0)], True)


def almost_zero(sizes: Sizes, rare: float = 0.02) -> Table:
    """Losses that are almost always 0: A is at first ten times as often hit as B, then ten times less often."""
    return two_sides(sizes, "almost always 0", [0.3, 0.7], [(rare, rare / 10.0), (rare / 10.0, rare)])


def punish_likely(sizes: Sizes, steady: float = 0.5) -> Table:
    """A loses 0 until a good learner plays it, then 1 until it has left, and so on in longer and longer turns.

    This is as near as an oblivious world gets to punishing an arm only while it is likely. B is steady.
    """
    rows = [(level, steady) for level in (0.0, 1.0) * 2] + [(0.0, steady)]
    return two_sides(sizes, "punished while likely", [1.0, 1.5, 3.0, 5.0, 10.0], rows)


# --- baselines led astray --------------------------------------------------------------------------------------


def baseline_too_high(sizes: Sizes, first: float = 0.1) -> Table:
    """Everything loses 1 at first, so that afterwards whatever is played looks far better than all before."""
    lengths = [first, first, 1.0 - 2.0 * first]
    return two_sides(sizes, "baseline too high", lengths, [(1.0, 1.0), (0.4, 0.2), (0.1, 0.3)])


def baseline_too_low(sizes: Sizes, first: float = 0.4) -> Table:
    """Everything loses 0 at first, so that afterwards whatever is played looks worse than all before."""
    lengths = [first, first / 4.0, 1.0 - 1.25 * first]
    return two_sides(sizes, "baseline too low", lengths, [(0.0, 0.0), (1.0, 0.8), (0.8, 1.0)])


ATTACKS: tuple[Attack, ...] = (
    lock_in,
    lambda sizes: lock_in(sizes, one_arm=True),
    mean_baseline,
    matched_exploration,
    half_one_zero,
    late_switch,
    lambda sizes: late_switch(sizes, constant=True),
    lambda sizes: late_switch(sizes, at=0.69, gap=0.3, constant=True),
    late_reward,
    late_end,
    shift_of_one,
    shift_of_all_but_one,
    shift_of_all,
    constant_losses,
    almost_zero,
    punish_likely,
    baseline_too_high,
    baseline_too_low,
)


def fixed_attacks(sizes: Sizes) -> list[Table]:
    """Every fixed attack on cliques of these sizes, each once."""
    tables = [attack(sizes) for attack in ATTACKS]
    alone = sizes[len(sizes) // 2] == 1
    return [table for table in tables if not (alone and table.name == "lock-in, one arm")]
