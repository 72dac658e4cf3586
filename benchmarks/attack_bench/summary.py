"""What the runs under an attack say: mean, tail, and how regret grows with the horizon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attack_bench.tables import Floats

LINEAR = 0.1
"""A run whose regret is above this share of its horizon has failed."""
RESAMPLES = 1_000


@dataclass(frozen=True)
class Measured:
    """The runs at one horizon."""

    horizon: int
    runs: int
    mean: float
    error: float
    """The standard error of the mean."""
    quantile95: float
    quantile99: float
    share_failed: float
    """The share of runs with regret above 0.1 T."""
    root: float
    """``sqrt(K T)``, the unit of the promise."""

    @property
    def per_root(self) -> float:
        """Mean regret over ``sqrt(K T)``."""
        return self.mean / self.root


@dataclass(frozen=True)
class Growth:
    """The exponent ``a`` of mean regret ``~ T^a``, with a 95 % interval: 1/2 is the promise, 1 is failure.

    NaN where a mean is not positive, or too often not in the resamples, or where there is one horizon only.
    """

    exponent: float
    low: float
    high: float


def measure(regrets: Floats, horizon: int, n_cliques: int) -> Measured:
    """Sum up the final regrets of the runs, shape (S,)."""
    mean = float(regrets.mean())
    error = float(regrets.std(ddof=1) / np.sqrt(regrets.size)) if regrets.size > 1 else float("nan")
    quantile95, quantile99 = (float(q) for q in np.quantile(regrets, [0.95, 0.99]))
    share = float((regrets > LINEAR * horizon).mean())
    root = float(np.sqrt(n_cliques * horizon))
    return Measured(horizon, regrets.size, mean, error, quantile95, quantile99, share, root)


def growth(regrets: Mapping[int, Floats], seed: int = 0) -> Growth:
    """The least-squares slope of log mean regret over log T, with a bootstrap interval over the runs.

    ``regrets`` maps horizons to the regrets of independent runs.
    """
    horizons = sorted(regrets)
    if len(horizons) < 2:
        return Growth(float("nan"), float("nan"), float("nan"))
    rng = np.random.default_rng(seed)
    means = np.array([[regrets[horizon].mean()] for horizon in horizons])
    resampled = np.array([_resampled_means(regrets[horizon], rng) for horizon in horizons])
    exponent = _slopes(horizons, means)
    usual = _slopes(horizons, resampled)
    if not exponent.size or usual.size < 0.95 * RESAMPLES:
        return Growth(float(exponent[0]) if exponent.size else float("nan"), float("nan"), float("nan"))
    low, high = (float(bound) for bound in np.quantile(usual, [0.025, 0.975]))
    return Growth(float(exponent[0]), low, high)


def _resampled_means(regrets: Floats, rng: np.random.Generator) -> Floats:
    """The means of bootstrap samples of the runs."""
    means: Floats = regrets[rng.integers(regrets.size, size=(RESAMPLES, regrets.size))].mean(axis=1)
    return means


def _slopes(horizons: Sequence[int], means: Floats) -> Floats:
    """The slope of each column of means, shape (H, S), that is positive throughout."""
    positive = means[:, (means > 0.0).all(axis=0)]
    x = np.log(horizons)
    x -= x.mean()
    slopes: Floats = x @ np.log(positive) / (x @ x)
    return slopes


@dataclass(frozen=True)
class Row:
    """One learner under one attack, at all horizons."""

    learner: str
    attack: str
    sizes: str
    measured: list[Measured]
    growth: Growth


def as_text(row: Row) -> list[str]:
    """The lines of a row for the terminal, one for each horizon."""
    lines = []
    for place, cell in enumerate(row.measured):
        head = f"{row.learner:<28} {row.attack:<24} {row.sizes:<7}" if place == 0 else " " * 61
        last = f"  {_growth(row.growth)}" if place == len(row.measured) - 1 else ""
        lines.append(
            f"{head} {cell.horizon:>8,} {cell.runs:>6,} {cell.mean:>9.1f} ± {cell.error:<7.1f}{cell.quantile95:>9.0f}"
            f"{cell.quantile99:>9.0f} {100.0 * cell.share_failed:>6.1f} % {cell.per_root:>7.2f}{last}"
        )
    return lines


HEAD = (
    f"{'learner':<28} {'attack':<24} {'cliques':<7} {'rounds':>8} {'runs':>6} {'mean':>9} ± {'error':<7}{'95 %':>9}"
    f"{'99 %':>9} {'>0.1T':>8} {'/√KT':>7}  growth"
)


def as_markdown(rows: Sequence[Row]) -> list[str]:
    """All rows as one table."""
    titles = [
        "learner",
        "attack",
        "cliques",
        "T",
        "runs",
        "mean ± error",
        "95 %",
        "99 %",
        "> 0.1 T",
        "mean/√KT",
        "growth",
    ]
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    for row in rows:
        for place, cell in enumerate(row.measured):
            head = [row.learner, row.attack, row.sizes] if place == 0 else ["", "", ""]
            numbers = [
                f"{cell.horizon:,}",
                f"{cell.runs:,}",
                f"{cell.mean:.0f} ± {cell.error:.0f}",
                f"{cell.quantile95:.0f}",
                f"{cell.quantile99:.0f}",
                f"{100.0 * cell.share_failed:.1f} %",
                f"{cell.per_root:.2f}",
                _growth(row.growth) if place == len(row.measured) - 1 else "",
            ]
            lines.append("| " + " | ".join([*head, *numbers]) + " |")
    return lines


def as_page(rows: Sequence[Row]) -> list[str]:
    """A table for the documentation: a line for each attack, its horizons side by side."""
    horizons = [cell.horizon for cell in rows[0].measured]
    titles = ["attack", "cliques", *(f"T = {horizon:,}" for horizon in horizons), "99 %", "runs above 0.1 T", "growth"]
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    for row in rows:
        tail = row.measured[min(1, len(row.measured) - 1)]
        failed = ", ".join(f"{round(cell.share_failed * cell.runs)} of {cell.runs:,}" for cell in row.measured)
        means = [f"{cell.per_root:.2f}" for cell in row.measured]
        numbers = [*means, f"{tail.quantile99 / tail.root:.1f}", failed, _growth(row.growth)]
        lines.append("| " + " | ".join([row.attack, row.sizes, *numbers]) + " |")
    return lines


def _growth(found: Growth) -> str:
    if np.isnan(found.exponent):
        return "–"
    if np.isnan(found.low):
        return f"T^{found.exponent:.2f} (no interval)"
    return f"T^{found.exponent:.2f} [{found.low:.2f}, {found.high:.2f}]"
