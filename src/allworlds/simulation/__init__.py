"""Play and its traces; what a run costs: regret, gaps and corruption, as the paper defines them."""

from allworlds.simulation.play import play, play_many
from allworlds.simulation.regret import arm_gaps, clique_gaps, corruption_level, pseudo_regret, realised_regret
from allworlds.simulation.trace import Trace, record_rounds

__all__ = [
    "Trace",
    "arm_gaps",
    "clique_gaps",
    "corruption_level",
    "play",
    "play_many",
    "pseudo_regret",
    "realised_regret",
    "record_rounds",
]
