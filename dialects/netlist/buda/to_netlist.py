"""From the form of a Buda netlist to the plain netlist.

Conventions, which engines and cost models rely on:

- `positions` is `pointers`: programs set the pointers of queues.
- The chip is a whole one of the architecture (`machine`), under its name; `chips` counts up to the highest device.
- An entry with several devices becomes an instance on each, named `name.device` (`instances`).
- The tensor of a queue or of an op's result is [t, rows, columns] in elements, t, grid rows * mblock * ublock * tile height, and so on;
  its layout is tiles(h, w), or `rows` for a queue that is flat, and for an op with untilize_output and the queue it feeds.
  Entries of a queue are microbatches.  Nothing is padding to the plain netlist.
- `Blocking` is what the form says of one core; queues in row layout have it too.  `Op.inner` is (m_k, u_kt) where the op has them.
- A queue's kind: fed by the host, `input` (type queue), `parameter` (ram), or `state` (ram that shares memory with one that ops write);
  fed by an op, `edge` where an op reads it or memory it shares (`stash` where other programs read it than fill it), else `output`.
  Its source is the op, or `HOST`; keys are None.
- Bytes of a queue's buffer: header, and entries in tiles with their headers, or in rows without.
- `Queue.view` is the queue's input_tms as a function of the op's result; `Queue.alias` is the queue whose memory it shows.
- Ops stand in order of computation.  `Op.type` is Buda's type.  The work is that of `work.work_of`; `rounding` is none, since the
  golden results of the format are not rounded between ops.  An input may be an op of another graph: both then have the same `epoch`.
- An ethernet_datacopy is placed on `Ethernet`; without its attribute dest_device it sends to its own chip.
- Buffers: `out` holds buf_size_mb macro blocks; `in<i>` what the reference's kernels buffer (`buffers`); `intermed` where there is one.
- Instructions: a declaration of several variables, or allocation of several queues, is one instruction each.  Settings of queues have
  defaults filled in.
- What has no field is in `settings`, which only `from_netlist` needs to understand; engines may look up fields of the form there, such
  as `gradient_op`, `untilize_output`, `overlay_size` or `attributes`: absent means the default, or that work and fields say it all.
- `Op.location` is (`file:line`,).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda import settings as kept
from ttc.dialects.netlist.buda.form import BudaGraph, BudaNetlist, BudaOp
from ttc.dialects.netlist.buda.from_netlist import derived
from ttc.dialects.netlist.buda.instances import expanded, instances_of
from ttc.dialects.netlist.buda.machine import arch_of, machine
from ttc.dialects.netlist.buda.normal import normalised
from ttc.dialects.netlist.buda.temporal import epochs_of, ordered
from ttc.dialects.netlist.buda.to_netlist_ops import Producers, op_of
from ttc.dialects.netlist.buda.to_netlist_programs import program_of
from ttc.dialects.netlist.buda.to_netlist_queues import QueueBuilder
from ttc.dialects.netlist.buda.work import result_type
from ttc.dialects.netlist.chips import chip
from ttc.dialects.netlist.model import Chip, Graph, Netlist

MAX_CHIP = 1023


def to_netlist(form: BudaNetlist, arch: str | None = None) -> Netlist:
    """Return the plain netlist of a form that keeps the rules of the format.

    Args:    arch: architecture to take it for; the first that it names and ttc knows if not given.
    Raises:  E0101, E0607 for the architecture; E06xx for what is missing in the form or does not fit.
    """
    normal = normalised(form)
    written = expanded(normal)
    chosen = arch_of(form.archs, arch)
    devices = [d for item in (*written.queues.values(), *written.graphs.values()) for d in item.target_devices or (0,)]
    if max(devices, default=0) > MAX_CHIP:
        raise Error("E0603", f"device {max(devices)} is more than the {MAX_CHIP + 1} chips that a netlist can have", where=form.source)
    target = chip(replace(machine(chosen, max(devices, default=0) + 1), kernels="buda"))
    plain = _plain(written, target, form.source)
    return _with_settings(plain, normal, written)


def _with_settings(plain: Netlist, normal: BudaNetlist, written: BudaNetlist) -> Netlist:
    """Return the netlist with what else the form says: where a form derived from it would differ from the one that was written."""
    queues, graphs = instances_of(normal)
    found = derived(plain, {})
    made = {op.name: op for graph in found.graphs.values() for op in graph.ops}
    given = {op.name: op for graph in written.graphs.values() for op in graph.ops}

    def extra(entries: Mapping[str, tuple[str, tuple[int, ...]]], name: str) -> tuple[tuple[str, Plain], ...]:
        return (("instances", entries[name]),) if name in entries else ()

    def graph_of(graph: Graph) -> Graph:
        ops = tuple([replace(op, settings=op.settings + kept.differing(made[op.name], given[op.name])) for op in graph.ops])
        order = tuple([op.name for op in written.graphs[graph.name].ops])
        moved: tuple[tuple[str, Plain], ...] = (("order", order),) if order != tuple([op.name for op in ops]) else ()
        more = kept.differing(found.graphs[graph.name], written.graphs[graph.name])
        return replace(graph, ops=ops, settings=moved + more + extra(graphs, graph.name))

    unlike = tuple([kept.encoded(op) for name, op in written.fused_ops.items() if found.fused_ops.get(name) != op])
    own: list[tuple[str, Plain]] = [("archs", normal.archs)] if normal.archs != found.archs else []
    own += [("fused_ops", unlike)] if unlike else []
    own += [("fused_order", tuple(written.fused_ops))] if list(written.fused_ops) != list(found.fused_ops) else []
    own += [("extra", kept.encoded(normal.extra))] if normal.extra else []
    return replace(
        plain,
        queues={
            name: replace(queue, settings=kept.differing(found.queues[name], written.queues[name]) + extra(queues, name))
            for name, queue in plain.queues.items()
        },
        graphs={name: graph_of(graph) for name, graph in plain.graphs.items()},
        settings=tuple(own),
    )


def _plain(form: BudaNetlist, chip: Chip, source: str) -> Netlist:
    """Return the plain netlist, without settings, of an expanded form in normal form."""
    ops: dict[str, tuple[BudaOp, BudaGraph]] = {}
    for graph in form.graphs.values():
        for op in graph.ops:
            if op.name in ops or op.name in form.queues:
                raise Error("E0601", f"there are two queues or ops named '{op.name}'", where=source)
            ops[op.name] = (op, graph)
    builder = QueueBuilder(form, {name: op for name, (op, _) in ops.items()}, chip)
    queues = {name: builder.queue(queue) for name, queue in form.queues.items()}
    types = {name: queue.tensor for name, queue in queues.items()} | {name: result_type(op) for name, (op, _) in ops.items()}
    producers = Producers(types, form.fused_ops, chip, source)
    epochs = epochs_of(form)
    kinds = {name: queue.type or "queue" for name, queue in form.queues.items()}
    writes: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for queue in form.queues.values():
        if queue.input in ops:
            writes[ops[queue.input][1].name].append((queue.input, queue.name))
    return Netlist(
        chip,
        queues,
        {name: _graph(graph, writes[name], producers, epochs.get(name)) for name, graph in form.graphs.items()},
        {name: program_of(program, kinds) for name, program in form.programs.items()},
        positions="pointers",
    )


def _graph(graph: BudaGraph, writes: Sequence[tuple[str, str]], producers: Producers, epoch: int | None) -> Graph:
    """Return a graph, its ops in order of computation.  writes: (op, queue) pairs in the order of queues."""
    chip = (graph.target_devices or (0,))[0]
    ops = tuple([op_of(op, chip, producers) for op in ordered(graph)])
    return Graph(graph.name, chip, graph.input_count or 1, ops, tuple(writes), epoch)
