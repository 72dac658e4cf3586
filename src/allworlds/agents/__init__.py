"""A learner with a memory, for a person or a service; its log, and what other policies would have lost."""

from allworlds.agents.agent import Agent
from allworlds.agents.evaluation import Evaluation, PolicyValue, evaluate
from allworlds.agents.export import export_log
from allworlds.agents.log import DecisionLog
from allworlds.agents.log_files import load_log
from allworlds.agents.reports import Decision

__all__ = ["Agent", "Decision", "DecisionLog", "Evaluation", "PolicyValue", "evaluate", "export_log", "load_log"]
