"""Devices of a pipeline: where a stage runs, and how it is compiled for that."""

from __future__ import annotations

from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import load_target
from ttc.loading import OF_RUNS, exact_of
from ttc.options import CompileOptions, RunOptions, resolve
from ttc.runtime.devices import device_of_machine
from ttc.settings.train_options import TrainOptions

CPU = "cpu"
"""The device whose stages are modules of PyTorch that run eagerly."""
"""Options of `ttc.load` that a device takes."""
_TRAINING = ("recompute", "memory", "batch_norm", "clip_value")
"""Options of training that a device takes; pipelines have the others."""


class Device:
    """A place where stages of a pipeline run.

    Args:
        place: `cpu`, where modules of PyTorch run eagerly; or a target that stages are compiled for: `host`, `n150`, a descriptor file;
            `n150:1` is another machine of that kind than `n150:0`.
        name: that errors, parameters and results speak of; default: the place.
        optimizer, scheduler: of its stages; default: those of the pipeline.
        option_fields: fields of CompileOptions (format, precision, ...); engine, exact and threads of RunOptions; recompute, memory,
            batch_norm and clip_value of TrainOptions.
    Raises: E0101 for an unknown target or option.
    """

    def __init__(self, place: str, *, name: str | None = None, optimizer: Any = None, scheduler: Any = None, **option_fields: Any) -> None:
        self.place = place
        self.name = name or place
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.target, self.number = _target_and_number(place)
        running = {key: option_fields.pop(key) for key in OF_RUNS if key in option_fields}
        self.training = {key: option_fields.pop(key) for key in _TRAINING if key in option_fields}
        """Options of `ttc.compile` for stages that are trained."""
        self.compiling: dict[str, Any] = option_fields
        """Options of `ttc.compile`, without the target."""
        self.running = resolve(RunOptions, running)
        """Options of the session."""
        exact_of(self.running)
        if self.is_cpu:
            if self.number is not None or option_fields or running or self.training:
                raise Error("E0101", f"device '{place}' takes no options: its stages run in PyTorch", hint="device 'host' compiles them")
            return
        load_target(self.target)
        device_of_machine(self.number)
        for known in ("target", "to", "from_", "training"):
            if known in option_fields:
                raise Error("E0101", f"'{known}' is no option of a device", hint="the place says the target; pipelines say what is trained")
        resolve(CompileOptions, option_fields)
        resolve(TrainOptions, self.training)

    @property
    def is_cpu(self) -> bool:
        """Whether stages run eagerly in PyTorch."""
        return self.target == CPU

    def __repr__(self) -> str:
        return f"Device({self.name!r})" if self.name == self.place else f"Device({self.place!r}, name={self.name!r})"


def device_of(value: Device | str) -> Device:
    """Return the device that a user gives, or names by its place.  Raises E0101."""
    if isinstance(value, Device):
        return value
    if isinstance(value, str):
        return Device(value)
    raise Error("E0101", f"a {type(value).__name__} is no device", hint='write ttc.Device("n150:0"), "host" or "cpu"')


def _target_and_number(place: str) -> tuple[str, int | None]:
    """Return the target of a place, and which machine of its kind; None where none is named."""
    target, colon, number = place.rpartition(":")
    if not colon:
        return place, None
    if not target or not number.isdecimal():
        raise Error("E0101", f"'{place[:80]}' is no device", hint="write n150, or n150:0 with the number of a machine")
    return target, int(number)
