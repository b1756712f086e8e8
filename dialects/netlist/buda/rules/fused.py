"""Rules of fused ops: what they are made of, the order in their schedules, and broadcasts inside."""

from __future__ import annotations

import re

from ttc.dialects.netlist.buda.form import BudaOp, FusedOp, SubOp
from ttc.dialects.netlist.buda.reader_fields import ARITY, BINARY
from ttc.dialects.netlist.buda.rules.attributes import value_problem
from ttc.dialects.netlist.buda.rules.context import Context
from ttc.dialects.netlist.buda.rules.fused_flow import PRODUCTS, Fusion, check_flow
from ttc.dialects.netlist.buda.rules.ops import dst_tiles
from ttc.dialects.tile.facts.sfpu import RESCALES

FIELDS = ("type", "inputs", "output", "mblock", "ublock")
SOURCE = re.compile(r"input[0-9]{1,3}|intermed[0-9]{1,3}|dest")
SINK = re.compile(r"intermed[0-9]{1,3}|dest|output")
MAX_INTERMEDIATES = 8
TABLE = ("m_k", "u_kt", "vector", "type", "dim", "relu_en", "relu_threshold", "relu_mode", "p", "seed", "slope", "exp", "zero_point")


def check_fused(context: Context) -> None:
    """Rules that hold on every architecture."""
    users = _users(context)
    for name, fused in context.netlist.fused_ops.items():
        fusion = Fusion(fused, tuple(users.get(name, ())), context)
        if f"fused op '{name}'" in context.faulty:
            if _readable(fusion):
                check_flow(fusion, blocks=False)
        elif _check_parts(fusion):
            before = len(context.found.violations)
            _check_order(fusion)
            astray = any(violation.code in ("E0641", "E0642") for violation in context.found.violations[before:])
            for _, _, sub in fusion.sub_ops():
                _check_broadcasts(sub, fusion)
            if not astray:  # values go where they should
                check_flow(fusion)


def check_fused_on_arch(context: Context) -> None:
    """Rules that depend on the architecture, for each op that runs a fused op."""
    users = _users(context)
    for name, fused in context.netlist.fused_ops.items():
        fusion = Fusion(fused, tuple(users.get(name, ())), context)
        limit = min((dst_tiles(op.acc_df, context.arch) for op in fusion.users), default=context.arch.dst_tiles)
        for _, _, sub in fusion.sub_ops():
            if sub.ublock is not None and sub.ublock[0] * sub.ublock[1] > limit:
                rt, ct = sub.ublock
                message = f"ublock {rt}x{ct} is {rt * ct} tiles, but the destination register holds {limit}"
                fusion.report(sub, "ublock", "E0624", message, "make the ublock smaller and the mblock larger")
            if context.arch.grayskull and len(sub.inputs) == ARITY.get(sub.type or "") == 2 and sub.inputs[1] == "dest":
                message = "input 1 is dest: on Grayskull input 0 alone can come from there"
                fusion.report(sub, "inputs", "E0641", message, "swap the inputs, or let an intermediate hold the value")


def _users(context: Context) -> dict[str, list[BudaOp]]:
    """Return ops by the fused op that they run; ops that name none are reported once, in the rules of all architectures."""
    users: dict[str, list[BudaOp]] = {}
    for _, op in context.all_ops():
        if op.type == "fused_op":
            users.setdefault(str(op.attributes.get("fused_op_id")), []).append(op)
    return users


def _check_integers(op: BudaOp, fused: FusedOp, context: Context) -> None:
    """A fused op that accumulates in Int32 holds ops of two inputs and copies, and ends in integers unless it dequantizes."""
    for schedule in fused.schedules:
        for sub in schedule:
            if sub.type is not None and sub.type not in (*BINARY, "nop", "datacopy") and not context.found.full:
                message = f"fused op '{fused.name}' accumulates in Int32, in which its sub-op '{sub.name}' cannot compute {sub.type}"
                context.op(op, "acc_df", "E0626", message)
    last = _last(fused)
    legal = ("Float32",) if last is not None and last.type == "dequantization" else ("Int8", "Int32")
    if last is not None and op.out_df is not None and op.out_df not in legal:
        context.op(op, "out_df", "E0626", f"its last sub-op is {last.type}: it makes {' or '.join(legal)}, not {op.out_df}")


def _check_relu(op: BudaOp, fused: FusedOp, context: Context) -> None:
    """Where both say what becomes of negative results, they agree."""
    sub = _last(fused)
    for key in ("relu_en", "relu_mode", "relu_threshold") if sub is not None else ():
        if sub is not None and key in op.attributes and key in sub.attributes and op.attributes[key] != sub.attributes[key]:
            message = f"{key} is {op.attributes[key]}, but {sub.attributes[key]} in sub-op '{sub.name}' of fused op '{fused.name}'"
            context.op(op, "attributes", "E0640", message)


def _last(fused: FusedOp) -> SubOp | None:
    """The sub-op at the end, if it makes the output."""
    last = fused.schedules[-1][-1] if fused.schedules and fused.schedules[-1] else None
    return last if last is not None and last.output == "output" else None


