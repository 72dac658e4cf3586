"""What a run costs: regret, gaps and corruption, as the paper defines them."""

from allworlds.simulation.regret import (
    arm_gaps,
    clique_gaps,
    corruption_level,
    pseudo_regret,
    realised_regret,
)

__all__ = ["arm_gaps", "clique_gaps", "corruption_level", "pseudo_regret", "realised_regret"]
