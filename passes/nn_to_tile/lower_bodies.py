"""The pass that lowers bodies of loops and branches that data decides: the host computes them by the kernels that it has for all else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ttc.dialects.core.ir.adapter import set_type
from ttc.dialects.core.ir.entries import Port, entry_functions, finish_function, make_function
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.ir.spec import spec_of, tensor_type
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.blocks import RowBlocksOp
from ttc.dialects.nn.control import ControlOp, LoopOp, YieldOp, is_written_out
from ttc.dialects.tile.base import TileOp
from ttc.dialects.tile.host import FromHostOp, ToHostOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.canonicalize import Canonicalize
from ttc.passes.nn.channels_last import ChannelsLast
from ttc.passes.nn.fold_shapes import FoldShapes
from ttc.passes.nn.fold_transpose import FoldTranspose
from ttc.passes.nn.fuse_activation import FuseActivation
from ttc.passes.nn.fuse_bias import FuseBias
from ttc.passes.nn.lower_batch_norm import LowerBatchNorm
from ttc.passes.nn.lower_pool import LowerPool
from ttc.passes.nn.lower_resize import LowerResize
from ttc.passes.nn.recognize_attention import RecognizeAttention
from ttc.passes.nn.recognize_gelu import RecognizeGelu
from ttc.passes.nn.recognize_layer_norm import RecognizeLayerNorm
from ttc.passes.nn.recognize_rms_norm import RecognizeRmsNorm
from ttc.passes.nn.recognize_swish import RecognizeSwish
from ttc.passes.nn.simplify_algebra import SimplifyAlgebra
from ttc.passes.nn_to_tile.lower_to_tile import LowerToTile
from ttc.passes.tile.cancel_tms import CancelTms
from ttc.passes.tile.fuse_eltwise import FuseEltwise
from ttc.passes.tile.legalize_tile import LegalizeTile

_STEPS: tuple[Pass, ...] = (
    FoldShapes(),
    Canonicalize(),
    FoldTranspose(),
    RecognizeGelu(),
    RecognizeSwish(),
    RecognizeLayerNorm(),
    RecognizeRmsNorm(),
    RecognizeAttention(),
    SimplifyAlgebra(),
    LowerBatchNorm(),
    LowerPool(),
    FuseBias(),
    ChannelsLast(),
    LowerResize(),
    FoldTranspose(),
    FuseActivation(),
    Canonicalize(),
    LowerToTile(),
    LegalizeTile(),
    CancelTms(),
    FuseEltwise(),
)
"""What makes tile ops of a body, whose values keep the formats of the source."""

_ELEMENTS = 4096
"""Elements of a result that take as long as an op."""


@record
class LowerBodies(Pass):
    """Rebuild the regions of loops and branches in dialect tile, on the rows of the host, which runs them.

    What a region takes and yields stays a tensor: tile.from_host and tile.to_host stand at its borders.  Ops on values whose shapes depend
    on data stay ops of dialect nn.

    Before:
        (%n: tensor<i64>, %x: tensor<2xf32>)
        %0 = nn.loop(%n, _, %x) {carried = 1} : (tensor<i64>, tensor<2xf32>) -> tensor<2xf32> {
        ^bb0(%i: tensor<i64>, %a: tensor<2xf32>):
          %1 = nn.exp(%a) : (tensor<2xf32>) -> tensor<2xf32>
          nn.yield(%1) : (tensor<2xf32>) -> ()
        }
        return %0 : tensor<2xf32>
    After:
        (%n: tensor<i64>, %x: tensor<2xf32>)
        %0 = nn.loop(%n, _, %x) {carried = 1} : (tensor<i64>, tensor<2xf32>) -> tensor<2xf32> {
        ^bb0(%i: tensor<i64>, %a: tensor<2xf32>):
          %b = tile.from_host(%a) : (tensor<2xf32>) -> !tile.tensor<"2xFloat32", "rows">
          %1 = tile.map(%b) {fn = "exp"} : (!tile.tensor<"2xFloat32", "rows">) -> !tile.tensor<"2xFloat32", "rows">
          %c = tile.to_host(%1) : (!tile.tensor<"2xFloat32", "rows">) -> tensor<2xf32>
          nn.yield(%c) : (tensor<2xf32>) -> ()
        }
        return %0 : tensor<2xf32>
    Missed:
        too few ops of the regions have kernels for a plan to be faster than to interpret them.
    """

    name: ClassVar[str] = "lower-bodies"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            for op in [op for op in function.body.block.ops if isinstance(op, ControlOp)]:
                _lower(op, unit, rewriter)


def _lower(op: ControlOp, unit: Unit, rewriter: Rewriter) -> None:
    """Lower what pays of an op and of those inside it, all or nothing: what holds a region that is planned has to be planned, too."""
    copy = op.clone()
    rewriter.insert(op, copy)
    for inner in list(_inside(copy)):
        regions = _lowered(inner, unit, rewriter)
        if _pays(inner.regions, regions):
            rewriter.replace(inner, _rebuilt(inner, regions, rewriter).results)
    regions = _lowered(copy, unit, rewriter)
    if not _pays(copy.regions, regions):
        rewriter.missed(op, "its regions are interpreted: too few of their ops have kernels")
    elif rewriter.allow("lower-bodies", op):
        rewriter.replace(op, _rebuilt(copy, regions, rewriter).results)
    copy.detach()
    copy.erase()


def _lowered(op: ControlOp, unit: Unit, rewriter: Rewriter) -> list[Region]:
    """Return the regions of an op in dialect tile."""
    regions = [region.clone() for region in op.regions]
    for region in regions:
        _sink_literals(op, region.block)
        _lower_region(region, Unit(ModuleOp([]), unit.weights, load_target("host")), rewriter)
    return regions


def _pays(before: Sequence[Region], after: Sequence[Region]) -> bool:
    """Return whether plans of regions run faster than their ops one by one; if regions inside them are planned, they have to be, too.

    An op that is interpreted takes about 7 us, a plan that is machine code throughout 5 us a call, and another one 12 us, with 8 us for
    each of its ops without a kernel.
    """
    if any(isinstance(op, TileOp) for region in before for op in region.walk()):
        return True
    works = [op for region in before for op in region.block.ops if isinstance(op, NNOp)]
    left = sum(isinstance(op, NNOp) for region in after for op in region.block.ops)
    results = [spec_of(op.results[0].type) for op in works]
    large = sum(result.elements for result in results if result.is_static) // _ELEMENTS
    return len(works) - left + large >= (len(before) if not left else 2 * len(before) + left // 4)


def _inside(op: Operation) -> Iterator[ControlOp]:
    """Yield ops with regions inside of an op, the innermost first."""
    for region in op.regions:
        for inner in region.block.ops:
            if isinstance(inner, ControlOp):
                yield from _inside(inner)
                yield inner


def _sink_literals(op: ControlOp, block: Block) -> None:
    """Literals that a region takes, and that no iteration changes, stand in its block."""
    if isinstance(op, LoopOp):
        first = int(op.plain_attrs()["carried"])
        taken = zip(op.values[first:], block.args[1 + first :], strict=True)
    elif isinstance(op, RowBlocksOp):
        taken = zip(op.operands, block.args, strict=True)  # an argument of fewer rows is of another type
    else:
        taken = zip(op.operands[1:], block.args, strict=True)
    start = block.first_op
    assert start is not None
    for value, argument in taken:
        leaf = value.owner
        if isinstance(leaf, Operation) and is_written_out(leaf) and argument.type == value.type and argument.first_use is not None:
            literal = leaf.clone()
            block.insert_op_before(literal, start)
            argument.replace_all_uses_with(literal.results[0])


def _rebuilt(op: ControlOp, regions: Sequence[Region], rewriter: Rewriter) -> Operation:
    """An op with other regions, before it.  Constants that steps made in them, and that are not written out, come in from outside."""
    leaves = [leaf for region in regions for leaf in region.block.ops if isinstance(leaf, ConstantOp) and not is_written_out(leaf)]
    constants: list[SSAValue] = []
    for leaf in leaves:
        type_, home = tensor_type(leaf.value.spec), leaf.parent
        constants.append(rewriter.insert(op, ConstantOp.make((), {"value": leaf.value}, [type_], leaf.location)).result)
        for region in regions:
            argument = region.block.insert_arg(type_, len(region.block.args))
            if region.block is home:
                rewriter.replace(leaf, _as(leaf.result.type, argument, leaf))
    types = [result.type for result in op.results]
    return rewriter.insert(op, type(op).make((*op.named_operands(), *constants), op.plain_attrs(), types, op.location, regions))


def _as(type_: Attribute, argument: SSAValue, before: Operation) -> SSAValue:
    """Return an argument, or the tile that is made of it."""
    if argument.type == type_:
        return argument
    made = FromHostOp.make((argument,), {}, (type_,), before.location)
    block = before.parent
    assert block is not None
    block.insert_op_before(made, before)
    return made.y


def _lower_region(region: Region, alone: Unit, rewriter: Rewriter) -> None:
    """Lower the ops of a region as those of a function.  alone: a unit without one."""
    function = _function_of(region)
    alone.module.body.block.add_op(function)
    given, returned = _types(function.body.block)
    for step in _STEPS:
        step.apply(alone, rewriter)
    block = function.body.detach_block(0)
    _keep_arguments(block, given)
    _keep_results(block, returned)
    region.add_block(block)


def _function_of(region: Region) -> func.FuncOp:
    """Return a function with the ops of a region, which then has no block."""
    block = region.detach_block(0)
    function = make_function("body", [(Port(str(number)), value.type) for number, value in enumerate(block.args)])
    function.body.detach_block(0)
    function.body.add_block(block)
    last = block.last_op
    assert last is not None
    results = [(Port(str(number)), value) for number, value in enumerate(last.operands)]
    last.detach()
    finish_function(function, results)
    last.erase()
    return function


def _types(block: Block) -> tuple[list[Attribute], list[Attribute]]:
    """Return the types of what a function takes and returns."""
    returned = () if block.last_op is None else block.last_op.operands
    return [value.type for value in block.args], [value.type for value in returned]


def _keep_arguments(block: Block, types: Sequence[Attribute]) -> None:
    """Arguments are tensors again, from which tiles are made."""
    first = block.first_op
    assert first is not None
    for argument, type_ in zip(block.args, types, strict=True):
        if argument.type == type_:
            continue
        readers = [use for use in argument.uses if not isinstance(use.operation, func.ReturnOp)]
        tile = argument.type
        set_type(argument, type_)
        if readers:
            made = FromHostOp.make((argument,), {}, (tile,), readers[0].operation.location)
            for use in readers:
                use.operation.operands[use.index] = made.y
            block.insert_op_before(made, first)


def _keep_results(block: Block, types: Sequence[Attribute]) -> None:
    """The values that are returned are yielded, as tensors of the types that they had."""
    last = block.last_op
    assert last is not None
    made: dict[SSAValue, SSAValue] = {}
    for value, type_ in zip(last.operands, types, strict=True):
        if value.type != type_ and value not in made:
            at = value.owner.location if isinstance(value.owner, Operation) else last.location
            border = ToHostOp.make((value,), {}, (type_,), at)
            block.insert_op_before(border, last)
            made[value] = border.y
    results = [made.get(value, value) for value in last.operands]
    last.detach()
    block.add_op(YieldOp.make(results, {}, (), last.location))
    last.erase()
