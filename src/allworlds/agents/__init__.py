"""A learner with a memory, for a person or a service."""

from allworlds.agents.agent import Agent, Decision

__all__ = ["Agent", "Decision"]
