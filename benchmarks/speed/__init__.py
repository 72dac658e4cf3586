"""How fast a round is, beside what it must cost, what else one would do, and what others do."""

from __future__ import annotations

from speed.config import FULL, QUICK, Scale
from speed.result import BenchResult, read_page, write_result
from speed.run import PARTS, run_bench

__all__ = ["FULL", "PARTS", "QUICK", "BenchResult", "Scale", "read_page", "run_bench", "write_result"]
