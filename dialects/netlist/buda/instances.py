"""Queues and graphs on several chips: one entry with a list of devices stands for an instance on each.

Instance d of `x` is called `x.d`.  In a graph with instances the ops have them too, and read the instances of their inputs on the same
chip; programs execute all instances of a graph one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.netlist.buda.form import BudaGraph, BudaInstruction, BudaNetlist, BudaProgram, BudaQueue, Pair
from ttc.dialects.netlist.buda.normal import TILE

Devices = tuple[int, ...]
MAX_INSTANCES = 1 << 19
"""Queues, graphs and ops, or steps of a program with their settings, that all instances together may be."""
HOST_ALIGNMENT = 32


def expanded(netlist: BudaNetlist) -> BudaNetlist:
    """The netlist with an entry for each instance.  Raises E0602 for more instances than anybody needs, E0601 for two on one device."""
    queues = {name: queue.target_devices for name, queue in netlist.queues.items() if _several(queue.target_devices)}
    graphs = {name: graph.target_devices for name, graph in netlist.graphs.items() if _several(graph.target_devices)}
    if not queues and not graphs:
        return netlist
    total = sum(len(devices or ()) for devices in queues.values())
    total += sum(len(devices or ()) * (1 + len(netlist.graphs[name].ops)) for name, devices in graphs.items())
    if total > MAX_INSTANCES:
        raise Error("E0602", f"{total} instances of queues, graphs and ops are more than {MAX_INSTANCES}")
    for name, devices in (*queues.items(), *graphs.items()):
        if devices is not None and len(set(devices)) < len(devices):
            raise Error("E0601", f"'{name}' names a device twice")
    ops = {op.name for name in graphs for op in netlist.graphs[name].ops}
    names = ops | queues.keys()
    return replace(
        netlist,
        queues={q.name: q for queue in netlist.queues.values() for q in _queues(queue, ops, names)},
        graphs={g.name: g for graph in netlist.graphs.values() for g in _graphs(graph, names)},
        programs={name: _program(program, graphs, queues) for name, program in netlist.programs.items()},
    )


def instances_of(netlist: BudaNetlist) -> tuple[dict[str, tuple[str, Devices]], dict[str, tuple[str, Devices]]]:
    """Return queues and graphs that are instances: name -> (name of the entry, its devices)."""

    def found(items: Mapping[str, BudaQueue] | Mapping[str, BudaGraph]) -> dict[str, tuple[str, Devices]]:
        return {
            instance(name, device): (name, item.target_devices)
            for name, item in items.items()
            if item.target_devices is not None and _several(item.target_devices)
            for device in item.target_devices
        }

    return found(netlist.queues), found(netlist.graphs)


def instance(name: str, device: int) -> str:
    """Return the name of an instance."""
    return f"{name}.{device}"


def _several(devices: Devices | None) -> bool:
    return devices is not None and len(devices) > 1


def _queues(queue: BudaQueue, ops: set[str], names: set[str]) -> Iterator[BudaQueue]:
    """Instances of a queue; those in host memory lie one after the other there."""
    if queue.target_devices is None or not _several(queue.target_devices):
        yield queue
        return
    for index, device in enumerate(queue.target_devices):
        yield replace(
            queue,
            name=instance(queue.name, device),
            input=instance(queue.input, device) if queue.input in ops else queue.input,
            alias=instance(queue.alias, device) if queue.alias in names else queue.alias,
            target_devices=(device,) if queue.loc != "host" else queue.target_devices[:1],
            addresses=_moved(queue, index) if queue.loc == "host" else queue.addresses,
        )


def _moved(queue: BudaQueue, index: int) -> tuple[Pair, ...]:
    """Addresses of an instance in host memory: the size of a buffer further for each one before it."""
    size = _entry_bytes(queue) * max(queue.entries or 0, 0) + HOST_ALIGNMENT
    step = -(-size // HOST_ALIGNMENT) * HOST_ALIGNMENT
    return tuple([(channel, address + index * step) for channel, address in queue.addresses])


def _entry_bytes(queue: BudaQueue) -> int:
    (m, n), (rt, ct), (height, width) = queue.mblock or (1, 1), queue.ublock or (1, 1), queue.tile_dim or TILE
    tiles = (queue.t or 1) * m * n * rt * ct
    return tiles * format_named(queue.df or "Float32").tile_bytes(height, width, HOST_ALIGNMENT)


def _graphs(graph: BudaGraph, names: set[str]) -> Iterator[BudaGraph]:
    if graph.target_devices is None or not _several(graph.target_devices):
        yield graph
        return
    for device in graph.target_devices:

        def own(name: str, device: int = device) -> str:
            return instance(name, device) if name in names else name

        ops = tuple(
            replace(
                op,
                name=instance(op.name, device),
                inputs=tuple(map(own, op.inputs)),
                forked_dram_inputs=tuple((own(queue), own(reader)) for queue, reader in op.forked_dram_inputs),
            )
            for op in graph.ops
        )
        yield replace(graph, name=instance(graph.name, device), target_devices=(device,), ops=ops)


def _program(program: BudaProgram, graphs: Mapping[str, Devices | None], queues: Mapping[str, Devices | None]) -> BudaProgram:
    steps: list[BudaInstruction] = []
    size = 0
    for step in program.instructions:
        name = step.args[0] if step.args else None
        devices = graphs.get(name) if step.opcode == "execute" and isinstance(name, str) else None
        size += _size(step, devices, queues)
        if size > MAX_INSTANCES:
            raise Error("E0608", f"its steps for all instances are more than {MAX_INSTANCES}", f"program '{program.name}'")
        if devices is not None:
            steps.extend(_executions(step, str(name), devices, queues))
        elif step.opcode in ("allocate_queue", "deallocate_queue"):
            args = [own for arg in step.args for own in _instances(arg, queues)]
            steps.append(replace(step, args=tuple(args)))
        else:
            steps.append(step)
    return replace(program, instructions=tuple(steps))


def _size(step: BudaInstruction, devices: Devices | None, queues: Mapping[str, Devices | None]) -> int:
    """Instructions, settings and queues that an instruction becomes."""
    if step.opcode in ("allocate_queue", "deallocate_queue"):
        return 1 + sum(len(queues.get(str(arg)) or (0,)) for arg in step.args)
    return (1 + len(step.settings)) * len(devices or (0,))


def _executions(
    step: BudaInstruction, graph: str, devices: Sequence[int], queues: Mapping[str, Devices | None]
) -> Iterator[BudaInstruction]:
    for device in devices:
        settings = tuple([replace(s, queue=instance(s.queue, device)) if s.queue in queues else s for s in step.settings])
        yield replace(step, args=(instance(graph, device),), settings=settings)


def _instances(name: object, queues: Mapping[str, Devices | None]) -> list[str]:
    if not isinstance(name, str):
        return []
    devices = queues.get(name)
    return [name] if devices is None else [instance(name, device) for device in devices]


# ---- back ------------------------------------------------------------------------------------------------------------------------------


def folded(netlist: BudaNetlist, queues: Mapping[str, tuple[str, Devices]], graphs: Mapping[str, tuple[str, Devices]]) -> BudaNetlist:
    """The netlist with one entry for all instances of it, as `instances_of` had told them; unchanged if they have become too different.

    Both netlists are in normal form.
    """
    if not queues and not graphs:
        return netlist
    names = {name: entry for name, (entry, _) in queues.items()}
    for name, (_, devices) in graphs.items():
        if name in netlist.graphs:
            names |= {op.name: op.name.removesuffix(f".{_device(name, graphs[name][0])}") for op in netlist.graphs[name].ops if devices}
    found = replace(
        netlist,
        queues={entry.name: entry for entry in _folded_queues(netlist, queues, names)},
        graphs={entry.name: entry for entry in _folded_graphs(netlist, graphs, names)},
        programs={name: _folded_program(program, queues, graphs) for name, program in netlist.programs.items()},
    )
    return found if expanded(found) == netlist else netlist


def _device(name: str, entry: str) -> str:
    return name.removeprefix(f"{entry}.")


def _folded_queues(netlist: BudaNetlist, queues: Mapping[str, tuple[str, Devices]], names: Mapping[str, str]) -> Iterator[BudaQueue]:
    done: set[str] = set()
    for queue in netlist.queues.values():
        entry, devices = queues.get(queue.name, (queue.name, queue.target_devices))
        if entry in done:
            continue
        done.add(entry)
        if queue.name in queues:
            input_, alias = names.get(queue.input, queue.input), names.get(queue.alias, queue.alias)
            yield replace(queue, name=entry, target_devices=devices, input=input_, alias=alias)
        else:
            yield queue


def _folded_graphs(netlist: BudaNetlist, graphs: Mapping[str, tuple[str, Devices]], names: Mapping[str, str]) -> Iterator[BudaGraph]:
    done: set[str] = set()
    for graph in netlist.graphs.values():
        entry, devices = graphs.get(graph.name, (graph.name, graph.target_devices))
        if entry in done:
            continue
        done.add(entry)
        if graph.name not in graphs:
            yield graph
            continue
        ops = tuple(
            replace(
                op,
                name=names.get(op.name, op.name),
                inputs=tuple(names.get(name, name) for name in op.inputs),
                forked_dram_inputs=tuple((names.get(q, q), names.get(o, o)) for q, o in op.forked_dram_inputs),
            )
            for op in graph.ops
        )
        yield replace(graph, name=entry, target_devices=devices, ops=ops)


def _folded_program(
    program: BudaProgram, queues: Mapping[str, tuple[str, Devices]], graphs: Mapping[str, tuple[str, Devices]]
) -> BudaProgram:
    steps: list[BudaInstruction] = []
    for step in program.instructions:
        name = step.args[0] if step.args else None
        if step.opcode == "execute" and isinstance(name, str) and name in graphs:
            entry, devices = graphs[name]
            if name == instance(entry, devices[0]):  # the others follow
                settings = tuple([replace(s, queue=queues.get(s.queue, (s.queue,))[0]) for s in step.settings])
                steps.append(replace(step, args=(entry,), settings=settings))
        elif step.opcode in ("allocate_queue", "deallocate_queue"):
            args = dict.fromkeys(queues.get(str(arg), (str(arg),))[0] for arg in step.args)
            steps.append(replace(step, args=tuple(args)))
        else:
            steps.append(step)
    return replace(program, instructions=tuple(steps))
