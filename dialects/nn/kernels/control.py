"""Semantics of the ops with regions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.interpret import RegionBody
from ttc.dialects.nn.kernels import KERNELS

_MAX_ITERATIONS = 1 << 26
_MAX_BYTES = 1 << 32


@KERNELS.rule("branch")
def branch(which: NDArray, *values: NDArray, bodies: Sequence[RegionBody]) -> tuple[NDArray, ...]:
    """Return what the chosen region gives: for true the first, for false the second; for a number that of its place, the last if there is
    none.
    """
    number = which.item()
    chosen = (0 if number else 1) if which.dtype.kind == "b" else number
    return tuple(bodies[chosen if 0 <= chosen < len(bodies) else -1](*values))


@KERNELS.rule("loop")
def loop(
    count: NDArray | None,
    condition: NDArray | None,
    *values: NDArray,
    carried: int,
    length: int | None = None,
    bodies: Sequence[RegionBody],
) -> tuple[NDArray, ...]:
    """Return the carried values after the last iteration, and what iterations give beside them, stacked.

    It can be interrupted between any two ops; how much it holds is bounded, and so is how often it runs.
    """
    (body,) = bodies
    state, fixed = list(values[:carried]), values[carried:]
    first = 0 if condition is None else 1
    stacks: list[list[NDArray]] = [[] for _ in body.function.outputs[first + carried :]]
    limit = length if length is not None else None if count is None else count.item()
    going = True if condition is None else bool(condition.item())
    at = held = 0
    while going and (limit is None or at < limit):
        if at >= _MAX_ITERATIONS:
            raise Error("E0805", f"a loop does not end within {_MAX_ITERATIONS} iterations")
        found = body(np.array(at, np.int64), *state, *fixed)
        going = bool(found[0].item()) if first else True
        state = found[first : first + carried]
        for stack, value in zip(stacks, found[first + carried :], strict=True):
            stack.append(value if value.base is None else value.copy())  # a view would keep what it is of
            held += value.nbytes
        if held + sum(x.nbytes for x in state) > _MAX_BYTES:
            raise Error("E0805", f"a loop holds more than {_MAX_BYTES} bytes after {at + 1} iterations")
        at += 1
    return *state, *(_stacked(stack, body, first + carried + i) for i, stack in enumerate(stacks))


@KERNELS.rule("require")
def require(x: NDArray, truth: NDArray, *, wanted: bool, message: str) -> NDArray:
    """x; another truth than the wanted one raises E0802."""
    if bool(truth.item()) != wanted:
        raise Error("E0802", f"{message}")
    return x


def _stacked(stack: list[NDArray], body: RegionBody, output: int) -> NDArray:
    if not stack:
        return body.empty(output)[None][:0]
    if any(value.shape != stack[0].shape for value in stack):
        raise Error("E0802", "iterations of a loop give values of different shapes, which cannot be stacked")
    return np.stack(stack)
