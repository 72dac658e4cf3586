"""How much is measured: the whole, or a quick look."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

GAP = 0.125
"""The world of all measurements has Bernoulli losses and one arm that is better by this."""


class Size(NamedTuple):
    """So many cliques of so many arms, and for how many rounds.

    >>> str(Size(10, 20, 1000)), Size(10, 20, 1000).n_arms
    ('10x20', 200)
    """

    n_cliques: int
    size: int
    rounds: int
    exact_rounds: int = 0
    """Rounds for the exact step, which reads all arms; 0 where it is not measured."""

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self.n_cliques * self.size

    def __str__(self) -> str:
        return f"{self.n_cliques}x{self.size}"


@dataclass(frozen=True)
class Scale:
    """Sizes, rounds and repeats of every part."""

    name: str
    repeats: int
    loops: tuple[Size, ...]
    by_arms: tuple[Size, ...]
    """K = sqrt(N)."""
    by_cliques: tuple[Size, ...]
    """Cliques of one size, more and more of them."""
    by_size: tuple[Size, ...]
    """So many cliques, larger and larger ones."""
    threads: Size
    memory: Size
    solved: tuple[int, ...]
    """After so many rounds of 10 x 10 the step is handed to general solvers."""
    rival_seconds: float
    """How long each rival plays in each turn."""
    patience: float
    """Seconds after which a solver or a rival is stopped and skipped."""
    seeds: int = 8
    starts: int = 3
    rivals: tuple[str, ...] | None = None
    """Their names; None for all."""
    solvers: tuple[str, ...] = field(default=("SLSQP", "trust-constr", "cvxpy"))


FULL = Scale(
    name="full",
    repeats=5,
    loops=(Size(10, 10, 100_000, 20_000), Size(100, 100, 100_000, 1_000), Size(1000, 1000, 100_000, 20)),
    by_arms=tuple(
        Size(k, k, 20_000, exact) for k, exact in ((10, 5000), (32, 1000), (100, 300), (316, 50), (1000, 10))
    ),
    by_cliques=tuple(Size(k, 10, 20_000) for k in (10, 100, 1000, 10_000)),
    by_size=tuple(Size(10, d, 20_000) for d in (10, 100, 1000, 10_000)),
    threads=Size(10, 10, 300_000),
    memory=Size(1000, 1000, 10_000),
    solved=(10, 100, 1000),
    rival_seconds=1.0,
    patience=120.0,
)
QUICK = replace(
    FULL,
    name="quick",
    repeats=3,
    loops=(Size(10, 10, 20_000, 5_000), Size(100, 100, 10_000, 200)),
    by_arms=(Size(10, 10, 20_000), Size(100, 100, 5_000), Size(1000, 1000, 1_000)),
    by_cliques=tuple(Size(k, 10, 5_000) for k in (10, 100, 1000)),
    by_size=tuple(Size(10, d, 5_000) for d in (10, 100, 1000)),
    threads=Size(10, 10, 50_000),
    memory=Size(1000, 1000, 1_000),
    solved=(100,),
    rival_seconds=0.3,
    patience=30.0,
    starts=1,
)
