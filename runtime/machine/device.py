"""What computes graphs for a session."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.runtime.engines.base import Engine, Plan
from ttc.runtime.machine.watched import watched
from ttc.runtime.program import Plans, Program


@record(eq=False)
class MachineDevice:
    """A chip, or this machine: an engine with the plans that it has made.

    Args:
        name: of the target, with the chip's number where the device is one chip of several.
        plans: of the engine; plans hold what is packed of constants.
        chip: whose graphs it runs; None: those of all chips.
    """

    name: str
    plans: Plans
    chip: int | None = None

    @staticmethod
    def of(program: Program, engine: Engine | None = None, chip: int | None = None) -> MachineDevice:
        """Return a device for a program.

        Args:    engine: that computes; None: the one that the program was made for, with the plans that are there.
        """
        plans = program.plans if engine is None else Plans(engine, program.netlists, program.constants)
        target = program.description.options.get("target", "host")
        return MachineDevice(str(target) if chip is None else f"{target}:{chip}", plans, chip)

    def with_program(self, program: Program, old: Program) -> MachineDevice:
        """Return the device with the parameters of another program; plans that read none that changed are kept."""
        if self.plans is old.plans:
            return MachineDevice(self.name, program.plans, self.chip)
        changed = [key for key, source in program.constants.sources.items() if old.constants.sources.get(key) is not source]
        return MachineDevice(self.name, self.plans.with_constants(program.constants, changed), self.chip)


def device_for(devices: Sequence[MachineDevice], chip: int) -> MachineDevice:
    """Return the device that runs the graphs of a chip.  Raises E0803 if there is none."""
    for device in devices:
        if device.chip is None or device.chip == chip:
            return device
    raise Error("E0803", f"the session has no device for chip {chip}", hint=f"it has {', '.join(d.name for d in devices) or 'none'}")


def plan_for(devices: Sequence[MachineDevice], chip: int, graph: str) -> Plan:
    """Return the plan of a graph on the device that runs it; where somebody watches runs, one that reports its jobs."""
    return watched(device_for(devices, chip).plans[graph], graph)
