"""What every page shares: one file that opens from disk, and needs no network and no script."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.files import write_atomic
from allworlds.reporting.canvas import house_style, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def whole_page(title: str, body: str) -> str:
    """A page with the house's style inside; ``body`` is HTML."""
    css = resources.files("allworlds.reporting").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{css}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def inline_svg(figure: Figure) -> str:
    """The figure as an SVG element that can stand in a page: no header, no metadata, as wide as its place."""
    text = io.StringIO()
    with house_style():
        figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()[text.getvalue().index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(
        r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1), count=1
    )


def figure_element(svg: str, described: str, caption: str) -> str:
    """A figure with words for those who cannot see it; ``caption`` is HTML."""
    labelled = svg.replace("<svg", f'<svg role="img" aria-label="{escape(described, quote=True)}"', 1)
    return f"<figure>\n{labelled}\n<figcaption>{caption}</figcaption>\n</figure>"


def broken_lines(command: str) -> str:
    """A long command with an option a line, as a shell takes it."""
    return command.replace(" --", " \\\n    --")


def fact_list(facts: Mapping[str, str]) -> str:
    """Names and what there is to say of them."""
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(value)}</dd>' for name, value in facts.items())}</dl>"


def save_figures(figures: Mapping[str, Figure], folder: Path) -> None:
    """Each figure as SVG and PDF in ``folder/figures``."""
    with _saying(folder):
        (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        for suffix in ("svg", "pdf"):
            save(figure, folder / "figures" / f"{name}.{suffix}")


def write_page(page: str, folder: Path) -> Path:
    """``folder/report.html``, whole or not at all; gives its path."""
    path = folder / "report.html"
    with _saying(folder):
        write_atomic(path, page.encode())
    return path


@contextmanager
def _saying(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidParameter(
            f"cannot write to '{folder}': {reason}; a report needs a folder that can be written"
        ) from None
