"""The pass that writes recurrent layers over few steps, and their gradients, as products and elementwise ops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.cells import CELLS, rows
from ttc.dialects.nn.making import part, zeros
from ttc.dialects.nn.recurrent import GruOp, LstmOp, LstmTrainingOp, RecurrentGradientOp, RnnOp
from ttc.dialects.nn.shapes.recurrent import outer_terms
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.making import RewriteMaker
from ttc.passes.nn.match import MAX_READ, constant_array, shape_of, spec, sweep_entries

MAX_STEPS = 64
"""The most steps, of both directions together, that are written out."""

_LAYERS: tuple[type[NNOp], ...] = (RnnOp, GruOp, LstmOp)


@record
class LowerRecurrent(Pass):
    """Write a recurrent layer out step by step: one product for the inputs of all steps, then one for the state of each.

    So is the gradient of a direction.  A layer that keeps its sums and cells for a gradient is one that does not where nobody reads them.

    Args:
        most: steps that are written out, of both directions together.

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
        it has more steps than are written out; lengths of sequences are not constant, or shapes depend on data.
    """

    name: ClassVar[str] = "lower-recurrent"
    most: int = MAX_STEPS

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        def layer(op: NNOp) -> None:
            _lower(op, unit, rewriter, self.most)

        def gradient(op: RecurrentGradientOp) -> None:
            _lower_gradient(op, unit, rewriter, self.most)

        sweep_entries(unit, rewriter, {LstmTrainingOp: lambda op: _infer(op, rewriter)})
        if self.most:
            sweep_entries(unit, rewriter, {RecurrentGradientOp: gradient, **dict.fromkeys(_LAYERS, layer)})


def _infer(op: LstmTrainingOp, rewriter: Rewriter) -> None:
    """Make a layer whose sums and cells nobody reads one of inference."""
    if op.sums.first_use is None and op.cells.first_use is None and rewriter.allow("lower-recurrent", op):
        new = rewriter.build(op, LstmOp, *op.named_operands(), **op.plain_attrs())
        rewriter.applied(new, "the layer is that of inference: nobody reads its sums and cells")
        rewriter.replace(op, [*new.results, new.results[0], new.results[0]])


def _lower_gradient(op: RecurrentGradientOp, unit: Unit, rewriter: Rewriter, most: int) -> None:
    steps = shape_of(op.dy)[0] if spec(op.dy).is_static else 0
    if not 0 < steps <= most or 0 in shape_of(op.dy):
        rewriter.missed(op, f"{op.name} stays one op: {f'it has {steps} steps' if steps else 'its shape depends on data'}")
    elif rewriter.allow("lower-recurrent", op):
        found = _steps_back(RewriteMaker(op, unit, rewriter), op)
        rewriter.applied(op, f"{op.name} is written out in {steps} steps")
        rewriter.replace(op, found)


def _steps_back(b: RewriteMaker, op: RecurrentGradientOp) -> list[SSAValue]:
    """Return cotangents of the sums of all steps, and of the first states, by ops of their own for each step."""
    (steps, samples, size), states, attrs = shape_of(op.dy), shape_of(op.ends)[0], op.plain_attrs()
    sums, inner = attrs["sums"], attrs["inner"] * size
    outer = shape_of(op.r)[0] - inner
    terms = list(zip(attrs["sources"], attrs["targets"], strict=True))
    within = outer_terms(attrs["sources"], states, sums)
    carried: list[SSAValue | None] = [rows(b, op.ends, i) for i in range(states)]
    of_sums: list[SSAValue] = [op.dy] * steps
    for t in range(steps)[:: 1 if attrs["reverse"] else -1]:
        found: dict[int, SSAValue | None] = dict(enumerate(carried))
        found[0] = _sum(b, found[0], rows(b, op.dy, t))
        factors = rows(b, op.factors, t)
        for i, (source, target) in enumerate(terms):
            if i == within:
                inner_sums = _joined_sums(b, op, found, range(outer // size, (outer + inner) // size))
                found[source] = _product(b, inner_sums, op.r, outer, inner)
            given = found[source]
            if given is not None:
                found[target] = _sum(b, found.get(target), b.nn("mul", part(b, factors, 1, i * size, size), given))
        of_sums[t] = _joined_sums(b, op, found, range(sums))
        passed = _product(b, part(b, of_sums[t], 1, 0, outer), op.r, 0, outer)
        carried = [_sum(b, found.get(states), passed), *(found.get(states + i) for i in range(1, states))]
    every = [b.reshape(x, 1, *shape_of(x)) for x in of_sums]
    starts = [b.reshape(zeros(b, op.dy, (samples, size)) if x is None else x, 1, samples, size) for x in carried]
    return [b.nn("concat", *xs, axis=0) if len(xs) > 1 else xs[0] for xs in (every, starts)]


def _joined_sums(b: RewriteMaker, op: RecurrentGradientOp, slots: Mapping[int, SSAValue | None], numbers: range) -> SSAValue:
    """Return the cotangents of the sums of these numbers side by side."""
    states, none = shape_of(op.ends)[0], zeros(b, op.dy, shape_of(op.dy)[1:])
    sums = [slots.get(2 * states + j) or none for j in numbers]
    return b.nn("concat", *sums, axis=1) if len(sums) > 1 else sums[0]


def _product(b: RewriteMaker, sums: SSAValue, r: SSAValue, start: int, size: int) -> SSAValue:
    """Return the product of sums with so many rows of r."""
    return b.nn("matmul", sums, part(b, r, 0, start, size), None, transpose_a=False, transpose_b=False)


def _sum(b: RewriteMaker, x: SSAValue | None, y: SSAValue) -> SSAValue:
    return y if x is None else b.nn("add", x, y)


def _lower(op: NNOp, unit: Unit, rewriter: Rewriter, most: int) -> None:
    operands = [*op.named_operands(), None, None]
    x, w, lengths = operands[0], operands[1], operands[4]
    if x is None or w is None:
        return
    found = None if lengths is None or not spec(lengths).is_static else constant_array(lengths, unit.weights, MAX_READ)
    reason = _reason(x, w, lengths, found, most)
    if reason is not None:
        rewriter.missed(op, f"{op.name} stays one op: {reason}")
    elif rewriter.allow("lower-recurrent", op):
        layer = _Layer(RewriteMaker(op, unit, rewriter), op, operands, found)
        rewriter.applied(op, f"{op.name} is written out in {shape_of(x)[0]} steps")
        rewriter.replace(op, layer.results())


def _reason(x: SSAValue, w: SSAValue, lengths: SSAValue | None, found: NDArray | None, most: int) -> str | None:
    """Why a layer is not written out; None if it is."""
    if not spec(x).is_static:
        return "its shape depends on data"
    steps, directions = shape_of(x)[0], shape_of(w)[0]
    if not 0 < steps * directions <= most or 0 in shape_of(x):
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
