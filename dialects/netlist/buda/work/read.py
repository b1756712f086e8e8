"""From the work of an op to the form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain import Plain
from ttc.dialects.netlist.buda.form import FusedOp, Tm
from ttc.dialects.netlist.buda.work.datacopy import COPIES
from ttc.dialects.netlist.buda.work.families import READS
from ttc.dialects.netlist.buda.work.read_fused import arch_of, read_schedule, same_work, skeleton
from ttc.dialects.netlist.buda.work.read_tms import Manipulated, manipulations
from ttc.dialects.netlist.buda.work.reading import VIEWS, Operand, Parts, Reading
from ttc.dialects.netlist.buda.work.shared import Constant, Diagonal, OpForm, Source
from ttc.dialects.netlist.model import Op

SAID = frozenset(
    (
        *("relu_en", "relu_mode", "relu_threshold", "vector", "slope", "exp", "p", "zero_point", "accumulate", "z", "bias"),
        *("requant", "dequant", "sfpu_op", "identity", "fracture_factor", "sparse_tile_ptr_bits", "sparse_ublock_idx_bits"),
        *("dim", "type", "granularity", "num_indices", "k", "sort", "kreduce", "m_k", "u_kt"),
        *(f"input{i}" for i in range(8)),
    )
)
"""Attributes that works say, of the types that have them."""
_DEFAULTS: dict[str, Plain] = {
    **dict.fromkeys(("relu_en", "accumulate", "bias", "requant", "dequant", "identity", "kreduce"), False),
    **{"relu_mode": "none", "relu_threshold": 0.0, "vector": "rc", "slope": 0.01, "p": 0.0, "zero_point": 0.0, "z": 1},
    **{"sfpu_op": "invalid", "fracture_factor": 1, "granularity": "ublock", "sparse_tile_ptr_bits": 0, "sparse_ublock_idx_bits": 0},
}


def said() -> frozenset[str]:
    """Names of the attributes that works say; the others stay with the op."""
    return SAID


def form_of(op: Op, fused: FusedOp | None = None) -> OpForm:
    """What the work of an op says in words of the format.

    Args:    fused: of a fused_op that was read: taken as it is if it still says what the work says; otherwise a schedule is made.
    Raises:  E0503 for an op or a variant that Buda lacks, naming both.
    """
    try:
        return _form_of(op, fused)
    except Error as error:
        raise error.at(op.name) from None


def _form_of(op: Op, fused: FusedOp | None) -> OpForm:
    work = Reading.of(op)
    if op.type == "fused_op":
        known = None if fused is None else _known(work, fused)
        return known or _joined(work, read_schedule(work), {})
    work, after = _after(work)
    read = READS.get(work.main.op)
    if read is None:
        raise Error("E0503", f"Buda has no op for the work {work.main.op}")
    parts = read(work)
    return _joined(work, parts, after)


def _known(work: Reading, fused: FusedOp) -> OpForm | None:
    """The form with a fused op that is known, if the two mean the work."""
    inputs = len(work.function.inputs)
    if fused.inputs != inputs:
        return None
    operands = tuple(Operand(_last_view(work, i)) for i in range(inputs))
    form = _joined(work, Parts("fused_op", operands, {}, fused), {})
    op = replace(skeleton(work), input_tms=form.tms, pads=form.pads, unpads=form.unpads)
    return form if same_work(op, work.function, fused, arch_of(work.function)) else None


def _last_view(work: Reading, value: int) -> int:
    """The value after the views that the op has on an input; broadcasts within tiles are the sub-ops'."""
    first = next((at for at, made in enumerate(work.function.works) if made.op not in VIEWS), 0)
    for at, made in enumerate(work.function.works[:first], start=len(work.function.inputs)):
        if made.operands == (value,) and made.op != "tile.tile_broadcast":
            value = at
    return value


def _after(work: Reading) -> tuple[Reading, dict[str, Plain]]:
    """The op before what all ops do to their result, and the attributes that this says."""
    attributes: dict[str, Plain] = {}
    while work.main.op in ("tile.retile", "tile.adjust", "tile.relu"):
        if work.main.op == "tile.relu":
            attributes = relu_said(work.main.attrs)
        work = work.at(work.main.operands[0])
    return work, attributes


def relu_said(attrs: Mapping[str, Plain]) -> dict[str, Plain]:
    """Attributes of the format that those of a tile.relu say."""
    return {"relu_en": True, "relu_mode": attrs["mode"], "relu_threshold": attrs["threshold"]}


def _joined(work: Reading, parts: Parts, after: Mapping[str, Plain]) -> OpForm:
    sources: list[Source] = []
    found: list[Manipulated] = []
    for operand in parts.operands:
        source, manipulated = (operand, Manipulated()) if isinstance(operand, Constant) else _operand(work, operand)
        sources.append(source)
        found.append(manipulated)
    tms = {i: item.tms for i, item in enumerate(found) if item.tms} | {i: tms for i, tms in parts.tms.items() if tms}
    type_ = parts.type
    if type_ == "nop" and work.op.type in COPIES:
        type_ = work.op.type
    attributes = {**parts.attributes, **after}
    if work.op.inner is not None and type_ in ("matmul", "reduce", "depthwise", "topk"):
        attributes = {"m_k": work.op.inner[0], "u_kt": work.op.inner[1]} | attributes
    return OpForm(
        type_,
        tuple(sources),
        tms,
        _present(found, "pad"),
        _present(found, "unpad"),
        attributes,
        parts.fused,
    )


def _operand(work: Reading, operand: Operand) -> tuple[Source, Manipulated]:
    source, views = work.chain(operand.value)
    item = manipulations(views, bias=operand.bias)
    if operand.tail and item.pad is not None:
        item = Manipulated((*item.tms, Tm("pad", item.pad)), None, item.unpad)
    if operand.diagonal:
        if not isinstance(source, int):
            raise Error("E0503", "a depthwise product of Buda needs its weights in a queue")
        source = Diagonal(source)
    return source, Manipulated((*item.tms, *operand.tail), item.pad, item.unpad)


def _present(found: list[Manipulated], name: str) -> dict[int, Any]:
    return {i: getattr(item, name) for i, item in enumerate(found) if getattr(item, name) is not None}


def merged(written: Mapping[str, Plain], form: OpForm) -> dict[str, Plain]:
    """The attributes of an op: what its work says, and what was written beside that; as it was written where both say the same."""
    result: dict[str, Plain] = {}
    for name, value in written.items():
        if name not in SAID:
            result[name] = value
        elif name in form.attributes:
            result[name] = value if _same(value, form.attributes[name]) else form.attributes[name]
        elif name in ("m_k", "u_kt") or value == _DEFAULTS.get(name):
            result[name] = value
        elif name in ("relu_mode", "relu_threshold") and not form.attributes.get("relu_en"):
            result[name] = value
    return result | {name: value for name, value in form.attributes.items() if name not in result and not _implied(name, value, form)}


def _same(a: Plain, b: Plain) -> bool:
    return (a.lower() == b.lower()) if isinstance(a, str) and isinstance(b, str) else a == b


def _implied(name: str, value: Plain, form: OpForm) -> bool:
    """Whether an attribute may be left out as the default."""
    if name == "sparse_ublock_idx_bits" and value == form.attributes.get("sparse_tile_ptr_bits"):
        return True
    return name in _DEFAULTS and _same(value, _DEFAULTS[name])
