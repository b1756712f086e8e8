"""Calls of functions of Python: those that this process knows by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape
from ttc.dialects.nn.kernels import KERNELS

HostFunction: TypeAlias = "Callable[[Sequence[NDArray], int], Sequence[NDArray]]"
"""Takes the operands, and how many of them are the function's own."""
FUNCTIONS: dict[str, HostFunction] = {}
"""Functions by the names that ops call them by; `ttc.host` adds them."""


def type_text(dtype: np.dtype, shape: Shape) -> str:
    """Return the type of a result as the op has it: `float32:3x4`."""
    return f"{dtype}:{'x'.join(map(str, shape))}"


@KERNELS.rule("host_call")
def host_call(*xs: NDArray, function: str, count: int, types: tuple[str, ...]) -> tuple[NDArray, ...]:
    """Return what the function gives.  Raises E0815 if it fails, gives other types than it is said to, or is not known here."""
    if function not in FUNCTIONS:
        message = f"the function '{function[:80]}' of Python is not known in this process"
        raise Error("E0815", message, hint="compile the model in the process that runs it")
    try:
        found = tuple(np.asarray(y) for y in FUNCTIONS[function](xs, count))
    except Exception as error:
        raise Error("E0815", f"the function '{function[:80]}' failed: {type(error).__name__}: {str(error)[:400]}") from error
    given = tuple(type_text(y.dtype, y.shape) for y in found)
    if given != types:
        raise Error("E0815", f"the function '{function[:80]}' gives {', '.join(given)}, and gave {', '.join(types)} as it was compiled")
    return found
