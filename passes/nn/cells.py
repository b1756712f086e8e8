"""Cells of recurrent layers in ops: what becomes of the states of one direction in one step."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.attributes import LiteralAttr, WeightAttr
from ttc.dialects.core.leaves import ConstantOp
from ttc.dialects.core.records import record
from ttc.dialects.core.spec import Spec, tensor_type
from ttc.dialects.nn.activation import ClipOp, EluOp, HardSigmoidOp, LeakyReluOp, ReluOp, SigmoidOp, SoftplusOp, TanhOp
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.binary import AddOp, DivOp, GreaterEqualOp, MulOp, SubOp, WhereOp
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.pieces import SliceOp
from ttc.dialects.nn.shape import ExpandOp
from ttc.dialects.nn.unary import AbsOp
from ttc.passes.base import Rewriter, Unit
from ttc.passes.nn.match import attr, reshaped, shape_of, spec, stem_of

Values = Sequence[SSAValue]


@record(frozen=False)
class Ops:
    """Makes nn ops before one op, located at it."""

    op: NNOp
    unit: Unit
    rewriter: Rewriter

    @property
    def dtype(self) -> np.dtype:
        """That of the op's first operand."""
        return spec(self.op.operands[0]).dtype

    def make(self, kind: type[NNOp], *operands: SSAValue | None, **attrs: Any) -> SSAValue:
        """The first result of a new op.  Raises E04xx at its place."""
        return self.rewriter.build(self.op, kind, *operands, **attrs).results[0]

    def constant(self, array: NDArray) -> SSAValue:
        """A literal, or a weight if it is large."""
        wanted = Spec(array.shape, array.dtype)
        if array.size <= LiteralAttr.MAX_ELEMENTS:
            value: LiteralAttr | WeightAttr = LiteralAttr.of(array)
        else:
            key = self.unit.weights.fresh(f"{stem_of(self.op)}.constant")
            self.unit.weights.add_array(key, array)
            value = WeightAttr.of(key, wanted)
        leaf = ConstantOp.make((), {"value": value}, [tensor_type(wanted)], self.rewriter.location((self.op,)))
        return self.rewriter.insert(self.op, leaf).result

    def number(self, value: float) -> SSAValue:
        """One number of the dtype."""
        return self.constant(np.array(value).astype(self.dtype))

    def zeros(self, shape: tuple[int, ...]) -> SSAValue:
        """Zeros of the dtype."""
        return self.make(ExpandOp, self.number(0.0), shape=shape)

    def reshape(self, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """The value in another shape."""
        return reshaped(self.rewriter, self.op, value, shape)

    def rows(self, value: SSAValue, index: int) -> SSAValue:
        """What lies at one index of the first dimension."""
        shape = shape_of(value)
        return self.reshape(self.part(value, 0, index, 1), shape[1:])

    def part(self, value: SSAValue, axis: int, start: int, size: int) -> SSAValue:
        """A range of one dimension."""
        shape = shape_of(value)
        if size == shape[axis]:
            return value
        starts = [start if i == axis else 0 for i in range(len(shape))]
        sizes = [size if i == axis else d for i, d in enumerate(shape)]
        return self.make(SliceOp, value, starts=tuple(starts), sizes=tuple(sizes), steps=(1,) * len(shape))

    def cut(self, value: SSAValue, axis: int, count: int) -> list[SSAValue]:
        """Equal parts along a dimension."""
        size = shape_of(value)[axis] // count
        return [self.part(value, axis, i * size, size) for i in range(count)]

    def product(self, state: SSAValue, weight: SSAValue, bias: SSAValue | None = None) -> SSAValue:
        """state @ weight^T + bias."""
        return self.make(MatmulOp, state, weight, bias, transpose_a=False, transpose_b=True)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a + b."""
        return self.make(AddOp, a, b)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a * b."""
        return self.make(MulOp, a, b)

    def rest(self, a: SSAValue) -> SSAValue:
        """1 - a."""
        return self.make(SubOp, self.number(1.0), a)

    def choose(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """a where the condition holds, else b."""
        return self.make(WhereOp, condition, a, b)

    def activation(self, x: SSAValue, name: str, alpha: float, beta: float) -> SSAValue:
        """An activation of recurrent layers."""
        match name:
            case "relu" | "tanh" | "sigmoid" | "softplus":
                return self.make({"relu": ReluOp, "tanh": TanhOp, "sigmoid": SigmoidOp, "softplus": SoftplusOp}[name], x)
            case "leakyrelu" | "elu":
                return self.make(LeakyReluOp if name == "leakyrelu" else EluOp, x, alpha=alpha)
            case "hardsigmoid":
                return self.make(HardSigmoidOp, x, alpha=alpha, beta=beta)
            case "affine":
                return self.add(self.mul(self.number(alpha), x), self.number(beta))
            case "scaledtanh":
                return self.mul(self.number(alpha), self.make(TanhOp, self.mul(self.number(beta), x)))
            case "thresholdedrelu":
                return self.choose(self.make(GreaterEqualOp, x, self.number(alpha)), x, self.number(0.0))
            case _:
                return self.make(DivOp, x, self.add(self.number(1.0), self.make(AbsOp, x)))  # softsign


@record(frozen=False)
class Cell:
    """One direction of a layer.

    Args:    r: weights of the state [gates * k, k].  bias: [2 * gates * k], of inputs, then of states.  peepholes: [3 * k].
             direction: its number.
    """

    ops: Ops
    r: SSAValue
    bias: SSAValue | None
    peepholes: SSAValue | None
    direction: int

    @property
    def size(self) -> int:
        """Elements of a state."""
        return shape_of(self.r)[1]

    def input_bias(self) -> SSAValue | None:
        """What is added to the products of the inputs: both biases."""
        if self.bias is None:
            return None
        return self.ops.add(*self.ops.cut(self.bias, 0, 2))

    def step(self, gates: SSAValue, states: Values) -> list[SSAValue]:
        """New states from the inputs' products [n, gates * k] and the old states [n, k]."""
        raise NotImplementedError

    def apply(self, number: int, x: SSAValue) -> SSAValue:
        """An activation of this direction, by number, of x brought into the clip's range."""
        op = self.ops.op
        index = number + self.direction * op.FUNCTIONS  # pyright: ignore[reportAttributeAccessIssue]
        clip = attr(op, "clip")
        if isfinite(clip):
            x = self.ops.make(ClipOp, x, min=-clip, max=clip)
        return self.ops.activation(x, *(attr(op, key)[index] for key in ("activations", "alphas", "betas")))


class RnnCell(Cell):
    """h' = f(gates + h r^T)."""

    def step(self, gates: SSAValue, states: Values) -> list[SSAValue]:
        return [self.apply(0, self.ops.add(gates, self.ops.product(states[0], self.r)))]


class GruCell(Cell):
    """h' = (1 - z) n + z h."""

    def input_bias(self) -> SSAValue | None:
        return None if self.bias is None else self.ops.cut(self.bias, 0, 2)[0]

    def step(self, gates: SSAValue, states: Values) -> list[SSAValue]:
        ops, k, (h,) = self.ops, self.size, states
        outer = None if self.bias is None else self.ops.cut(self.bias, 0, 2)[1]
        first, last = (None, None) if outer is None else (ops.part(outer, 0, 0, 2 * k), ops.part(outer, 0, 2 * k, k))
        weights = ops.part(self.r, 0, 0, 2 * k), ops.part(self.r, 0, 2 * k, k)
        both = self.apply(0, ops.add(ops.part(gates, 1, 0, 2 * k), ops.product(h, weights[0], first)))
        update, reset = ops.cut(both, 1, 2)
        if attr(ops.op, "linear_before_reset"):
            hidden = ops.mul(reset, ops.product(h, weights[1], last))
        else:
            hidden = ops.product(ops.mul(reset, h), weights[1], last)
        new = self.apply(1, ops.add(ops.part(gates, 1, 2 * k, k), hidden))
        return [ops.add(ops.mul(ops.rest(update), new), ops.mul(update, h))]


class LstmCell(Cell):
    """c' = forget c + enter g(new), h' = leave l(c')."""

    def step(self, gates: SSAValue, states: Values) -> list[SSAValue]:
        ops, (h, c) = self.ops, states
        enter, leave, forget, new = ops.cut(ops.add(gates, ops.product(h, self.r)), 1, 4)
        enter = self.apply(0, self._peek(enter, c, 0))
        forget = ops.rest(enter) if attr(ops.op, "input_forget") else self.apply(0, self._peek(forget, c, 2))
        c = ops.add(ops.mul(forget, c), ops.mul(enter, self.apply(1, new)))
        return [ops.mul(self.apply(0, self._peek(leave, c, 1)), self.apply(2, c)), c]

    def _peek(self, gate: SSAValue, c: SSAValue, number: int) -> SSAValue:
        if self.peepholes is None:
            return gate
        return self.ops.add(gate, self.ops.mul(self.ops.cut(self.peepholes, 0, 3)[number], c))
