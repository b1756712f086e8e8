"""Rules of the streams of a core: how many queues an op reads and fills."""

from __future__ import annotations

from ttc.dialects.netlist.buda.rules.context import Context

MOST_READ, MOST_FILLED = 8, 8
"""Streams of a core that read from DRAM or the host, and that write there."""


def check_streams(context: Context) -> None:
    """No op reads, or fills, more queues than its cores have streams for; a queue that it reads twice comes once."""
    for _, op in context.all_ops():
        read = dict.fromkeys(name for name in op.inputs if name in context.queues)
        if len(read) > MOST_READ and op.name not in context.misfits:
            message = f"it reads {len(read)} queues, but a core has {MOST_READ} streams that read from memory"
            context.op(op, "inputs", "E0636", message, "cut the op in two, or let another op bring some of its inputs")
        filled = context.outputs.get(op.name, [])
        if len(filled) > MOST_FILLED:
            message = f"it fills {len(filled)} queues, but a core has {MOST_FILLED} streams that write to memory"
            context.op(op, "", "E0636", message, "let another op copy the result")
