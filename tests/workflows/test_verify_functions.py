"""A wrong function turns a line of ``allworlds verify`` red: each function of ``theory/`` that the lines call.

The lines of the proofs are checked once while it is noted which of them call what. Then each function gives ten
thousand times what it should, or a ten-thousandth, and only the lines that call it are checked again.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest

from allworlds.foundation.errors import AllWorldsError
from allworlds.ftrl.solve import FTRLSolution
from allworlds.theory.regulariser import TsallisPerspective
from allworlds.workflows.verify import GROUPS, judge
from allworlds.workflows.verify.instances import Instances

STATEMENTS = {s.label: s for group, members in GROUPS.items() if "runs" not in group for s in members}
FACTORS = (1e4, 1e-4)
MAKING = "the instances themselves"
GUARD = "says where a statement applies; a wrong one leaves out points, or takes more, where it holds all the same"
ROUNDING = "how much rounding is forgiven"
GENEROUS = "a coefficient of a bound with so much room that less would do on these instances"
NO_NUMBER = "gives arms, a clique, a round or an object, and not a real number that could be multiplied"
UNNOTICED = {
    "hessian.lemma_1_condition": GUARD,
    "hessian.smallest_conditional": GUARD,
    "practical_coefficients.Numbers.last_early_round": GUARD,
    "practical_coefficients.Numbers.is_late": GUARD,
    "practical_coefficients._least_room": GUARD,
    "practical._stability_rounding": ROUNDING,
    "practical._noise": ROUNDING,
    "practical_coefficients.Numbers.rebound": GENEROUS,
    "practical_coefficients.Numbers.highest_barrier": GENEROUS,
    "practical_coefficients.Numbers.growth": GENEROUS,
    "practical_coefficients.Numbers.best_clique_weight": GENEROUS,
    "practical_coefficients.highest_baseline": GENEROUS,
    "rounds.PracticalRound.excess": "estimates that are hardly held back are nearly unbiased, and cost less",
    "regulariser.shrunk_comparator": "a comparator with less mass only makes the left sides smaller",
    "rounds.PracticalRound.effective_round": "both sides use it, and the statements hold for any number of rounds",
    **dict.fromkeys(
        (
            "guarded.n_epochs",
            "guarded.Account.n_cliques",
            "guarded.Account.plays",
            "practical_coefficients.covers",
            "practical_coefficients.numbers_of",
            "rounds.round_state",
            "rounds.Round.best_clique",
            "rounds.Round.others",
            "rounds.Round.members",
            "rounds.PracticalRound.numbers",
        ),
        NO_NUMBER,
    ),
}
"""Functions of which one of the two errors turns no line red, and why; ``tests/theory`` has their definitions."""


class Place(NamedTuple):
    """A function, or a method or property of a class, of a module of ``theory/``."""

    name: str
    owner: Any
    attribute: str
    found: Any

    @property
    def function(self) -> Any:
        """What is called."""
        if isinstance(self.found, functools.cached_property):
            return self.found.func
        return self.found.fget if isinstance(self.found, property) else self.found


def places() -> Iterator[Place]:
    """What ``theory/`` computes with; its checks and bounds have errors of their own in ``test_verify_plants.py``."""
    for name, module in sorted(sys.modules.items()):
        if not name.startswith("allworlds.theory.") or name.endswith((".check", ".arguments")):
            continue
        for kind in (module, *(one for one in vars(module).values() if isinstance(one, type))):
            for attribute, found in list(vars(kind).items()):
                place = Place("", kind, attribute, found)
                function = place.function
                own = isinstance(function, FunctionType) and function.__module__ == name and attribute[:2] != "__"
                if own and function.__annotations__.get("return") not in ("Check", "Bound", "None"):
                    yield place._replace(name=f"{name.removeprefix('allworlds.theory.')}.{function.__qualname__}")


def wrong(value: Any, factor: float) -> Any:
    """The value with every real number in it multiplied; truth reversed, the members of a clique or clique moved on."""
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, float | np.floating):
        return factor * value
    if isinstance(value, np.ndarray):
        return factor * value if value.dtype.kind == "f" else np.roll(value, 1)
    if isinstance(value, tuple | list):
        items = [wrong(item, factor) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, TsallisPerspective):
        return dataclasses.replace(value, h=distorted(value.h, factor))
    if isinstance(value, FTRLSolution):
        return dataclasses.replace(value, distribution=factor * value.distribution)
    return distorted(value, factor) if isinstance(value, FunctionType) else value


def distorted(function: Callable[..., Any], factor: float) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*of: Any, **rest: Any) -> Any:
        return wrong(function(*of, **rest), factor)

    return wrapper


def plant(place: Place, factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the wrong function wherever the right one is."""
    false = distorted(place.function, factor)
    if isinstance(place.found, functools.cached_property):
        false = functools.cached_property(false)  # type: ignore[assignment]
        false.__set_name__(place.owner, place.attribute)  # type: ignore[attr-defined]
    elif isinstance(place.found, property):
        false = property(false)  # type: ignore[assignment]
    modules = [module for name, module in sys.modules.items() if name.startswith("allworlds.")]
    for owner in [place.owner] if isinstance(place.owner, type) else modules:
        for attribute, found in list(vars(owner).items()):
            if found is place.found:
                monkeypatch.setattr(owner, attribute, false)


