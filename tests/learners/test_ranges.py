"""Each numeric option of each learner at the ends of its range: on one side it is taken, on the other refused."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest

from allworlds.foundation.errors import AllWorldsError
from allworlds.graphs import disjoint_cliques
from allworlds.learners.by_name import BY_NAME

GRAPH = disjoint_cliques([2, 1])
POSITIVE, SHARE, COUNT = "(0, inf)", "(0, 1]", "{1, inf}"
HORIZON = {"horizon": COUNT}
RANGES: dict[str, dict[str, str]] = {
    "aae-alphasample": {**HORIZON, "scale": POSITIVE},
    "aae-independent": {**HORIZON, "scale": POSITIVE},
    "barbar": {**HORIZON, "scale": POSITIVE, "failure": SHARE},
    "barbar-g": {**HORIZON, "scale": POSITIVE, "failure": SHARE},
    "broad": {**HORIZON, "rate": POSITIVE},
    "chen-2024": {**HORIZON, "scale": POSITIVE, "within_scale": POSITIVE},
    "dann-blackbox": {"size": "[0, inf)", "scale": POSITIVE},
    "elp": {**HORIZON, "independence": COUNT},
    "epsilon-greedy-lp": {"d": SHARE, "c": POSITIVE},
    "exp3-g": {**HORIZON, "exploration": "[0, 1]", "independence": COUNT},
    "exp3-g-plus-plus": {"exploration": POSITIVE},
    "exp3-plus-plus": {"exploration": POSITIVE},
    "exp3-wix": {"noise": "[0, inf)", "scale": POSITIVE},
    "guarded": {
        **dict.fromkeys(("start", "allowance", "sharpness", "proof", "room_limit", "alarm"), POSITIVE),
        "share": "[0, 1]",
    },
    "hedge": {**HORIZON, "rate": POSITIVE},
    "hybrid": {"gamma": "[0, inf)"},
    "inf": {**HORIZON, "power": "(1, inf)"},
    "ito-2022": {**HORIZON, "number": "[1, inf)", "scale": POSITIVE},
    "kl-ucb-n": {"c": "[0, inf)"},
    "kong-2022": {"failure": SHARE, "scale": POSITIVE},
    "log-barrier": {**HORIZON, "rate": POSITIVE},
    "lu-nonstationary": {**HORIZON, "window": "{2, inf}", "changes": POSITIVE, "explore": "[0, 1]", "width": POSITIVE},
    "lykouris": {**HORIZON, "scale": POSITIVE, "failure": SHARE},
    "moss": HORIZON,
    "moss-n": HORIZON,
    "q-ftrl": {**HORIZON, "independence": "[1, inf)", "index": "(0, 1)"},
    "robust-ucb": {"width": POSITIVE, "groups": "{2, inf}"},
    "sao": {**HORIZON, "scale": POSITIVE},
    "spm-ftrl": {"independence": "[1, inf)", "index": "(0, 1)", "beta1": POSITIVE, "betabar": "[0, inf)"},
    "thompson-discounted": {"discount": SHARE},
    "tsallis-shannon": {"half_life": "{10, 1000000000000}"},
    "ucb-discounted": {**HORIZON, "discount": SHARE, "width": POSITIVE, "changes": POSITIVE},
    "ucb-lp": HORIZON,
    "ucb-maxn": {"width": POSITIVE},
    "ucb-n": {"width": POSITIVE},
    "ucb-ne": {"width": POSITIVE},
    "ucb-v-n": {"zeta": POSITIVE},
    "ucb-window": {**HORIZON, "window": COUNT, "width": POSITIVE, "changes": POSITIVE},
}
"""By the learner's name. Round brackets leave the end out, square ones take it in, braces are whole numbers."""
CASES = [(name, option) for name, options in RANGES.items() for option in options]


def made(name: str, **given: Any) -> Any:
    """The learner with these options; what it must be told besides is 100 rounds."""
    kind = BY_NAME[name]
    needed = inspect.signature(kind).parameters
    told: dict[str, Any] = {"horizon": 100} if "horizon" in needed and "horizon" not in given else {}
    if name == "hedge":  # the horizon and the schedule that needs one come together
        told = {"schedule": "constant"} if "horizon" in given else {}
    return kind(GRAPH, **told, **given)


def ends(interval: str) -> tuple[list[float], list[float]]:
    """Numbers at the ends of an interval that are in it, and numbers just beyond that are not."""
    low, high = (float(end) for end in interval[1:-1].split(","))
    if interval[0] == "{":
        inside, outside = [int(low)], [int(low) - 1]
        return (inside, outside) if math.isinf(high) else ([*inside, int(high)], [*outside, int(high) + 1])
    near = 1e-9
    inside, outside = ([low], [low - near]) if interval[0] == "[" else ([low + near], [low, low - near])
    if math.isinf(high):
        return [*inside, 1e9], [*outside, math.inf, math.nan]
    return (
        ([*inside, high], [*outside, high + near])
        if interval[-1] == "]"
        else ([*inside, high - near], [*outside, high])
    )


@pytest.mark.parametrize(("name", "option"), CASES)
def test_an_option_is_taken_up_to_the_ends_of_its_range_and_refused_beyond(name: str, option: str) -> None:
    inside, outside = ends(RANGES[name][option])
    for value in inside:
        assert getattr(made(name, **{option: value}), option) is not None
    for value in outside:
        with pytest.raises(AllWorldsError, match=rf"(?s){option}.*expected"):
            made(name, **{option: value})


def test_every_numeric_option_of_a_learner_has_its_range_here() -> None:
    for name, kind in BY_NAME.items():
        for option, parameter in inspect.signature(kind).parameters.items():
            if {"int", "float"} & set(str(parameter.annotation).split(" | ")):
                assert option in RANGES.get(name, {}), (name, option)
