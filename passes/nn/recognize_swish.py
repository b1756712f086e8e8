"""The pass that recognizes x gated by a sigmoid of itself, smooth or piecewise, in what exporters make of it."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.activation import ClipOp, HardSigmoidOp, HardSwishOp, SigmoidOp, SiluOp
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.elementwise import FLOATING
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.factors import product_with
from ttc.passes.nn.match import TOLERANCE, attr, spec, sweep_entries
from ttc.passes.nn.polynomial import Polynomial, is_polynomial


@record
class RecognizeSwish(Pass):
    """Find x * sigmoid(x), x * hard_sigmoid(x) and x * clip(x + 3, 0, 6) / 6, in any order of their factors.

    Before:
        (%x: tensor<4xf32>)
        %t = ttc.constant() {value = #ttc.literal<[3.0], tensor<f32>>} : () -> tensor<f32>
        %s = ttc.constant() {value = #ttc.literal<[6.0], tensor<f32>>} : () -> tensor<f32>
        %0 = nn.add(%x, %t) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
        %1 = nn.clip(%0) {max = 6.0, min = 0.0} : (tensor<4xf32>) -> tensor<4xf32>
        %2 = nn.mul(%x, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        %3 = nn.div(%2, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
        return %3 : tensor<4xf32>
    After:
        (%x: tensor<4xf32>)
        %3 = nn.hard_swish(%x) : (tensor<4xf32>) -> tensor<4xf32>
        return %3 : tensor<4xf32>
    Missed:
        the gate of x has other readers; a gate of clip(x + 3, 0, 6) multiplies something else.
    """

    name: ClassVar[str] = "recognize-swish"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        def recognize(gate: NNOp) -> None:
            _recognize(gate, unit.weights, rewriter)

        sweep_entries(unit, rewriter, dict.fromkeys((SigmoidOp, HardSigmoidOp, ClipOp), recognize))


def _recognize(gate: NNOp, weights: WeightStore, rewriter: Rewriter) -> None:
    if spec(gate.results[0]).dtype.kind not in FLOATING:
        return
    if isinstance(gate, SigmoidOp):
        kind, argument, wanted = SiluOp, {1: 1.0}, {1: 1.0}
    elif _is_sixth(gate):
        kind, argument, wanted = HardSwishOp, {1: 1.0}, {1: 1.0}
    elif isinstance(gate, ClipOp) and (attr(gate, "min"), attr(gate, "max")) == (0.0, 6.0):
        kind, argument, wanted = HardSwishOp, {0: 3.0, 1: 1.0}, {1: 1 / 6}
    elif isinstance(gate, ClipOp) and (attr(gate, "min"), attr(gate, "max")) == (0.0, 1.0):
        kind, argument, wanted = HardSwishOp, {0: 0.5, 1: 1 / 6}, {1: 1.0}
    else:
        return
    _replace(gate, kind, argument, wanted, weights, rewriter)


def _is_sixth(gate: NNOp) -> bool:
    """Return whether a gate is hard_sigmoid with the slope of hard_swish."""
    if not isinstance(gate, HardSigmoidOp):
        return False
    return abs(attr(gate, "alpha") * 6 - 1) <= TOLERANCE and abs(attr(gate, "beta") * 2 - 1) <= TOLERANCE


def _replace(gate: NNOp, kind: type[NNOp], argument: Polynomial, wanted: Polynomial, weights: WeightStore, rewriter: Rewriter) -> None:
    def gates(x: SSAValue) -> bool:
        return x.type == gate.operands[0].type and is_polynomial(gate.operands[0], x, argument, weights)

    found = product_with(gate.results[0], wanted, gates, weights)
    if found is None:
        if 0 in argument and any(is_polynomial(gate.operands[0], x, argument, weights) for x in _inside(gate)):
            rewriter.missed(gate, f"{gate.name} gates something else than its operand, or has other readers")
        return
    x, root = found
    if not rewriter.allow("recognize-swish", root):
        return
    new = rewriter.build(root, kind, x, sources=(gate, root))
    rewriter.applied(new, f"{kind.name.removeprefix('nn.')} recognized")
    feeding = [v.owner for v in root.operands]
    rewriter.replace(root, new.results[0])
    for op in feeding:
        if isinstance(op, Operation):
            rewriter.erase_dead(op)


def _inside(gate: NNOp) -> list[SSAValue]:
    """Return what the gate's argument is computed from."""
    op = gate.operands[0].owner
    return list(op.operands) if isinstance(op, Operation) else []
