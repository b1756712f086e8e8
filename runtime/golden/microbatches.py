"""One execution of an epoch: its ops on microbatch after microbatch, between the queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.evaluate import evaluate
from ttc.dialects.core.plain.functions import Function
from ttc.dialects.netlist.buda.epochs import Epoch
from ttc.dialects.netlist.buda.roles import is_gradient
from ttc.dialects.netlist.model import Op
from ttc.runtime.golden.ops import OpPlans
from ttc.runtime.golden.rams import GoldenRam
from ttc.runtime.golden.rings import HostRing
from ttc.runtime.machine.stepper import ResolvedSetting


class QueueReader:
    """What one graph reads of one queue.

    Without a setting, a ram is read where its pointer is; of a queue, the oldest entry is read and given up.
    """

    def __init__(self, queue: HostRing | GoldenRam, setting: ResolvedSetting | None) -> None:
        self.queue = queue
        self._kept: NDArray | None = None
        self._prologue = setting is not None and setting.prologue
        self._stays = setting is not None and (setting.prologue or setting.epilogue)
        self.pops = 0
        start = None if setting is None else setting.rd_ptr_global
        if isinstance(queue, GoldenRam):
            self._pointer = queue.read_pointer if start is None else start
            self._step = 0 if setting is None else setting.global_rdptr_autoinc
            return
        if start is not None:
            queue.start_at(start)
        local = None if setting is None else setting.rd_ptr_local
        self._pointer = queue.read_pointer if local is None else local
        self._step = 1 if setting is None else setting.rd_ptr_autoinc
        self.pops = 0 if self._prologue else 1 if setting is None else setting.global_rdptr_autoinc

    def read(self) -> NDArray:
        """Read this microbatch's entry; with a prologue, the one entry for all."""
        if self._kept is None:
            self._kept = self.queue.read(self._pointer)
        return self._kept

    def advance(self) -> None:
        """Go on to the next microbatch."""
        if not self._prologue:
            self._kept = None
        if not self._stays:
            self._pointer = self.queue.moved(self._pointer, self._step)

    def finish(self) -> None:
        """Move the pointer of a ram to where it stays after the execution."""
        if isinstance(self.queue, GoldenRam):
            self.queue.read_pointer = self._pointer


class QueueWriter:
    """What one graph writes to one queue.

    The next entry of a queue, or a ram at wr_ptr_global (without a setting, where its pointer is); with an epilogue, once after the last
    microbatch.
    """

    def __init__(self, queue: HostRing | GoldenRam, setting: ResolvedSetting | None) -> None:
        self.queue = queue
        self._epilogue = setting is not None and setting.epilogue
        self._pointer = queue.write_pointer if setting is None or setting.wr_ptr_global is None else setting.wr_ptr_global
        self._step = 0 if setting is None else setting.global_wrptr_autoinc
        self._last: NDArray | None = None

    def write(self, value: NDArray) -> None:
        """Write an op's result, through the queue's tile manipulations."""
        view = self.queue.queue.view
        entry = value if view is None else evaluate(view, [value], None, f"queue '{self.queue.name}'")[0]
        if isinstance(self.queue, HostRing):
            self.queue.push(entry)
        elif self._epilogue:
            self._last = entry
        else:
            self.queue.write(self._pointer, entry)
            self._pointer = self.queue.moved(self._pointer, self._step)

    def finish(self) -> None:
        """Write at the end what only the last microbatch leaves: the epilogue."""
        if isinstance(self.queue, HostRing):
            return
        if self._last is not None:
            self.queue.write(self._pointer, self._last)
        self.queue.write_pointer = self._pointer


