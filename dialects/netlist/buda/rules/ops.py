"""Rules of single ops: destination register, products, gradients, kernel broadcasts, and the odd ones."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.netlist.buda.form import BudaOp, Tm
from ttc.dialects.netlist.buda.reader_fields import BINARY
from ttc.dialects.netlist.buda.rules.attributes import INPUT
from ttc.dialects.netlist.buda.rules.context import WIDE, Arch, Context
from ttc.dialects.tile.facts.sfpu import SFPU_FUNCTIONS

SHAPED = ("E0623", "E0635")
"""Faults after which the shapes of an op cannot be judged."""
TRANSPOSED = ("nop", "datacopy", "ethernet_datacopy", *SFPU_FUNCTIONS)


def dst_tiles(acc_df: str | None, arch: Arch) -> int:
    """Tiles that a ublock may have: those that half of the destination register holds."""
    return arch.dst_tiles // 2 if acc_df in WIDE else arch.dst_tiles


def check_ops(context: Context) -> None:
    """Rules that hold on every architecture."""
    for _, op in context.all_ops():
        before = len(context.found.violations)
        if op.type == "matmul":
            _check_matmul(op, context)
        elif op.type in ("tilizer", "embedding", "reduce", "splice", "depthwise"):
            _check_odd(op, context)
        _check_flat(op, context)
        if op.gradient_op:
            _check_gradient(op, context)
        _check_pads(op, context)
        _check_transposes(op, context)
        _check_broadcasts(op, context)
        if any(violation.code in SHAPED for violation in context.found.violations[before:]):
            context.misfits.add(op.name)


def check_ops_on_arch(context: Context) -> None:
    """Rules that depend on the architecture."""
    for _, op in context.all_ops():
        _check_dst(op, context)
        if op.type in ("matmul", "depthwise") and not context.arch.grayskull:
            _check_kernel_broadcast(op, context)
        if context.arch.grayskull:
            _check_on_grayskull(op, context)


def _check_on_grayskull(op: BudaOp, context: Context) -> None:
    if op.attributes.get("sfpu_execution_thread") == "pack":
        context.op(op, "attributes", "E0607", "Grayskull runs the SFPU on thread math, not pack")
    if op.gradient_op and op.name not in context.misfits:
        _check_gradient_on_grayskull(op, context)
    if op.type in BINARY and any(tm.kind == "transpose" for tm in op.input_tms.get(0, ())):
        context.op(op, "input_0_tms", "E0623", f"input 0 of {op.type} cannot be transposed on Grayskull")
    if op.type == "ethernet_datacopy":
        context.op(op, "type", "E0607", "Grayskull has no Ethernet")


def _check_gradient_on_grayskull(op: BudaOp, context: Context) -> bool:
    """Report an op that cannot add up gradients on Grayskull, and return whether it is one."""
    if op.type in ("matmul", "multiply", "nop", "datacopy", None):
        return False
    context.op(op, "gradient_op", "E0633", f"{op.type} cannot add up gradients on Grayskull: matmul, multiply and datacopy can")
    return True


def _check_dst(op: BudaOp, context: Context) -> None:
    if op.ublock is None:
        return
    limit, (rt, ct) = dst_tiles(op.acc_df, context.arch), op.ublock
    if rt * ct > limit:
        message = f"ublock {rt}x{ct} is {rt * ct} tiles, but the destination register holds {limit} when accumulating in {op.acc_df}"
        context.op(op, "ublock", "E0624", message, "make the ublock smaller and the mblock larger")
    u_kt = op.attributes.get("u_kt")
    if op.type == "topk" and isinstance(u_kt, int) and u_kt * rt > limit:
        message = f"u_kt {u_kt} times {rt} rows of the ublock is {u_kt * rt} tiles, but the destination register holds {limit}"
        context.op(op, "attributes", "E0624", message)


def _check_transposes(op: BudaOp, context: Context) -> None:
    for index, tms in op.input_tms.items():
        if not any(tm.kind == "transpose" for tm in tms):
            continue
        key, kind = f"input_{index}_tms", op.type
        legal = kind in TRANSPOSED or (kind == "matmul" and index == 1) or kind is None
        if kind in BINARY and index == 0:
            legal = not op.in_df or op.in_df[0] != "Int32"
        if not legal:
            context.op(op, key, "E0623", f"input {index} of {kind} cannot be transposed")


def _check_pads(op: BudaOp, context: Context) -> None:
    for index, tms in op.input_tms.items():
        pads = sum(tm.kind == "pad" for tm in tms) + (index in op.pads)
        if pads > 1:
            context.op(op, f"input_{index}_tms", "E0623", f"input {index} is padded {pads} times: once is all there is")
        if any(tm.kind == "tile_broadcast" for tm in tms):
            context.op(op, f"input_{index}_tms", "E0623", "tile_broadcast is of the ops inside a fused op alone")


# ---- products ----------------------------------------------------------------------------------------------------------------------


def _check_matmul(op: BudaOp, context: Context) -> None:
    found = op.attributes
    identity, bias = found.get("identity") is True, found.get("bias") is True
    for key in ("m_k", "u_kt"):
        if found.get(key) == 0:
            context.op(op, "attributes", "E0629", f"{key} of a matmul is at least 1, not 0")
            context.misfits.add(op.name)
    if op.ublock_order == "c":
        context.op(op, "ublock_order", "E0629", "a matmul makes its ublocks in order r, not c")
    if identity and found.get("accumulate") is True:
        context.op(op, "attributes", "E0629", "a sparse matmul (identity) cannot accumulate over z")
    if found.get("requant") is True and found.get("dequant") is True:
        context.op(op, "attributes", "E0629", "requant and dequant rule each other out")
    scaled = found.get("requant") is True or found.get("dequant") is True
    wanted = 2 + identity + bias + scaled
    if op.inputs and len(op.inputs) != wanted and op.name not in context.misfits:
        parts = ["two factors", *(["encodings"] * identity), *(["a bias"] * bias), *(["scales"] * scaled)]
        message = f"{len(op.inputs)} inputs, but its attributes ask for {wanted}: {', '.join(parts)}"
        context.op(op, "inputs", "E0629", message, "bias: true takes a third input" if not bias and len(op.inputs) == 3 else None)
        context.misfits.add(op.name)
    elif identity and len(op.in_df) > 2 and op.in_df[2] not in ("RawUInt8", "RawUInt16", "RawUInt32"):
        context.op(op, "in_df", "E0629", f"encodings of a sparse matmul are RawUInt8, RawUInt16 or RawUInt32, not {op.in_df[2]}")
    if identity and any(tm.kind != "broadcast" for tm in op.input_tms.get(2, ())):
        context.op(op, "input_2_tms", "E0629", "encodings of a sparse matmul can be broadcast, nothing else")
    if op.untilize_output and found.get("m_k", 1) != 1:
        context.op(op, "untilize_output", "E0632", f"a matmul whose output is untilized has m_k 1, not {found.get('m_k')}")


def _check_kernel_broadcast(op: BudaOp, context: Context) -> None:
    """Tiles kept by the kernel are read again and again: they end where a block ends."""
    u_kt = op.attributes.get("u_kt")
    if op.ublock is None or not isinstance(u_kt, int) or op.attributes.get("identity") is True:
        return
    rt, ct = op.ublock
    for index, tiles in _kernel_broadcasts(op):
        unit = rt * u_kt if index == 0 and ct < rt else ct if index == 1 and ct >= rt else 1
        if unit and tiles % unit:
            context.op(op, "attributes", "E0630", f"kernel_broadcast of {tiles} tiles of input {index} is no multiple of {unit}")


def _kernel_broadcasts(op: BudaOp) -> Sequence[tuple[int, int]]:
    """(input, tiles) of what kernels keep; a single tile is one of one."""
    single = op.attributes.get("single_tile", ())
    found = [(index, 1) for index in single if isinstance(index, int)] if isinstance(single, tuple) else []
    for key in ("kernel_broadcast", "kernel_broadcast_per_t"):
        pairs = op.attributes.get(key, ())
        for pair in pairs if isinstance(pairs, tuple) else ():
            match = INPUT.fullmatch(str(pair[0])) if isinstance(pair, tuple) and len(pair) == 2 else None
            if match is not None and isinstance(pair, tuple) and isinstance(pair[1], int) and pair[1] > 0:
                found.append((int(match[1]), pair[1]))
    return found


def _check_broadcasts(op: BudaOp, context: Context) -> None:
    for index, tiles in _kernel_broadcasts(op):
        tms: tuple[Tm, ...] = op.input_tms.get(index, ())
        if index < len(op.inputs) and not any(tm.kind == "broadcast" for tm in tms) and f"op '{op.name}'" not in context.faulty:
            context.op(
                op, "attributes", "E0630", f"kernel_broadcast of {tiles} tiles of input {index}, which no tile manipulation broadcasts"
            )
            context.misfits.add(op.name)


# ---- the others --------------------------------------------------------------------------------------------------------------------


def _check_gradient(op: BudaOp, context: Context) -> None:
    if op.intermed_df and op.out_df and op.intermed_df != op.out_df:
        message = f"a gradient adds up in its output: intermed_df {op.intermed_df} differs from out_df {op.out_df}"
        context.op(op, "intermed_df", "E0633", message)
    if op.type == "maximum" or op.attributes.get("identity") is True:
        context.op(op, "gradient_op", "E0633", f"{'a sparse matmul' if op.type == 'matmul' else op.type} cannot add up gradients")
        context.misfits.add(op.name)
        return
    if context.alone and _check_gradient_on_grayskull(op, context):
        context.misfits.add(op.name)
        return
    if op.acc_df == "Int32":
        context.op(op, "acc_df", "E0633", "gradients do not add up in Int32")
    transposed = any(tm.kind == "transpose" for tms in op.input_tms.values() for tm in tms)
    if transposed and op.type not in ("matmul", "nop", "datacopy", None):
        context.op(op, "gradient_op", "E0633", f"{op.type} cannot transpose and add up gradients")
    if not context.outputs.get(op.name):
        context.op(op, "gradient_op", "E0633", "no queue takes the gradients", "name it as the input of a ram")


def _check_flat(op: BudaOp, context: Context) -> None:
    """Rows that are not cut into tiles: what a tilizer and an embedding take, and nothing else."""
    for index, name in enumerate(op.inputs):
        queue = context.queues.get(name)
        flat = queue is not None and queue.layout == "flat"
        wanted = op.type in ("tilizer", "embedding") and index == 0
        if op.type is None:
            return
        if queue is not None and flat and not wanted:
            context.op(op, "inputs", "E0635", f"input {index}, '{name}', has layout flat, which {op.type} does not take")
        elif queue is not None and wanted and not flat:
            context.op(op, "inputs", "E0635", f"input {index}, '{name}', is tilized, but {op.type} takes layout flat", "layout: flat")


def _check_odd(op: BudaOp, context: Context) -> None:
    found = op.attributes
    for key, wanted in (("u_kt", found.get("u_kt") == 1), ("m_k", found.get("m_k") != 0)) if op.type == "depthwise" else ():
        if key in found and not wanted:
            context.op(
                op, "attributes", "E0635", f"{key} of a depthwise product is {'1' if key == 'u_kt' else 'at least 1'}, not {found[key]}"
            )
    if op.type == "depthwise" and op.inputs and len(op.inputs) != 2 + (found.get("bias") is True):
        context.op(op, "inputs", "E0635", f"{len(op.inputs)} inputs, but bias is {'true' if found.get('bias') is True else 'not true'}")
    if op.type == "tilizer" and op.input_tms.get(0):
        context.op(op, "input_0_tms", "E0635", "a tilizer has no tile manipulations")
    if op.type == "tilizer" and op.ublock is not None and op.inputs:
        source = context.source(op.inputs[0])
        if source is not None and source.ublock is not None and op.ublock[0] > 1 and source.ublock != op.ublock:
            context.op(
                op, "ublock", "E0635", f"a tilizer with ublocks of {op.ublock[0]} rows has those of its input, {list(source.ublock)}"
            )
    if op.type == "splice" and len(set(op.in_df)) > 1:
        context.op(op, "in_df", "E0631", f"inputs of a splice have one format, not {', '.join(op.in_df[:8])}")
    if op.type == "reduce" and found.get("dim") == "z":
        formats = {op.in_df[0] if op.in_df else None, op.intermed_df, op.out_df} - {None}
        if len(formats) > 1:
            context.op(
                op, "intermed_df", "E0607", f"a reduction along z has one format throughout, not {', '.join(sorted(map(str, formats)))}"
            )
        if op.untilize_output:
            context.op(op, "untilize_output", "E0632", "a reduction along z cannot untilize its output")
    if op.type == "reduce" and op.acc_df == "Float32" and op.in_df and op.in_df[0] in ("Float16", "Bfp8", "Bfp4", "Bfp2", "Lf8"):
        context.op(
            op, "in_df", "E0607", f"a reduction that accumulates in Float32 does not take {op.in_df[0]}, whose exponents have five bits"
        )
    if op.type == "embedding" and op.ublock is not None and op.mblock is not None:
        if op.ublock[0] != 1:
            context.op(op, "ublock", "E0635", f"an embedding makes ublocks of one row, not {op.ublock[0]}")
        indices = found.get("num_indices")
        if isinstance(indices, int) and indices > 0 and indices % 32 == 0 and indices // 32 != op.mblock[0]:
            context.op(
                op, "attributes", "E0635", f"{indices} indices make {indices // 32} rows of tiles a core, but the mblock has {op.mblock[0]}"
            )
