"""Report on a saved agent: text, JSON and a picture."""

from __future__ import annotations

from pathlib import Path

from allworlds.agents import Agent, AgentReport
from allworlds.foundation.files import open_folder
from allworlds.reporting.agent_figure import agent_figure
from allworlds.reporting.canvas import check_drawing, save


def report_agent(path: str | Path, out: Path | None = None) -> tuple[AgentReport, list[Path]]:
    """The report of the agent in a file, and the files of its picture, if ``out`` is a folder for them."""
    if out is not None:
        check_drawing()
    report = Agent.load(path).report()
    if out is None:
        return report, []
    figure, folder = agent_figure(report), open_folder(out)
    return report, [save(figure, folder / f"agent.{kind}") for kind in ("svg", "png", "pdf")]
