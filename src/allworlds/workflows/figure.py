"""Draw a figure of the paper into a file."""

from __future__ import annotations

from pathlib import Path

from allworlds.foundation.errors import InvalidParameter

TITLES = {1: "the smallest Hessian eigenvalue of the Tsallis-Shannon entropy, without and with its shift"}


def draw_figure(number: int, out: str | Path | None = None) -> Path:
    """Draw the paper's figure ``number`` and give the path of the file.

    The suffix of ``out`` chooses the format: ``.png``, ``.svg`` or ``.pdf``. Without ``out`` the file is
    ``figure<number>.png`` in the current folder. The same call gives the same bytes [EK21, Figure 1].

    >>> import tempfile
    >>> draw_figure(1, Path(tempfile.mkdtemp()) / "convexity.svg").name
    'convexity.svg'
    """
    if number not in TITLES:
        known = "; ".join(f"{known}, {title}" for known, title in TITLES.items())
        raise InvalidParameter(f"there is no figure {number}; the paper has figure {known}")
    path = Path(f"figure{number}.png" if out is None else out)

    from allworlds.reporting.canvas import format_of, save

    format_of(path)  # refused before anything is drawn

    from allworlds.reporting.figures import figure_1

    return save(figure_1(), path)
