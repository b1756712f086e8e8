"""The fields of queues, ops, settings and sub-ops: what each is called in the form, and what it takes."""

from __future__ import annotations

from typing import TypeAlias

from ttc.dialects.netlist.buda.document import Node
from ttc.dialects.netlist.buda.reader_values import (
    Convert,
    addresses,
    attributes,
    boolean,
    boolean_of,
    choice,
    forks,
    integer,
    integer_of,
    list_of,
    natural,
    number,
    one_or_more,
    pair_of,
    positive,
    shown,
    text,
    tms,
)
from ttc.dialects.tile.facts.sfpu import BINARY_FUNCTIONS, RESCALES, SFPU_FUNCTIONS

Fields: TypeAlias = dict[str, tuple[str, Convert]]

FORMATS = (
    *("Float32", "Float16", "Float16_b", "Bfp8", "Bfp8_b", "Bfp4", "Bfp4_b", "Bfp2", "Bfp2_b", "Lf8", "Fp8_e4m3"),
    *("Int8", "Int32", "UInt8", "UInt16", "RawUInt8", "RawUInt16", "RawUInt32"),
)
UNARY = ("nop", "datacopy", "ethernet_datacopy")
BINARY = (*BINARY_FUNCTIONS, *RESCALES)
OTHER = ("matmul", "reduce", "splice", "depthwise", "embedding", "tilizer", "topk", "drainer")
OP_TYPES = (*UNARY, *SFPU_FUNCTIONS, *BINARY, *OTHER, "fused_op")
ARITY = {**dict.fromkeys((*UNARY[:2], *SFPU_FUNCTIONS, "reduce"), 1), **dict.fromkeys((*BINARY, "matmul"), 2)}
"""Types of sub-ops of a fused op: how many inputs each takes."""
TILES = ((32, 32), (16, 32), (32, 16), (8, 32), (4, 32), (2, 32), (1, 32))
FIDELITIES = ("LoFi", "HiFi2", "HiFi3", "HiFi4", "HiFi2_A", "HiFi2_B")


def tile_dim(node: Node) -> tuple[int, int]:
    """Height and width of a tile, of those that there are."""
    found = pair_of(integer)(node)
    if found not in TILES:
        raise ValueError(f"is one of {', '.join(f'{h}x{w}' for h, w in TILES)}, not {found[0]}x{found[1]}")
    return found


def setting(node: Node) -> str:
    """true, false, an integer or a variable, as a text."""
    if isinstance(node, str):
        if node.startswith("$") and len(node) > 1:
            return str(node)
        truth, whole = boolean_of(node), integer_of(node)
        if truth is not None:
            return "true" if truth else "false"
        if whole is not None:
            return str(whole)
    raise ValueError(f"takes true, false, an integer or a $variable, not {shown(node)}")


def _same(**fields: Convert) -> Fields:
    return {name: (name, convert) for name, convert in fields.items()}


_df, _order = choice(*FORMATS), choice("r", "c")
_block, _grid = pair_of(positive), pair_of(positive)

BLOCKS: Fields = _same(t=positive, mblock=_block, ublock=_block, ublock_order=_order, tile_dim=tile_dim)
QUEUE: Fields = BLOCKS | {
    "target_device": ("target_devices", one_or_more(natural)),
    "dram": ("dram", addresses),
    "host": ("host", addresses),
    **_same(
        input=text,
        input_tms=tms,
        entries=natural,
        grid_size=_grid,
        df=_df,
        loc=choice("dram", "host"),
        read_ports=list_of(integer),
        write_ports=list_of(integer),
        type=choice("queue", "ram"),
        layout=choice("tilized", "flat"),
        alias=text,
    ),
}
OP: Fields = BLOCKS | _same(
    type=choice(*OP_TYPES),
    grid_loc=pair_of(natural),
    grid_size=_grid,
    grid_transpose=boolean,
    inputs=list_of(text),
    in_df=list_of(_df),
    out_df=_df,
    intermed_df=_df,
    acc_df=_df,
    math_fidelity=choice(*FIDELITIES),
    buf_size_mb=integer,
    overlay_size=integer,
    input_buf_min_size_tiles=list_of(integer),
    input_dram_io_buf_size_tiles=list_of(integer),
    untilize_output=boolean,
    gradient_op=boolean,
    forked_dram_inputs=forks,
    attributes=attributes,
)
GRAPH: Fields = {"target_device": ("target_devices", one_or_more(natural)), **_same(input_count=positive)}
SETTING: Fields = {
    name: (name, setting)
    for name in (
        *("prologue", "epilogue", "zero", "rd_ptr_local", "rd_ptr_global", "wr_ptr_global", "rd_ptr_autoinc"),
        *("global_rdptr_autoinc", "global_wrptr_autoinc", "read_only"),
    )
}
SUB_OP: Fields = _same(
    type=choice(*OP_TYPES),
    inputs=list_of(text),
    output=text,
    mblock=_block,
    ublock=_block,
    pop=list_of(text),
    pop_last=list_of(text),
    zero_point=number,
    attributes=attributes,
)
FUSED: Fields = _same(inputs=positive, intermediates=natural, custom_kernel_path=text)
