"""The house's look: blank figures, line styles, names at the ends of curves, and files with the same bytes every time.

Matplotlib is optional and slow to import, so it is imported when the first figure is asked for. No global state is
touched: no pyplot, no backend, and a reader's own matplotlibrc does not leak in.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allworlds.foundation.errors import InvalidParameter, import_extra
from allworlds.foundation.files import disk_errors, write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")

STYLE: dict[str, Any] = {
    "axes.edgecolor": "#555555",
    "axes.labelcolor": "#222222",
    "axes.linewidth": 0.8,
    "axes.titlesize": 11,
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "font.size": 10,
    "mathtext.fontset": "cm",
    "savefig.dpi": 200,
    "savefig.facecolor": "white",
    "svg.hashsalt": "allworlds",  # element names inside an SVG are hashes: fix them
    "xtick.color": "#444444",
    "ytick.color": "#444444",
}

# Okabe and Ito's colours: told apart with every kind of colour vision.
CATEGORIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
OURS = "#0072B2"
OTHERS = ("#D55E00", "#009E73", "#CC79A7", "#E69F00", "#222222", "#56B4E9")  # without yellow: too pale for a line
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (1.2, 1.2)))
BESIDE = "#777777"
GAP = 0.062  # of the height of the axes, between two names


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save inside this context to get the house's look; raises where Matplotlib is not installed.

    >>> with house_style():
    ...     figure = blank(4.0, 3.0)
    """
    with import_extra("matplotlib.style", "figures", "figures need").context(["default", STYLE]):
        yield


def check_drawing() -> None:
    """Raise :class:`~allworlds.foundation.errors.MissingExtra` unless figures can be drawn."""
    with house_style():
        pass


def blank(width: float, height: float) -> Figure:
    """An empty figure of this size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def format_of(path: Path) -> str:
    """The format of a figure's file by its suffix; raises for a suffix that cannot be drawn.

    >>> format_of(Path("figure1.SVG"))
    'svg'
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        ending = f"ends in '.{suffix}'" if suffix else "has no suffix"
        raise InvalidParameter(f"'{path}' {ending}; expected .png, .svg or .pdf")
    return suffix


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG, SVG or PDF; equal figures give equal bytes, since no date goes into the file.

    A figure is laid out when it is saved for the first time; later files take over that layout, which takes half the
    time.
    """
    kind, content = format_of(path), io.BytesIO()
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with house_style():
        figure.savefig(content, format=kind, metadata=undated)
    figure.set_layout_engine("none")
    with disk_errors(f"write '{path}'", "name a file in a folder that exists and can be written"):
        write_atomic(path, content.getvalue())
    return path


LONGEST = 28
"""Characters of a name beside its row; a longer one would leave no room for what is drawn."""


def name_rows(ax: Axes, names: Sequence[object]) -> None:
    """Name the rows 0, 1, ... of ``ax`` in the words of a user: cut short where they are long, dollars and all."""
    shown = [text if len(text) <= LONGEST else text[: LONGEST - 1] + "…" for text in map(str, names)]
    ax.set_yticks(range(len(shown)), shown, parse_math=False)  # "$4 to $5" is two prices and no formula


# --- lines and their names ---


class Style(NamedTuple):
    """Colour, dashes and width of a line."""

    colour: str
    dashes: Any
    width: float


def learner_styles(
    learners: Sequence[str], ours: str, rivals: Mapping[str, bool] = MappingProxyType({})
) -> dict[str, Style]:
    """Ours thick and blue; who does not compete grey and thin; the others by colour and dashes.

    Up to 24 others differ in colour or in dashes, and neighbours in the list in both.

    >>> styles = learner_styles(["a", "b", "c"], "a", {"c": False})
    >>> styles["a"].colour == OURS, styles["c"].colour == BESIDE
    (True, True)
    """
    styles = {learner: Style(BESIDE, (0, (4, 1, 1, 1, 1, 1)), 1.3) for learner in learners}
    others = [learner for learner in learners if learner != ours and rivals.get(learner, True)]
    for number, learner in enumerate(others):
        dashes = DASHES[(number + number // len(OTHERS)) % len(DASHES)]
        styles[learner] = Style(OTHERS[number % len(OTHERS)], dashes, 1.6)
    return styles | {ours: Style(OURS, "solid", 2.6)}


class EndLabel(NamedTuple):
    """A curve that ends at ``height``, in data coordinates."""

    height: float
    text: str
    style: Style


def spread(heights: Sequence[float], gap: float = GAP) -> list[float]:
    """Move heights so that neighbours are at least ``gap`` apart; they keep their order and move little.

    >>> [round(height, 2) for height in spread([0.5, 0.5, 0.9], gap=0.1)]
    [0.45, 0.55, 0.9]
    >>> [round(height, 2) for height in spread([1.0, 1.0], gap=0.1)]
    [0.9, 1.0]
    """
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(order))
    wish = np.asarray(heights, dtype=np.float64)[order] - steps  # must not fall: the isotonic regression of the wishes
    n = len(wish)
    level = [max(min(wish[j : k + 1].mean() for k in range(i, n)) for j in range(i + 1)) for i in range(n)]
    placed = np.empty(n)
    placed[order] = np.clip(level, 0.0, max(0.0, 1.0 - gap * (n - 1))) + steps  # inside the axes, if there is room
    return [float(height) for height in placed]


def label_ends(ax: Axes, labels: Sequence[EndLabel]) -> None:
    """Write the names right of the axes, each with a piece of its line and a thin lead to the end of its curve."""
    if not labels:
        return
    data = ax.transData.transform([(ax.get_xlim()[1], label.height) for label in labels])
    ends = np.clip(ax.transAxes.inverted().transform(data)[:, 1], 0.0, 1.0).tolist()
    for label, end, height in zip(labels, ends, spread(ends), strict=True):
        line: dict[str, Any] = {"color": label.style.colour, "clip_on": False, "transform": ax.transAxes}
        ax.plot([1.0, 1.03], [end, height], linewidth=0.6, alpha=0.7, **line)
        ax.plot([1.03, 1.10], [height, height], linewidth=label.style.width, linestyle=label.style.dashes, **line)
        weight = "bold" if label.style.width > 2.0 else "normal"
        ax.text(1.115, height, label.text, transform=ax.transAxes, va="center", fontsize=9, fontweight=weight)
