"""One algorithm a file, all of one shape."""

from allworlds.learners.base import Learner
from allworlds.learners.tsallis_shannon import TsallisShannon

BY_NAME: dict[str, type[Learner]] = {TsallisShannon.name: TsallisShannon}
"""Learners under the name they are saved with."""

__all__ = ["BY_NAME", "Learner", "TsallisShannon"]
