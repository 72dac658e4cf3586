"""Online model selection: one agent over families of models, of which only the drawn one is trained."""

from __future__ import annotations


class ModelSelector:
    """An agent over families of models."""
