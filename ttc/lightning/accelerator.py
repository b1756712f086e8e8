"""The accelerator that a Trainer takes: it compiles the steps of a model, and counts processes of the host as devices."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.accelerators import Accelerator

from ttc.dialects.core.errors import Error
from ttc.dynamo.settings import read_settings
from ttc.lightning.precision import use_precision
from ttc.lightning.steps import CompiledSteps
from ttc.process.platform import require_supported
from ttc.runtime.devices import VARIABLE, visible_devices

NAME = "ttc"
"""The name of the accelerator in Lightning's table, as which `Trainer(accelerator=...)` takes it."""


class TTCAccelerator(Accelerator):
    """Run the training, validation, test and prediction steps of a LightningModule as compiled graphs.

    A device is a process; without a number there is one.

    Args:
        options: of the backend of `torch.compile`: target, format, fallback and others; without `target`, the host.
    Raises: E0101 for options that the backend does not have, E0104 where ttc does not run.
    """

    def __init__(self, **options: Any) -> None:
        self.options = {"target": "host", **options}
        read_settings(self.options)
        self._steps = CompiledSteps(self.options)

    def setup(self, trainer: Trainer) -> None:
        """Compile the steps of the Trainer's model, unless its author has, and take the precision that was asked for.

        Raises: E0101 for a precision that means nothing here.
        """
        use_precision(trainer.strategy)
        module = trainer.lightning_module
        if module is not None:
            self._steps.put_into(module)

    def setup_device(self, device: torch.device) -> None:
        """Check that tensors of a model lie on the CPU, where compiled graphs take them.  Raises E0101."""
        if device.type != "cpu":
            raise Error("E0101", f"compiled graphs take tensors of the CPU, not of {device}")

    def teardown(self) -> None:
        """Give the model its own steps back."""
        self._steps.take_out()

    def get_device_stats(self, device: Any) -> dict[str, float]:
        """Return what ttc counted in this process, for Lightning's DeviceStatsMonitor."""
        from ttc.metrics import snapshot

        return snapshot().flat()

    @staticmethod
    def parse_devices(devices: int | str | Sequence[int]) -> int:
        """Return the number of processes that `Trainer(devices=...)` asks for.

        Raises: E0101; E0104 for more than devices are visible.
        """
        count = TTCAccelerator._count(devices)
        visible = visible_devices(os.environ)
        if visible is not None and count > len(visible):
            message = f"{count} processes take {count} devices, and {VARIABLE}={os.environ[VARIABLE][:80]} lists {len(visible)}"
            raise Error("E0104", message, hint=f"list more devices in {VARIABLE}, or ask for fewer")
        return count

    @staticmethod
    def _count(devices: int | str | Sequence[int]) -> int:
        if isinstance(devices, str) and devices.strip().lstrip("-").isdecimal():
            devices = int(devices)
        if isinstance(devices, list | tuple) and devices and sorted(set(devices)) == list(range(len(devices))):
            return len(devices)
        if devices == -1:
            return TTCAccelerator.auto_device_count()
        if type(devices) is int and devices > 0:
            return devices
        hint = "a number of processes, or a list of all of them from 0 on"
        raise Error("E0101", f"devices cannot be {devices!r}", hint=hint)

    @staticmethod
    def get_parallel_devices(devices: int) -> list[torch.device]:
        """Return the device of each process: tensors lie on the CPU."""
        return [torch.device("cpu")] * devices

    @staticmethod
    def auto_device_count() -> int:
        """Return how many processes there are where no number is asked for: one, which has all cores."""
        return 1

    @staticmethod
    def is_available() -> bool:
        """Return whether ttc runs on this machine."""
        try:
            require_supported()
        except Error:
            return False
        return True

    @staticmethod
    def name() -> str:
        """Return the name that Lightning's table has for the accelerator."""
        return NAME

    @classmethod
    def register_accelerators(cls, accelerator_registry: Any) -> None:
        """Enter the accelerator into a table of Lightning's by its name."""
        accelerator_registry.register(NAME, cls, description="ttc: compiled steps", override=True)
