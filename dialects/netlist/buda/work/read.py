"""From the work of an op to the form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.form import Tm
from ttc.dialects.netlist.buda.work.datacopy import COPIES
from ttc.dialects.netlist.buda.work.families import READS
from ttc.dialects.netlist.buda.work.read_fused import read_schedule
from ttc.dialects.netlist.buda.work.read_tms import Manipulated, manipulations
from ttc.dialects.netlist.buda.work.reading import Operand, Parts, Reading, relu_said
from ttc.dialects.netlist.buda.work.shared import Diagonal, ImpliedConstant, OpForm, Source
from ttc.dialects.netlist.model import Op


def form_of(op: Op) -> OpForm:
    """Return what the work of an op says in words of the format.

    Raises:  E0503 for an op or a variant that Buda lacks, naming both; for a fused_op of Buda with products or maxima, whose works do not
             say which blocks they have.  E0609 for works that no verifier has seen.
    """
    try:
        return _form_of(op)
    except Error as error:
        raise error.at(op.name) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # Works of our compiler have the attributes that their ops ask for; an archive may be made by others.
        raise Error("E0609", f"its work cannot be read: {type(error).__name__}: {str(error)[:200]}", where=op.name) from error


def _form_of(op: Op) -> OpForm:
    work = Reading.of(op)
    if op.type == "fused_op":
        return _joined(work, read_schedule(work), {})
    work, after = _after(work)
    read = READS.get(work.main.op)
    if read is None:
        raise Error("E0503", f"Buda has no op for the work {work.main.op}")
    parts = read(work)
    return _joined(work, parts, after)


def _after(work: Reading) -> tuple[Reading, dict[str, Plain]]:
    """Return the op before what all ops do to their result, and the attributes that this says."""
    attributes: dict[str, Plain] = {}
    while work.main.op in ("tile.retile", "tile.adjust", "tile.relu"):
        if work.main.op == "tile.relu":
            attributes = relu_said(work.main.attrs)
        work = work.at(work.main.operands[0])
    return work, attributes


def _joined(work: Reading, parts: Parts, after: Mapping[str, Plain]) -> OpForm:
    sources: list[Source] = []
    found: list[Manipulated] = []
    for operand in parts.operands:
        source, manipulated = (operand, Manipulated()) if isinstance(operand, ImpliedConstant) else _operand(work, operand)
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
