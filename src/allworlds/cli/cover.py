"""``allworlds cover`` and ``allworlds recommend``: what can be said of one graph, and which learner to use on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allworlds.cli.terminal import print_json, stop

if TYPE_CHECKING:
    from allworlds.workflows.cover import CoverResult

FILE = "A file (edge list, GraphML, METIS, CSV matrix), - for standard input, or a graph's spec such as grid:5x6."


def cover(
    file: Annotated[str, typer.Argument(help=FILE, show_default=False)],
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for the search.", show_default="a fixed amount of work, seconds at most"),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, heuristic, branch, sat or set-cover.")] = "auto",
    objective: Annotated[
        str, typer.Option(help="cliques: few of them. penalty: a small sum in the regret bound.")
    ] = "cliques",
    form: Annotated[
        str, typer.Option("--format", help="auto, edges, graphml, metis or matrix; auto goes by the file's suffix.")
    ] = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Folder for cover.json and a picture as SVG, PNG and PDF.", show_default="none")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what the cover is worth in regret bounds.")] = False,
    horizon: Annotated[int, typer.Option(min=1, help="Rounds for --explain.")] = 100_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Cut a graph into as few cliques as can be found, and say how few there can be.

    The search ends with a proof, with the time limit, or with Ctrl-C; the best cover so far is printed in any case.
    allworlds race --cover DIR/cover.json plays on the cover that was written.
    """
    from allworlds.workflows.cover import cover_graph

    result = cover_graph(
        file,
        time_limit=time_limit,
        method=method,
        objective=objective,
        form=form,
        horizon=horizon if explain else None,
        out=out,
        on_notice=lambda sentence: typer.echo(sentence, err=True),
    )
    if as_json:
        print_json(result.to_dict())
    else:
        _print_result(result)
    if result.interrupted:
        stop("interrupted: this is the best cover until then", 130)


def recommend(
    file: Annotated[str, typer.Argument(help=FILE, show_default=False)],
    horizon: Annotated[int | None, typer.Option(min=1, help="Rounds to be played.", show_default="unknown")] = None,
    regime: Annotated[
        str | None,
        typer.Option(help="What is known of the losses: stochastic, corrupted or adversarial.", show_default="nothing"),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="auto, edges, graphml, metis or matrix; auto goes by the file's suffix.")
    ] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Say in four sentences what a graph is, which learners take it, which one to use and why, and what it costs.

    The advice comes from the measured results that ship with the package (docs/comparison.md).
    """
    from allworlds.workflows.cover import find_graph
    from allworlds.workflows.recommend import recommend as advise

    found = advise(find_graph(file, form), horizon, regime, name="the graph" if file == "-" else file)
    if as_json:
        print_json(found.to_dict())
    else:
        for sentence in found.sentences:
            typer.echo(sentence)


def _print_result(result: CoverResult) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from allworlds.foundation.errors import counted

    screen, cover = Console(highlight=False), result.cover
    arms, edges = counted(cover.n_arms, "arm"), counted(cover.graph.n_edges, "edge")
    screen.print(Text(f"{result.source}: {arms}, {edges}", style="bold"))
    lines = Table.grid(padding=(0, 2))
    for name, value in _lines(result):
        lines.add_row(Text(name), Text(value))
    screen.print(lines)
    if result.worth:
        screen.print()
        table = Table(
            "cover", title=f"Bounds on the regret after {result.horizon:,} hostile rounds", title_justify="left"
        )
        for title in ("cliques", "sharp constants", "the paper's"):
            table.add_column(title, justify="right")
        for row in result.worth:
            table.add_row(row.cover, f"{row.n_cliques:,}", f"{row.sharp:,.0f}", f"{row.paper:,.0f}")
        screen.print(table)


def _lines(result: CoverResult) -> list[tuple[str, str]]:
    cover, alpha = result.cover, result.alpha
    proof = "proved to be the fewest" if cover.is_minimum else "not proved to be the fewest"
    largest = int(cover.sizes.max())
    lines = [
        ("cliques", f"{cover.n_cliques:,}, {proof}"),
        ("needed", f"at least {cover.lower_bound:,} ({_reason(result)})"),
        ("alpha", f"{alpha.lower:,}" if alpha.is_exact else f"{alpha.lower:,} to {alpha.upper:,}"),
    ]
    if result.fractional is not None:
        theta = f"{cover.n_cliques:,}" if cover.is_minimum else "theta"
        lines.append(("in order", f"alpha {alpha.lower:,} <= fractional {result.fractional:.4g} <= theta {theta}"))
    lines += [
        ("sizes", f"{int(cover.sizes.min()):,} to {largest:,}" if cover.n_cliques > 1 else f"{largest:,}"),
        ("method", cover.method),
        ("time", f"{result.seconds:.1f} s"),
    ]
    return lines + [("wrote", str(file)) for file in result.files]


def _reason(result: CoverResult) -> str:
    """What proves the bound, in a few words."""
    certificate = result.cover.certificate
    if certificate is None:
        return "bound without a certificate"
    kind = certificate.to_data()["kind"]
    named = {"independent arms": "independent arms", "odd components": "a matching"}
    return f"by {getattr(certificate, 'solver', None) or named.get(kind, f'a {kind}')}"
