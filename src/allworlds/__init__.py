"""allworlds: online decisions with side observations.

A graph says who sees whom, a cover groups it, a learner chooses and learns, an agent remembers.
Names are loaded when first used (PEP 562), so ``import allworlds`` costs nothing.

>>> import allworlds as aw
>>> aw.graphs.disjoint_cliques(10, 10).n_arms
100
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Agent": "agents",
    "AllWorldsError": "foundation.errors",
    "AsyncClient": "client",
    "Client": "client",
    "CliqueCover": "covers",
    "Constants": "ftrl",
    "Decision": "agents",
    "FTRLSolution": "ftrl",
    "FeedbackGraph": "graphs",
    "Fleet": "agents",
    "Guarded": "learners",
    "ModelSelector": "adapters.model_selector",
    "Trace": "simulation",
    "TsallisShannon": "learners",
    "clique_cover": "covers",
    "evaluate": "agents",
    "export_log": "agents",
    "load_log": "agents",
    "load_results": "experiments",
    "make_graph": "graphs.by_name",
    "make_learner": "learners.by_name",
    "make_world": "worlds.by_name",
    "play": "simulation",
    "play_many": "simulation",
    "plot_evaluation": "reporting.agent_figures",
    "plot_graph": "reporting.graph_picture",
    "plot_regret": "reporting.curves",
    "recommend": "workflows.recommend",
    "run_experiment": "workflows.experiments",
    "run_race": "workflows.race",
    "sharp_alpha": "ftrl",
    "solve_ftrl": "ftrl",
}
_ROOMS = ("covers", "ftrl", "graphs", "learners", "simulation", "theory", "worlds")

__all__ = ["__version__", "errors", *sorted(_HOMES), *_ROOMS]

if TYPE_CHECKING:
    from allworlds import covers, ftrl, graphs, learners, simulation, theory, worlds
    from allworlds.adapters.model_selector import ModelSelector
    from allworlds.agents import Agent, Decision, Fleet, evaluate, export_log, load_log
    from allworlds.client import AsyncClient, Client
    from allworlds.covers import CliqueCover, clique_cover
    from allworlds.experiments import load_results
    from allworlds.foundation import errors
    from allworlds.foundation.errors import AllWorldsError
    from allworlds.ftrl import Constants, FTRLSolution, sharp_alpha, solve_ftrl
    from allworlds.graphs import FeedbackGraph
    from allworlds.graphs.by_name import make_graph
    from allworlds.learners import Guarded, TsallisShannon
    from allworlds.learners.by_name import make_learner
    from allworlds.reporting.agent_figures import plot_evaluation
    from allworlds.reporting.curves import plot_regret
    from allworlds.reporting.graph_picture import plot_graph
    from allworlds.simulation import Trace, play, play_many
    from allworlds.workflows.experiments import run_experiment
    from allworlds.workflows.race import run_race
    from allworlds.workflows.recommend import recommend
    from allworlds.worlds.by_name import make_world


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"allworlds.{_HOMES[name]}"), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"allworlds.{name}")
    elif name == "errors":
        value = importlib.import_module("allworlds.foundation.errors")
    else:
        raise AttributeError(f"module 'allworlds' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
