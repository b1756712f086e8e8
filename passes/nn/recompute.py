"""The pass that trades time for memory: values of the forward part that gradients read are computed again instead of kept."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.func import FuncOp

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.records import record
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.stash import Choice, Stash
from ttc.passes.nn.stash_choices import by_segments, cheap, everything, within
from ttc.passes.nn.training_notes import BACKWARD, STEP

MODES = ("none", "auto", "all")
"""Ways to choose what is computed again: what is marked; also what is cheap, or as much as a number of bytes asks for; all but borders of
segments.
"""
CHEAP = 4.0
"""How many FLOPs a byte of memory is worth, where no number of bytes is given."""


@record
class Recompute(Pass):
    """Compute values of the forward part again, right before the gradients that need them, instead of keeping them.

    It stands behind all passes that merge equal ops.  The same ops compute the same bits, random ones too, as their numbers follow from
    seeds.  What is kept is a cheapest cut between what is there (inputs, parameters, results) and what gradients read; `all` keeps what
    passes between segments of the forward part.  Ops with a source name that begins with `recompute.` are marked: they are always
    computed again.

    Args:
        mode: none: marked ops alone; auto: what costs at most 4 FLOPs a byte, or as much as `memory` asks for; all: all but borders.
        memory: bytes of kept values at one time, at most; with auto.

    Before:
        func.func @backward(%x: tensor<2x3xf32> {ttc.name = "x"}, %d: tensor<2x3xf32> {ttc.name = "grad.y"})
            -> (tensor<2x3xf32> {ttc.name = "y"}, tensor<2x3xf32> {ttc.name = "grad.x"}) {
          %0 = nn.tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
          %1 = nn.exp(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
          %2 = nn.mul(%d, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc("grad.exp")
          %3 = nn.mul(%2, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc("grad.tanh")
          func.return %1, %3 : tensor<2x3xf32>, tensor<2x3xf32>
        }
    After:
        func.func @backward(%x: tensor<2x3xf32> {ttc.name = "x"}, %d: tensor<2x3xf32> {ttc.name = "grad.y"})
            -> (tensor<2x3xf32> {ttc.name = "y"}, tensor<2x3xf32> {ttc.name = "grad.x"}) {
          %0 = nn.tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
          %1 = nn.exp(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
          %2 = nn.mul(%d, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc("grad.exp")
          %4 = nn.tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
          %3 = nn.mul(%2, %4) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc("grad.tanh")
          func.return %1, %3 : tensor<2x3xf32>, tensor<2x3xf32>
        }
    Missed:
        values whose shape depends on data, which are kept; a stash that cannot be made as small as `memory`.
    """

    name: ClassVar[str] = "recompute"
    mode: str = "none"
    memory: int | None = None

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if self.mode not in MODES:
            raise Error("E0101", f"recompute cannot be '{self.mode[:40]}'", hint=nearest(self.mode, MODES) or "it is none, auto or all")
        for function in entry_functions(unit.module):
            if function.sym_name.data in (BACKWARD, STEP):
                self._recompute(function, rewriter)

    def _recompute(self, function: FuncOp, rewriter: Rewriter) -> None:
        stash = Stash(function)
        if not stash.read or (self.mode == "none" and not stash.marked):
            return
        before, chosen = stash.choice(stash.read), self._chosen(stash)
        if self.memory is not None and chosen.stash_bytes > self.memory:
            rewriter.missed(function, f"gradients need {chosen.stash_bytes:,} bytes at least, of {self.memory:,} allowed")
        if not chosen.again or not rewriter.allow(self.name, function):
            return
        stash.replay(chosen)
        rewriter.applied(
            function,
            f"gradients keep {chosen.stash_bytes:,} bytes instead of {before.stash_bytes:,}; {len(chosen.again)} ops are computed again",
            stash_bytes=chosen.stash_bytes,
            stash_bytes_before=before.stash_bytes,
            flops=stash.total_flops + chosen.flops,
            flops_before=stash.total_flops,
        )

    def _chosen(self, stash: Stash) -> Choice:
        if self.mode == "all":
            return by_segments(stash)
        if self.mode == "none":
            return everything(stash)
        return cheap(stash, CHEAP) if self.memory is None else within(stash, self.memory)
