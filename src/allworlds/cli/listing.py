"""``allworlds learners``, ``worlds`` and ``graphs``: what there is to choose from; ``figure``: the paper's figure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allworlds.cli.terminal import EXAMPLE, NARROW, AsJson, print_json, print_rows, screen_width

if TYPE_CHECKING:
    from allworlds.foundation.specs import Recipe
    from allworlds.learners.recipe import LearnerRecipe

NARROW_FOR_GRAPHS = 190


def learners(
    name: Annotated[str | None, typer.Argument(help="Tell all about this one.", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """List the learners by what they are made for; with a name, tell its rule, bound, options and source."""
    from allworlds.learners.by_name import LEARNERS
    from allworlds.learners.recipe import GROUPS

    chosen = LEARNERS if name is None else {name: LEARNERS.find(name)}
    if as_json:
        fields = ["name", "world", "graphs", "told", "bound", "rival", "source", "rendering", "takes"]
        _list(chosen, {}, fields if name is None else [*fields, "example", "rule"], as_json=True)
    elif name is not None:
        _tell(chosen[name])
    else:
        titles = {"name": "learner", "graphs": "graphs", "told": "must be told", "cited": "after"}
        narrow = screen_width() < NARROW
        for world, heading in GROUPS.items():
            group = [recipe for recipe in LEARNERS.values() if recipe.world == world]
            typer.secho(f"\n{heading[0].upper()}{heading[1:]}", bold=True)
            if narrow:
                typer.echo("\n".join(map(_line, group)))
            else:
                print_rows(list(titles.values()), map(attrgetter(*titles), group))
        typer.echo(SHORT_LEGEND if narrow else LEGEND)


def _line(recipe: LearnerRecipe) -> str:
    """A learner in one line of a narrow screen: its name, the graphs that it takes in letters, and its source.

    >>> from allworlds.learners.by_name import LEARNERS
    >>> _line(LEARNERS["exp3-dom"])
    '  exp3-dom *              dc       Alon et al. 2013'
    """
    kind = recipe.kind
    letters = "".join(letter for letter, feature in LETTERS.items() if feature in kind.accepts)
    graphs = {"everything": "sees all", "itself": "ignored"}.get(kind.shows, letters or "-")
    star = "" if recipe.told.startswith("nothing") else " *"
    return f"  {recipe.name + star:<24}{graphs:<9}{recipe.cited}"


LETTERS = {"d": "directed", "l": "loopless", "w": "weak", "c": "changing", "n": "noisy"}
"""The graphs beyond undirected ones whose arms see themselves, as the short list writes them."""

SHORT_LEGEND = """
Graphs: all take undirected graphs whose arms see themselves (-). Beyond these:
d directed; l loopless, an arm that does not see itself is seen by all others;
w weakly observable; c changing from round to round; n noisy observations.
* must be told something, such as the horizon. allworlds learners NAME tells
what, its rule, what is proved, its source and its options."""

LEGEND = """
Graphs: all take undirected graphs whose arms see themselves. Beyond these:
directed; loopless, where an arm that does not see itself is seen by all others;
weak, weakly observable; changing from round to round; noisy observations.
allworlds learners NAME tells its rule, what is proved, and its options."""


def _tell(recipe: LearnerRecipe) -> None:
    """All that is known of one learner."""
    from allworlds.learners.recipe import GROUPS

    facts = {
        "kind": GROUPS[recipe.world],
        "graphs": recipe.graphs,
        "told": recipe.told,
        "proved": recipe.bound,
        "after": recipe.source,
        "rendering": {"reconstruction": "a reconstruction of ours"}.get(recipe.rendering, recipe.rendering),
        "options": ", ".join(f"{key} ({kind})" for key, kind in recipe.takes.items()) or "none",
        "for example": recipe.example,
    }
    typer.secho(recipe.name, bold=True)
    width = min(100, screen_width())
    for title, fact in facts.items():
        typer.echo(textwrap.fill(f"{title + ':':<13}{fact}", width, subsequent_indent=" " * 13))
    typer.echo(f"\n{recipe.rule}")


def worlds(as_json: AsJson = False) -> None:
    """List the worlds, each with an example of how it is written; --json adds the names of their options."""
    from allworlds.worlds.by_name import WORLDS

    titles = {"name": "world", "line": "what it is", "example": EXAMPLE}
    _list(WORLDS, titles, (*titles, "takes"), as_json=as_json)


def graphs(as_json: AsJson = False) -> None:
    """List the graphs, each with its form and an example; file:PATH reads a file; --json adds their options."""
    from allworlds.graphs.by_name import GRAPHS

    titles = {"form": "graph", "line": "what it is", "example": EXAMPLE}
    _list(GRAPHS, titles, ("name", *titles, "takes"), as_json=as_json, narrow=NARROW_FOR_GRAPHS)


def _list(
    recipes: Mapping[str, Recipe],
    titles: Mapping[str, str],
    fields: Sequence[str],
    *,
    as_json: bool,
    narrow: int = NARROW,
) -> None:
    """The ``titles`` of all recipes as a table, or their ``fields`` as JSON."""
    if not as_json:
        print_rows(list(titles.values()), map(attrgetter(*titles), recipes.values()), narrow)
        return
    for recipe in recipes.values():
        row = {name: getattr(recipe, name) for name in fields if name != "takes"}
        print_json(row | ({"options": list(recipe.takes)} if "takes" in fields else {}))


def figure(
    number: Annotated[int, typer.Argument(help="The figure's number in the paper: 1.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(help="The file: .png, .svg or .pdf.", show_default="figure<NUMBER>.png"),
    ] = None,
) -> None:
    """Draw a figure of the paper as PNG, SVG or PDF and print the file's path.

    Figure 1 shows where the regulariser is convex: the smallest Hessian eigenvalue, zero level dashed red.
    """
    from allworlds.reporting.paper_figure import draw_figure

    typer.echo(draw_figure(number, out))
