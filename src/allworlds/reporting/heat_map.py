"""A matrix as a heat map: learners by worlds or graphs, the ratio to the best in colour and in number.

It is an HTML table and not a picture: its numbers stay readable on a phone, where it scrolls beside its first column.
Colour is on a logarithmic scale: blue for the best, white at 2, orange from 10 on; both ends are told apart with every
kind of colour vision.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from html import escape

BLUE, WHITE, ORANGE = (126, 182, 222), (255, 255, 255), (226, 120, 62)
MIDDLE, END = 2.0, 10.0
SAFE, NEAR = 3.0, 1.15
"""A learner is safe if its worst ratio is at most the first. A specialist is not safe, but has a ratio of at most the
second in some column in which others have more than ``MIDDLE``: where all are good, no learner is a specialist."""


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
        known = [value for value in (row.get(column) for column in columns) if value is not None]
        cells = [_cell(max(known, default=None)), *(_cell(row.get(column)) for column in columns)]
        look = (classes or {}).get(name, "")
        first = f'<td>{escape(name)}</td><td class="kind">{kinds.get(name, "")}</td>'
        body.append(f"<tr{f' class={look!r}' if look else ''}>{first}{''.join(cells)}</tr>".replace("'", '"'))
    return (
        '<div class="wide"><table class="heat">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(ratio: float | None) -> str:
    if ratio is None:
        return "<td>–</td>"
    text = f"{ratio:.2f}" if ratio < 10.0 else f"{ratio:.0f}"
    return f'<td style="background:{heat_colour(ratio)}">{text}</td>'
