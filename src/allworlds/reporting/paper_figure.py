"""The figure of the paper, axes in, axes out, and as a file.

Figure 1 [EK21, Figure 1] asks whether the product of a Tsallis and a Shannon entropy is convex. It shows
the smallest eigenvalue of the Hessian over two coordinates: without a shift it is negative near the axes,
with a shift of 1/4 it is positive everywhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from allworlds.foundation.errors import InvalidParameter
from allworlds.reporting.canvas import blank, format_of, house_style, save
from allworlds.theory.hessian import smallest_hessian_eigenvalue

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import SymLogNorm
    from matplotlib.figure import Figure

TITLES = {1: "the smallest Hessian eigenvalue of the Tsallis-Shannon entropy, without and with its shift"}
COLOURS = "BrBG"  # brown below zero, green above: told apart with every kind of colour vision
LIMIT = 3.0  # the eigenvalue grows like the mass to the power -3/2; colours stop here
LINEAR = 0.03  # colours are linear up to here and logarithmic beyond, on both sides of zero


def eigenvalue_colours() -> SymLogNorm:
    """Scale that gives zero the middle colour and both signs the same range."""
    from matplotlib.colors import SymLogNorm

    return SymLogNorm(linthresh=LINEAR, vmin=-LIMIT, vmax=LIMIT, base=10)


def hessian_eigenvalue(ax: Axes, alpha: float, *, resolution: int = 400) -> Axes:
    """Draw where the Tsallis perspective of ``h(y) = y log y - alpha y`` is convex, for two coordinates.

    A colour map of the smallest Hessian eigenvalue over ``(0, 1] x (0, 1]``, evaluated at
    ``resolution x resolution`` cell centres; its zero level set, if there is one, dashed red
    [EK21, Figure 1].

    >>> with house_style():
    ...     ax = hessian_eigenvalue(blank(3.0, 3.0).subplots(), 0.25, resolution=50)
    >>> ax.get_title()
    '$\\\\alpha = 0.25$: convex everywhere'
    """
    centres = (np.arange(resolution) + 0.5) / resolution
    x1, x2 = np.meshgrid(centres, centres)
    eigenvalue = smallest_hessian_eigenvalue(x1, x2, alpha)
    ax.imshow(
        eigenvalue,
        origin="lower",
        extent=(0.0, 1.0, 0.0, 1.0),
        cmap=COLOURS,
        norm=eigenvalue_colours(),
        interpolation="bilinear",
    )
    convex = bool(eigenvalue.min() > 0.0)
    if not convex:
        ax.contour(x1, x2, eigenvalue, levels=[0.0], colors="red", linestyles="dashed", linewidths=1.6)
    ax.set_title(rf"$\alpha = {alpha:g}$: " + ("convex everywhere" if convex else "not convex near the axes"))
    ax.set_xlabel("$x_1$", fontsize=13)
    ax.set_ylabel("$x_2$", fontsize=13, rotation=0, labelpad=10)
    ax.set_xticks([0.0, 0.5, 1.0])
    ax.set_yticks([0.0, 0.5, 1.0])
    return ax


def figure_1(*, resolution: int = 400) -> Figure:
    """Draw the paper's Figure 1: two panels, without a shift and with a shift of 1/4.

    >>> [ax.get_xlabel() for ax in figure_1(resolution=20).axes[:2]]
    ['$x_1$', '$x_1$']
    """
    with house_style():
        from matplotlib.cm import ScalarMappable
        from matplotlib.lines import Line2D

        figure = blank(8.4, 4.0)
        panels = figure.subplots(1, 2, sharey=True)
        for ax, alpha in zip(panels, (0.0, 0.25), strict=True):
            hessian_eigenvalue(ax, alpha, resolution=resolution)
        panels[1].set_ylabel("")
        figure.get_layout_engine().set(wspace=0.06)  # type: ignore[union-attr,call-arg]
        zero = Line2D([], [], color="red", linestyle="dashed", linewidth=1.6, label="zero level")
        panels[0].legend(handles=[zero], loc="upper right", framealpha=0.9)
        bar = figure.colorbar(
            ScalarMappable(eigenvalue_colours(), COLOURS), ax=panels, extend="both", shrink=0.845, pad=0.02
        )
        ticks = [-3.0, -0.3, -0.03, 0.0, 0.03, 0.3, 3.0]
        bar.set_ticks(ticks, labels=[f"{tick:g}".replace("-", "−") for tick in ticks])
        bar.minorticks_off()
        bar.set_label("smallest eigenvalue of the Hessian")
    return figure


def draw_figure(figure: int, out: str | Path | None = None) -> Path:
    """Draw a figure of the paper by its number, and return the path of the file.

    The suffix of ``out`` chooses the format: ``.png``, ``.svg`` or ``.pdf``. Without ``out`` the file is
    ``figure<number>.png`` in the current folder. The same call gives the same bytes [EK21, Figure 1].

    >>> import tempfile
    >>> draw_figure(1, Path(tempfile.mkdtemp()) / "convexity.svg").name
    'convexity.svg'
    """
    if figure not in TITLES:
        known = "; ".join(f"{known}, {title}" for known, title in TITLES.items())
        raise InvalidParameter(f"there is no figure {figure}; the paper has figure {known}")
    path = Path(f"figure{figure}.png" if out is None else out)
    format_of(path)  # raises before anything is drawn
    return save(figure_1(), path)
