"""Ops of the form to ops of the plain netlist: place and blocks; what they compute is `work`."""

from __future__ import annotations

from collections.abc import Mapping

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.plain.functions import Plain, TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.dims import blocks
from ttc.dialects.netlist.buda.form import BudaOp, FusedOp
from ttc.dialects.netlist.buda.to_netlist_buffers import buffers, inner_of
from ttc.dialects.netlist.buda.work import work_of
from ttc.dialects.netlist.model import Chip, Ethernet, Grid, Op, Settings


@record
class Producers:
    """What ops refer to.  types: of queues and results by name; source: name of the file."""

    types: Mapping[str, TensorType]
    fused_ops: Mapping[str, FusedOp]
    chip: Chip
    source: str

    def type(self, name: str, where: str) -> TensorType:
        """Return the type of what an op reads.  Raises E0601."""
        found = self.types.get(name)
        if found is None:
            raise Error("E0601", f"input '{name[:80]}' is neither a queue nor an op", where=where, hint=nearest(name[:80], self.types))
        return found


def op_of(op: BudaOp, chip: int, producers: Producers) -> Op:
    """Return the op on that chip.  Raises E06xx for what is missing or does not fit."""
    where = f"op '{op.name}'"
    blocking, grid, result = blocks(op, where)
    inputs = [producers.type(name, where) for name in op.inputs]
    fused = _fused(op, producers, where)
    work = work_of(op, inputs, fused, producers.chip.arch)
    line = op.lines.get("")
    return Op(
        name=op.name,
        type=op.type or "",
        inputs=op.inputs,
        place=_place(op, grid, chip, where),
        blocking=blocking,
        work=work,
        buffers=tuple(buffers(op, inputs, result, blocking, fused, producers.chip)),
        intermediate=op.intermed_df or "Float32",
        accumulate=op.acc_df or "Float32",
        fidelity=(op.math_fidelity or "HiFi4").partition("_")[0],
        inner=inner_of(op),
        location=() if line is None else (f"{producers.source}:{line}",),
        rounding="none",
        settings=_fused_setting(op, fused),
    )


def _fused_setting(op: BudaOp, fused: FusedOp | None) -> Settings:
    return () if fused is None else (("fused_op", fused.name),)


def _fused(op: BudaOp, producers: Producers, where: str) -> FusedOp | None:
    """Return the entry of section fused_ops that the op runs; None for other ops.  Raises E0601."""
    if op.type != "fused_op":
        return None
    name = op.attributes.get("fused_op_id")
    found = producers.fused_ops.get(str(name))
    if found is None:
        raise Error("E0601", f"there is no fused op '{str(name)[:80]}'", where=where, hint=nearest(str(name)[:80], producers.fused_ops))
    return found


def _place(op: BudaOp, grid: tuple[int, int], chip: int, where: str) -> Grid | Ethernet:
    if op.type == "ethernet_datacopy":
        target = op.attributes.get("dest_device", chip)
        ingress, egress = (_channels(op.attributes.get(f"{way}_channels")) for way in ("ingress", "egress"))
        return Ethernet(target if type(target) is int else chip, ingress, egress)
    if op.grid_loc is None:
        raise Error("E0603", "its grid_loc is missing", where=where)
    return Grid(op.grid_loc[0], op.grid_loc[1], grid[0], grid[1], bool(op.grid_transpose))


def _channels(value: Plain) -> tuple[int, ...]:
    return tuple([x for x in value if type(x) is int]) if isinstance(value, tuple) else ()
