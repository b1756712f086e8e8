"""The pass that writes recurrent layers over few steps as products and elementwise ops."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.cells import CELLS, rows
from ttc.dialects.nn.making import zeros
from ttc.dialects.nn.recurrent import GruOp, LstmOp, RnnOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.making import RewriteMaker
from ttc.passes.nn.match import MAX_READ, constant_array, shape_of, spec, sweep_entries

MAX_STEPS = 64
"""The most steps, of both directions together, that are written out."""

_LAYERS: tuple[type[NNOp], ...] = (RnnOp, GruOp, LstmOp)


@record
class LowerRecurrent(Pass):
    """Write a recurrent layer out step by step: one product for the inputs of all steps, then one for the state of each.

    Before:
        (%x: tensor<1x1x2xf32>, %w: tensor<1x2x2xf32>, %r: tensor<1x2x2xf32>, %h: tensor<1x1x2xf32>)
        %0, %1 = nn.rnn(%x, %w, %r, _, _, %h) {activations = ["tanh"], alphas = [0.0], betas = [0.0], clip = inf, direction = "forward"}
            : (tensor<1x1x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x1x2xf32>) -> (tensor<1x1x1x2xf32>, tensor<1x1x2xf32>)
        return %0, %1 : tensor<1x1x1x2xf32>, tensor<1x1x2xf32>
    After:
        (%x: tensor<1x1x2xf32>, %w: tensor<1x2x2xf32>, %r: tensor<1x2x2xf32>, %h: tensor<1x1x2xf32>)
        %0 = nn.reshape(%w) {shape = [2, 2]} : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
        %1 = nn.reshape(%r) {shape = [2, 2]} : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
        %2 = nn.reshape(%h) {shape = [1, 2]} : (tensor<1x1x2xf32>) -> tensor<1x2xf32>
        %3 = nn.matmul(%x, %0, _) {transpose_a = false, transpose_b = true} : (tensor<1x1x2xf32>, tensor<2x2xf32>) -> tensor<1x1x2xf32>
        %4 = nn.reshape(%3) {shape = [1, 2]} : (tensor<1x1x2xf32>) -> tensor<1x2xf32>
        %5 = nn.matmul(%2, %1, _) {transpose_a = false, transpose_b = true} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
        %6 = nn.add(%4, %5) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
        %7 = nn.tanh(%6) : (tensor<1x2xf32>) -> tensor<1x2xf32>
        %8 = nn.reshape(%7) {shape = [1, 1, 1, 2]} : (tensor<1x2xf32>) -> tensor<1x1x1x2xf32>
        %9 = nn.reshape(%7) {shape = [1, 1, 2]} : (tensor<1x2xf32>) -> tensor<1x1x2xf32>
        return %8, %9 : tensor<1x1x1x2xf32>, tensor<1x1x2xf32>
    Missed:
        it has more than 64 steps; lengths of sequences are not constant, or shapes depend on data.
    """

    name: ClassVar[str] = "lower-recurrent"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {kind: lambda op: _lower(op, unit, rewriter) for kind in _LAYERS})


def _lower(op: NNOp, unit: Unit, rewriter: Rewriter) -> None:
    operands = [*op.named_operands(), None, None]
    x, w, lengths = operands[0], operands[1], operands[4]
    if x is None or w is None:
        return
    found = None if lengths is None or not spec(lengths).is_static else constant_array(lengths, unit.weights, MAX_READ)
    reason = _reason(x, w, lengths, found)
    if reason is not None:
        rewriter.missed(op, f"{op.name} stays one op: {reason}")
    elif rewriter.allow("lower-recurrent", op):
        layer = _Layer(RewriteMaker(op, unit, rewriter), op, operands, found)
        rewriter.applied(op, f"{op.name} is written out in {shape_of(x)[0]} steps")
        rewriter.replace(op, layer.results())


def _reason(x: SSAValue, w: SSAValue, lengths: SSAValue | None, found: NDArray | None) -> str | None:
    """Why a layer is not written out; None if it is."""
    if not spec(x).is_static:
        return "its shape depends on data"
    steps, directions = shape_of(x)[0], shape_of(w)[0]
    if not 0 < steps * directions <= MAX_STEPS or 0 in shape_of(x):
        return f"it has {steps * directions} steps"
    if lengths is not None and (found is None or bool(np.any((found < 0) | (found > steps)))):
        return "lengths of sequences are not constant"
    return None


@record(frozen=False)
class _Layer:
    """A layer in the making.

    Args:
        b: makes ops before that of the layer.  op: that of the layer.
        operands: x, w, r, bias, lengths, h and, of some, c and peepholes.
        lengths: of sequences, if they are given.
    """

    b: RewriteMaker
    op: NNOp
    operands: list[Any]
    lengths: NDArray | None

    def results(self) -> list[SSAValue]:
        """Return values of all results: states after each step, then last states."""
        directions = [self._direction(d) for d in range(shape_of(self.operands[1])[0])]
        outputs = [steps for steps, _ in directions]
        lasts = [self._joined([states[i] for _, states in directions], 0) for i in range(len(directions[0][1]))]
        return [self._joined(outputs, 1), *lasts]

    def _direction(self, d: int) -> tuple[SSAValue, list[SSAValue]]:
        """States after each step [t, 1, n, k] and last states [1, n, k] of one direction."""
        b, attrs = self.b, self.op.plain_attrs()
        x, w, r, bias, _, *states, peepholes = (*self.operands[:5], *self._states())
        weight, hidden = rows(b, w, d), rows(b, r, d)
        cell = CELLS[self.op.name](b, attrs, hidden, self._of(bias, d), self._of(peepholes, d), d)
        held = [self._start(s, d, x, r) for s in states]
        gates = cell.product(x, weight, cell.input_bias())
        steps, samples, size = *shape_of(x)[:2], shape_of(r)[2]
        found: list[SSAValue] = [gates] * steps
        backward = attrs["direction"] == "reverse" or d == 1
        for t in range(steps)[:: -1 if backward else 1]:
            new = cell.step(rows(b, gates, t), held)
            running = None if self.lengths is None or bool(np.all(t < self.lengths)) else b.constant((t < self.lengths)[:, None])
            y = new[0]
            if running is not None:
                y = b.nn("where", running, y, zeros(b, y, shape_of(y)))
                new = [b.nn("where", running, n, s) for n, s in zip(new, held, strict=True)]
            held = new
            found[t] = b.reshape(y, 1, 1, samples, size)
        return self._joined(found, 0), [b.reshape(s, 1, samples, size) for s in held]

    def _states(self) -> list[Any]:
        """h, of an LSTM c, and peepholes."""
        op = self.op
        return [*self.operands[5:7], self.operands[7]] if isinstance(op, LstmOp) else [self.operands[5], None]

    def _of(self, value: SSAValue | None, d: int) -> SSAValue | None:
        """Return the part of one direction, without the dimension of directions."""
        return None if value is None else rows(self.b, value, d)

    def _start(self, state: SSAValue | None, d: int, x: SSAValue, r: SSAValue) -> SSAValue:
        found = self._of(state, d)
        return zeros(self.b, x, (shape_of(x)[1], shape_of(r)[2])) if found is None else found

    def _joined(self, parts: list[SSAValue], axis: int) -> SSAValue:
        return parts[0] if len(parts) == 1 else self.b.nn("concat", *parts, axis=axis)
