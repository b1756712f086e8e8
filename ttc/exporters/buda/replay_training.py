"""An exported training netlist, run as written beside the archive that it came from: what its rams hold in the end is compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.accuracy.distances import compare
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.to_netlist import to_netlist
from ttc.dialects.netlist.buda.writer import write_netlist
from ttc.dialects.netlist.model import Queue
from ttc.exporters.buda.export import Exported
from ttc.exporters.buda.literals import matrix_of
from ttc.exporters.buda.replay import Replay, rounding
from ttc.exporters.buda.training import BACKWARD, NAMES, OPTIMIZER
from ttc.exporters.buda.values import entries, held_values, tensors_of
from ttc.runtime.executor import Executor
from ttc.runtime.golden.session import GoldenSession
from ttc.runtime.program import Program

Arrays = Mapping[str, NDArray[Any]]


def replay_training(exported: Exported, program: Program, updates: Sequence[Sequence[Arrays]], numbers: Arrays) -> list[Replay]:
    """Write the netlist, read it back, and train with it: `run_bwd` for each microbatch of an update, then `run_opt`.

    Args:
        updates: inputs and targets of each microbatch of each update, by name.
        numbers: hyper-parameters by name.
    Returns: a comparison of every parameter and state that the netlist's ops update, with that of the archive's own programs.
    Raises:  E0503 where work on the host lies between ops of the device, which a netlist has no part of.
    """
    netlist = rounding(to_netlist(read_netlist(write_netlist(exported.form).encode(), "exported")))
    held = held_values(exported, program.netlist, tensors_of(program))
    given: dict[str, list[NDArray[Any]]] = {}
    with Executor(program) as executor:
        for microbatches in updates:
            for arrays in microbatches:
                _give(given, program, BACKWARD, arrays)
                executor.run(arrays, BACKWARD)
            _give(given, program, OPTIMIZER, numbers)
            executor.run(numbers, OPTIMIZER)
        wanted = {**executor.states(), **executor.parameters()}

    def source(queue: Queue, number: int) -> NDArray[Any]:
        return held[queue.name][0] if queue.name in held else entries(queue.name, exported, program.netlist, given[queue.name])[number]

    session = GoldenSession(netlist, source, [NAMES[BACKWARD], NAMES[OPTIMIZER]], keep=True)
    for microbatches in updates:
        for number in range(len(microbatches)):
            session.run(NAMES[BACKWARD], {"p_zero_grad": int(number == 0), "p_loop_count": 1})
        session.run(NAMES[OPTIMIZER], {"p_loop_count": 1})
    return _compared(exported, program, session, wanted)


def _give(given: dict[str, list[NDArray[Any]]], program: Program, name: str, arrays: Arrays) -> None:
    """Add what a run takes to the entries of the queues that it takes it from."""
    for argument in program.netlist.programs[name].arguments:
        entry = np.asarray(arrays[argument.name]).reshape(program.netlist.queues[argument.queue].tensor.shape)
        given.setdefault(argument.queue, []).append(entry)


def _compared(exported: Exported, program: Program, session: GoldenSession, wanted: Arrays) -> list[Replay]:
    variables = {**program.description.states, **program.description.parameters}
    names = {variable.key: name for name, variable in variables.items()}
    found: list[Replay] = []
    updated = {name for name, queue in exported.form.queues.items() if queue.type == "ram" and queue.input != "HOST"}
    for record in session.records():
        queue = program.netlist.queues.get(record.queue.name)
        name = None if queue is None else names.get(queue.key)
        if queue is None or name is None or queue.name not in updated:
            continue
        t, rows, columns = matrix_of(queue.tensor)
        matrix = record.array().reshape(t, *record.queue.tensor.shape[1:])[:, :rows, :columns]
        if not name.startswith("grad.") and name != "loss.count":  # the archive has cleared them
            found.append(Replay(name, compare(matrix, wanted[name].reshape(t, rows, columns))))
    return found
