"""A blank figure in the house's style, and a way to save it that gives the same bytes every time.

Matplotlib is optional and slow to import, so it is fetched here, when the first figure is asked for.
No global state is touched: no pyplot, no backend, and a reader's own matplotlibrc does not leak in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allworlds.foundation.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
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


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save inside this context to get the house's look, whatever the reader's settings are.

    >>> with house_style():
    ...     figure = blank(4.0, 3.0)
    """
    try:
        import matplotlib.style
    except ImportError as error:
        raise MissingExtra(
            'figures need matplotlib, which is not installed; install it with: pip install "allworlds[figures]"'
        ) from error
    with matplotlib.style.context(["default", STYLE]):
        yield


def blank(width: float, height: float) -> Figure:
    """Give an empty figure of this size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def format_of(path: Path) -> str:
    """Tell the format of a figure's file by its suffix, or refuse it.

    >>> format_of(Path("figure1.SVG"))
    'svg'
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        came = f"ends in '.{suffix}'" if suffix else "has no suffix"
        raise InvalidParameter(f"'{path}' {came}, but figures are drawn as .png, .svg or .pdf; name one of these")
    return suffix


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG, SVG or PDF; equal figures give equal bytes, since no date goes into the file."""
    kind = format_of(path)
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    try:
        with house_style():
            figure.savefig(path, format=kind, metadata=undated)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidParameter(
            f"cannot write '{path}': {reason}; name a file in a folder that exists and can be written"
        ) from error
    return path
