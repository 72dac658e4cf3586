"""The argmin of Algorithm 1: its constants, its regulariser, and the step that solves it exactly."""

from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import sharp_alpha, worst_conditional
from allworlds.ftrl.solve import FTRLSolution, solve_ftrl

__all__ = ["Constants", "FTRLSolution", "sharp_alpha", "solve_ftrl", "worst_conditional"]
