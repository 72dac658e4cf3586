"""Where losses come from: friendly, hostile, under attack, or your own."""

from allworlds.worlds.adversarial import (
    adversarial,
    constrained_adversary,
    drifting,
    loss_table,
    random_sequence,
    switching,
)
from allworlds.worlds.base import Reactive, World
from allworlds.worlds.corrupted import corrupted
from allworlds.worlds.misleading import misleading_graph
from allworlds.worlds.phases import lock_in, phases
from allworlds.worlds.poisoning import Poisoning
from allworlds.worlds.recorded import recorded
from allworlds.worlds.sleeping import SleepingArms
from allworlds.worlds.stochastic import one_bad_arm, one_good_arm, stochastic

__all__ = [
    "Poisoning",
    "Reactive",
    "SleepingArms",
    "World",
    "adversarial",
    "constrained_adversary",
    "corrupted",
    "drifting",
    "lock_in",
    "loss_table",
    "misleading_graph",
    "one_bad_arm",
    "one_good_arm",
    "phases",
    "random_sequence",
    "recorded",
    "stochastic",
    "switching",
]