class Calls:
    """Which functions of ``theory/`` are called, by their code, while something is done under a name."""

    def __init__(self) -> None:
        self.names: dict[Any, list[str]] = {}

    @contextlib.contextmanager
    def noted(self, name: str) -> Iterator[None]:
        seen: set[Any] = set()

        def note(frame: FrameType, event: str, of: Any) -> None:
            code = frame.f_code
            if code not in seen:
                seen.add(code)
                if "theory" in Path(code.co_filename).parts:
                    self.names.setdefault(code, []).append(name)

        before = sys.gettrace()
        sys.settrace(note)
        try:
            yield
        finally:
            sys.settrace(before)


def made() -> Instances:
    """Instances whose rounds and runs are made, and nothing else of them is."""
    own = Instances(7, full=False)
    assert own.conditionals
    assert own.points
    for which in ("paper", "sharp", "practical"):
        own.states(which)
    return own


def turns_red(labels: list[str], make: Callable[[], Instances]) -> bool:
    """Is one of the lines red, or stopped by an error?"""
    try:
        own = make()
        checked = (judge(STATEMENTS[label], "", STATEMENTS[label].check(own)) for label in labels)
        return any(not verdict.holds for verdict in checked)
    except (AllWorldsError, np.linalg.LinAlgError, IndexError, ValueError):
        return True


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_function_that_the_lines_call_turns_one_of_them_red_when_it_is_wrong() -> None:
    calls, took = Calls(), {}
    with calls.noted(MAKING):
        fresh = made()
    own = copy.deepcopy(fresh)
    for label, statement in STATEMENTS.items():
        start = time.process_time()
        with calls.noted(label):
            assert judge(statement, "", statement.check(own)).holds, label
        took[label] = time.process_time() - start
    tried, unnoticed = set(), []
    for place in places():
        called = calls.names.get(place.function.__code__, [])
        labels = sorted(set(called) - {MAKING}, key=took.__getitem__)
        if called:
            tried.add(place.name)
        for factor in FACTORS if called and place.name not in UNNOTICED else ():
            with pytest.MonkeyPatch.context() as patch:
                plant(place, factor, patch)
                red = turns_red([*labels, "alg:FTRL-estimates"], lambda: copy.deepcopy(fresh))
                if not red and MAKING in called:
                    red = turns_red([*labels, "alg:FTRL", "alg:FTRL-estimates", "default-0"], made)
                if not red:
                    unnoticed.append((place.name, factor))
    assert unnoticed == [], "\n".join(map(str, unnoticed))
    assert len(tried) > 80
    assert set(UNNOTICED) <= tried
