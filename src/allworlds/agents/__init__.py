"""A learner with a memory, for a person or a service."""

from allworlds.agents.agent import Agent
from allworlds.agents.fleet import Fleet
from allworlds.agents.reports import Decision
from allworlds.agents.summary import AgentReport

__all__ = ["Agent", "AgentReport", "Decision", "Fleet"]
