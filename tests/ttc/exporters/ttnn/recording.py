"""The stand-in for TT-NN with traces: calls that are made while one is captured are made again when it is executed."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from tests.ttc.exporters.ttnn import stand_in
from tests.ttc.exporters.ttnn.mesh import OnMesh, Parts

TRANSFERS = ("from_torch", "to_torch")
"""Calls that a trace cannot hold: they move data between the host and the device."""


class Recording:
    """TT-NN with traces.  executed: how many times a trace has been run.

    base: the stand-in, of one chip or on a mesh.
    """

    def __init__(self, base: Any = stand_in) -> None:
        self.base = base
        self.traces: list[list[Callable[[], None]]] = []
        self.open, self.executed = False, 0

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.base, name)
        if name in ("transformer", "experimental"):
            return Recorded(self, value)
        return self.recorded(name, value) if is_function(value) else value

    def recorded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            assert not (self.open and name in TRANSFERS), f"{name} cannot be recorded"
            result = function(*arguments, **keywords)
            if self.open:
                self.traces[-1].append(lambda: renew(result, function(*arguments, **keywords)))
            return result

        return call

    def begin_trace_capture(self, device: Any, *, cq_id: int) -> int:
        assert not self.open
        self.open = True
        self.traces.append([])
        return len(self.traces) - 1

    def end_trace_capture(self, device: Any, trace: int, *, cq_id: int) -> None:
        assert self.open
        self.open = False

    def execute_trace(self, device: Any, trace: int, *, cq_id: int, blocking: bool) -> None:
        self.executed += 1
        for call in self.traces[trace]:
            call()

    def copy_host_to_device_tensor(self, host: Any, device: Any) -> None:
        if isinstance(host, Parts):
            for one, other in zip(host.values, device.values, strict=True):
                self.copy_host_to_device_tensor(one, other)
            return
        assert (host.shape, host.dtype, host.layout) == (device.shape, device.dtype, device.layout)
        assert (host.on_device, device.on_device) == (False, True)
        device.values = host.values


class Recorded:
    """A module of TT-NN inside of it."""

    def __init__(self, recording: Recording, value: Any) -> None:
        self.recording, self.value = recording, value

    def __getattr__(self, name: str) -> Any:
        return self.recording.recorded(name, getattr(self.value, name))


def is_function(value: Any) -> bool:
    """Return whether a name of the stand-in is a function, on a mesh or not."""
    return isinstance(value.value if isinstance(value, OnMesh) else value, FunctionType | MethodType)


def renew(result: Any, new: Any) -> None:
    """Put what a call gave anew where its result is."""
    if isinstance(result, Parts):
        result, new = result.values, new.values
    if isinstance(result, stand_in.Tensor):
        result.values = new.values
    elif isinstance(result, list | tuple):
        for old, item in zip(result, new, strict=True):
            renew(old, item)
