"""Rules for tensor types and for the work of ops."""

from __future__ import annotations

import re
from functools import lru_cache

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import FORMATS, format_named
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.sizes import tile_shape
from ttc.dialects.netlist.violations import Findings

MAX_RANK = 16
MAX_DIMENSION = 1 << 40
MAX_TENSOR_BYTES = 1 << 48
MAX_BODIES = 16
"""The most functions nested in the work of an op."""
STRUCTURED = ("nn.branch", "nn.loop", "nn.row_blocks")
"""Ops that choose at run time among their regions."""
OP_NAME = re.compile(r"(nn|tile|ttc)\.[a-z][a-z0-9_]{0,63}")


@lru_cache(maxsize=4096)
def type_problem(type_: TensorType) -> str | None:
    """Return what is wrong with a tensor type; None if it is well formed."""
    if len(type_.shape) > MAX_RANK:
        return f"rank {len(type_.shape)} is above {MAX_RANK}"
    if any(not -1 <= d <= MAX_DIMENSION for d in type_.shape):
        return f"shape {list(type_.shape)} has an impossible dimension"
    if type_.format not in FORMATS:
        return f"there is no data format '{type_.format[:40]}'"
    try:
        tile = tile_shape(type_.layout)
    except Error as error:
        return error.message
    if tile is not None and -1 in type_.shape:
        return f"shape {list(type_.shape)} depends on data, but its layout is {type_.layout}"
    if -1 not in type_.shape and format_named(type_.format).size_bytes(type_.shape) > MAX_TENSOR_BYTES:
        return f"a tensor of shape {list(type_.shape)} is too large"
    return None


def check_function(function: Function, where: str, found: Findings, bodies: int = 0) -> bool:
    """Values are defined before their use, types are well formed, bodies fit their op.  Returns whether all of it holds."""
    before = len(found.violations)
    types = list(function.inputs)
    for type_ in types:
        _check_type(type_, where, found)
    for work in function.works:
        defined = _check_operands(work, len(types), where, found)
        _check_results(work, where, found)
        operands = [types[i] for i in work.operands if i is not None] if defined else []
        if work.body is not None and defined:
            _check_body(work, work.body, operands, where, found, bodies + 1)
        if work.bodies and defined:
            _check_bodies(work, where, found, bodies + 1)
        types.extend(work.results)
    for value in function.outputs:
        found.require(0 <= value < len(types), "E0609", where, f"the work has no value {value} to give out")
    return len(found.violations) == before


def _check_type(type_: TensorType, where: str, found: Findings) -> None:
    problem = type_problem(type_)
    if problem is not None:
        found.add("E0602" if type_.format in FORMATS else "E0607", where, problem)


def _check_operands(work: Work, values: int, where: str, found: Findings) -> bool:
    found.require(OP_NAME.fullmatch(work.op) is not None, "E0609", where, f"'{work.op[:60]}' is not the name of an op")
    late = [i for i in work.operands if i is not None and not 0 <= i < values]
    return found.require(not late, "E0609", where, f"{work.op} uses value {late[:1]} before its definition")


def _check_results(work: Work, where: str, found: Findings) -> None:
    found.require(bool(work.results), "E0609", where, f"{work.op} has no results")
    for type_ in work.results:
        _check_type(type_, where, found)
    if work.op.startswith("ttc."):
        _check_literal(work, where, found)


def _check_literal(work: Work, where: str, found: Findings) -> None:
    """In a netlist all weights are queues: only constants written out remain."""
    values = work.attrs.get("values")
    literal = work.op == "ttc.constant" and isinstance(values, tuple) and len(work.results) == 1 and not work.operands
    if not found.require(literal, "E0609", where, f"{work.op} is not a literal", hint="weights come in through queues"):
        return
    elements = work.results[0].elements
    text = work.results[0].format == "String"
    kinds = str if text else bool | int | float
    fits = isinstance(values, tuple) and len(values) == elements and all(isinstance(v, kinds) for v in values)
    found.require(fits, "E0602", where, f"a literal of {elements} elements needs as many {'texts' if text else 'numbers'}")


def _check_body(work: Work, body: Function, operands: list[TensorType], where: str, found: Findings, bodies: int) -> None:
    if not found.require(bodies <= MAX_BODIES, "E0609", where, f"bodies nest more than {MAX_BODIES} deep"):
        return
    found.require(list(body.inputs) == operands, "E0602", where, f"the body of {work.op} does not take its operands")
    if not check_function(body, where, found, bodies):
        return
    types = body.value_types
    given = [(types[i].shape, types[i].layout) for i in body.outputs]  # the op packs its result: formats may differ
    wanted = [(result.shape, result.layout) for result in work.results]
    found.require(given == wanted, "E0602", where, f"the body of {work.op} does not give its results")


def _check_bodies(work: Work, where: str, found: Findings, bodies: int) -> None:
    """Regions that an op chooses among at run time: each is sound by itself; what comes in is checked when it does."""
    if not found.require(bodies <= MAX_BODIES, "E0609", where, f"bodies nest more than {MAX_BODIES} deep"):
        return
    found.require(work.body is None and work.op in STRUCTURED, "E0609", where, f"{work.op} has no regions that it chooses among")
    for body in work.bodies:
        if not check_function(body, where, found, bodies):
            return
        on_rows = all(tile_shape(type_.layout) is None for type_ in body.value_types)
        found.require(on_rows, "E0609", where, f"a region of {work.op} holds an op that does not run on the host")