def check_users(context: Context) -> None:
    """Ops that run a fused op name one, and give it as many inputs as it takes."""
    for name, ops in _users(context).items():
        fused = context.netlist.fused_ops.get(name)
        integers = [op for op in ops if op.acc_df == "Int32"]
        if fused is not None and integers:
            _check_integers(integers[0], fused, context)
        for op in ops:
            if fused is None:
                if "fused_op_id" in op.attributes:
                    hint = f"there are {', '.join(list(context.netlist.fused_ops)[:16])}" if context.netlist.fused_ops else "there are none"
                    context.op(op, "attributes", "E0601", f"there is no fused op '{name}'", hint)
            elif fused.inputs is not None and op.inputs and fused.inputs != len(op.inputs):
                context.op(op, "inputs", "E0640", f"it has {len(op.inputs)} inputs, but fused op '{name}' takes {fused.inputs}")
                context.misfits.add(op.name)
            if fused is not None:
                _check_relu(op, fused, context)


def _readable(fusion: Fusion) -> bool:
    """Return whether the reader could read what each sub-op takes, makes and pops, so that the faults it found are elsewhere."""
    fields = ("inputs", "output", "pop", "pop_last")
    return all(getattr(sub, key) or (key not in sub.lines and "pop" in key) for _, _, sub in fusion.sub_ops() for key in fields)


# ---- parts -------------------------------------------------------------------------------------------------------------------------


def _check_parts(fusion: Fusion) -> bool:
    """Fields, names and counts.  Returns whether the rest can be judged."""
    fused, before = fusion.fused, len(fusion.context.found.violations)
    for key in ("inputs", "intermediates"):
        if getattr(fused, key) is None and key not in fused.lines:
            fusion.report(None, "", "E0614", f"{key} is missing")
    if (fused.intermediates or 0) > MAX_INTERMEDIATES:
        fusion.report(None, "intermediates", "E0640", f"{fused.intermediates} intermediates: there are at most {MAX_INTERMEDIATES}")
    if not any(fused.schedules):
        code, message = ("E0640", "its schedules are empty") if "schedules" in fused.lines else ("E0614", "schedules are missing")
        fusion.report(None, "schedules", code, message)
    seen: set[tuple[int, str]] = set()
    for s, _, sub in fusion.sub_ops():
        if (s, sub.name) in seen:
            fusion.report(sub, "", "E0640", "its schedule has another sub-op of this name")
        seen.add((s, sub.name))
        _check_sub_op(sub, fusion)
    used = {name for _, _, sub in fusion.sub_ops() for name in sub.inputs}
    whole = len(fusion.context.found.violations) == before and not {op.name for op in fusion.users} & fusion.context.misfits
    for index in range(min(fused.inputs or 0, 64) if whole else 0):
        if f"input{index}" not in used and used:
            fusion.report(None, "inputs", "E0640", f"no sub-op reads input{index}")
    outputs = [sub for _, _, sub in fusion.sub_ops() if sub.output == "output"]
    if len(outputs) > 1:
        fusion.report(outputs[1], "output", "E0640", f"sub-op '{outputs[0].name}' makes the output already")
    if not outputs and whole and any(fused.schedules):
        fusion.report(None, "", "E0640", "no sub-op makes the output")
    return len(fusion.context.found.violations) == before


def _check_sub_op(sub: SubOp, fusion: Fusion) -> None:
    fused = fusion.fused
    for key in FIELDS:
        if getattr(sub, key) in (None, ()) and key not in sub.lines:
            fusion.report(sub, "", "E0614", f"{key} is missing")
    if sub.type is not None and sub.type not in ARITY:
        nested = "a fused op cannot hold another" if sub.type == "fused_op" else f"{sub.type} cannot be part of a fused op"
        fusion.report(sub, "type", "E0640", nested)
    elif sub.type is not None and "inputs" in sub.lines and len(sub.inputs) != ARITY[sub.type]:
        fusion.report(sub, "inputs", "E0640", f"{sub.type} takes {ARITY[sub.type]} inputs, not {len(sub.inputs)}")
    limits = {"input": fused.inputs, "intermed": fused.intermediates}
    for key, names, legal in (("inputs", sub.inputs, SOURCE), ("output", (sub.output,) if sub.output else (), SINK)):
        for name in names:
            kind = name.rstrip("0123456789")
            limit = limits.get(kind)
            if legal.fullmatch(name) is None:
                takes = "input<i>, intermed<i> or dest" if key == "inputs" else "intermed<i>, dest or output"
                fusion.report(sub, key, "E0640", f"{key} names '{name[:60]}': it takes {takes}")
            elif limit is not None and int(name[len(kind) :]) >= limit:
                fusion.report(sub, key, "E0640", f"{key} names {name}, but there are {limit} {kind}{'s' if kind == 'input' else 'iates'}")
    for key, names in (("pop", sub.pop), ("pop_last", sub.pop_last)):
        for name in names:
            if (
                name not in sub.inputs
                and len(sub.inputs) == ARITY.get(sub.type or "")
                and all(SOURCE.fullmatch(name) for name in sub.inputs)
            ):
                fusion.report(sub, key, "E0644", f"{key} names '{name[:60]}', which it does not read")
    for key, value in sub.attributes.items():
        if key not in TABLE:
            fusion.report(sub, "attributes", "E0627", f"there is no attribute '{key[:80]}'", fusion.context.found.nearest(key, TABLE))
        elif sub.type is not None and key not in ("m_k", "u_kt") and (problem := value_problem(sub.type, key, value)) is not None:
            fusion.report(sub, "attributes", *problem)
    if sub.type in PRODUCTS and "attributes" not in sub.lines or (sub.type in PRODUCTS and sub.attributes):
        for key in ("m_k", "u_kt", *(("type", "dim") if sub.type == "reduce" else ())):
            value = sub.attributes.get(key)
            if value is None or (key in ("m_k", "u_kt") and (not isinstance(value, int) or value < 1)):
                fusion.report(sub, "attributes", "E0628", f"attribute {key} of a {sub.type} is {'missing' if value is None else value}")
        if sub.type == "reduce" and sub.attributes.get("dim") not in ("r", "c", None):
            fusion.report(sub, "attributes", "E0628", f"a reduction inside a fused op is along r or c, not {sub.attributes['dim']}")


