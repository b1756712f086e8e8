"""Values of program parameters that nobody gives."""

from __future__ import annotations

from collections.abc import Mapping

from ttc.dialects.netlist.buda.roles import is_host_fed
from ttc.dialects.netlist.instructions import params_of
from ttc.dialects.netlist.model import Netlist, Program


def parameters(program: Program, netlist: Netlist, given: Mapping[str, int], arguments: Mapping[str, int]) -> dict[str, int]:
    """Return a value for every parameter of a program, by name without `$`.

    In this order: what is given; `test-args` of the file under the name without `p_`; for a name with `microbatch_size` or `input_count`
    the input_count of the program's first graph; for `microbatch_count` how many of these its smallest input queue holds;
    1 for any other name with `count` or `zero`; else 0.
    """
    size, count = _batch(program, netlist)
    found: dict[str, int] = {}
    for name in params_of(program):
        short = name.removeprefix("p_")
        if name in given:
            found[name] = given[name]
        elif short in arguments:
            found[name] = arguments[short]
        elif "microbatch_size" in short or "input_count" in short:
            found[name] = size
        elif "microbatch_count" in short:
            found[name] = count
        else:
            found[name] = int("count" in short or "zero" in short)
    return found


def _batch(program: Program, netlist: Netlist) -> tuple[int, int]:
    """input_count of the first graph, and how many times that many entries the smallest queue holds that the host streams into it."""
    step = next((i for i in program.instructions if i.opcode == "execute"), None)
    graph = None if step is None else netlist.graphs.get(str(step.args[0]))
    if step is None or graph is None:
        return 1, 1
    streamed = [s.queue for s in step.settings if not s.prologue and s.rd_ptr_autoinc not in (0, "0")]
    queues = [netlist.queues[name] for name in streamed if name in netlist.queues]
    entries = [queue.entries for queue in queues if queue.type == "queue" and is_host_fed(queue)]
    return graph.input_count, max(min(entries, default=1) // graph.input_count, 1)
