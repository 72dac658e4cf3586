"""Property tests draw the same examples every time, and the first call may compile. Ctrl-C can be tested.

To compile every learner takes minutes. So ``scripts/test`` checks the rivals as plain Python, and compiled only where a
test asks for it by the marker ``compiled``; ``--slow`` runs all of their tests compiled, too.
"""

from __future__ import annotations

import functools
import signal
from pathlib import Path

import pytest
from hypothesis import settings
from numba.core import config

from service_process import service  # noqa: F401

# A shell that starts the tests in the background ignores Ctrl-C, and what the tests start would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

CORE = {
    "base",
    "by_name",
    "dispatch",
    "guarded",
    "recipe",
    "sampling",
    "tsallis_shannon",
    "tsallis_inf",
    "exp3_ix",
    "ucb",
    "thompson_n",
}
"""Learner files that are tested compiled, too."""


BY_LEARNER = ("test_agent.py", "test_round_graphs.py")
"""Tests that are repeated for every learner, compiled."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to ``--slow`` what plain Python has checked of the rivals."""
    if config.DISABLE_JIT:
        return
    for item in items:
        of_file = item.path.parent.name == "learners" and item.path.stem.removeprefix("test_") in _files() - CORE
        params = getattr(item, "callspec", None)
        named = item.path.name in BY_LEARNER and params is not None
        of_learner = named and any(value in _rivals() for value in params.params.values() if isinstance(value, str))
        if of_learner or (of_file and item.get_closest_marker("compiled") is None):
            item.add_marker(pytest.mark.slow)


@functools.cache
def _files() -> set[str]:
    return {file.stem for file in (Path(__file__).parents[1] / "src/allworlds/learners").glob("*.py")}


@functools.cache
def _rivals() -> set[str]:
    """The names of the learners whose files are not tested compiled; a file may hold several."""
    from allworlds.learners.by_name import LEARNERS

    return {name for name, recipe in LEARNERS.items() if recipe.kind.__module__.rpartition(".")[2] not in CORE}
