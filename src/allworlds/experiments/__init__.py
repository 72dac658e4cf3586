"""Experiments as data: resumable sweeps, on one machine or on a cluster, with the same numbers whatever happens."""

from allworlds.experiments.load import load_results

__all__ = ["load_results"]
