"""What all stages of a pipeline do, whatever runs them; and the arrays that pass between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.train.host import taken

Arrays: TypeAlias = "tuple[NDArray[Any], ...]"
"""Inputs or outputs of a stage for one microbatch, in order."""
Cotangents: TypeAlias = "tuple[NDArray[Any] | None, ...]"
"""Gradients of outputs or inputs of a stage; None for a tensor without one, such as integers."""


class Stage(Protocol):
    """A part of a model on a device.  Microbatches have numbers that grow, forward and backward alike; one thread at a time calls it."""

    name: str

    @property
    def is_trained(self) -> bool:
        """Whether the stage has parameters that have gradients."""
        ...

    def forward(self, number: int, inputs: Arrays, *, training: bool) -> Arrays:
        """Compute the outputs of a microbatch; in training what `backward` needs is held."""
        ...

    def backward(self, number: int, cotangents: Cotangents) -> Cotangents:
        """Add the gradients of a microbatch that `forward` had to what is accumulated, and return those of its inputs."""
        ...

    def gradients(self, divisor: float) -> dict[str, NDArray[Any]]:
        """Return copies of the accumulated gradients by parameter, divided."""
        ...

    def update(self, divisor: float) -> None:
        """Update the parameters by the accumulated gradients, divided, and forget these."""
        ...

    def clear_gradients(self) -> None:
        """Set accumulated gradients to zero; held microbatches stay."""
        ...

    def forget(self) -> None:
        """Forget held microbatches and accumulated gradients; buffers and random numbers are again what they were after the last update."""
        ...

    def step_schedule(self, total: int) -> None:
        """Go on to the learning rate that comes next of so many in all."""
        ...

    def parameters(self) -> dict[str, NDArray[Any]]:
        """Return copies of the parameters by name."""
        ...

    def buffers(self) -> dict[str, NDArray[Any]]:
        """Return copies of what forward passes change, such as running statistics, where it is not the module's own, by name."""
        ...

    def set_parameters(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Give parameters new values.  Raises E0801; then nothing has changed."""
        ...

    def taps(self) -> dict[str, NDArray[Any]]:
        """Return values of ops that are tapped, as the last forward pass had them."""
        ...

    def check(self) -> None:
        """Raise E0811 if the process that the stage runs in has ended."""
        ...

    def close(self) -> None:
        """Give up memory, and the process that the stage runs in."""
        ...


def arrays_of(values: Sequence[Any]) -> Arrays:
    """Return copies of what a user gives as arrays, so that its memory may be used again."""
    return tuple(np.array(taken(value), order="C", copy=True) for value in values)


def tensor(array: NDArray[Any]) -> Any:
    """Return a tensor of PyTorch on the memory of an array."""
    from ttc.dynamo.tensors import tensor_of

    return tensor_of(np.ascontiguousarray(array) if array.ndim else np.array(array))


def check_count(stage: str, values: Sequence[Any], wanted: int, what: str = "inputs") -> None:
    """Raise E0801 unless there are as many arrays as a stage takes."""
    if len(values) != wanted:
        raise Error("E0801", f"stage '{stage}' takes {wanted} {what}, not {len(values)}")


def check_parameters(stage: str, values: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise E0801 for a parameter that a stage does not have, or a value of another shape."""
    for name, value in values.items():
        if name not in shapes:
            raise Error("E0801", f"stage '{stage}' has no parameter '{name[:80]}'", hint=f"it has {', '.join(list(shapes)[:8]) or 'none'}")
        if tuple(value.shape) != tuple(shapes[name]):
            raise Error("E0801", f"parameter '{name}' of stage '{stage}' has shape {list(shapes[name])}, not {list(value.shape)}")
