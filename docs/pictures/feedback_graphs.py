"""Draw the pictures of ``docs/feedback_graphs.md``: ``python docs/pictures/feedback_graphs.py``.

The page is run, and each graph that it builds is drawn: so page and pictures cannot disagree. Needs
``allworlds[figures]`` and networkx.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import allworlds as aw
from allworlds.reporting.canvas import blank, house_style

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "feedback_graphs.md"
PROBLEMS = ("prices", "bids", "models", "sensors", "routes", "caches", "recommendations", "prompts")


def graphs_of_page() -> dict[str, aw.FeedbackGraph]:
    """The graphs that the code of the page builds, by problem."""
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            exec(block, names)
    return {problem: graph for problem in PROBLEMS if isinstance(graph := names[problem], aw.FeedbackGraph)}


def draw(problem: str, graph: aw.FeedbackGraph) -> Path:
    """One small picture, with room for names beside the circle."""
    with house_style():
        figure = blank(4.2, 2.9)
        axes = aw.plot_graph(graph, figure.subplots())
        axes.set_xlim(-2.0, 2.0)
        path = HERE / f"feedback_{problem}.png"
        figure.savefig(path, dpi=100)
    return path


if __name__ == "__main__":
    for problem, graph in graphs_of_page().items():
        print(draw(problem, graph))
