"""Dividing the tensors of layers among chips: products by columns and by rows, attention by heads, and what joins the parts."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.plain.functions import Function
from ttc.dialects.core.records import record
from ttc.dialects.netlist.from_plain import function_block
from ttc.dialects.nn.control import YieldOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.sharding.program import divided_program
from ttc.passes.nn_to_tile.chip_works import ChipWorks


@record
class DivideTensors(Pass):
    """Divide the products of each program among chips, as Megatron does, with the works that join their parts.

    A product by a constant is divided by columns where what follows can work on them (heads of attention, elementwise functions), and the
    product behind these by rows.  Its sums over chips: up to four chips exchange them whole; of more, each adds up some columns (a
    reduce-scatter), adds what the residual has there, and sends them to all (an all-gather).  What works on whole rows, such as a norm,
    every chip computes.

    Chips may divide rows besides, or instead: the positions of a sequence on which products, norms and queries work.  Each then has whole
    weights, or columns of them, and gathers what needs all rows, as keys and values do.  The source name `on chip N` says where an op
    runs; a value that an op of another chip reads moves there.

    Before:
        func.func @forward(%x: tensor<32x64xf32> {ttc.name = "x"}) -> (tensor<32x64xf32> {ttc.name = "y"}) {
          %u = ttc.constant() {value = #ttc.weight<"u", tensor<64x64xf32>>} : () -> tensor<64x64xf32>
          %d = ttc.constant() {value = #ttc.weight<"d", tensor<64x64xf32>>} : () -> tensor<64x64xf32>
          %1 = nn.matmul(%x, %u, _) {activation = "relu", transpose_a = false, transpose_b = false}
              : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
          %2 = nn.matmul(%1, %d, _) {transpose_a = false, transpose_b = false}
              : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
          func.return %2 : tensor<32x64xf32>
        }
    After:
        func.func @forward(%x: tensor<32x64xf32> {ttc.name = "x"}) -> (tensor<32x64xf32> {ttc.name = "y"}) {
          %u = ttc.constant() {value = #ttc.weight<"u", tensor<64x64xf32>>} : () -> tensor<64x64xf32>
          %u0 = nn.slice(%u) {sizes = [64, 32], starts = [0, 0], steps = [1, 1]} : (tensor<64x64xf32>) -> tensor<64x32xf32>
          %1 = nn.matmul(%x, %u0, _) {activation = "relu", transpose_a = false, transpose_b = false}
              : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
          %u1 = nn.slice(%u) {sizes = [64, 32], starts = [0, 32], steps = [1, 1]} : (tensor<64x64xf32>) -> tensor<64x32xf32>
          %2 = nn.matmul(%x, %u1, _) {activation = "relu", transpose_a = false, transpose_b = false}
              : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
          %d = ttc.constant() {value = #ttc.weight<"d", tensor<64x64xf32>>} : () -> tensor<64x64xf32>
          %d0 = nn.slice(%d) {sizes = [32, 64], starts = [0, 0], steps = [1, 1]} : (tensor<64x64xf32>) -> tensor<32x64xf32>
          %3 = nn.matmul(%1, %d0, _) {transpose_a = false, transpose_b = false}
              : (tensor<32x32xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
          %d1 = nn.slice(%d) {sizes = [32, 64], starts = [32, 0], steps = [1, 1]} : (tensor<64x64xf32>) -> tensor<32x64xf32>
          %4 = nn.matmul(%2, %d1, _) {transpose_a = false, transpose_b = false}
              : (tensor<32x32xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
          %5 = nn.add(%3, %4) : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
          func.return %5 : tensor<32x64xf32>
        }
    Missed:
        a program with states, or whose results update parameters, and one of which nothing can be divided stay on one chip; products whose
        columns or heads the chips do not divide, or whose readers need all of them, are computed by each chip as a whole.

    Args:
        chips: that divide the tensors; nothing is divided among fewer than two.  Those that have the same rows stand together.
        rows: how many parts of the rows there are.
        required: whether a program that cannot be divided is an error.
    Raises: E0503 for such a program.
    """

    name: ClassVar[str] = "divide-tensors"
    chips: tuple[int, ...] = ()
    rows: int = 1
    required: bool = False

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if unit.target.is_host or len(self.chips) < 2:
            return
        for function in entry_functions(unit.module):
            self._divide(function, rewriter)

    def _divide(self, function: func.FuncOp, rewriter: Rewriter) -> None:
        """Replace the body of a program by the works of all chips."""
        updates = [port.updates for port in ports(function)[1]]
        body = plain_block(function.body.block)
        if any(updates) or any(work.op == "ttc.state" for work in body.works):
            self._refuse(function, "it has states, or updates parameters", rewriter)
            return
        columns = len(self.chips) // self.rows
        found = divided_program(body, updates, columns, self.rows)
        if found is None:
            nothing = "no heads and no columns of its products are a multiple of the chips, or what reads them needs all"
            self._refuse(function, nothing if self.rows == 1 else f"{nothing}, or no rows are a multiple of {self.rows}", rewriter)
            return
        if not rewriter.allow("divide-tensors", function):
            return
        _replace_body(function, ChipWorks(found.source, found.part, self.chips, self.rows).function())
        ways = [f"products by columns ({found.by_columns}) and by rows ({found.by_rows})"] if columns > 1 else []
        ways += [f"{self.rows} parts of the rows that products and norms work on ({found.row_starts})"] if self.rows > 1 else []
        message = f"{len(self.chips)} chips divide {', and '.join(ways)}"
        rewriter.applied(function, message, chips=len(self.chips), rows=self.rows, columns=found.by_columns, whole=len(found.kept))
        for name in found.kept:
            rewriter.missed(function, f"each chip computes all of the product {name}")

    def _refuse(self, function: func.FuncOp, reason: str, rewriter: Rewriter) -> None:
        """Leave a program as it is.  Raises E0503 if it had to be divided."""
        message = f"its tensors cannot be divided over {len(self.chips)} chips: {reason}"
        if self.required:
            raise Error("E0503", message, where=f"program '{function.sym_name.data}'", hint="--parallel pipeline divides ops")
        rewriter.missed(function, message)


def _replace_body(function: func.FuncOp, works: Function) -> None:
    """Give an entry function another body with the same arguments and results."""
    old = function.body.block
    new = function_block(works, [value.type for value in old.args], YieldOp, on_host=True)
    for before, after in zip(old.args, new.args, strict=True):
        after.name_hint = before.name_hint
    last = new.last_op
    results: list[SSAValue] = [] if last is None else list(last.operands)
    if last is not None:
        last.detach()
        last.erase()
    new.add_op(func.ReturnOp(*results))
    function.body.detach_block(0).erase()
    function.body.add_block(new)
