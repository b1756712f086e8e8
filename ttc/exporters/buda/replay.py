"""An exported netlist, run as written beside the program that it came from: what passes through their queues is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from ttc.accuracy.distances import Comparison, compare
from ttc.dialects.core.plain.functions import Function
from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.to_netlist import to_netlist
from ttc.dialects.netlist.buda.writer import write_netlist
from ttc.dialects.netlist.model import Grid, Netlist, Queue
from ttc.exporters.buda.export import Exported
from ttc.exporters.buda.literals import matrix_of
from ttc.exporters.buda.values import entries, held_values, tensors_of
from ttc.runtime.engines.reference import ReferenceEngine
from ttc.runtime.executor import Executor
from ttc.runtime.golden.session import GoldenSession
from ttc.runtime.netlists import Netlists
from ttc.runtime.program import Plans, Program


@record
class Replay:
    """What passed through one queue in both runs, without padding."""

    queue: str
    comparison: Comparison


def replay(exported: Exported, program: Program, inputs: Mapping[str, Any], entry: str = "forward") -> list[Replay]:
    """Write the netlist, read it back, and run it on the program's inputs and tensors, results rounded to their formats.

    Work on the host is taken over from the program's run.  Returns a comparison for every queue that ops on the device write and that is
    not read within the same program.
    """
    written = read_netlist(write_netlist(exported.form).encode(), "exported")
    netlist = rounding(to_netlist(written))
    passed = pushed_entries(program, inputs, entry)
    held = held_values(exported, program.netlist, tensors_of(program))

    def source(queue: Queue, number: int) -> NDArray:
        if queue.name in held:
            return held[queue.name][0]
        return entries(queue.name, exported, program.netlist, passed[queue.name])[number]

    session = GoldenSession(netlist, source, keep=True)
    for name, found in netlist.programs.items():
        first = found.instructions[0]
        session.run(name, {str(arg).removeprefix("$"): 1 for arg in first.args} if first.opcode == "param" else {})
    computed = {queue for graph in program.netlist.graphs.values() for op, queue in graph.writes if _on_device(program.netlist, op)}
    result: list[Replay] = []
    for kept in session.records():
        name = kept.queue.name
        if name in computed and name in passed:
            _, rows, columns = matrix_of(program.netlist.queues[name].tensor)
            expected = entries(name, exported, program.netlist, passed[name])
            array = kept.array().reshape(expected.shape)
            result.append(Replay(name, compare(array[..., :rows, :columns], expected[..., :rows, :columns])))
    return result


def pushed_entries(program: Program, inputs: Mapping[str, Any], entry: str = "forward") -> dict[str, list[NDArray]]:
    """Return all entries that one run of a program pushes into each queue, its ops computed one by one."""
    found: dict[str, list[NDArray]] = {}
    netlists = Netlists(lambda: program.netlist, program.description)
    plans = Plans(ReferenceEngine(), netlists, program.constants)
    with Executor(replace(program, netlists=netlists, plans=plans)) as executor:
        executor.session.call(entry, inputs, watch=lambda queue, item: found.setdefault(queue, []).append(item))
    return found


def rounding(netlist: Netlist) -> Netlist:
    """Return the netlist whose ops round results to their formats, as archives do, and take Float32 operands as they are."""
    graphs = {
        name: replace(graph, ops=tuple(replace(op, rounding="rne", work=_unadjusted(op.work)) for op in graph.ops))
        for name, graph in netlist.graphs.items()
    }
    return replace(netlist, graphs=graphs)


def _unadjusted(function: Function) -> Function:
    works = tuple(replace(w, attrs={**w.attrs, "to": "Float32"}) if w.attrs.get("to") == "Tf32" else w for w in function.works)
    return Function(function.inputs, works, function.outputs)


def _on_device(netlist: Netlist, op: str) -> bool:
    return any(found.name == op and isinstance(found.place, Grid) for graph in netlist.graphs.values() for found in graph.ops)
