"""Rules of data formats: what edges carry, and what ops, accumulators and architectures can do with it."""

from __future__ import annotations

from ttc.dialects.netlist.buda.form import BudaOp
from ttc.dialects.netlist.buda.rules.context import WIDE, Context
from ttc.dialects.tile.facts.sfpu import RESCALES

INTEGERS = ("Int8", "Int32", "UInt8", "UInt16")
SHORT = ("Float16", "Bfp8", "Bfp4", "Bfp2", "Lf8", "Fp8_e4m3")
"""Formats with exponents of five bits; the others have eight."""
NOT_ON_GRAYSKULL = (*INTEGERS, "Fp8_e4m3")
COARSE = ("Bfp2", "Bfp2_b", "Bfp4", "Bfp4_b")
SUMS_IN_L1 = ("Float32", "Int32", "Float16_b")
"""Formats in which packers add up partial sums in L1."""


def check_edges(context: Context) -> None:
    """What an op takes is what its source holds, and a queue holds what its op makes."""
    for _, op in context.all_ops():
        for name, format in zip(op.inputs, op.in_df, strict=False):
            queue, producer = context.queues.get(name), context.ops.get(name)
            held = queue.df if queue is not None else producer.out_df if producer is not None else None
            if held is not None and held != format:
                context.op(op, "in_df", "E0625", f"in_df says {format} for input '{name}', which holds {held}")
    for queue in context.netlist.queues.values():
        producer = context.ops.get(queue.input)
        if producer is not None and None not in (producer.out_df, queue.df) and producer.out_df != queue.df:
            message = f"it holds {queue.df}, but op '{producer.name}', which fills it, makes {producer.out_df}"
            context.queue(queue, "df", "E0625", message)


def check_formats(context: Context) -> None:
    """Check that the architecture has every format, and that the formats of each op go together."""
    for queue in context.netlist.queues.values() if context.only_grayskull else ():
        if queue.df in NOT_ON_GRAYSKULL:
            context.queue(queue, "df", "E0607", f"Grayskull has no format {queue.df}")
    for _, op in context.all_ops():
        _check_accumulator(op, context)
        _check_integers(op, context)
        _check_quantizer(op, context)
        if op.untilize_output:
            _check_untilized(op, context)


def _check_accumulator(op: BudaOp, context: Context) -> None:
    grayskull, found = context.arch.grayskull, op.attributes
    gradient, split = bool(op.gradient_op), _whole(found.get("m_k")) > 1
    if context.only_grayskull and op.acc_df in WIDE:
        context.op(op, "acc_df", "E0607", f"Grayskull does not accumulate in {op.acc_df}", "acc_df: Float16 or Float16_b")
    if grayskull and (gradient or split) and op.out_df and op.intermed_df and (op.out_df in SHORT) != (op.intermed_df in SHORT):
        why = "a gradient" if gradient else "m_k above 1"
        message = f"exponents of intermed_df {op.intermed_df} and out_df {op.out_df} differ in width, which Grayskull cannot mix with {why}"
        context.op(op, "intermed_df", "E0607", message)
    kept = gradient or (op.type == "matmul" and (split or found.get("bias") is True))
    if kept and op.intermed_df in COARSE:
        context.op(op, "intermed_df", "E0607", f"partial results cannot be kept in {op.intermed_df}", "intermed_df: Bfp8_b or wider")
    if found.get("l1_acc") is True and op.type in ("matmul", "depthwise"):
        if grayskull:
            context.op(op, "attributes", "E0607", "Grayskull does not accumulate in L1: l1_acc")
        elif op.intermed_df is not None and op.intermed_df not in SUMS_IN_L1:
            context.op(op, "intermed_df", "E0607", f"l1_acc adds up in {', '.join(SUMS_IN_L1)}, not in {op.intermed_df}")
    if op.type == "matmul" and op.acc_df in WIDE and op.intermed_df and op.intermed_df != op.acc_df:
        if found.get("l1_acc") is True and not grayskull:
            context.op(
                op,
                "intermed_df",
                "E0607",
                f"a product accumulated in {op.acc_df} in L1 has intermed_df {op.acc_df} too, not {op.intermed_df}",
            )
    _check_rounding(op, context)


