"""The stand-in for TT-NN with traces: calls that are made while one is captured are made again when it is executed."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from tests.ttc.exporters.ttnn import stand_in

TRANSFERS = ("from_torch", "to_torch")
"""Calls that a trace cannot hold: they move data between the host and the device."""


class Recording:
    """TT-NN with traces.  executed: how many times a trace has been run."""

    def __init__(self) -> None:
        self.traces: list[list[Callable[[], None]]] = []
        self.open, self.executed = False, 0

    def __getattr__(self, name: str) -> Any:
        value = getattr(stand_in, name)
        if name in ("transformer", "experimental"):
            return Recorded(self, value)
        return self.recorded(name, value) if isinstance(value, FunctionType) else value

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

    def copy_host_to_device_tensor(self, host: stand_in.Tensor, device: stand_in.Tensor) -> None:
        assert (host.shape, host.dtype, host.layout) == (device.shape, device.dtype, device.layout)
        assert (host.on_device, device.on_device) == (False, True)
        device.values = host.values


class Recorded:
    """A module of TT-NN inside of it."""

    def __init__(self, recording: Recording, value: Any) -> None:
        self.recording, self.value = recording, value

    def __getattr__(self, name: str) -> Any:
        return self.recording.recorded(name, getattr(self.value, name))


def renew(result: Any, new: Any) -> None:
    """Put what a call gave anew where its result is."""
    if isinstance(result, stand_in.Tensor):
        result.values = new.values
    elif isinstance(result, list | tuple):
        for old, item in zip(result, new, strict=True):
            renew(old, item)
