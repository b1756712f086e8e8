"""Functions that models for PopTorch call: those that have a meaning here, and those that change no number."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
import torch

from ttc.compat.names import ignored
from ttc.dialects.core.errors import Error
from ttc.marks.readings import ProbeReading

_FLOATS: dict[str, Callable[[int], dict[str, Any]]] = {
    "auto": lambda _digits: {},
    "none": lambda _digits: {},
    "fixed": lambda digits: {"formatter": {"float_kind": lambda x: f"{x:.{digits}f}"}},
    "scientific": lambda digits: {"formatter": {"float_kind": lambda x: f"{x:.{digits}e}"}},
}
"""How numbers are written, by `float_format`."""


def printer(
    *,
    print_gradient: bool = True,
    summarise_threshold: int = 1000,
    edge_items: int = 3,
    max_line_width: int = 80,
    digits: int = 8,
    float_format: str = "auto",
    separator: str = " ",
    open_char: str = "[",
    close_char: str = "]",
) -> Callable[[ProbeReading], None]:
    """Return a function that prints readings of a probe to stderr in PopTorch's settings. Raises E0101 for an unknown format."""
    if float_format not in _FLOATS:
        raise Error("E0101", f"float_format cannot be '{str(float_format)[:40]}'", hint=", ".join(_FLOATS))
    style = {"threshold": summarise_threshold, "edgeitems": edge_items, "max_line_width": max_line_width, "precision": digits}

    def write(reading: ProbeReading) -> None:
        if not print_gradient and reading.name.endswith("_gradient"):
            return
        text = np.array2string(reading.value, separator=separator, **style, **_FLOATS[float_format](digits))
        head = str(reading).partition("\n")[0]
        print(f"{head}\n{text.replace('[', open_char).replace(']', close_char)}", file=sys.stderr)

    return write


def for_loop(count: int, body: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    """Call a function on what it gave last, `count` times, as a loop of Python does."""
    values = list(inputs)
    for _ in range(count):
        found = body(*values)
        values = list(found) if isinstance(found, tuple | list) else [found]
    return values


def set_available_memory(tensor: Any, _proportion: float) -> Any:
    """Return the tensor as it is, wherever it lies in memory."""
    ignored("poptorch.set_available_memory", "tensors lie where ttc puts them")
    return tensor


def recomputationCheckpoint(*tensors: Any) -> Any:
    """Return the tensors as they are; they mark no segment of recomputation."""
    ignored("poptorch.recomputationCheckpoint", "`recompute=` of ttc.training, and ttc.recompute(f), say what is computed again")
    return tensors[0] if len(tensors) == 1 else tensors


def serializedMatMul(a: Any, b: Any, *_settings: Any, **_named: Any) -> Any:
    """Return the product of two tensors, however it is cut."""
    ignored("the settings of poptorch.serializedMatMul", "ttc cuts products itself")
    return torch.matmul(a, b)


def nop(tensor: Any) -> Any:
    """Return the tensor as it is; there is no op that does nothing."""
    return tensor


def isRunningOnIpu() -> bool:
    """Return whether a model is being compiled."""
    return torch.compiler.is_exporting()


def ipuHardwareIsAvailable(_num_ipus: int = 1) -> bool:
    """Return False: there is no IPU."""
    return False


def setLogLevel(_level: Any) -> None:
    """Leave messages as the process has them."""
    ignored("poptorch.setLogLevel", "use -v of the command line")


def removeBlocks(module: Any) -> None:
    """Leave marks of stages in a module, as they change no number."""
    ignored("poptorch.removeBlocks", "stages of a model change no number")


class NameScope:
    """A block whose ops keep the names of the model."""

    def __init__(self, name: str) -> None:
        ignored(f"poptorch.NameScope({name!r})", "ops keep the names of the model")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Do nothing: there is no scope."""


class MatMulSerializationMode(enum.Enum):
    """How a product is cut, which ttc decides."""

    InputChannels, ReducingDim, OutputChannels, Disabled = range(4)


def _named(functions: Iterable[Any]) -> dict[str, Any]:
    return {function.__name__: function for function in functions}


MODEL_OPS = _named(
    (
        *(for_loop, set_available_memory, recomputationCheckpoint, serializedMatMul, nop, isRunningOnIpu, ipuHardwareIsAvailable),
        *(setLogLevel, removeBlocks, NameScope, MatMulSerializationMode),
    )
)
"""The functions of this module by name."""
