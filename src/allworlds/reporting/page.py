"""What every page shares: one file that opens from disk without network and scripts; tables, numbers, figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from allworlds.analysis.comparison import Estimate
from allworlds.foundation.files import disk_errors, write_atomic
from allworlds.reporting.canvas import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORT, FIGURES = "report.html", "figures"
NEEDED = "a report needs a folder that can be written"


def whole_page(title: str, body: str) -> str:
    """A page with the house's style inside; ``body`` is HTML."""
    css = resources.files("allworlds.reporting").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{css}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def save_figures(figures: Mapping[str, Figure], folder: Path) -> dict[str, str]:
    """Write each figure as SVG and PDF into ``folder/figures``; returns the SVG elements for a page, by name."""
    elements = {}
    with disk_errors(f"write to '{folder}'", NEEDED):
        (folder / FIGURES).mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            svg, _ = (save(figure, folder / FIGURES / f"{name}.{kind}") for kind in ("svg", "pdf"))
            elements[name] = inline_svg(svg.read_text(encoding="utf-8"))
    return elements


def inline_svg(text: str) -> str:
    """The SVG element of a file: no header, no metadata, no size of its own, so that it fills its place in a page."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    for attribute in ("height", "width"):
        svg = re.sub(rf'(<svg[^>]*?) {attribute}="[^"]*"', r"\1", svg, count=1)
    return svg


def figure_element(svg: str, described: str, caption: str) -> str:
    """A figure with a description for screen readers; ``caption`` is HTML."""
    labelled = svg.replace("<svg", f'<svg role="img" aria-label="{escape(described, quote=True)}"', 1)
    return f"<figure>\n{labelled}\n<figcaption>{caption}</figcaption>\n</figure>"


def how_to_repeat(command: str, facts: Mapping[str, str], numbers: str) -> str:
    """The last section: the command with an option a line, as a shell takes it, facts, and where the numbers are."""
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    broken = command.replace(" --", " \\\n    --")
    return (
        f"<h2>How to repeat it</h2>\n<pre>{escape(broken)}</pre>\n<dl>{listed}</dl>\n"
        "<p>The same version on the same kind of machine gives the same numbers, whatever the number of threads"
        f"{numbers}</p>"
    )


def write_page(page: str, folder: Path) -> Path:
    """``folder/report.html``, written atomically; returns its path."""
    path = folder / REPORT
    with disk_errors(f"write to '{folder}'", NEEDED):
        write_atomic(path, page.encode())
    return path


# --- numbers and tables ---


def number(value: float) -> str:
    """A regret: whole above 100, one decimal below.

    >>> number(1234.56), number(3.21), number(-0.04)
    ('1,235', '3.2', '0.0')
    """
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"
    return text.replace("-0.0", "0.0") if float(text.replace(",", "")) == 0.0 else text.replace("-", "−")


def between(estimate: Estimate) -> str:
    """Both ends of the interval; a dash for a single run."""
    return "–" if estimate.low is None else " to ".join(map(number, estimate.reach[1:]))


def with_interval(estimate: Estimate) -> str:
    """The mean, and both ends of its interval in brackets."""
    return f"{number(estimate.mean)} ({between(estimate)})"


TableCell = str | tuple[str, str]
"""The text of a cell, or its text and its CSS class."""


def table_row(cells: Iterable[TableCell], kind: str = "") -> str:
    """A ``<tr>`` of the class ``kind``."""
    pairs = [(cell, "") if isinstance(cell, str) else cell for cell in cells]
    return _element("tr", "".join(_element("td", escape(text), look) for text, look in pairs), kind)


def table(head: Sequence[str], body: Iterable[str]) -> str:
    """A table under the titles ``head``; ``body`` has a ``<tr>`` for each row."""
    titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    return f'<div class="wide"><table><thead><tr>{titles}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def _element(tag: str, content: str, kind: str) -> str:
    return f'<{tag} class="{kind}">{content}</{tag}>' if kind else f"<{tag}>{content}</{tag}>"
