"""What a session holds, written to a checkpoint and put back: variables, entries of queues, static variables of programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.records import record
from ttc.runtime.arguments import require_in_range
from ttc.runtime.machine.checkpoint import NO_NOTES, OpenCheckpoint, Waiting, head_of, write_checkpoint
from ttc.runtime.machine.rings import OrderedRing
from ttc.runtime.machine.stepper import Stepper
from ttc.runtime.machine.store import Cells
from ttc.runtime.machine.surface import Surface
from ttc.runtime.machine.values import InitialValues
from ttc.runtime.machine.variables import Ram, Variable
from ttc.runtime.program import Program

_PARAMETERS, _STATES = "parameters/", "states/"


@record(eq=False)
class Held:
    """What a session holds when a checkpoint is written: variables, entries of queues, static variables of programs.

    Args:
        program: with the parameters that are no variables.
        initial: the program as the session began.
        cells: memory of programs, by name, and under None that of queues which join programs.
        steppers: of programs, by name.
    """

    program: Program
    initial: Program
    values: InitialValues
    surface: Surface
    cells: Mapping[str | None, Cells]
    steppers: Mapping[str, Stepper]

    def save(self, path: Path, notes: Mapping[str, Plain] = NO_NOTES) -> None:
        """Write what is held to a file, with notes of the caller's. Raises E0103."""
        description = self.program.description
        tensors = {_PARAMETERS + name: value for name, value in self.program.parameters.items()}
        tensors |= {self._place(name): value for name, value in self.values.exact().items()}
        queues: list[Waiting] = []
        for program, queue, cell in self._queues():
            entries, read = cell.waiting()
            if entries:
                tensors |= {_entry(len(queues), number): entry for number, entry in enumerate(entries)}
                queues.append(Waiting(program, queue, len(entries), read))
        statics = {name: stepper.statics for name, stepper in self.steppers.items()}
        write_checkpoint(path, head_of(description, tensors, statics, tuple(queues), notes), tensors)

    def restore(self, file: OpenCheckpoint) -> Program:
        """Put back what a checkpoint holds; returns the program with its parameters.

        Parameters that the checkpoint lacks get the values that they had as the session began.
        Raises: E0801, E0802, E0807 for what does not fit; then nothing has changed.
        """
        names = dict.fromkeys(file.head.tensors)
        variables = [(variable, self._value(file, names, name)) for name, variable in self.values.named()]
        entries = [self._entries(file, names, number) for number in range(len(file.head.queues))]
        others = {name.removeprefix(_PARAMETERS): self._parameter(file, name) for name in names}
        statics = self._statics(file.head.statics)
        program = self.initial.with_parameters(others) if others else self.initial
        self._refill(file.head.queues, entries)
        for variable, value in variables:
            np.copyto(variable.value, value)
        for name, stepper in self.steppers.items():
            stepper.statics = statics.get(name, {})
        return program

    def _place(self, name: str) -> str:
        """Return the name of a variable's tensor."""
        return (_STATES if name in self.program.description.states else _PARAMETERS) + name

    def _value(self, file: OpenCheckpoint, names: dict[str, None], name: str) -> NDArray:
        """Return what a variable is to be; its tensor is taken out of the names."""
        described, place = self.values.described[name], self._place(name)
        if place not in names and place.startswith(_PARAMETERS):
            return self.initial.constants[str(described.key)]
        names.pop(place, None)
        value = file.load(place, described.shape, np.dtype(described.dtype))
        variable = self.values.variables[str(described.key)]
        require_in_range(f"'{name}'", value, variable.format.name)
        return variable.rounded(value)

    def _parameter(self, file: OpenCheckpoint, place: str) -> NDArray:
        """Return the value of a parameter that is no variable.  Raises E0807 for a tensor that is none."""
        described = self.program.description.parameters.get(place.removeprefix(_PARAMETERS))
        if described is None or not place.startswith(_PARAMETERS):
            raise Error("E0807", f"the checkpoint holds tensor '{place}', which is no parameter, state or entry of a queue")
        dtype = np.dtype(described.dtype)
        return file.load(place, described.shape, dtype).astype(dtype, copy=False)

    def _entries(self, file: OpenCheckpoint, names: dict[str, None], number: int) -> list[NDArray]:
        """Return the entries of a queue; their tensors are taken out of the names."""
        waiting = file.head.queues[number]
        channel = self.surface.queues.get(waiting.queue)
        if channel is None or isinstance(self.cells.get(waiting.program, {}).get(waiting.queue), Variable | None):
            raise Error("E0807", f"the checkpoint holds entries of queue '{waiting.queue}', which the program does not have")
        dtype, found = format_named(channel.tensor.format).compute, list[NDArray]()
        for place in (_entry(number, count) for count in range(waiting.entries)):
            names.pop(place, None)
            found.append(file.load(place, channel.tensor.shape, dtype).astype(dtype, copy=False))
        return found

    def _statics(self, given: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
        for program, variables in given.items():
            for name in variables:
                if program not in self.steppers or name not in self.steppers[program].declared:
                    raise Error("E0807", f"the checkpoint holds static variable '{name}' of program '{program}', which is not there")
        return {program: dict(variables) for program, variables in given.items()}

    def _queues(self) -> Iterator[tuple[str | None, str, OrderedRing | Ram]]:
        """Memory of queues, each once, with the program whose own it is."""
        for program, cells in self.cells.items():
            for queue, cell in cells.items():
                if not isinstance(cell, Variable) and (program is None or queue not in self.cells[None]):
                    yield program, queue, cell

    def _refill(self, queues: Sequence[Waiting], entries: Sequence[list[NDArray]]) -> None:
        found = {(program, queue): cell for program, queue, cell in self._queues()}
        undo = [cell.mark() for cell in found.values()]
        try:
            for cell in found.values():
                cell.clear()
            for waiting, items in zip(queues, entries, strict=True):
                found[waiting.program, waiting.queue].refill(items, waiting.read)
        except Error as error:
            for step in undo:
                step()
            raise Error("E0807", error.message, error.where, error.hint) from None


def _entry(number: int, count: int) -> str:
    return f"queues/{number}/{count}"
