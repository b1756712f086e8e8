"""Every op of the sample netlists: its work has the dimensions that its blocks say, and reads back as the op."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.netlist.buda.work.meanings import placed
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.buda.form import BudaNetlist, BudaOp, BudaQueue, FusedOp
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.work import OpForm, form_of, result_type, work_of

SAMPLES = Path(__file__).resolve().parents[4] / "data" / "netlists" / "valid"
FOLDERS = ("dbd", "loader", "perf_lib", "verif")
DEFAULTS: dict[str, Any] = {"slope": 0.01, "p": 0.0, "granularity": "ublock", "fracture_factor": 1, "vector": "rc", "sfpu_op": "invalid"}


def queue_type(queue: BudaQueue) -> TensorType:
    assert queue.grid_size is not None
    assert queue.mblock is not None
    assert queue.ublock is not None
    height, width = queue.tile_dim or (32, 32)
    rows, columns = (g * m * u for g, m, u in zip(queue.grid_size, queue.mblock, queue.ublock, strict=True))
    layout = "rows" if queue.layout == "flat" else f"tiles({height}, {width})"
    return TensorType((queue.t or 1, rows * height, columns * width), queue.df or "", layout)


def ops_of(netlist: BudaNetlist) -> Iterator[tuple[BudaOp, list[TensorType], FusedOp | None]]:
    ops = {op.name: op for graph in netlist.graphs.values() for op in graph.ops}
    for op in ops.values():
        types = [queue_type(netlist.queues[n]) if n in netlist.queues else result_type(ops[n]) for n in op.inputs]
        yield op, types, netlist.fused_ops[str(op.attributes["fused_op_id"])] if op.type == "fused_op" else None


def check(op: BudaOp, form: OpForm) -> None:
    assert (form.type, form.inputs) == (op.type, tuple(range(len(op.inputs))))
    assert dict(form.tms) == {i: tms for i, tms in op.input_tms.items() if tms}
    assert dict(form.pads) == {i: pad for i, pad in op.pads.items() if pad[:2] != (0, 0)}
    assert dict(form.unpads) == {i: unpad for i, unpad in op.unpads.items() if unpad != (0, 0)}
    for name, value in form.attributes.items():
        if name in op.attributes:
            assert op.attributes[name] == value, name
        else:
            assert value == DEFAULTS.get(name, value), name


@pytest.mark.parametrize("folder", FOLDERS)
def test_samples(folder: str) -> None:
    count = 0
    for path in sorted((SAMPLES / folder).rglob("*.yaml")):
        netlist = read_netlist(path.read_bytes(), path.name)
        for op, types, fused in ops_of(netlist):
            function = work_of(op, types, fused, (netlist.archs or ("grayskull",))[0])
            assert function.value_types[function.outputs[0]] == result_type(op)
            if fused is None:
                check(op, form_of(placed(op, function)))
            count += 1
    assert count > 6
