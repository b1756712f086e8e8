"""Rules of epochs: graphs joined from op to op over several devices run together."""

from __future__ import annotations

from collections import defaultdict

from ttc.dialects.netlist.buda.form import BudaGraph
from ttc.dialects.netlist.buda.rules.context import Context


def check_epochs(context: Context) -> None:
    """Graphs that exchange data directly have one input_count, one device each, and run as often; every graph runs at all."""
    runs = _runs(context)
    for members in temporal_epochs(context):
        if len(members) > 1:
            _check_members(members, context)
            _check_runs(members, {name: n for name, n in runs.items() if f"program '{name}'" not in context.faulty}, context)
    ran = {name for counts in runs.values() for name in counts}
    if runs and ran <= context.netlist.graphs.keys() and not any(fault.startswith("program ") for fault in context.faulty):
        for graph in context.netlist.graphs.values():
            if graph.name not in ran:
                context.graph(graph, "", "E0654", "no program executes it")


def check_cycles(context: Context) -> None:
    """No op waits for itself: what goes round goes through a queue."""
    waits = {op.name: {name for name in op.inputs if name in context.ops and name not in context.queues} for _, op in context.all_ops()}
    waits = {name: {context.ops[source].name for source in sources} for name, sources in waits.items()}
    readers: dict[str, list[str]] = defaultdict(list)
    for name, sources in waits.items():
        for source in sources:
            readers[source].append(name)
    ready = [name for name, sources in waits.items() if not sources]
    while ready:
        done = ready.pop()
        del waits[done]
        for name in readers[done]:
            waits[name].discard(done)
            if not waits[name]:
                ready.append(name)
    while waits:  # every op left waits for another one left: going back from any ends up in a cycle
        name, path = next(iter(waits)), list[str]()
        seen: set[str] = set()
        while name not in seen:
            seen.add(name)
            path.append(name)
            name = min(waits[name])
        cycle = path[path.index(name) :]
        message = f"it waits for itself, by way of {', '.join(reversed(cycle[:8]))}: such ops never begin"
        context.op(context.ops[name], "inputs", "E0606", message, "let a queue hold the value from one run to the next")
        context.unresolved = True
        context.misfits.update(cycle)
        return


def temporal_epochs(context: Context) -> list[list[BudaGraph]]:
    """Graphs by the epoch that they run in: those with edges from op to op between them, on different devices, run together."""
    parent = {name: name for name in context.netlist.graphs}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = name = parent[parent[name]]
        return name

    for graph, op in context.all_ops():
        for name in op.inputs:
            other = context.graph_of.get(name) if name not in context.queues else None
            if other is not None and not set(other.target_devices or ()) & set(graph.target_devices or ()):
                parent[root(graph.name)] = root(other.name)
    groups: dict[str, list[BudaGraph]] = defaultdict(list)
    for graph in context.netlist.graphs.values():
        groups[root(graph.name)].append(graph)
    return list(groups.values())


def _runs(context: Context) -> dict[str, dict[str, int]]:
    """Return how many times each program executes each graph."""
    runs: dict[str, dict[str, int]] = {}
    for program in context.netlist.programs.values():
        counts: dict[str, int] = defaultdict(int)
        for step in program.instructions:
            if step.opcode == "execute":
                counts[str(step.args[0])] += 1
        runs[program.name] = counts
    return runs


def _check_members(members: list[BudaGraph], context: Context) -> None:
    first, devices = members[0], dict[int, str]()
    for graph in members:
        if graph.input_count is not None and first.input_count not in (None, graph.input_count):
            message = f"input_count {graph.input_count}, but {first.input_count} in graph '{first.name}', which runs in the same epoch"
            context.graph(graph, "input_count", "E0654", message)
            context.uneven.add(graph.name)
        for device in graph.target_devices or ():
            other = devices.setdefault(device, graph.name)
            if other != graph.name:
                message = f"graph '{other}' of the same epoch has device {device} too"
                context.graph(graph, "target_device", "E0654", message)


def _check_runs(members: list[BudaGraph], runs: dict[str, dict[str, int]], context: Context) -> None:
    names = {graph.name for graph in members}
    first = members[0]
    for program, counts in runs.items():
        if context.found.full or not (names & counts.keys() if len(names) < len(counts) else any(name in names for name in counts)):
            continue
        for graph in members[1:]:
            if counts.get(graph.name, 0) != counts.get(first.name, 0):
                message = (
                    f"program '{program}' executes it {counts.get(graph.name, 0)} times, but graph '{first.name}', which runs in the same "
                    f"epoch, {counts.get(first.name, 0)} times"
                )
                context.graph(graph, "", "E0654", message)
