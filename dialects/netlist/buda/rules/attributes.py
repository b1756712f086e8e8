"""Rules of attributes: which an op of a type can have, what each takes, and which must be there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import inf
from typing import TypeAlias

from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.form import BudaOp
from ttc.dialects.netlist.buda.reader_fields import BINARY, UNARY
from ttc.dialects.netlist.buda.rules.context import Context
from ttc.dialects.tile.facts.sfpu import SFPU_FUNCTIONS

Test: TypeAlias = Callable[[Plain], bool]
MAX_SPLICE_INPUTS = 8
INPUT = re.compile(r"input_?([0-9]{1,3})")


def _whole(low: int = 0) -> Test:
    return lambda value: type(value) is int and value >= low


def _real(low: float = -inf, high: float = inf) -> Test:
    return lambda value: type(value) in (int, float) and low <= float(str(value)) <= high


def _one_of(*words: str) -> Test:
    return lambda value: value in words


def _truth(value: Plain) -> bool:
    return type(value) is bool


def _wholes(value: Plain) -> bool:
    return isinstance(value, tuple) and bool(value) and all(type(x) is int and x >= 0 for x in value)


def _tiles_by_input(value: Plain) -> bool:
    pairs = value if isinstance(value, tuple) else ()
    return bool(pairs) and all(
        isinstance(pair, tuple) and len(pair) == 2 and INPUT.fullmatch(str(pair[0])) is not None and _whole(1)(pair[1]) for pair in pairs
    )


def _splice_info(value: Plain) -> bool:
    return isinstance(value, tuple) and len(value) == 3 and _whole(0)(value[0]) and _whole(1)(value[1]) and _whole(1)(value[2])


ANY: tuple[str, ...] = ()
SPARSE = ("matmul", "fused_op")
TABLE: Mapping[str, tuple[tuple[str, ...], Test, str]] = {
    "kernel_broadcast": (ANY, _tiles_by_input, "maps inputs to numbers of tiles, such as {input_1: 4}"),
    "kernel_broadcast_per_t": (ANY, _tiles_by_input, "maps inputs to numbers of tiles, such as {input_1: 4}"),
    "single_tile": (ANY, _wholes, "lists inputs, such as [0]"),
    "m_k": (ANY, _whole(), "is an integer of at least 0"),
    "u_kt": (ANY, _whole(), "is an integer of at least 0"),
    "bias": (ANY, _truth, "is true or false"),
    "accumulate": (ANY, _truth, "is true or false"),
    "sfpu_op": (ANY, _one_of("invalid", *SFPU_FUNCTIONS), f"is invalid or one of {', '.join(SFPU_FUNCTIONS)}"),
    "vector": (ANY, _one_of("r", "c", "rc"), "is r, c or rc"),
    "approximate_mode": (ANY, _truth, "is true or false"),
    "relu_en": (ANY, _truth, "is true or false"),
    "relu_threshold": (ANY, _real(0), "is a number of at least 0"),
    "relu_mode": (ANY, _one_of("min", "max", "none"), "is min, max or none"),
    "srnd_fpu_en": (ANY, _truth, "is true or false"),
    "stoch_rnd_mode": (ANY, _one_of("none", "fpu", "pack", "all"), "is none, fpu, pack or all"),
    "identity": (SPARSE, _truth, "is true or false"),
    **dict.fromkeys(
        ("num_index_tiles", "num_sparse_tiles", "num_columns", "indices_len", "fracture_factor", "starting_row", "act_t"),
        (SPARSE, _whole(), "is an integer of at least 0"),
    ),
    **dict.fromkeys(("sparse_tile_ptr_bits", "sparse_ublock_idx_bits"), (SPARSE, _whole(), "is an integer of at least 0")),
    "num_nz_strips": (SPARSE, _wholes, "lists an integer for each core"),
    "min_buffer_input": ((*SPARSE, "depthwise"), _one_of(), "is 0 or 1"),
    "l1_acc": (("matmul", "depthwise"), _truth, "is true or false"),
    "dim": (("reduce", "fused_op"), _one_of("r", "c", "z"), "is r, c or z"),
    "type": (("reduce", "fused_op"), _one_of("max"), "is max: no other reduction is there"),
    "z": (("reduce", "matmul", "fused_op"), _whole(1), "is an integer of at least 1"),
    "p": (("dropout", "fused_op"), _real(0, 1), "is a probability"),
    "seed": (("dropout", "fused_op"), _whole(), "is an integer of at least 0"),
    "slope": (("lrelu", "fused_op"), _real(), "is a number"),
    "exp": (("power", "fused_op"), _whole(), "is an integer of at least 0"),
    "fused_op_id": (("fused_op",), lambda value: _whole()(value) or (isinstance(value, str) and bool(value)), "is the id of a fused op"),
    "granularity": (("splice",), _one_of("ublock", "t"), "is ublock or t"),
    "num_indices": (("embedding",), _whole(1), "is an integer of at least 1"),
    "sfpu_execution_thread": (("matmul", *UNARY, *SFPU_FUNCTIONS, *BINARY), _one_of("math", "pack"), "is math or pack"),
    "requant": (("matmul",), _truth, "is true or false"),
    "dequant": (("matmul",), _truth, "is true or false"),
    "k": (("topk",), _whole(1), "is an integer of at least 1"),
    "sort": (("topk",), _one_of("max", "argmax"), "is max or argmax"),
    "kreduce": (("topk",), _truth, "is true or false"),
    "zero_point": (ANY, _real(), "is a number"),
    "ingress_channels": (("ethernet_datacopy",), _wholes, "lists channels"),
    "egress_channels": (("ethernet_datacopy",), _wholes, "lists channels"),
    "dest_device": (("ethernet_datacopy",), _whole(), "is a device"),
    "depthwise": (("depthwise",), _truth, "is true or false"),
}
"""Rules by attribute: the types of ops that have it (ANY: all), the test of its value, and what a value must be, for messages."""
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "matmul": ("m_k", "u_kt"),
    "depthwise": ("m_k", "u_kt"),
    "reduce": ("dim", "type"),
    "power": ("exp",),
    "fused_op": ("fused_op_id",),
    "embedding": ("num_indices",),
    "topk": ("k", "sort"),
    "ethernet_datacopy": ("dest_device",),
}
SHAPING = ("m_k", "u_kt", "z", "accumulate", "bias", "identity", "requant", "dequant", "granularity", "k")
"""Attributes without which the shapes of an op cannot be judged."""
SPARSE_REQUIRED = ("num_index_tiles", "num_sparse_tiles")


def check_attributes(context: Context) -> None:
    """Check the attributes of the ops of all graphs."""
    for _, op in context.all_ops():
        if op.type is None:
            continue
        before = len(context.found.violations)
        for key, value in op.attributes.items():
            _check_attribute(op, op.type, key, value, context)
            if len(context.found.violations) > before and key in SHAPING:
                context.misfits.add(op.name)
        if len(context.found.violations) > before or f"op '{op.name}'" in context.faulty:
            continue
        for key in (*REQUIRED.get(op.type, ()), *(SPARSE_REQUIRED if op.attributes.get("identity") is True else ())):
            if key not in op.attributes:
                context.op(op, "attributes", "E0628", f"attribute {key} is missing: {op.type} needs it")
        _check_together(op, context)
        _check_order(op, context)


def _check_order(op: BudaOp, context: Context) -> None:
    """Attributes are read in the order in which they are written, and z is checked against what was said of sums before it."""
    found = list(op.attributes)
    first, second = "accumulate", "z"
    if op.type == "matmul" and second in found and first in found and found.index(first) > found.index(second):
        message = f"attribute {second} is read before {first}, on which it depends"
        context.op(op, "attributes", "E0628", message, f"write {first} before {second}")


def value_problem(kind: str, key: str, value: Plain) -> tuple[str, str] | None:
    """Return what is wrong with an attribute of TABLE of an op of some type: a code and a message."""
    types, test, wanted = TABLE[key]
    if types and kind not in types:
        return "E0627", f"{kind} has no attribute {key}"
    return None if test(value) else ("E0628", f"attribute {key} {wanted}, not {str(value)[:80]}")


def _check_attribute(op: BudaOp, kind: str, key: str, value: Plain, context: Context) -> None:
    match = INPUT.fullmatch(key)
    if kind == "splice" and match is not None:
        _check_splice_info(op, key, int(match[1]), value, context)
        return
    entry = TABLE.get(key)
    if entry is None:
        able = [name for name, (types, _, _) in TABLE.items() if not types or kind in types]
        context.op(op, "attributes", "E0627", f"there is no attribute '{key[:80]}'", context.found.nearest(key, able))
        return
    types, test, wanted = entry
    if types and kind not in types:
        context.op(op, "attributes", "E0627", f"{kind} has no attribute {key}", f"ops that have it: {', '.join(types)}")
    elif not (value in (0, 1) and type(value) is int if key == "min_buffer_input" else test(value)):
        context.op(op, "attributes", "E0628", f"attribute {key} {wanted}, not {str(value)[:80]}")
    elif key in ("kernel_broadcast", "kernel_broadcast_per_t") and isinstance(value, tuple):
        for pair in value:
            match = INPUT.fullmatch(str(pair[0])) if isinstance(pair, tuple) else None
            if match is not None and op.inputs and int(match[1]) >= len(op.inputs):
                context.op(op, "attributes", "E0628", f"{key} names input {int(match[1])} of {len(op.inputs)}")
    elif key == "single_tile" and op.inputs and isinstance(value, tuple) and max(int(str(x)) for x in value) >= len(op.inputs):
        context.op(op, "attributes", "E0628", f"single_tile names inputs {list(value)[:16]} of {len(op.inputs)}")


def _check_splice_info(op: BudaOp, key: str, index: int, value: Plain, context: Context) -> None:
    if op.inputs and index >= min(len(op.inputs), MAX_SPLICE_INPUTS):
        context.op(op, "attributes", "E0631", f"{key} is given, but it has {len(op.inputs)} inputs")
    elif not _splice_info(value):
        message = f"{key} is [index, length, stride] with index at least 0 and the others at least 1, not {str(value)[:80]}"
        context.op(op, "attributes", "E0631", message)


def _check_together(op: BudaOp, context: Context) -> None:
    """Attributes that ask for each other, or rule each other out."""
    found = op.attributes
    if op.type == "ethernet_datacopy" and "dest_device" in found:
        readers = [context.graph_of.get(reader.name) for reader, _ in context.readers.get(op.name, ())]
        devices = {device for owner in (*readers, *context.outputs.get(op.name, ())) for device in (owner and owner.target_devices) or ()}
        if devices and found.get("dest_device") not in devices:
            message = f"dest_device is {found.get('dest_device')}, but what reads it is on {', '.join(map(str, sorted(devices)))}"
            context.op(op, "attributes", "E0628", message)
    if op.type in ("add", "subtract", "multiply") and "sfpu_execution_thread" in found and op.acc_df != "Int32":
        context.op(op, "attributes", "E0627", f"{op.type} of floating-point numbers does not run on the SFPU: no sfpu_execution_thread")
    if op.type == "depthwise" and found.get("min_buffer_input") == 1:
        context.op(op, "attributes", "E0628", "min_buffer_input of a depthwise product is 0, not 1")
    strips = found.get("num_nz_strips")
    if isinstance(strips, tuple) and op.grid_size is not None and len(strips) != op.grid_size[0] * op.grid_size[1]:
        cores = op.grid_size[0] * op.grid_size[1]
        context.op(op, "attributes", "E0628", f"num_nz_strips lists {len(strips)} numbers for {cores} cores")
    if op.type == "splice" and op.name not in context.misfits:
        for index in range(len(op.inputs)):
            if f"input{index}" not in found and f"input_{index}" not in found:
                context.op(op, "attributes", "E0631", f"attribute input{index} is missing: [index, length, stride] of each input")
    if op.type == "reduce" and "z" in found and found.get("dim") != "z":
        context.op(op, "attributes", "E0628", f"attribute z is of a reduction along z, not {found.get('dim')}")
    if op.type == "reduce" and found.get("dim") == "z" and "z" not in found:
        context.op(op, "attributes", "E0628", "attribute z is missing: how many entries of t a reduction along z takes together")
    if op.type == "matmul" and "z" in found and found.get("accumulate") is not True:
        context.op(op, "attributes", "E0628", "attribute z of a matmul needs accumulate: true")
    if op.type == "matmul" and found.get("accumulate") is True and "z" not in found and found.get("identity") is not True:
        context.op(op, "attributes", "E0628", "attribute z is missing: how many products accumulate adds up")
