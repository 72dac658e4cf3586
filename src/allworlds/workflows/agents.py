"""Report on a saved agent, and evaluate other policies from the log of its decisions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from allworlds.agents import Agent, AgentReport
from allworlds.agents.evaluation import Evaluation, Policy, evaluate, parse_policy
from allworlds.agents.log_reading import load_log
from allworlds.agents.replay import OnProgress
from allworlds.foundation.errors import InvalidParameter
from allworlds.foundation.files import open_folder
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.by_name import make_graph
from allworlds.learners.by_name import make_learner
from allworlds.reporting.agent_figures import agent_figure, plot_evaluation
from allworlds.reporting.canvas import check_drawing, save
from allworlds.workflows import plain_data


def report_agent(path: str | Path, out: Path | None = None) -> tuple[AgentReport, list[Path]]:
    """The report of the agent in a file, and the files of its picture, if ``out`` is a folder for them."""
    if out is not None:
        check_drawing()
    report = Agent.load(path).report()
    if out is None:
        return report, []
    figure, folder = agent_figure(report), open_folder(out)
    return report, [save(figure, folder / f"agent.{kind}") for kind in ("svg", "png", "pdf")]


def evaluate_log(
    log: str | os.PathLike[str],
    policy: str = "each",
    *,
    learner: str | None = None,
    graph: str | None = None,
    level: float = 0.95,
    missing: str = "drop",
    out: str | os.PathLike[str] | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[Evaluation, tuple[Path, ...]]:
    """Evaluate policies that are written as text; with ``out``, write a picture and a CSV table into that folder.

    ``policy`` is "each", an arm, or a distribution such as ``a=0.5,b=0.5``. ``learner`` is a spec, such as
    ``thompson-n``, that is replayed on ``graph``, by default on what the log says of who shows whom.
    """
    table = load_log(log)
    folder = None if out is None else open_folder(Path(out))
    chosen: Policy = parse_policy(policy, table.attrs.get("log", {}).get("labels") or ())
    if learner is not None:
        if policy != "each":
            raise InvalidParameter("got a policy and a learner; expected one of the two")
        made = make_graph(graph) if graph is not None else graph_of_log(table)
        chosen = make_learner(learner, made)
    elif graph is not None:
        raise InvalidParameter("got a graph without a learner; a graph is for a learner that is replayed")
    evaluation = evaluate(table, chosen, level=level, missing=missing, on_progress=on_progress)
    files: tuple[Path, ...] = ()
    if folder is not None:
        figure: Any = plot_evaluation(evaluation).figure
        files = tuple(save(figure, folder / f"evaluation.{kind}") for kind in ("svg", "png", "pdf"))
        evaluation.to_frame().to_csv(folder / "evaluation.csv", index=False)
        files = (*files, folder / "evaluation.csv")
    return evaluation, files


def graph_of_log(table: Any) -> FeedbackGraph:
    """The undirected graph of who shows whom, from the head of a log."""
    header = table.attrs.get("log", {})
    shows = header.get("shows")
    if len(header.get("eras", [])) > 1:
        raise InvalidParameter(
            f"the arms of the log changed, and there were {header['n_actions']} in all; --graph names a graph on these"
        )
    if shows is None:
        raise InvalidParameter("the log does not say who shows whom; --graph names the graph")
    where, starts, order = (np.array(shows[name], dtype=np.int64) for name in ("where", "starts", "order"))
    n_arms = where.size
    seen = np.zeros((n_arms, n_arms), dtype=bool)
    for arm, group in enumerate(where):
        seen[arm, order[starts[group] : starts[group + 1]]] = True
    if not (seen == seen.T).all() or not seen.diagonal().all():
        raise InvalidParameter("the log's graph is directed or has arms that do not see themselves; --graph names it")
    return FeedbackGraph(n_arms, np.argwhere(np.triu(seen, 1)).tolist(), labels=header.get("labels"))


def evaluation_data(evaluation: Evaluation) -> dict[str, Any]:
    """As JSON can write it."""
    data: dict[str, Any] = plain_data(evaluation)
    return data
