"""Rules of the memory of a core: the least that the buffers of an op take."""

from __future__ import annotations

from ttc.dialects.netlist.buda.form import BudaOp
from ttc.dialects.netlist.buda.rules.context import Context, tile_of
from ttc.dialects.netlist.buda.rules.sizes import tile_bytes


def check_l1(context: Context) -> None:
    """Output and inputs of every op fit into L1.

    Netlists ask for more than there is, and the backend then gives up double buffering and what it keeps for itself.  So what counts is
    half of the output buffer, at least an mblock, one ublock of each input, and all of L1.
    """
    usable = context.arch.l1_bytes
    for _, op in context.all_ops():
        need = _need_bytes(op, context)
        if need is not None and need > usable:
            size = f"{need} bytes of a core, even without double buffering"
            message = f"its buffers take {size}, but L1 of {context.arch.name} has {usable}"
            context.op(op, "mblock", "E0604", message, "use more cores, smaller blocks or a larger t")


def _need_bytes(op: BudaOp, context: Context) -> int | None:
    if op.mblock is None or op.ublock is None or op.out_df is None or op.buf_size_mb is None or op.type == "ethernet_datacopy":
        return None
    (m, n), (rt, ct), alignment = op.mblock, op.ublock, context.arch.alignment_bytes
    total = max(-(-op.buf_size_mb // 2), 1) * m * n * rt * ct * tile_bytes(op.out_df, tile_of(op), alignment)
    u_kt = op.attributes.get("u_kt") if op.type == "matmul" else None
    for index, (name, format) in enumerate(zip(op.inputs, op.in_df, strict=False)):
        source = context.source(name)
        if source is None:
            continue
        tiles = rt * ct if not isinstance(u_kt, int) or index > 1 else rt * u_kt if index == 0 else u_kt * ct
        total += (1 if op.attributes.get("identity") is True else tiles) * tile_bytes(format, tile_of(source), alignment)
    return total
