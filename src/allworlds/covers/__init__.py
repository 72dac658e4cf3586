"""Clique covers: their structure, heuristics, exact search and certificates; the independence number and friends."""

from __future__ import annotations

from allworlds.covers.certificate import (
    Exhausted,
    FractionalPacking,
    IndependentArms,
    OddComponents,
    Part,
    PartByPart,
)
from allworlds.covers.cover import CliqueCover, read_cover, write_cover
from allworlds.covers.covering import clique_cover
from allworlds.covers.independence import independent_set
from allworlds.covers.numbers import fractional_cover, greedy_domination, independence_number, weak_domination

__all__ = [
    "CliqueCover",
    "Exhausted",
    "FractionalPacking",
    "IndependentArms",
    "OddComponents",
    "Part",
    "PartByPart",
    "clique_cover",
    "fractional_cover",
    "greedy_domination",
    "independence_number",
    "independent_set",
    "read_cover",
    "weak_domination",
    "write_cover",
]
