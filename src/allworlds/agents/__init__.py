"""A learner with a memory, for a person or a service; its log, and what other policies would have lost."""

from allworlds.agents.agent import Agent
from allworlds.agents.evaluation import Evaluation, PolicyValue, evaluate
from allworlds.agents.export import export_log
from allworlds.agents.fleet import Fleet
from allworlds.agents.log import DecisionLog
from allworlds.agents.log_reading import load_log
from allworlds.agents.reports import Decision
from allworlds.agents.summary import AgentReport

__all__ = [
    "Agent",
    "AgentReport",
    "Decision",
    "DecisionLog",
    "Evaluation",
    "Fleet",
    "PolicyValue",
    "evaluate",
    "export_log",
    "load_log",
]
