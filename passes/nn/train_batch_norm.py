"""The pass that makes batch norms of models for inference trainable."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port
from ttc.dialects.core.ir.leaves import ConstantOp, LeafOp, ParamOp, StateOp
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.records import record
from ttc.dialects.nn.norm import BatchNormOp, BatchNormTrainingOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.entries import OpenEntry, entry_named
from ttc.passes.nn.match import attr


@record
class TrainBatchNorm(Pass):
    """Let batch norms take the statistics of the batch, and move the running ones, which become states.

    Args:
        statistics: batch: so; given: batch norms stay as they are, and their statistics become constants, which no optimizer changes.
        momentum: share of the batch in new running statistics.
        entry: the entry function.

    Before:
        func.func @forward(%x: tensor<4x2xf32> {ttc.name = "x"}) -> (tensor<4x2xf32> {ttc.name = "y"}) {
          %s = ttc.param() {sym = "s", value = #ttc.literal<[1.0, 1.0], tensor<2xf32>>} : () -> tensor<2xf32>
          %b = ttc.param() {sym = "b", value = #ttc.literal<[0.0, 0.0], tensor<2xf32>>} : () -> tensor<2xf32>
          %m = ttc.param() {sym = "m", value = #ttc.literal<[0.5, 0.5], tensor<2xf32>>} : () -> tensor<2xf32>
          %v = ttc.param() {sym = "v", value = #ttc.literal<[1.0, 2.0], tensor<2xf32>>} : () -> tensor<2xf32>
          %0 = nn.batch_norm(%x, %s, %b, %m, %v) {axis = 1, eps = 0.5}
              : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
          func.return %0 : tensor<4x2xf32>
        }
    After:
        func.func @forward(%x: tensor<4x2xf32> {ttc.name = "x"}) -> (tensor<4x2xf32> {ttc.name = "y"},
            tensor<2xf32> {ttc.name = "m", ttc.updates = "m"}, tensor<2xf32> {ttc.name = "v", ttc.updates = "v"}) {
          %s = ttc.param() {sym = "s", value = #ttc.literal<[1.0, 1.0], tensor<2xf32>>} : () -> tensor<2xf32>
          %b = ttc.param() {sym = "b", value = #ttc.literal<[0.0, 0.0], tensor<2xf32>>} : () -> tensor<2xf32>
          %m = ttc.state() {sym = "m", value = #ttc.literal<[0.5, 0.5], tensor<2xf32>>} : () -> tensor<2xf32>
          %v = ttc.state() {sym = "v", value = #ttc.literal<[1.0, 2.0], tensor<2xf32>>} : () -> tensor<2xf32>
          %0, %1, %2, %3, %4 = nn.batch_norm_training(%x, %s, %b, %m, %v) {axis = 1, eps = 0.5, momentum = 0.1, unbiased = true}
              : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
              -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
          func.return %0, %3, %4 : tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>
        }
    Missed:
        statistics that are computed: there is nothing to move.
    """

    name: ClassVar[str] = "train-batch-norm"
    resigns: ClassVar[bool] = True
    statistics: str = "batch"
    momentum: float = 0.1
    entry: str = "forward"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if self.statistics not in ("batch", "given"):
            raise Error("E0101", f"statistics of batch norms cannot be '{self.statistics[:40]}'", hint="they are batch or given")
        function = entry_named(unit.module, self.entry)
        norms = [op for op in function.body.block.ops if isinstance(op, BatchNormOp)]
        if norms:
            _Norms(function, rewriter, self.momentum).change(norms, train=self.statistics == "batch")


class _Norms:
    """Changes the batch norms of an entry function, in order: one that is applied twice moves its statistics twice."""

    def __init__(self, function: FuncOp, rewriter: Rewriter, momentum: float) -> None:
        self._function, self._rewriter, self._momentum = function, rewriter, momentum
        self._now: dict[LeafOp, tuple[str, SSAValue]] = {}

    def change(self, norms: list[BatchNormOp], *, train: bool) -> None:
        for op in norms:
            statistics = [value.owner for value in op.operands[3:5]]
            leaves = [leaf for leaf in statistics if isinstance(leaf, ParamOp | ConstantOp)]
            if len(leaves) != 2:
                self._rewriter.missed(op, "the statistics are computed")
            elif not train:
                if self._rewriter.allow("keep-statistics", op):
                    self._freeze(leaves)
            elif leaves[0] is leaves[1]:
                self._rewriter.missed(op, "mean and variance are one tensor")
            elif self._rewriter.allow("train-batch-norm", op):
                self._train(op, leaves)
        entry = OpenEntry.of(self._function)
        for name, value in self._now.values():
            entry.give(Port(name, updates=name), value)
        entry.close()

    def _freeze(self, leaves: list[ParamOp | ConstantOp]) -> None:
        for leaf in leaves:
            if isinstance(leaf, ParamOp) and leaf.parent is not None:
                constant = ConstantOp.make((), {"value": leaf.value}, [leaf.result.type], leaf.location)
                self._rewriter.insert(leaf, constant)
                self._rewriter.replace(leaf, constant.result)

    def _train(self, op: BatchNormOp, leaves: list[ParamOp | ConstantOp]) -> None:
        x, scale, bias = op.operands[:3]
        states = [self._now[leaf][1] if leaf in self._now else self._state(leaf) for leaf in leaves]
        attrs = {"eps": attr(op, "eps"), "axis": attr(op, "axis"), "momentum": self._momentum, "unbiased": True}
        new = self._rewriter.build(op, BatchNormTrainingOp, x, scale, bias, *states, **attrs)
        for leaf, moved in zip(leaves, new.results[3:], strict=True):
            self._now[leaf] = _name(leaf), moved
        self._rewriter.replace(op, new.results[0])
        for leaf in leaves:
            if leaf.results[0].first_use is None and leaf.parent is not None:
                leaf.detach()

    def _state(self, leaf: ParamOp | ConstantOp) -> SSAValue:
        state = StateOp.make((), {"sym": _name(leaf), "value": leaf.value}, [leaf.result.type], leaf.location)
        self._rewriter.insert(leaf, state)
        return state.result


def _name(leaf: ParamOp | ConstantOp) -> str:
    """Return what a statistic is called: as the parameter, the weight, or what it came from."""
    if isinstance(leaf, ParamOp):
        return leaf.sym.data
    return leaf.key or (source_names(leaf.location) or ("statistic",))[0]
