"""One round of an agent in compiled code, with the state handed over once and not in every call.

Numba takes a named tuple of a dozen arrays apart in every call, which costs many times the arithmetic of a round. Here
a state is taken apart once: :func:`bind` writes its compiled form, a struct of pointers and sizes, into a buffer, and
the two kernels of a round read it there. That is sound because the arrays of a state never move: kernels work in place,
and the functions that ``bind`` returns keep the state alive.

How to read the buffer is known when a kernel is compiled: its first argument has no value, and the Numba type of it,
:class:`StateType`, names the class of the state. So a kernel is compiled once for each class, and found on disk again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import config
from numba.core.registry import cpu_target
from numba.extending import NativeValue, intrinsic, models, register_model, unbox
from numpy.typing import NDArray

from allworlds.agents.reports import ValueRange
from allworlds.kernels.jit import lean_jit
from allworlds.kernels.random import STREAM_AGENT, uniform_pair
from allworlds.learners import Learner
from allworlds.learners.dispatch import WRITES_DISTRIBUTION, draw, learn, update, write_distribution

Draw = Callable[[int], Any]
Learn = Callable[[Any, NDArray[np.float64]], int]


def bind(learner: Learner, state: Any, seed: int, allowed: ValueRange) -> tuple[Draw, Learn]:
    """Two functions: ``draw(number) -> ticket`` and ``learn(ticket, values) -> place``.

    ``learn`` brings values to losses in [0, 1] and learns them. If one of them is out of range or NaN, it returns the
    place of the first and nothing has changed; else -1.
    """
    room, scale = np.empty(learner.n_arms), (allowed.low, allowed.high, allowed.reward)
    kind = type(learner)
    if config.DISABLE_JIT or kind.draw is not Learner.draw or kind.update is not Learner.update:

        def draw_in_python(number: int) -> Any:
            return learner.draw(state, *uniform_pair(seed, STREAM_AGENT, number, 0))

        def learn_in_python(ticket: Any, values: NDArray[np.float64]) -> int:
            room[: values.size] = values
            wrong = scale_losses(room, values.size, *scale)
            if wrong < 0:
                learner.update(state, ticket, room[: values.size].copy())
            return wrong

        return draw_in_python, learn_in_python

    held, buffer = StateType(numba.typeof(state)), _buffer_of(state)
    drawing = _compiled(draw_held, held, numba.typeof(buffer), types.int64, types.int64)
    ticket = drawing.signature.return_type
    numbers = types.float64, types.float64, types.boolean
    learning = _compiled(learn_held, held, numba.typeof(buffer), numba.typeof(room), *numbers, ticket, types.int64)
    draw_next = partial(drawing.entry_point, None, buffer, seed)
    learn_next = partial(learning.entry_point, None, buffer, room, *scale)

    def draw_compiled(number: int) -> Any:
        return learner.keep(state, draw_next(number))

    def learn_compiled(ticket: Any, values: NDArray[np.float64]) -> int:
        room[: values.size] = values
        wrong: int = learn_next(learner.recall(state, ticket), values.size)
        return wrong

    return draw_compiled, learn_compiled


DrawGiven = Callable[[float, float], Any]
LearnGiven = Callable[[Any, NDArray[np.float64], float], float]


def bind_given(learner: Learner, state: Any) -> tuple[DrawGiven, LearnGiven]:
    """Two functions: ``draw(first, second) -> ticket`` from uniforms, and ``learn(ticket, losses, excess) -> excess``.

    Losses are in [0, 1], and ``excess`` is what is held back, or negative: then the learner finds it; see
    :func:`allworlds.learners.dispatch.learn`.
    """
    if config.DISABLE_JIT:

        def draw_in_python(first: float, second: float) -> Any:
            return learner.draw(state, first, second)

        def learn_in_python(ticket: Any, losses: NDArray[np.float64], excess: float) -> float:
            return learn(state, learner.recall(state, ticket), losses, excess)

        return draw_in_python, learn_in_python

    held, buffer, number = StateType(numba.typeof(state)), _buffer_of(state), types.float64
    drawing = _compiled(draw_given, held, numba.typeof(buffer), number, number)
    ticket, losses = drawing.signature.return_type, numba.typeof(np.empty(1))
    learning = _compiled(learn_given, held, numba.typeof(buffer), ticket, losses, number)
    draw_next, learn_next = partial(drawing.entry_point, None, buffer), partial(learning.entry_point, None, buffer)

    def draw_compiled(first: float, second: float) -> Any:
        return learner.keep(state, draw_next(first, second))

    def learn_compiled(ticket: Any, losses: NDArray[np.float64], excess: float) -> float:
        held_back: float = learn_next(learner.recall(state, ticket), losses, excess)
        return held_back

    return draw_compiled, learn_compiled


def bind_distribution(learner: Learner, state: Any) -> Callable[[], NDArray[np.float64] | None]:
    """A function that gives the probabilities of the coming choice in a new array, or None if they are not known.

    It is quick where the learner has a compiled ``distribution_kernel``, or the distribution is a field of the state.
    """
    if config.DISABLE_JIT or type(state) not in WRITES_DISTRIBUTION:
        return partial(learner.logged_distribution, state)
    held, buffer, n_arms = StateType(numba.typeof(state)), _buffer_of(state), learner.n_arms
    writing = _compiled(write_held, held, numba.typeof(buffer), numba.typeof(np.empty(n_arms)))
    write = partial(writing.entry_point, None, buffer)

    def distribution() -> NDArray[np.float64]:
        room = np.empty(n_arms)
        write(room)
        return room

    distribution.state = state  # type: ignore[attr-defined]  # the buffer points into it
    return distribution


class StateType(types.Type):  # type: ignore[misc]
    """The Numba type of an argument without a value, which says of which type the state in a buffer is."""

    def __init__(self, state_type: Any) -> None:
        self.types = (state_type,)
        super().__init__(name=f"StateType({state_type.name})")


register_model(StateType)(models.OpaqueModel)


@unbox(StateType)  # type: ignore[untyped-decorator]
def _unbox_nothing(typ: Any, obj: Any, c: Any) -> NativeValue:
    return NativeValue(c.context.get_dummy_value())


def _buffer_of(state: Any) -> NDArray[np.float64]:
    """A buffer with the compiled form of a state."""
    context = cpu_target.target_context
    size = context.get_abi_sizeof(context.get_value_type(numba.typeof(state)))
    buffer = np.zeros(-(-size // 8))
    write_state(buffer, state)
    return buffer


def _compiled(kernel: Any, *signature: Any) -> Any:
    """The kernel for one signature, called without looking at the types of its arguments."""
    kernel.compile(signature)
    return kernel.overloads[signature]


@intrinsic  # type: ignore[untyped-decorator]
def store_state(typing_context: Any, buffer: Any, state: Any) -> Any:
    """Write ``state`` to the start of ``buffer``."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = context.make_array(buffer)(context, builder, values[0]).data
        builder.store(values[1], builder.bitcast(pointer, values[1].type.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(buffer, state), codegen


@intrinsic  # type: ignore[untyped-decorator]
def load_state(typing_context: Any, held: Any, buffer: Any) -> Any:
    """Read the state at the start of ``buffer``; ``held`` says of which type it is."""
    (state,) = held.types

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = context.make_array(buffer)(context, builder, values[1]).data
        return builder.load(builder.bitcast(pointer, context.get_value_type(state).as_pointer()), align=8)

    return state(held, buffer), codegen


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def write_state(buffer: NDArray[np.float64], state: Any) -> None:
    """Write the compiled form of ``state`` to ``buffer``."""
    store_state(buffer, state)


@lean_jit
def draw_held(held: Any, buffer: NDArray[np.float64], seed: int, number: int) -> Any:
    """Draw with the uniforms of decision ``number``."""
    first, second = uniform_pair(seed, STREAM_AGENT, number, 0)
    return draw(load_state(held, buffer), first, second)


@lean_jit
def draw_given(held: Any, buffer: NDArray[np.float64], first: float, second: float) -> Any:
    """Draw with given uniforms."""
    return draw(load_state(held, buffer), first, second)


@lean_jit
def learn_given(
    held: Any, buffer: NDArray[np.float64], ticket: Any, losses: NDArray[np.float64], excess: float
) -> float:
    """Learn losses in [0, 1], and hold back what is given, or negative: what the learner finds."""
    return learn(load_state(held, buffer), ticket, losses, excess)


@lean_jit
def write_held(held: Any, buffer: NDArray[np.float64], distribution: NDArray[np.float64]) -> None:
    """Write the distribution of the coming choice."""
    write_distribution(load_state(held, buffer), distribution)


@lean_jit
def learn_held(
    held: Any,
    buffer: NDArray[np.float64],
    room: NDArray[np.float64],
    low: float,
    high: float,
    reward: bool,
    ticket: Any,
    n_values: int,
) -> int:
    """Learn the first ``n_values`` numbers in ``room``, unless one is out of range."""
    wrong = scale_losses(room, n_values, low, high, reward)
    if wrong < 0:
        update(load_state(held, buffer), ticket, room[:n_values])
    return wrong


@lean_jit
def scale_losses(values: NDArray[np.float64], n_values: int, low: float, high: float, reward: bool) -> int:
    """Bring values to losses in [0, 1], in place; the place of the first that is out of range or NaN, or -1."""
    for i in range(n_values):
        if not low <= values[i] <= high:
            return i
    for i in range(n_values):
        values[i] = (high - values[i]) / (high - low) if reward else (values[i] - low) / (high - low)
    return -1
