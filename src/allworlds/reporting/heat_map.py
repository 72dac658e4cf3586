"""A matrix as a heat map: learners by worlds or graphs, the ratio to the best in colour and in number.

In a report it is an HTML table and not a picture: its numbers stay readable on a phone, where it scrolls beside its
first column. A Markdown page has no colours, so there it is a picture, with a narrow version for phones.
Colour is on a logarithmic scale: blue for the best, white at 2, orange from 10 on; both ends are told apart with every
kind of colour vision.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from html import escape
from typing import TYPE_CHECKING

from allworlds.reporting.canvas import blank, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, WHITE, ORANGE = (126, 182, 222), (255, 255, 255), (226, 120, 62)
MIDDLE, END = 2.0, 10.0
SAFE, NEAR = 3.0, 1.15
"""A learner is safe if its worst ratio is at most the first. A specialist is not safe, but has a ratio of at most the
second in some column in which others have more than ``MIDDLE``: where all are good, no learner is a specialist."""


def ratio_text(ratio: float | None) -> str:
    """Two decimals below ten, none above; a dash for none.

    >>> ratio_text(2.384), ratio_text(13.2), ratio_text(None)
    ('2.38', '13', '–')
    """
    return "–" if ratio is None else f"{ratio:.2f}" if ratio < 10.0 else f"{ratio:.0f}"


def heat_colour(ratio: float) -> str:
    """The background of a ratio.

    >>> heat_colour(1.0), heat_colour(2.0), heat_colour(1000.0)
    ('#7eb6de', '#ffffff', '#e2783e')
    """
    place = math.log(max(ratio, 1.0)) / math.log(MIDDLE)
    if place <= 1.0:
        low, high, share = BLUE, WHITE, place
    else:
        low, high = WHITE, ORANGE
        share = min(1.0, math.log(max(ratio, 1.0) / MIDDLE) / math.log(END / MIDDLE))
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(low, high, strict=True))


def characters(ratios: Mapping[str, Mapping[str, float | None]]) -> dict[str, str]:
    """What kind of choice each learner is: safe, a specialist, or neither.

    >>> characters({"a": {"x": 1.0, "y": 2.5}, "b": {"x": 1.1, "y": 4.0}, "c": {"x": 1.0, "y": 1.1, "z": 9.0}, "d": {}})
    {'a': 'safe', 'b': '', 'c': 'specialist', 'd': ''}
    """
    worst: dict[str, float] = {}
    for row in ratios.values():
        for column, value in row.items():
            worst[column] = max(worst.get(column, 0.0), value or 0.0)

    def kind(row: Mapping[str, float | None]) -> str:
        known = {column: value for column, value in row.items() if value is not None}
        if known and max(known.values()) <= SAFE:
            return "safe"
        near = any(value <= NEAR and worst[column] > MIDDLE for column, value in known.items())
        return "specialist" if near else ""

    return {name: kind(row) for name, row in ratios.items()}


def heat_table(
    ratios: Mapping[str, Mapping[str, float | None]],
    columns: Mapping[str, str],
    classes: Mapping[str, str] | None = None,
    aside: Collection[str] = (),
) -> str:
    """Rows in the order of ``ratios``, with the worst ratio and what kind of choice it is; ``columns`` has titles.

    ``classes`` has the CSS classes of some rows by learner. A missing ratio is a dash. Those in ``aside``
    do not compete: they are neither safe nor specialists.
    """
    titles = (title.replace("-", "\N{NON-BREAKING HYPHEN}") for title in columns.values())  # lock-in is one word
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in ["learner", "", "worst", *titles])
    body, kinds = [], characters({name: row for name, row in ratios.items() if name not in aside})
    for name, row in ratios.items():
        cells = [
            _cell(_largest([row.get(column) for column in columns])),
            *(_cell(row.get(column)) for column in columns),
        ]
        look = (classes or {}).get(name, "")
        first = f'<td>{escape(name)}</td><td class="kind">{kinds.get(name, "")}</td>'
        body.append(f"<tr{f' class={look!r}' if look else ''}>{first}{''.join(cells)}</tr>".replace("'", '"'))
    return (
        '<div class="wide"><table class="heat">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(ratio: float | None) -> str:
    look = "" if ratio is None else f' style="background:{heat_colour(ratio)}"'
    return f"<td{look}>{ratio_text(ratio)}</td>"


# --- the picture ---

WIDE, HIGH = 0.31, 0.22
"""Inches of a cell."""
NAMES, HEAD, BETWEEN = 1.45, 1.72, 0.1
"""Inches for the names of learners, for the titles above the cells, and between two groups."""
SMALL, LETTER = 8.0, 0.073
"""Points of all letters, and inches that a bold one takes at most, on average."""
LEGEND = {1.0: "1", 1.4: "1.4", 2.0: "2", 4.5: "4.5", 10.0: "10+"}


def heat_figure(
    ratios: Mapping[str, Mapping[str, float | None]],
    groups: Mapping[str, Mapping[str, str]],
    across: int,
    ours: str = "",
) -> Figure:
    """Rows in the order of ``ratios`` with the worst ratio first; ``across`` groups of columns side by side.

    ``groups`` has the columns of each group with their titles. Names and worst ratios stand beside every line of
    groups; ``ours`` is in bold.

    >>> figure = heat_figure({"a": {"x": 1.0, "y": 12.0}}, {"path:3": {"x": "calm"}, "star:3": {"y": "wild"}}, 2)
    >>> [text.get_text() for text in figure.axes[0].texts][:4]
    ['worst', 'a', '12', 'path\\n3']
    """
    lines = [list(groups.items())[start : start + across] for start in range(0, len(groups), across)]
    most = max(sum(BETWEEN + _span(title, columns) for title, columns in line) for line in lines)
    width, line_height = NAMES + WIDE + most + 0.1, HEAD + HIGH * len(ratios) + 0.15
    height = line_height * len(lines) + HIGH + 0.2
    with house_style():
        figure = blank(width, height)
        figure.set_layout_engine("none")  # every place is known
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        ax.set_xlim(0.0, width)
        ax.set_ylim(height, 0.0)
        ax.axis("off")
        columns = [column for group in groups.values() for column in group]
        worst = {name: _largest([row.get(column) for column in columns]) for name, row in ratios.items()}
        for place, line in enumerate(lines):
            _line(ax, ratios, worst, line, HEAD + place * line_height, ours)
        ax.text(NAMES - 0.08, height - 0.2, "ratio to the best", ha="right", va="center", fontsize=SMALL)
        for place, (ratio, text) in enumerate(LEGEND.items()):
            _box(ax, NAMES + WIDE * place, height - 0.2 - HIGH / 2, ratio, text)
    return figure


def _line(
    ax: Axes,
    ratios: Mapping[str, Mapping[str, float | None]],
    worst: Mapping[str, float | None],
    groups: Collection[tuple[str, Mapping[str, str]]],
    top: float,
    ours: str,
) -> None:
    """Groups side by side below ``top``, their titles above it."""

    def column(left: float, title: str, values: Mapping[str, float | None]) -> None:
        ax.text(left + WIDE / 2, top - 0.05, title, rotation=90, ha="center", va="bottom", fontsize=SMALL)
        for place, value in enumerate(values.values()):
            _box(ax, left, top + HIGH * place, value)

    column(NAMES, "worst", {})
    for place, name in enumerate(ratios):
        weight = "bold" if name == ours else "normal"
        middle = top + HIGH * (place + 0.5)
        ax.text(NAMES - 0.08, middle, name, ha="right", va="center", fontsize=SMALL, fontweight=weight)
        _box(ax, NAMES, middle - HIGH / 2, worst[name])
    left = NAMES + WIDE + BETWEEN
    for group, columns in groups:
        ax.text(left, top - HEAD + 0.08, group.replace(":", "\n", 1), va="top", fontsize=SMALL, fontweight="bold")
        for place, (key, title) in enumerate(columns.items()):
            column(left + WIDE * place, title, {name: row.get(key) for name, row in ratios.items()})
        left += _span(group, columns) + BETWEEN


def _span(group: str, columns: Collection[str]) -> float:
    """Inches of a group: room for its cells and for its title."""
    return max(WIDE * len(columns), LETTER * max(map(len, group.split(":", 1))))


def _box(ax: Axes, left: float, top: float, ratio: float | None, text: str = "") -> None:
    """A ratio on its colour, or another text on it; a dash on white for none."""
    from matplotlib.patches import Rectangle

    colour, text = "white" if ratio is None else heat_colour(ratio), text or ratio_text(ratio)
    ax.add_patch(Rectangle((left, top), WIDE, HIGH, facecolor=colour, edgecolor="white", linewidth=0.7))
    ax.text(left + WIDE / 2, top + HIGH / 2, text, ha="center", va="center_baseline", fontsize=SMALL)


def _largest(values: Collection[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
