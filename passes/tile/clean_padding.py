"""Making sure that the padding of tiles does no harm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.records import record
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.tile.base import TileOp, tile_of
from ttc.dialects.tile.eltwise import CastOp, MapOp
from ttc.dialects.tile.facts import fact_of
from ttc.dialects.tile.host import ToHostOp
from ttc.dialects.tile.index import EmbeddingOp
from ttc.dialects.tile.linear import MatmulOp
from ttc.dialects.tile.reduce import ReduceOp
from ttc.dialects.tile.shape import BroadcastOp, ConcatOp, HsliceOp, HstackOp, TransposeOp, ViewOp
from ttc.dialects.tile.sparse import DepthwiseOp, SparseMatmulOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.tile.expand.expansion import Expansion
from ttc.passes.tile.paddings import CLEAN, Fill, Padding, after_function, is_matrix_of_one_number, is_number, padded, reordered, worst

LOWEST = {"Float16": -6.0e4, "Bfp8": -6.0e4, "Bfp4": -6.0e4, "Bfp2": -6.0e4, "Lf8": -5.0e4, "Fp8_e4m3": -400.0}
"""Numbers below all others that a format of at most five exponent bits holds; that of other formats is -1e38."""


@record
class CleanPadding(Pass):
    """Multiply by ones what would carry its padding into a sum or a maximum.

    Buda's ops compute on whole tiles.  On the elements that tensors have, a product with ones changes nothing; on padding, where a
    matrix of ones ends like any other, it leaves zeros.

    Before:
        (%x: Float32[64, 40])
        %0 = tile.map(%x) {fn = "exp"} : (Float32[64, 40]) -> Float32[64, 40]
        %1 = tile.map(%0) {fn = "exp"} : (Float32[64, 40]) -> Float32[64, 40]
        %2 = ttc.constant() {value = #ttc.literal<[1.0], f32[]>} : () -> Float32[]
        %3 = tile.broadcast(%2) {shape = [40, 1]} : (Float32[]) -> Float32[40, 1]
        %4 = tile.matmul(%1, %3, _) {transpose_a = false, transpose_b = false} : (Float32[64, 40], Float32[40, 1]) -> Float32[64, 1]
        return %4 : Float32[64, 1]
    After:
        (%x: Float32[64, 40])
        %0 = tile.map(%x) {fn = "exp"} : (Float32[64, 40]) -> Float32[64, 40]
        %1 = tile.map(%0) {fn = "exp"} : (Float32[64, 40]) -> Float32[64, 40]
        %2 = ttc.constant() {value = #ttc.literal<[1.0], f32[]>} : () -> Float32[]
        %3 = tile.broadcast(%2) {shape = [40, 1]} : (Float32[]) -> Float32[40, 1]
        %4 = ttc.constant() {value = #ttc.literal<[1.0], f32[]>} : () -> Float32[]
        %5 = tile.broadcast(%4) {shape = [40]} : (Float32[]) -> Float32[40]
        %6 = tile.map(%1, %5) {fn = "mul"} : (Float32[64, 40], Float32[40]) -> Float32[64, 40]
        %7 = tile.matmul(%6, %3, _) {transpose_a = false, transpose_b = false} : (Float32[64, 40], Float32[40, 1]) -> Float32[64, 1]
        return %7 : Float32[64, 1]
    Missed:
        never; each mask is a remark.
    """

    name: ClassVar[str] = "clean-padding"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            _Cleaner(unit, rewriter, function).run()


@record(frozen=False)
class _Cleaner:
    """Goes through a function in order, knowing the padding of every value before it."""

    unit: Unit
    rewriter: Rewriter
    function: func.FuncOp
    known: dict[SSAValue, Padding] = field(default_factory=dict)
    made: dict[tuple[object, ...], SSAValue] = field(default_factory=dict)

    def run(self) -> None:
        for argument in self.function.body.block.args:
            self.known[argument] = CLEAN
        for op in list(self.function.body.block.ops):
            if isinstance(op, TileOp) and not isinstance(op, ToHostOp):
                self.visit(op)
            elif isinstance(op, LeafOp):
                self.known[op.result] = CLEAN

    def visit(self, op: TileOp) -> None:
        mnemonic = op.name.removeprefix("tile.")
        rule = None if fact_of(mnemonic).steps else PADDINGS.of(mnemonic)
        found = CLEAN if rule is None else rule(self, op)
        self.known[op.results[0]] = padded(tile_of(op.results[0]), found)

    def of(self, value: SSAValue) -> Padding:
        return self.known[value]

    # ---- rules: the padding of an op's result, after its operands are made fit ---------------------------------------------------

    def map(self, op: MapOp) -> Padding:
        _, rows, columns = tile_of(op.y).matrix()
        fills: list[Padding] = []
        for x in op.xs:
            own = Padding(Fill.LOOSE, Fill.LOOSE) if is_number(x) else self.of(x)
            _, own_rows, own_columns = tile_of(x).matrix()
            repeated = own_rows == 1 < rows, own_columns == 1 < columns
            fills.append(Padding(*(max(fill, Fill.LOOSE) if again else fill for fill, again in zip(own, repeated, strict=True))))
        fn = str(op.plain_attrs()["fn"])
        return Padding(after_function(fn, [f.rows for f in fills]), after_function(fn, [f.columns for f in fills]))

    def matmul(self, op: MatmulOp) -> Padding:
        transposed = bool(op.plain_attrs()["transpose_b"])
        self.contract(op, transposed=transposed)
        a, b = self.of(op.a), self.of(op.b)
        rows, columns = a.rows, b.rows if transposed else b.columns
        if op.bias is not None:
            rows, columns = max(rows, Fill.LOOSE), max(columns, self.of(op.bias).columns)
        return Padding(rows, columns)

    def contract(self, op: MatmulOp, *, transposed: bool) -> None:
        """One factor has zeros beyond the dimension that is summed over, the other has numbers there."""
        for _ in range(2):
            a, other = self.of(op.a).columns, self.of(op.b)
            b = other.columns if transposed else other.rows
            if Fill.ZERO in (a, b) and Fill.WILD not in (a, b):
                return
            if b == Fill.WILD or a == Fill.ZERO:
                self.mask(op, 1, rows=not transposed, columns=transposed)
            else:
                self.mask(op, 0, columns=True)

    def reduce(self, op: ReduceOp) -> Padding:
        axis = op.plain_attrs()["axes"][0] % len(tile_of(op.x).shape) - len(tile_of(op.x).shape)
        own = self.of(op.x)
        if (axis == -1 and own.columns != Fill.ZERO) or (axis == -2 and own.rows != Fill.ZERO) or self._ends_within(op.x, axis):
            self.floor(op)
            own = Padding(Fill.LOOSE, Fill.LOOSE)
        return own._replace(columns=Fill.ZERO) if axis == -1 else own._replace(rows=Fill.ZERO) if axis == -2 else own

    def _ends_within(self, x: SSAValue, axis: int) -> bool:
        """Return whether a dimension ends within a tile: zeros beyond it could be greater than all that is before."""
        tile = tile_of(x)
        height, width = tile.tile or (1, 1)
        _, rows, columns = tile.matrix()
        return (axis == -1 and columns % width != 0) or (axis == -2 and rows % height != 0)

    def sparse_matmul(self, op: SparseMatmulOp) -> Padding:
        if self.of(op.x).rows == Fill.WILD:
            self.mask(op, 0, rows=True)
        return Padding(Fill.ZERO, self.of(op.x).columns)

    def depthwise(self, op: DepthwiseOp) -> Padding:
        if self.of(op.a).columns == Fill.WILD:
            self.mask(op, 0, columns=True)
        rows = self.of(op.a).rows
        return Padding(rows if op.bias is None else max(rows, Fill.LOOSE), Fill.ZERO)

    def embedding(self, op: EmbeddingOp) -> Padding:
        return Padding(Fill.LOOSE, Fill.ZERO)

    def cast(self, op: CastOp) -> Padding:
        return self.of(op.x)

    def concat(self, op: ConcatOp) -> Padding:
        return worst([self.of(x) for x in op.xs])

    def broadcast(self, op: BroadcastOp) -> Padding:
        if is_matrix_of_one_number(op.y):
            return CLEAN
        return reordered(tile_of(op.x), tile_of(op.y), self.of(op.x))

    def transpose(self, op: TransposeOp) -> Padding:
        own, perm = self.of(op.x), op.plain_attrs()["perm"]
        if len(perm) > 1 and perm[-1] == len(perm) - 2:
            return Padding(own.columns, own.rows)
        return reordered(tile_of(op.x), tile_of(op.y), own)

    def stack(self, op: HsliceOp | HstackOp) -> Padding:
        return Padding(self.of(op.x).rows, Fill.ZERO)

    def view(self, op: ViewOp) -> Padding:
        return reordered(tile_of(op.x), tile_of(op.y), self.of(op.x))

    # ---- changes -----------------------------------------------------------------------------------------------------------------

    def replaced(self, op: TileOp, index: int, value: SSAValue, padding: Padding) -> None:
        self.known[value] = padded(tile_of(value), padding)
        op.operands[index] = value

    def mask(self, op: TileOp, index: int, *, rows: bool = False, columns: bool = False) -> None:
        """Zeros in the padding of an operand."""
        x = op.operands[index]
        tile, own = tile_of(x), self.of(x)
        to = Expansion(op, self.unit, self.rewriter)
        key = ("mask", x, rows, columns)
        if key not in self.made and self.rewriter.allow("mask-padding", op):
            split = max(len(tile.shape) - 1 - tile.fold, 0)
            shape = (*tile.shape[split:-1], tile.shape[-1] if columns else 1) if rows else (tile.shape[-1],)
            ones = to.emit(BroadcastOp, to.number(1.0, tile.format), shape=shape, fold=min(tile.fold, max(len(shape) - 1, 1)))
            self.made[key] = to.map("mul", x, ones, format=tile.format)
            self.rewriter.applied(op, "an operand is multiplied by ones, so that its padding holds zeros")
        if key in self.made:
            cleaned = Padding(Fill.ZERO if rows else own.rows, Fill.ZERO if columns else own.columns)
            self.replaced(op, index, self.made[key], cleaned)

    def floor(self, op: ReduceOp) -> None:
        """The lowest number in the padding of the operand of a maximum: x * m + (m - 1) * -lowest, with a matrix of ones m."""
        x = op.x
        tile = tile_of(x)
        to = Expansion(op, self.unit, self.rewriter)
        key = ("floor", x)
        if key not in self.made and self.rewriter.allow("floor-padding", op):
            format_ = to.exact(tile.format)
            ones = to.ones(tile.shape[-2:], format_)
            fall = to.map("mul", to.map("add", ones, -1.0, format=format_), -LOWEST.get(format_, -1.0e38), format=format_)
            self.made[key] = to.map("add", to.map("mul", x, ones, format=format_), fall, format=format_)
            self.rewriter.applied(op, "the padding of the operand is given the lowest number, so that no maximum is taken from it")
        if key in self.made:
            self.replaced(op, 0, self.made[key], Padding(Fill.LOOSE, Fill.LOOSE))


PADDINGS: RuleTable[Callable[[_Cleaner, Any], Padding]] = RuleTable("padding of the result")
"""What the padding of a tile op's result holds, by mnemonic: of the ops that devices compute, but for those that expand-composites takes
apart.
"""
PADDINGS.add_all(
    {
        "map": _Cleaner.map,
        "matmul": _Cleaner.matmul,
        "reduce": _Cleaner.reduce,
        "sparse_matmul": _Cleaner.sparse_matmul,
        "depthwise": _Cleaner.depthwise,
        "embedding": _Cleaner.embedding,
        "cast": _Cleaner.cast,
        "concat": _Cleaner.concat,
        "broadcast": _Cleaner.broadcast,
        "transpose": _Cleaner.transpose,
        **dict.fromkeys(("hslice", "hstack"), _Cleaner.stack),
        **dict.fromkeys(("reshape", "slice", "relayout"), _Cleaner.view),
    }
)
PADDINGS.refuse("it writes zeros there", "pad", "from_host")
PADDINGS.refuse("netlists make it, later", "eltwise", "encoded_matmul", "tile_depthwise", "lookup", "repeat", "tile_broadcast", "retile")
PADDINGS.refuse("netlists make it, later", "adjust", "sfpu", "binary", "relu", "rescale", "splice", "topk")
PADDINGS.refuse("expand-composites takes it apart", "attention", "conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d")
