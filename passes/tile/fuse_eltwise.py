"""The pass that fuses elementwise ops into regions."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Sequence

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, Use

from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.leaves import ConstantOp, StateOp
from ttc.dialects.core.ir.locations import marked_chip
from ttc.dialects.core.records import record
from ttc.dialects.core.shapes import broadcast_shapes
from ttc.dialects.tile.base import Tile, tile_of, tile_type
from ttc.dialects.tile.eltwise import CastOp, EltwiseOp, MapOp, YieldOp
from ttc.dialects.tile.facts import Role, has_role
from ttc.passes.base import Pass, Rewriter, Unit

MAX_INPUTS = 8
"""The most inputs of a fused region: what a core can stream in at a time."""


@record
class FuseEltwise(Pass):
    """Fuse maps and casts of one shape, whose intermediates nothing else reads, into one elementwise region; literals move inside.

    Intermediates are held in Float32 (or wider), whatever the format at the borders.  What quantizes a product stays a region of its own
    where another tensor is read after it: the product can end with it.

    Before:
        (%x: !tile.tensor<"4x8xFloat16_b", "rows">, %r: !tile.tensor<"4x8xFloat16_b", "rows">)
        %0 = tile.map(%x, %r) {fn = "add"}
            : (!tile.tensor<"4x8xFloat16_b", "rows">, !tile.tensor<"4x8xFloat16_b", "rows">) -> !tile.tensor<"4x8xFloat16_b", "rows">
        %1 = tile.map(%0) {fn = "relu"} : (!tile.tensor<"4x8xFloat16_b", "rows">) -> !tile.tensor<"4x8xFloat16_b", "rows">
        return %1 : !tile.tensor<"4x8xFloat16_b", "rows">
    After:
        (%x: !tile.tensor<"4x8xFloat16_b", "rows">, %r: !tile.tensor<"4x8xFloat16_b", "rows">)
        %0 = tile.eltwise(%x, %r)
            : (!tile.tensor<"4x8xFloat16_b", "rows">, !tile.tensor<"4x8xFloat16_b", "rows">) -> !tile.tensor<"4x8xFloat16_b", "rows"> {
        ^bb0(%a: !tile.tensor<"4x8xFloat16_b", "rows">, %b: !tile.tensor<"4x8xFloat16_b", "rows">):
          %1 = tile.map(%a, %b) {fn = "add"}
            : (!tile.tensor<"4x8xFloat16_b", "rows">, !tile.tensor<"4x8xFloat16_b", "rows">) -> !tile.tensor<"4x8xFloat32", "rows">
          %2 = tile.map(%1) {fn = "relu"} : (!tile.tensor<"4x8xFloat32", "rows">) -> !tile.tensor<"4x8xFloat32", "rows">
          tile.yield(%2) : (!tile.tensor<"4x8xFloat32", "rows">) -> ()
        }
        return %0 : !tile.tensor<"4x8xFloat16_b", "rows">
    Missed:  a region would read more than 8 tensors, or tensors and numbers;
             a choice between two tensors by one truth, of which an engine runs what is needed; with numbers, what only adds to a state.

    Args:
        numbers: whether a region reads its numbers as it reads tensors, a stream each: kernels of Buda hold none.
    """

    name = "fuse-eltwise"
    numbers: bool = False

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            order = {op: index for index, op in enumerate(function.body.block.ops)}
            for op in reversed(list(order)):
                if self.numbers and _adds_up(op):
                    continue
                if isinstance(op, MapOp | CastOp) and op.parent is not None and not _is_choice(op):
                    _fuse(op, order, rewriter, numbers=self.numbers)


class _Cluster:
    """Ops that run in one region, found from its last op upward.  inputs: what they read from outside, but for literals."""

    def __init__(self, root: MapOp | CastOp) -> None:
        self.tile = tile_of(root.y)
        self.chip = marked_chip(root.location)
        self.ops: dict[MapOp | CastOp, None] = {root: None}
        self.inputs: dict[SSAValue, None] = {x: None for x in root.operands if not _is_literal(x)}
        self.literals: set[Attribute] = _literals(root)
        self._readers: dict[MapOp | CastOp, tuple[Operation, Iterator[Use]]] = {}
        """The first outside reader of each op that has one, and the uses behind it, which have not been looked at."""

    def can_join(self, op: MapOp | CastOp) -> bool:
        """Return whether the op is of the region's shape and chip, and nothing outside reads it.

        It is asked for each reader that has joined.
        """
        tile = tile_of(op.y)
        if (tile.shape, tile.fold) != (self.tile.shape, self.tile.fold) or marked_chip(op.location) != self.chip:
            return False
        reader, uses = self._readers.get(op) or (None, iter(op.y.uses))
        if reader is not None and reader not in self.ops:
            return False
        for use in uses:
            if use.operation not in self.ops:
                self._readers[op] = use.operation, uses
                return False
        return True

    def leave_products(self) -> None:
        """Leave out what quantizes a product that is computed for that alone, where the region reads other tensors, too.

        The product can end with it: what lies in memory between the product and the region are codes of a byte each.
        """
        whole = {x for x in self.inputs if tile_of(x).shape == self.tile.shape}
        for op in [op for op in self.ops if _quantizes(op)] if len(whole) > 1 else ():
            before = self._before(op)
            read = [x for x in whole if any(x in inner.operands for inner in before)]
            if len(read) == 1 < len(whole) and _is_product_for(read[0], before):
                whole = whole - {read[0]} | {op.y}
                self.ops = {inner: None for inner in self.ops if inner not in before}
                kept = dict.fromkeys(x for inner in self.ops for x in inner.operands)
                self.inputs = {x: None for x in kept if x.owner not in self.ops and not _is_literal(x)}

    def _before(self, op: MapOp | CastOp) -> dict[MapOp | CastOp, None]:
        """Return an op with those of the region that are there for it alone."""
        found, waiting = {op: None}, [x.owner for x in op.operands]
        while waiting:
            inner = waiting.pop()
            if isinstance(inner, MapOp | CastOp) and inner in self.ops and all(use.operation in found for use in inner.y.uses):
                found[inner] = None
                waiting.extend(x.owner for x in inner.operands)
        return found

    def inputs_with(self, op: MapOp | CastOp) -> dict[SSAValue, None]:
        """Return what the region reads once the op is part of it."""
        return {x: None for x in (*self.inputs, *op.operands) if x is not op.y and not _is_literal(x)}


def _fuse(root: MapOp | CastOp, order: dict[Operation, int], rewriter: Rewriter, *, numbers: bool) -> None:
    cluster = _grow(root, rewriter, numbers=numbers)
    ops = sorted(cluster.ops, key=order.__getitem__)
    literals = list(dict.fromkeys(x.owner for op in ops for x in op.operands if isinstance(x.owner, ConstantOp) and _is_literal(x)))
    inputs = [x for x in dict.fromkeys(x for op in ops for x in op.operands) if x in cluster.inputs]
    if (len(ops) < 2 and not literals) or not inputs:
        return
    if broadcast_shapes(*(tile_of(x).shape for x in inputs)) != cluster.tile.shape or not rewriter.allow("fuse-eltwise", root):
        return
    region = Region(_body([*literals, *ops], inputs))
    tile, location = cluster.tile, rewriter.location(ops)
    fused = EltwiseOp.build(*inputs, location=location, format=tile.format, fold=tile.fold, regions=(region,))
    rewriter.insert(root, fused)
    rewriter.applied(fused, f"{len(ops)} elementwise ops run as one", ops=len(ops), inputs=len(inputs))
    rewriter.replace(root, fused.y)
    for op in (*reversed(ops[:-1]), *literals):
        rewriter.erase_dead(op)


def _grow(root: MapOp | CastOp, rewriter: Rewriter, *, numbers: bool) -> _Cluster:
    """Take in producers, from the root upward, as long as the region reads few enough tensors, and numbers if they are streams too."""
    cluster = _Cluster(root)
    waiting = deque(root.operands)
    while waiting:
        op = waiting.popleft().owner
        if not isinstance(op, MapOp | CastOp) or op in cluster.ops or _is_choice(op) or not cluster.can_join(op):
            continue
        inputs = cluster.inputs_with(op)
        literals = _literals(op) - cluster.literals
        if len(inputs) + (len(cluster.literals) + len(literals)) * numbers > MAX_INPUTS:
            rewriter.missed(op, f"a region would read more than {MAX_INPUTS} tensors{' and numbers' * numbers}")
            continue
        cluster.ops[op] = None
        cluster.inputs = inputs
        cluster.literals |= literals
        waiting.extend(op.operands)
    cluster.leave_products()
    return cluster


def _literals(op: MapOp | CastOp) -> set[Attribute]:
    """Return the numbers that an op reads."""
    return {x.owner.value for x in op.operands if isinstance(x.owner, ConstantOp) and _is_literal(x)}


def _body(ops: Sequence[MapOp | CastOp | ConstantOp], inputs: Sequence[SSAValue]) -> Block:
    """Return the region's block: the ops, on arguments for the inputs."""
    block = Block(arg_types=[x.type for x in inputs])
    values: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for op in ops:
        result = op.results[0]
        new = type(op).make([values[x] for x in op.operands], op.plain_attrs(), (tile_type(_widened(tile_of(result))),), op.location)
        block.add_op(new)
        values[result] = new.results[0]
        new.results[0].name_hint = result.name_hint
    block.add_op(YieldOp.build(values[ops[-1].results[0]], location=ops[-1].location))
    return block


