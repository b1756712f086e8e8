"""Rules of queues: fields, where the data comes from, buffers, ports and aliases."""

from __future__ import annotations

from math import prod

from ttc.dialects.netlist.buda.form import BudaQueue
from ttc.dialects.netlist.buda.rules.context import Context, is_op_name, missing, tiles

FIELDS = ("input", "entries", "grid_size", "t", "mblock", "ublock", "df", "target_devices", "loc", "type")
MAX_PORT = 2


def check_queues(context: Context) -> None:
    """Rules that hold on every architecture."""
    for queue in context.netlist.queues.values():
        _check_fields(queue, context)
        _check_input(queue, context)
        _check_buffers(queue, context)
        if queue.alias and not {f"queue '{queue.name}'", f"queue '{queue.alias}'"} & context.faulty:
            _check_alias(queue, context)


def check_queues_on_arch(context: Context) -> None:
    """Rules that depend on the architecture."""
    for queue in context.netlist.queues.values():
        for key, ports in (("read_ports", queue.read_ports), ("write_ports", queue.write_ports)):
            if ports is not None and context.arch.grayskull and any(port != -1 for port in ports):
                context.queue(queue, key, "E0618", "a DRAM channel of Grayskull has one port: none can be chosen")


def _check_fields(queue: BudaQueue, context: Context) -> None:
    names = {"target_devices": "target_device"}
    for name in missing(queue, *FIELDS):
        if names.get(name, name) not in queue.lines:
            context.queue(queue, "", "E0614", f"{names.get(name, name)} is missing")
    if queue.entries == 0:
        context.queue(queue, "entries", "E0615", "entries is at least 1, not 0")
    for key, ports in (("read_ports", queue.read_ports), ("write_ports", queue.write_ports)):
        if ports is None:
            continue
        if len(ports) != len(queue.addresses):
            context.queue(queue, key, "E0618", f"{len(ports)} {key} for {len(queue.addresses)} buffers")
        elif any(not -1 <= port <= MAX_PORT for port in ports):
            context.queue(queue, key, "E0618", f"{key} are 0 to {MAX_PORT}, not {list(ports)}")
    if any(tm.kind in ("pad", "tile_broadcast") for tm in queue.input_tms):
        context.queue(queue, "input_tms", "E0623", "tile manipulations before a queue cannot pad or broadcast within tiles")
        context.misfits.add(queue.name)


def _check_input(queue: BudaQueue, context: Context) -> None:
    if not is_op_name(queue.input) or queue.input in context.ops:
        return
    hint = context.found.nearest(queue.input, (*context.ops, "HOST"))
    context.queue(queue, "input", "E0601", f"its input '{queue.input}' is no op, nor HOST", hint)


def _check_buffers(queue: BudaQueue, context: Context) -> None:
    if queue.loc is not None and queue.loc not in queue.lines and queue.lines:
        other = "host" if queue.loc == "dram" else "dram"
        hint = f"it has addresses under {other}" if other in queue.lines else None
        context.queue(queue, "loc", "E0614", f"it lies in {queue.loc}, but gives no addresses there: {queue.loc} is missing", hint)
        return
    if queue.grid_size is None or queue.loc is None or f"queue '{queue.name}'" in context.faulty:
        return
    cells = prod(queue.grid_size)
    if len(queue.addresses) != cells:
        message = f"{len(queue.addresses)} addresses for the {cells} buffers of grid {queue.grid_size[0]}x{queue.grid_size[1]}"
        context.queue(queue, queue.loc, "E0617", message)
        context.misfits.add(queue.name)


def _check_alias(queue: BudaQueue, context: Context) -> None:
    def report(message: str, hint: str | None = None) -> None:
        context.queue(queue, "alias", "E0619", message, hint)

    target = context.queues.get(queue.alias)
    if target is None:
        hint = context.found.nearest(queue.alias, context.netlist.queues)
        context.queue(queue, "alias", "E0601", f"there is no queue '{queue.alias}' to be an alias of", hint)
    elif target is queue:
        report("it is an alias of itself")
    elif target.alias:
        report(f"'{target.name}', of which it is an alias, is itself one of '{target.alias}'", f"alias: {target.alias}")
    elif "queue" in (queue.type, target.type):
        report(f"only rams have aliases: it is a {queue.type}, '{target.name}' a {target.type}")
    elif None in (queue.loc, target.loc, queue.target_devices, target.target_devices):
        return
    elif (queue.loc, queue.addresses, queue.target_devices) != (target.loc, target.addresses, target.target_devices):
        report(f"its buffers are not those of '{target.name}', of which it is an alias")
    elif target.name not in context.misfits:
        own, other = tiles(queue), tiles(target)
        if own and other and queue.entries and target.entries and prod(own) * queue.entries != prod(other) * target.entries:
            message = (
                f"{queue.entries} entries of {prod(own)} tiles are not as many as {target.entries} of {prod(other)} in '{target.name}'"
            )
            report(message)
