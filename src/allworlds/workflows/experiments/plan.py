"""An experiment made real before the first round: what will be run, and about how long it takes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allworlds.experiments.cells import Cell, SpecCache, resolve
from allworlds.experiments.reading import Source, as_experiment, read_experiment
from allworlds.experiments.work import code
from allworlds.foundation.machine import machine, versions
from allworlds.simulation import play

if TYPE_CHECKING:
    from allworlds.experiments.spec import Experiment

SAMPLE = 2000
"""Rounds that are played to learn how fast a learner is."""


@dataclass(frozen=True)
class Plan:
    """All cells of an experiment; everything that could be refused has been."""

    experiment: Experiment
    source: Source
    workshop: SpecCache
    cells: list[Cell]

    @property
    def hash(self) -> str:
        """Of the resolved configuration: equal for equal files, whatever their comments and layout."""
        parts = [self.experiment.model_dump(mode="json"), [cell.id for cell in self.cells]]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """What ``experiment.json`` keeps."""
        return {
            "name": self.experiment.name,
            "question": self.experiment.question,
            "hash": self.hash,
            "code": code(),
            "cells": len(self.cells),
            "source": self.source.name,
            "base": str(self.source.base),
            "changes": list(self.source.changes),
            "configuration": self.experiment.model_dump(mode="json"),
            "versions": versions(),
            "machine": machine(),
        }

    def seconds(self, jobs: int | None = None) -> float:
        """About how long ``jobs`` threads will take, from a short run of each learner on each graph."""
        speeds: dict[tuple[str, str], float] = {}
        total = 0.0
        for cell in self.cells:
            key = cell.graph, cell.learner
            if key not in speeds:
                learner = self.workshop.learner(cell.graph, cell.learner, cell.horizon)
                rounds = min(SAMPLE, cell.horizon)
                speeds[key] = play(learner, self.workshop.world(cell.graph, cell.world)[0], rounds, 0).seconds / rounds
            total += cell.horizon * speeds[key]
        return total / (jobs or os.cpu_count() or 1)


def make_plan(name: str | Path, changes: Sequence[str] = ()) -> Plan:
    """Read the experiment of a file or a shipped id, and resolve it to cells.

    >>> plan = make_plan("corrupted-cliques", ["grid.seeds=1"])
    >>> {cell.seed_number for cell in plan.cells}
    {0}
    """
    return plan_of(*read_experiment(name, changes))


def plan_again(description: dict[str, Any]) -> Plan:
    """The plan that a folder was begun with."""
    source = Source(description["source"], Path(description["base"]), tuple(description["changes"]))
    return plan_of(as_experiment(description["configuration"], "the stored configuration"), source)


def plan_of(experiment: Experiment, source: Source) -> Plan:
    """Resolve an experiment to cells."""
    workshop = SpecCache(source.base)
    return Plan(experiment, source, workshop, resolve(experiment, workshop))