def _widened(tile: Tile) -> Tile:
    """Values inside a region are held in Float32 where their format is narrower."""
    format_ = FORMATS[tile.format]
    return tile.with_(format="Float32") if format_.is_float and format_.compute.itemsize == 4 else tile


def _adds_up(op: Operation) -> bool:
    """Return whether an op only adds to a state, as gradients do, for which Buda has ops of their own."""
    added = isinstance(op, MapOp) and op.plain_attrs()["fn"] == "add" and any(isinstance(x.owner, StateOp) for x in op.operands)
    return added and all(isinstance(use.operation, ReturnOp) for use in op.results[0].uses)


def _quantizes(op: MapOp | CastOp) -> bool:
    return isinstance(op, MapOp) and op.plain_attrs()["fn"] == "quantize"


def _is_product_for(value: SSAValue, readers: Container[Operation]) -> bool:
    """Return whether a value is a product or a convolution that nothing but these ops reads."""
    owner = value.owner
    is_product = isinstance(owner, Operation) and has_role(owner.name, Role.CONTRACTION, Role.WINDOW)
    return is_product and all(use.operation in readers for use in value.uses)


def _is_choice(op: MapOp | CastOp) -> bool:
    """Return whether the op takes one of two computed tensors whole."""
    if not isinstance(op, MapOp) or op.plain_attrs()["fn"] != "where":
        return False
    which, *values = op.operands
    return tile_of(which).elements == 1 and not any(map(_is_literal, values))


def _is_literal(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, ConstantOp) and isinstance(owner.value, LiteralAttr) and owner.value.spec.elements == 1
