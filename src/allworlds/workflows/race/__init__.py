"""``allworlds race``: the paper's learner and its rivals in every world."""

from allworlds.workflows.race.config import Race, full_race
from allworlds.workflows.race.result import RaceResult
from allworlds.workflows.race.run import CellsFailed, RaceInterrupted, run_race

__all__ = ["CellsFailed", "Race", "RaceInterrupted", "RaceResult", "full_race", "run_race"]