# ---- order -------------------------------------------------------------------------------------------------------------------------


def _check_order(fusion: Fusion) -> None:
    """Products end their schedules; the destination register passes from each op to the next."""
    for schedule in fusion.fused.schedules:
        previous: SubOp | None = None
        for index, sub in enumerate(schedule):
            last = index == len(schedule) - 1
            before = len(fusion.context.found.violations)
            _check_product(sub, last, fusion)
            fits = len(fusion.context.found.violations) == before
            if previous is not None and previous.output == "dest" and "dest" not in sub.inputs:
                fusion.report(sub, "inputs", "E0641", f"'{previous.name}' before it leaves its result in dest, which it does not read")
            if "dest" in sub.inputs and (previous is None or previous.output != "dest"):
                before = "nothing is" if previous is None else f"'{previous.name}' before it puts nothing"
                fusion.report(sub, "inputs", "E0641", f"it reads dest, but {before} there")
            if "dest" in sub.inputs and sub.type in (*PRODUCTS, "maximum"):
                fusion.report(sub, "inputs", "E0641", f"{sub.type} cannot read dest")
            if last and sub.output == "dest" and fits:
                fusion.report(sub, "output", "E0641", "it is the last of its schedule and leaves its result in dest, where nobody reads it")
            if sub.output == "dest" and sub.type in (*RESCALES, "maximum"):
                fusion.report(sub, "output", "E0641", f"{sub.type} runs on the SFPU with two inputs and cannot leave its result in dest")
            previous = sub


def _check_product(sub: SubOp, last: bool, fusion: Fusion) -> None:
    if sub.type not in PRODUCTS:
        return
    if not last:
        fusion.report(sub, "", "E0642", f"a {sub.type} ends its schedule, but others come after it", "begin another schedule after it")
    m_k = sub.attributes.get("m_k")
    many = isinstance(m_k, int) and m_k > 1
    if many and sub.output is not None and not sub.output.startswith("intermed"):
        message = f"a {sub.type} with m_k {m_k} collects its result in an intermediate, not in {sub.output}"
        fusion.report(sub, "output", "E0642", message, "let another sub-op copy the intermediate to the output")
    if sub.type == "matmul" and many and not sub.inputs[1].startswith("input"):
        fusion.report(sub, "inputs", "E0642", f"input 1 of a matmul with m_k {m_k} is an input of the fused op, not {sub.inputs[1]}")


# ---- broadcasts --------------------------------------------------------------------------------------------------------------------


def _check_broadcasts(sub: SubOp, fusion: Fusion) -> None:
    for index, tms in sub.input_tms.items():
        key = f"input_{index}_tms"
        if index >= len(sub.inputs):
            fusion.report(sub, key, "E0616", f"there is no input {index}: it has {len(sub.inputs)}")
            continue
        dims = [tm.args[0] for tm in tms if tm.kind == "broadcast"]
        for tm in tms:
            if tm.kind == "tile_broadcast":
                if index != 1 or sub.type not in ("add", "subtract", "multiply"):
                    message = f"tile_broadcast is of input 1 of add, subtract and multiply, not of input {index} of {sub.type}"
                    fusion.report(sub, key, "E0643", message)
            elif tm.kind != "broadcast":
                fusion.report(sub, key, "E0643", f"there is no {tm.kind} inside a fused op", "put it on the input of the fused op itself")
        if not dims:
            continue
        if not sub.inputs[index].startswith("intermed"):
            message = f"input {index} is {sub.inputs[index]}: inside a fused op intermediates alone can be broadcast"
            fusion.report(sub, key, "E0643", message, "broadcast the input of the fused op itself")
        elif "z" in dims:
            fusion.report(sub, key, "E0643", "there is no broadcast along z inside a fused op")
        elif len(set(dims)) > 1:
            fusion.report(sub, key, "E0643", f"input {index} is broadcast along r and c: one of them is all there is inside a fused op")
