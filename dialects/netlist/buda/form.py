"""A Buda netlist as it is written: plain dataclasses, a field for each key of the format.

The reader makes these from YAML and the writer prints them; `rules` checks them; `to_netlist` and `from_netlist` are the way from
here to the plain netlist (`netlist.model`) and back.  Fields that the text leaves out are None here; defaults belong to the rules.
`lines` gives the line (from 1) of each field that was written, and of the item itself under the key "".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.records import record
from ttc.dialects.netlist.violations import Violation

Lines = Mapping[str, int]
Pair = tuple[int, int]


@record(slots=True)
class Tm:
    """A tile manipulation of an op's input.

    kind and args:  `transpose` ()   `broadcast` (dim `r|c|z`, factor)   `hslice`, `hstack`, `vslice`, `vstack` (factor)
    `pad` (rt, ct, value)   `unpad` (rt, ct)   `tile_broadcast` (`r|c|rc`).
    """

    kind: str
    args: tuple[str | int | float, ...] = ()


@record(slots=True)
class BudaQueue:
    """An entry of section `queues`.  addresses: (channel, address) of each buffer, row-major; target_devices: one, or several instances."""

    name: str
    input: str = ""
    input_tms: tuple[Tm, ...] = ()
    entries: int | None = None
    grid_size: Pair | None = None
    t: int | None = None
    mblock: Pair | None = None
    ublock: Pair | None = None
    ublock_order: str | None = None
    tile_dim: Pair | None = None
    df: str | None = None
    target_devices: tuple[int, ...] | None = None
    loc: str | None = None
    addresses: tuple[Pair, ...] = ()
    read_ports: tuple[int, ...] | None = None
    write_ports: tuple[int, ...] | None = None
    type: str | None = None
    layout: str | None = None
    alias: str = ""
    lines: Lines = field(default_factory=dict, compare=False, repr=False)


@record(slots=True)
class BudaOp:
    """An op of a graph.

    input_tms: of each input that has any, by index; what `input_<i>_pad` and `input_<i>_unpad` say is in `pads` (rt, ct, value) and
    `unpads` (rt, ct).  attributes: as written; lists are tuples, maps are tuples of (key, value) pairs.
    """

    name: str
    type: str | None = None
    grid_loc: Pair | None = None
    grid_size: Pair | None = None
    grid_transpose: bool | None = None
    inputs: tuple[str, ...] = ()
    in_df: tuple[str, ...] = ()
    out_df: str | None = None
    intermed_df: str | None = None
    acc_df: str | None = None
    math_fidelity: str | None = None
    t: int | None = None
    mblock: Pair | None = None
    ublock: Pair | None = None
    ublock_order: str | None = None
    tile_dim: Pair | None = None
    buf_size_mb: int | None = None
    overlay_size: int | None = None
    input_buf_min_size_tiles: tuple[int, ...] | None = None
    input_dram_io_buf_size_tiles: tuple[int, ...] | None = None
    untilize_output: bool | None = None
    gradient_op: bool | None = None
    forked_dram_inputs: tuple[tuple[str, str], ...] = ()
    input_tms: Mapping[int, tuple[Tm, ...]] = field(default_factory=dict)
    pads: Mapping[int, tuple[int, int, float]] = field(default_factory=dict)
    unpads: Mapping[int, Pair] = field(default_factory=dict)
    attributes: Mapping[str, Plain] = field(default_factory=dict)
    lines: Lines = field(default_factory=dict, compare=False, repr=False)


@record(slots=True)
class BudaGraph:
    """An entry of section `graphs`: one epoch on one chip, or on each of several."""

    name: str
    target_devices: tuple[int, ...] | None = None
    input_count: int | None = None
    ops: tuple[BudaOp, ...] = ()
    lines: Lines = field(default_factory=dict, compare=False, repr=False)


@record(slots=True)
class BudaQueueSetting:
    """Settings of a queue in an `execute`: values as written (true, false, an integer or a `$variable`); None where left out."""

    queue: str
    prologue: str | None = None
    epilogue: str | None = None
    zero: str | None = None
    rd_ptr_local: str | None = None
    rd_ptr_global: str | None = None
    wr_ptr_global: str | None = None
    rd_ptr_autoinc: str | None = None
    global_rdptr_autoinc: str | None = None
    global_wrptr_autoinc: str | None = None
    read_only: str | None = None
    lines: Lines = field(default_factory=dict, compare=False, repr=False)


@record(slots=True)
class BudaInstruction:
    """A step of a program.

    opcode and args:  `var`, `staticvar` (($name, value), ...)   `param` ($name, ...)   `varinst` ($out, opcode, value, ...)
    `loop` (count)   `endloop` ()   `endprogram` ()   `allocate_queue`, `deallocate_queue` (queue, ...)   `execute` (graph).
    Variables are texts with their `$`, immediates are integers.  settings: of an `execute`.
    """

    opcode: str
    args: tuple[Plain, ...] = ()
    settings: tuple[BudaQueueSetting, ...] = ()
    line: int = field(default=0, compare=False, repr=False)


@record(slots=True)
class BudaProgram:
    """An entry of section `programs`."""

    name: str
    instructions: tuple[BudaInstruction, ...] = ()
    lines: Lines = field(default_factory=dict, compare=False, repr=False)


@record(slots=True)
class SubOp:
    """An op inside a fused op.  inputs: `input<i>`, `intermed<i>` or `dest`; output: `intermed<i>`, `dest` or `output`."""

    name: str
    type: str | None = None
    inputs: tuple[str, ...] = ()
    output: str | None = None
    mblock: Pair | None = None
    ublock: Pair | None = None
    pop: tuple[str, ...] = ()
    pop_last: tuple[str, ...] = ()
    zero_point: float | None = None
    input_tms: Mapping[int, tuple[Tm, ...]] = field(default_factory=dict)
    attributes: Mapping[str, Plain] = field(default_factory=dict)
    lines: Lines = field(default_factory=dict, compare=False, repr=False)


@record(slots=True)
class FusedOp:
    """An entry of section `fused_ops`: schedules of sub-ops."""

    name: str
    inputs: int | None = None
    intermediates: int | None = None
    custom_kernel_path: str | None = None
    schedules: tuple[tuple[SubOp, ...], ...] = ()
    lines: Lines = field(default_factory=dict, compare=False, repr=False)


@record(slots=True)
class BudaNetlist:
    """A whole netlist file in Buda's format, as its sections say.

    archs: as written, in small letters; sections: names of all top-level sections in file order, as the order has a meaning;
    extra: sections the format does not define (such as `test-config`), as plain values; source: the name of the file;
    warnings: what is odd in it, but not wrong.
    """

    archs: tuple[str, ...] = ()
    queues: Mapping[str, BudaQueue] = field(default_factory=dict)
    graphs: Mapping[str, BudaGraph] = field(default_factory=dict)
    programs: Mapping[str, BudaProgram] = field(default_factory=dict)
    fused_ops: Mapping[str, FusedOp] = field(default_factory=dict)
    sections: tuple[str, ...] = ()
    extra: Mapping[str, Plain] = field(default_factory=dict)
    lines: Lines = field(default_factory=dict, compare=False, repr=False)
    source: str = field(default="netlist", compare=False, repr=False)
    warnings: tuple[Violation, ...] = field(default=(), compare=False, repr=False)