class EpochRun:
    """One execution of an epoch over its microbatches.

    Rams are read before the ops of a microbatch run, queues when their first reader does; what a graph writes to a queue, it and its
    neighbours can read in the same microbatch.

    Args:
        settings: of the queues of each graph.
        sums: of gradients, by op, as executions before have left them; they go on there.
        ops: compute the ops.
    """

    def __init__(
        self,
        epoch: Epoch,
        settings: Mapping[str, Mapping[str, ResolvedSetting]],
        queues: Mapping[str, HostRing | GoldenRam],
        sums: dict[str, NDArray | None],
        ops: OpPlans,
    ) -> None:
        self._epoch = epoch
        self._ops = ops
        self._sums = sums
        _clear(settings, queues)
        self._readers: dict[tuple[str, str], QueueReader] = {}
        self._writers: dict[tuple[str, str], QueueWriter] = {}
        for graph, op in epoch.ops:
            for name in op.inputs:
                if name in queues and (graph, name) not in self._readers:
                    self._readers[graph, name] = QueueReader(queues[name], settings[graph].get(name))
            for name in epoch.writes.get(op.name, ()):
                self._writers[op.name, name] = QueueWriter(queues[name], settings[graph].get(name))
            if is_gradient(op):
                self._sums[op.name] = _start(sums.get(op.name), epoch.writes.get(op.name, ()), settings[graph], queues)

    def run(self) -> None:
        """Run all microbatches, and write back what is kept after them."""
        try:
            for _ in range(self._epoch.microbatches):
                self._microbatch()
            for user in (*self._readers.values(), *self._writers.values()):
                user.finish()
        except Error as error:
            raise error.at(" + ".join(f"graph '{name}'" for name in self._epoch.graphs)) from None

    def _microbatch(self) -> None:
        values: dict[str, NDArray] = {}
        for reader in self._readers.values():
            if isinstance(reader.queue, GoldenRam):
                reader.read()
        for index, (graph, op) in enumerate(self._epoch.ops):
            inputs = [values[name] if name in values else self._readers[graph, name].read() for name in op.inputs]
            values[op.name] = self._result(op, inputs)
            for name in self._epoch.writes.get(op.name, ()):
                self._writers[op.name, name].write(values[op.name])
            for name in (*op.inputs, op.name):
                if self._epoch.last_use.get(name, -1) <= index:
                    values.pop(name, None)
        self._advance()

    def _result(self, op: Op, inputs: list[NDArray]) -> NDArray:
        if not is_gradient(op):
            return self._ops.run(op, inputs)
        before = self._sums[op.name]
        made, finish = _before_finish(op.work)
        result = self._ops.run(op, inputs, "sum", made)
        if before is not None:
            result = np.add(before, result)
            if op.rounding != "none":
                result = format_named(op.work.value_types[op.work.outputs[0]].format).round(result)
        result = self._ops.run(op, [result], "finish", finish) if finish.works else result
        self._sums[op.name] = result
        return result

    def _advance(self) -> None:
        popped: set[str] = set()
        for reader in self._readers.values():
            reader.advance()
            if isinstance(reader.queue, HostRing) and reader.queue.name not in popped:
                popped.add(reader.queue.name)
                reader.queue.pop(reader.pops)


def _clear(settings: Mapping[str, Mapping[str, ResolvedSetting]], queues: Mapping[str, HostRing | GoldenRam]) -> None:
    """Let rams be zeros that are to start so."""
    for of_graph in settings.values():
        for name, setting in of_graph.items():
            queue = queues[name]
            if setting.zero and isinstance(queue, GoldenRam):
                queue.memory.clear()


def _before_finish(work: Function) -> tuple[Function, Function]:
    """Return a work up to what is added to a sum, and what is done to the sum: relu, and rounding to formats that golden results have."""
    types, count = work.value_types, len(work.inputs)
    end = len(work.works)
    if len(types) != count + end or work.outputs != (len(types) - 1,):
        return work, Function((types[-1],), (), (0,))
    if end and work.works[-1].op == "tile.adjust" and work.works[-1].attrs.get("to") == types[-1].format:
        end -= 1
    if end and work.works[end - 1].op == "tile.relu":
        end -= 1
    rest = work.works[end:]
    value = next(iter(rest[0].operands)) if rest else count + end - 1
    first = 0 if value is None else value
    finish = tuple(replace(step, operands=(index,)) for index, step in enumerate(rest))
    return Function(work.inputs, work.works[:end], (first,)), Function((types[first],), finish, (len(finish),))


def _start(
    before: NDArray | None, names: tuple[str, ...], settings: Mapping[str, ResolvedSetting], queues: Mapping[str, HostRing | GoldenRam]
) -> NDArray | None:
    """What gradients are added to: the accumulator's contents if it has a prologue, nothing if it is to start from zero, else `before`."""
    for name in names:
        queue, setting = queues[name], settings.get(name)
        if isinstance(queue, GoldenRam) and setting is not None and setting.zero:
            return None
        if isinstance(queue, GoldenRam) and setting is not None and setting.prologue:
            return queue.read(queue.read_pointer if setting.rd_ptr_global is None else setting.rd_ptr_global)
    return before
