"""Names written at the ends of curves instead of in a legend, none on top of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allworlds.reporting.styles import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.062  # of the height of the axes, between two names


class EndLabel(NamedTuple):
    """A curve that ends at ``height``, in data coordinates."""

    height: float
    text: str
    style: Style


def spread(heights: Sequence[float], gap: float = GAP, top: float = 1.0) -> list[float]:
    """Move heights apart so that neighbours are at least ``gap`` apart, as little as is easy, order kept.

    >>> [round(height, 2) for height in spread([0.5, 0.5, 0.9], gap=0.1)]
    [0.45, 0.55, 0.9]
    >>> [round(height, 2) for height in spread([1.0, 1.0], gap=0.1)]
    [0.9, 1.0]
    """
    order = np.argsort(np.asarray(heights), kind="stable")
    groups: list[tuple[float, int]] = []  # centre and number of names of each block
    for height in np.asarray(heights, dtype=np.float64)[order].tolist():
        groups.append((height, 1))
        while len(groups) > 1 and _touch(groups[-2], groups[-1], gap):
            (one, n), (other, m) = groups[-2:]
            groups[-2:] = [((one * n + other * m) / (n + m), n + m)]
        centre, n = groups[-1]
        groups[-1] = (min(centre, top - (n - 1) * gap / 2), n)
        while len(groups) > 1 and _touch(groups[-2], groups[-1], gap):
            (one, n), (other, m) = groups[-2:]
            joined = min((one * n + other * m) / (n + m), top - (n + m - 1) * gap / 2)
            groups[-2:] = [(joined, n + m)]
    placed = [centre + (k - (n - 1) / 2) * gap for centre, n in groups for k in range(n)]
    for k, height in enumerate(placed):  # and none below the axes, if there is room
        placed[k] = max(height, k * gap, placed[k - 1] + gap if k else 0.0)
    answer = np.empty(len(placed))
    answer[order] = placed
    return [float(height) for height in answer]


def label_ends(ax: Axes, labels: Sequence[EndLabel]) -> None:
    """Write the names right of the axes, each with a piece of its line and a thin lead to the end of its curve."""
    from matplotlib.transforms import blended_transform_factory

    if not labels:
        return
    across = blended_transform_factory(ax.transAxes, ax.transAxes)
    data = ax.transData.transform([(ax.get_xlim()[1], label.height) for label in labels])
    heights = ax.transAxes.inverted().transform(data)[:, 1]
    for label, end, height in zip(labels, heights, spread([min(1.0, max(0.0, h)) for h in heights]), strict=True):
        line: dict[str, Any] = {"color": label.style.colour, "clip_on": False, "transform": across}
        ax.plot([1.0, 1.03], [min(1.0, max(0.0, end)), height], linewidth=0.6, alpha=0.7, **line)
        ax.plot([1.03, 1.10], [height, height], linewidth=label.style.width, linestyle=label.style.dashes, **line)
        weight = "bold" if label.style.width > 2.0 else "normal"
        ax.text(1.115, height, label.text, transform=across, va="center", fontsize=9, fontweight=weight)


def _touch(one: tuple[float, int], other: tuple[float, int], gap: float) -> bool:
    return other[0] - one[0] < (one[1] + other[1]) * gap / 2 - 1e-12
