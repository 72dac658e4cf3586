"""Play: a learner meets a world and leaves a trace."""

from allworlds.simulation.play import play, play_many
from allworlds.simulation.trace import Trace, record_rounds

__all__ = ["Trace", "play", "play_many", "record_rounds"]
