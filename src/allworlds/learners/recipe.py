"""What the registry knows of a learner; each learner file ends with its recipes, and ``by_name.py`` collects them."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import dataclass
from typing import Literal

from allworlds.foundation.specs import Recipe
from allworlds.graphs.features import FEATURES
from allworlds.learners.base import Learner

MadeFor = Literal["any", "adversarial", "stochastic", "corrupted", "moving", "none"]
GROUPS: dict[MadeFor, str] = {
    "any": "good in several worlds at once",
    "adversarial": "for hostile losses",
    "stochastic": "for random losses",
    "corrupted": "for random losses that are tampered with",
    "moving": "for random losses whose means move",
    "none": "for comparison",
}
"""The groups in which learners are listed, by the world that they are made for."""


@dataclass(frozen=True, kw_only=True)
class LearnerRecipe(Recipe):
    """One line of ``allworlds learners``; ``line`` is the bound: what is proved, and by whom."""

    kind: type[Learner]
    world: MadeFor
    """The world that it is made for."""
    told: str = "nothing"
    """What it must be told."""
    horizon: Literal["ignored", "taken", "needed"] = "ignored"
    rival: bool = True
    """False for a reference that sees more than the graph shows; reported but not ranked."""
    source: str = "this project"
    """The work that the rule is taken from."""
    rendering: Literal["as printed", "from memory", "reconstruction", "ours"] = "ours"
    """How sure we are of the rule. A reconstruction is ours in part; its authors' bound is not claimed."""

    @property
    def bound(self) -> str:
        """What is proved, and by whom."""
        return self.line

    @property
    def graphs(self) -> str:
        """The graphs that it accepts, in words.

        >>> from allworlds.learners.by_name import LEARNERS
        >>> LEARNERS["tsallis-shannon"].graphs, LEARNERS["hedge"].graphs
        ('undirected', 'sees everything')
        """
        if self.kind.shows == "everything":
            return "sees everything"
        kinds = [words for feature, words in FEATURES.items() if feature in self.kind.accepts]
        if {"changing", "uninformed"} <= self.kind.accepts:
            kinds = ["changing" if words == FEATURES["changing"] else words for words in kinds]
            kinds.remove(FEATURES["uninformed"])
        known = ", ".join(kinds if "directed" in self.kind.accepts else ["undirected", *kinds])
        return "ignores it" if self.kind.shows == "itself" else known

    @property
    def cited(self) -> str:
        """The work in short: its authors and the year, and whether our rule is a reconstruction.

        >>> from allworlds.learners.by_name import LEARNERS
        >>> LEARNERS["ucb-n"].cited
        'Caron et al. 2012'
        """
        authors, quote, _ = self.source.partition(', "')
        years = re.findall(r"\b(?:19|20)\d\d\b", self.source)
        if authors.count(",") > 1:
            authors = f"{authors.partition(',')[0]} et al."
        short = f"{authors} {years[-1]}" if quote and years else self.source
        return f"{short} (reconstruction)" if self.rendering == "reconstruction" else short

    @property
    def rule(self) -> str:
        """The idea and the rule: the head of the learner's file."""
        return inspect.getdoc(sys.modules[self.kind.__module__]) or ""
