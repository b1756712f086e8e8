"""Small Buda netlists and queues for golden runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.to_netlist import to_netlist
from ttc.dialects.netlist.model import Blocking, Queue
from ttc.runtime.golden.session import GoldenSession
from ttc.runtime.machine.limits import Limits
from ttc.stimulus.host import host_of
from ttc.stimulus.rules import Rules

TILE = (32, 32)


def queue_of(name: str = "q", *, type: Any = "queue", entries: int = 2, t: int = 1, format: str = "Float32", **more: Any) -> Queue:
    """A queue of one tile a matrix."""
    tensor = TensorType((t, 32, 32), format, "tiles(32, 32)")
    fields: dict[str, Any] = {"kind": "input", "source": "HOST", "location": "dram", "chip": 0, "buffers": ((0, 0),), "buffer_bytes": 4128}
    return Queue(name, type=type, tensor=tensor, entries=entries, grid=(1, 1), blocking=Blocking(t, (1, 1), (1, 1)), **{**fields, **more})


def flat(value: float, t: int = 1) -> NDArray:
    """[t, 32, 32] of one value."""
    return np.full((t, *TILE), value, np.float32)


def session(
    text: str,
    inputs: Mapping[str, NDArray] | None = None,
    *,
    rules: Rules | None = None,
    programs: Sequence[str] | None = None,
    limits: Limits | None = None,
) -> GoldenSession:
    """A session on a netlist text, that keeps its entries."""
    netlist = to_netlist(read_netlist(text.encode(), "test.yaml"))
    return GoldenSession(netlist, host_of(netlist, rules, 0, inputs or {}), programs, keep=True, limits=limits)


def found(session: GoldenSession, role: str) -> dict[str, NDArray]:
    """Arrays of the records with a role, by queue."""
    return {record.queue.name: record.array() for record in session.records() if record.role == role}


# ---- texts -------------------------------------------------------------------------------------------------------------------------------


def queue(
    name: str, source: str, *, type: str = "queue", entries: int = 4, t: int = 1, df: str = "Float32", at: int = 0, **more: Any
) -> str:
    """A line of section `queues`: one tile a matrix unless `more` says otherwise; at: which 64 KiB of the device's memory."""
    fields: dict[str, Any] = {
        "grid_size": "[1, 1]",
        "t": t,
        "mblock": "[1, 1]",
        "ublock": "[1, 1]",
        "df": df,
        "target_device": 0,
        "loc": "dram",
        "dram": f"[[0, {0x30000000 + at * 0x10000:#x}]]",
    }
    return f"  {name}: {_map({'type': type, 'input': source, 'entries': entries, **fields, **more})}\n"


def op(name: str, type: str, inputs: Sequence[str], *, t: int = 1, df: str = "Float32", at: int = 0, **more: Any) -> str:
    """A line of a graph: an op on one core, at: its column."""
    fields: dict[str, Any] = {
        "grid_loc": f"[0, {at}]",
        "grid_size": "[1, 1]",
        "inputs": f"[{', '.join(inputs)}]",
        "t": t,
        "mblock": "[1, 1]",
        "ublock": "[1, 1]",
        "ublock_order": "r",
        "buf_size_mb": 2,
        "in_df": f"[{', '.join(more.pop('in_df', [df] * len(inputs)))}]",
        "out_df": df,
        "intermed_df": df,
        "acc_df": "Float16_b",
        "math_fidelity": "HiFi4",
    }
    return f"    {name}: {_map({'type': type, **fields, **more})}\n"


def graph(name: str, ops: str, *, input_count: int = 1, device: int = 0) -> str:
    """A graph."""
    return f"  {name}:\n    target_device: {device}\n    input_count: {input_count}\n{ops}"


def program(name: str, *instructions: str) -> str:
    """A program."""
    return f"  - {name}:\n" + "".join(f"    - {instruction}\n" for instruction in instructions)


def execute(graph: str, **settings: str) -> str:
    """An execution; settings of queues by name, as `key: value, ...`, with prologue, epilogue and zero false."""
    rest = ", ".join(f"{name}: {{prologue: false, epilogue: false, zero: false, {text}}}" for name, text in settings.items())
    return f"execute: {{graph_name: {graph}, queue_settings: {{{rest}}}}}"


def streamed(local: str = "$l", whole: str = "$g") -> str:
    """The pointers of a queue that a graph streams."""
    return f"rd_ptr_local: {local}, rd_ptr_global: {whole}"


def netlist(queues: str, graphs: str, programs: str, *, arch: str = "wormhole_b0") -> str:
    """A whole file."""
    return f"devices:\n  arch: {arch}\nqueues:\n{queues}graphs:\n{graphs}programs:\n{programs}"


def _map(fields: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in fields.items()) + "}"
