"""One algorithm a file, all of one shape."""

from allworlds.learners.base import Learner
from allworlds.learners.registry import LEARNERS, make_learner
from allworlds.learners.tsallis_shannon import TsallisShannon

BY_NAME: dict[str, type[Learner]] = {TsallisShannon.name: TsallisShannon}
"""Learner classes under the name they are saved with."""

__all__ = ["BY_NAME", "LEARNERS", "Learner", "TsallisShannon", "make_learner"]
