"""A learner with a memory, for a person or a service."""

from allworlds.agents.agent import Agent
from allworlds.agents.log import DecisionLog
from allworlds.agents.log_files import load_log
from allworlds.agents.reports import Decision

__all__ = ["Agent", "Decision", "DecisionLog", "load_log"]