def _check_rounding(op: BudaOp, context: Context) -> None:
    mode = op.attributes.get("stoch_rnd_mode")
    if mode not in ("fpu", "pack", "all"):
        return
    if context.arch.grayskull:
        context.op(op, "attributes", "E0607", f"Grayskull has no stochastic rounding: stoch_rnd_mode {mode}")
    elif mode in ("fpu", "all") and op.acc_df == "Float32":
        context.op(op, "attributes", "E0607", f"stoch_rnd_mode {mode} does not go with acc_df Float32")
    elif mode in ("pack", "all") and op.out_df in ("Bfp8", "Bfp8_b"):
        context.op(op, "attributes", "E0607", f"stoch_rnd_mode {mode} does not go with out_df {op.out_df}")


def _check_integers(op: BudaOp, context: Context) -> None:
    """Whole numbers stay whole numbers until they are dequantized."""
    found = op.attributes
    integer = any(format in INTEGERS for format in op.in_df) and op.type not in ("topk", "embedding", "tilizer")
    if not integer or found.get("identity") is True or context.only_grayskull:
        return
    dequantizes = op.type in (*RESCALES, "fused_op") or found.get("dequant") is True  # quantizers have a rule of their own
    if op.out_df is not None and op.out_df not in INTEGERS and not dequantizes:
        message = f"its inputs are {', '.join(op.in_df[:8])}: its output is an integer too, not {op.out_df}"
        context.op(op, "out_df", "E0626", message, "a dequantization turns integers into Float32")
    if op.math_fidelity not in (None, "HiFi4"):
        context.op(op, "math_fidelity", "E0626", f"integers are computed at HiFi4, not {op.math_fidelity}")
    if op.acc_df not in (None, "Int32"):
        context.op(op, "acc_df", "E0626", f"integers accumulate in Int32, not in {op.acc_df}")
    if op.intermed_df is not None and op.intermed_df not in ("Int8", "UInt8", "Int32"):
        context.op(op, "intermed_df", "E0626", f"partial results of integers are Int8, UInt8 or Int32, not {op.intermed_df}")
    if op.type == "matmul":
        _check_integer_matmul(op, context)


def _check_integer_matmul(op: BudaOp, context: Context) -> None:
    found = op.attributes
    for index, format in enumerate(op.in_df[:2]):
        if format not in ("Int8", "UInt8"):
            context.op(op, "in_df", "E0626", f"input {index} of a product of integers is Int8 or UInt8, not {format}")
    if found.get("l1_acc") is True:
        context.op(op, "attributes", "E0626", "a product of integers cannot accumulate in L1: l1_acc")
    if found.get("min_buffer_input") == 1:
        context.op(op, "attributes", "E0626", "a product of integers has no min_buffer_input 1")
    scaled = found.get("requant") is True or found.get("dequant") is True
    rest = list(op.in_df[2:])
    if found.get("bias") is True and rest:
        format = rest.pop(0)
        if format != "Int32":
            context.op(op, "in_df", "E0626", f"the bias of a product of integers is Int32, not {format}")
    if scaled and rest and rest[0] != "Float32":
        context.op(op, "in_df", "E0626", f"scales are Float32, not {rest[0]}")


def _check_quantizer(op: BudaOp, context: Context) -> None:
    if op.type not in RESCALES or context.only_grayskull or len(op.in_df) != 2 or op.out_df is None:
        return
    first, second = op.in_df
    legal = {
        "quantization": (("Float32",), ("Int8",)),
        "requantization": (("Int32", "Int8"), ("Int8",)),
        "dequantization": (("Int32", "Int8"), ("Float32",)),
    }[op.type]
    if first not in legal[0] or second != "Float32":
        message = f"{op.type} takes {' or '.join(legal[0])} and a scale in Float32, not {first} and {second}"
        context.op(op, "in_df", "E0626", message)
    if op.out_df not in legal[1]:
        context.op(op, "out_df", "E0626", f"{op.type} makes {' or '.join(legal[1])}, not {op.out_df}")


def _check_untilized(op: BudaOp, context: Context) -> None:
    legal = ("Float16", "Float16_b", "Float32") + (() if context.only_grayskull else ("Int8", "Int32", "UInt8", "UInt16"))
    if op.out_df is not None and op.out_df not in legal:
        context.op(op, "out_df", "E0632", f"an output in {op.out_df} cannot be untilized", f"out_df is one of {', '.join(SUMS_IN_L1)}")


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
