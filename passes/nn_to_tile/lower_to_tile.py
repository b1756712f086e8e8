"""From dialect nn to dialect tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, TensorType
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import set_type
from ttc.dialects.core.ir.entries import Port, ports, programs_of_functions
from ttc.dialects.core.ir.leaves import LeafOp, StateOp
from ttc.dialects.core.ir.locations import where
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile.base import TileType, tile_of
from ttc.dialects.tile.facts import find
from ttc.dialects.tile.host import ToHostOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.declined import Declined
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.binary import lower_elementwise
from ttc.passes.nn_to_tile.lowering import FunctionLowering, Rule
from ttc.passes.nn_to_tile.normalization import lower_along_rows
from ttc.passes.nn_to_tile.rows import in_rows


@record
class LowerToTile(Pass):
    """Rebuild each entry function in dialect tile, on tiles in the target's formats and layout.

    Before:
        (%x: tensor<2x8xf32>)
        %0 = nn.leaky_relu(%x) {alpha = 0.1} : (tensor<2x8xf32>) -> tensor<2x8xf32>
        return %0 : tensor<2x8xf32>
    After:
        (%x: !tile.tensor<"2x8xFloat32", "tiles(32, 32)">)
        %0 = tile.map(%x) {fn = "leaky_relu", names = ["alpha"], values = [0.1]}
            : (!tile.tensor<"2x8xFloat32", "tiles(32, 32)">) -> !tile.tensor<"2x8xFloat32", "tiles(32, 32)">
        return %0 : !tile.tensor<"2x8xFloat32", "tiles(32, 32)">
    Missed:  an op has no rule, or its rule does not take it, or the target lacks a format for its values: it runs on the host, between
             tile.to_host and tile.from_host.
    """

    name = "lower-to-tile"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for functions in programs_of_functions(unit.module):
            folds: dict[str, int] = {}
            for function in functions:
                _lower_function(function, unit, rewriter, folds)
                folds |= _folds(function)


def _folds(function: func.FuncOp) -> dict[str, int]:
    """Return the folds of the results that a function which runs after this one may take, by name."""
    block = function.body.block
    returned = block.last_op.operands if block.last_op is not None else ()
    return {port.name: tile_of(x).fold for port, x in zip(ports(function)[1], returned, strict=True) if isinstance(x.type, TileType)}


def _lower_function(function: func.FuncOp, unit: Unit, rewriter: Rewriter, folds: Mapping[str, int]) -> None:
    """Lower one function.  folds: of arguments that another function gives."""
    old = function.body.block
    ops = list(old.ops)
    low = FunctionLowering(unit, ops)
    low.add_arguments(old.args)
    for port, argument in zip(ports(function)[0], old.args, strict=True):
        if port.name in folds:
            low.expect(argument, folds[port.name])
    returned: Sequence[SSAValue] = ()
    for op in ops:
        if isinstance(op, NNOp):
            _lower_op(op, low, rewriter)
        elif isinstance(op, LeafOp):
            low.add_leaf(op.results[0], op)
        elif isinstance(op, func.ReturnOp):
            returned = op.operands
        else:
            raise Error("E0305", f"{op.name} does not belong to stage nn", where=where(op))
    dtypes = [spec_of(v.type).dtype for v in old.args], [spec_of(v.type).dtype for v in returned]
    results = [_lower_result(value, low, summed=port.summed) for value, port in zip(returned, ports(function)[1], strict=True)]
    for state in [op.result for op in ops if isinstance(op, StateOp) and op.result.first_use is None]:
        _lower_result(state, low)
    for argument in old.args:
        if low.is_tile(argument):
            low.tile(argument)
    low.block.add_op(func.ReturnOp(*results))
    _drop_unused(low, rewriter)
    function.body.detach_block(old)  # as nothing but its own ops uses its values, it need not be taken apart
    function.body.add_block(low.block)
    _retype(function, dtypes)


def _lower_op(op: NNOp, low: FunctionLowering, rewriter: Rewriter) -> None:
    low.location = op.location
    try:
        results = _apply_rule(op, low)
    except Declined as declined:
        rewriter.missed(op, f"{op.name} runs on the host: {declined}")
        _keep_on_host(op, low)
        return
    if not rewriter.allow(f"lower-{op.name.removeprefix('nn.')}", op):
        _keep_on_host(op, low)
        return
    for value, tile in zip(op.results, [results] if isinstance(results, SSAValue) else results, strict=True):
        low.add_tile(value, tile)


def _apply_rule(op: NNOp, low: FunctionLowering) -> SSAValue | Sequence[SSAValue]:
    mnemonic = op.name.removeprefix("nn.")
    rule = TO_TILE.get(mnemonic) or rule_of_kind(type(op)) or TO_TILE.of(mnemonic)
    if rule is None:
        raise Declined(TO_TILE.refusals()[mnemonic])
    for value in (*op.operands, *op.results):
        refusal = None if low.is_placed(value) else low.refusal(value)
        if refusal is not None:
            raise Declined(refusal)
    for value in op.results:
        if low.ranges.wraps(value):
            raise Declined(f"numbers may exceed {spec_of(value.type).dtype}, and {low.format(spec_of(value.type).dtype)} is wider")
    return rule(op, low)


def rule_of_kind(kind: type[NNOp]) -> Rule | None:
    """Return the lowering of an op that the table need not name: of elementwise ops, and of ops that a tile op means the same as."""
    if getattr(kind, "ELEMENTWISE", False):
        return lower_elementwise
    found = find(f"tile.{kind.name.removeprefix('nn.')}")
    if found is None or not found.as_nn:
        return None
    return lower_along_rows if found.steps else in_rows if found.rows_only else None


def _keep_on_host(op: NNOp, low: FunctionLowering) -> None:
    operands = [None if v is None else low.host(v) for v in op.named_operands()]
    regions = [region.clone() for region in op.regions]
    new = low.add(type(op).make(operands, op.plain_attrs(), [r.type for r in op.results], op.location, regions))
    for value, result in zip(op.results, new.results, strict=True):
        low.add_host(value, result)


def _lower_result(value: SSAValue, low: FunctionLowering, *, summed: bool = False) -> SSAValue:
    """A result that only the host has is not taken to the device to be returned, unless sums of it are what the device goes on with."""
    if isinstance(value.owner, Operation):
        low.location = value.owner.location
    if (summed or low.is_tile(value)) and low.refusal(value) is None:
        return low.tile(value)
    return low.host(value)


def _drop_unused(low: FunctionLowering, rewriter: Rewriter) -> None:
    """Drop what nothing reads, and leave on the host the arguments that only the host reads."""
    for op in reversed(list(low.block.ops)):
        rewriter.erase_dead(op)
    for argument in low.block.args:
        readers = [use.operation for use in argument.uses]
        if readers and all(isinstance(reader, ToHostOp) for reader in readers):
            set_type(argument, readers[0].results[0].type)
            for reader in readers:
                rewriter.replace(reader, argument)


def _retype(function: func.FuncOp, dtypes: tuple[list[Any], list[Any]]) -> None:
    """The function's type from its block; ports keep the dtypes that the source gave them."""
    block = function.body.block
    returned = block.last_op.operands if block.last_op is not None else ()
    arguments, results = ports(function)
    function.arg_attrs = ArrayAttr([_typed(p, a, d).attribute() for p, a, d in zip(arguments, block.args, dtypes[0], strict=True)])
    function.res_attrs = ArrayAttr([_typed(p, r, d).attribute() for p, r, d in zip(results, returned, dtypes[1], strict=True)])
    function.function_type = FunctionType.from_lists([a.type for a in block.args], [r.type for r in returned])


def _typed(port: Port, value: SSAValue, dtype: Any) -> Port:
    return port if isinstance(value.type, TensorType) or port.dtype is not None else replace(port, dtype=dtype)
