"""Cells of recurrent layers in ops: what becomes of the states of one direction in one step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, ClassVar, TypeAlias

from xdsl.ir import SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.making import OpMaker, part

Values: TypeAlias = Sequence[SSAValue]
Product: TypeAlias = Callable[[int], SSAValue]
"""The products of the old state with the weights of a cell, by number."""


def rows(b: OpMaker, value: SSAValue, index: int) -> SSAValue:
    """Return what lies at one index of the first dimension."""
    shape = b.shape(value)
    return b.reshape(part(b, value, 0, index, 1), *shape[1:])


def cut(b: OpMaker, value: SSAValue, axis: int, count: int) -> list[SSAValue]:
    """Return equal parts of a value along a dimension."""
    size = b.shape(value)[axis] // count
    return [part(b, value, axis, i * size, size) for i in range(count)]


def activation(b: OpMaker, x: SSAValue, name: str, alpha: float, beta: float) -> SSAValue:
    """Return an activation of recurrent layers."""
    match name:
        case "relu" | "tanh" | "sigmoid" | "softplus":
            return b.nn(name, x)
        case "leakyrelu" | "elu":
            return b.nn("leaky_relu" if name == "leakyrelu" else "elu", x, alpha=alpha)
        case "hardsigmoid":
            return b.nn("hard_sigmoid", x, alpha=alpha, beta=beta)
        case "affine":
            return b.nn("add", b.nn("mul", b.scalar(alpha, x), x), b.scalar(beta, x))
        case "scaledtanh":
            return b.nn("mul", b.scalar(alpha, x), b.nn("tanh", b.nn("mul", b.scalar(beta, x), x)))
        case "thresholdedrelu":
            return b.nn("where", b.nn("greater_equal", x, b.scalar(alpha, x)), x, b.scalar(0.0, x))
        case _:
            return b.nn("div", x, b.nn("add", b.scalar(1.0, x), b.nn("abs", x)))  # softsign


@record(frozen=False)
class Cell:
    """One direction of a layer.

    Args:    b: makes ops.  attrs: of the layer.  r: weights of the state [gates * k, k].
             bias: [2 * gates * k], of inputs, then of states.  peepholes: [3 * k].  direction: its number.
    """

    FUNCTIONS: ClassVar[int] = 1
    b: OpMaker
    attrs: Mapping[str, Any]
    r: SSAValue
    bias: SSAValue | None
    peepholes: SSAValue | None
    direction: int

    @property
    def size(self) -> int:
        """Elements of the cell's state."""
        return self.b.shape(self.r)[1]

    def input_bias(self) -> SSAValue | None:
        """Return what is added to the products of the inputs: both biases."""
        if self.bias is None:
            return None
        return self.b.nn("add", *cut(self.b, self.bias, 0, 2))

    def weights(self) -> list[tuple[SSAValue, SSAValue | None]]:
        """Return weights of the products of the old state, which `combine` takes by number, with their biases."""
        return [(self.r, None)]

    @abstractmethod
    def combine(self, gates: SSAValue, product: Product, states: Values) -> list[SSAValue]:
        """New states from the inputs' products [n, gates * k], the old state's products, and the old states [n, k]."""

    @abstractmethod
    def of_parts(self, parts: Values, states: Values) -> list[SSAValue]:
        """New states from the sums that the cell reads, and the old states, all [n, k] and each element by itself."""

    def step(self, gates: SSAValue, states: Values) -> list[SSAValue]:
        """New states from the inputs' products [n, gates * k] and the old states [n, k]."""
        weights = self.weights()
        return self.combine(gates, lambda number: self.product(states[0], *weights[number]), states)

    def product(self, state: SSAValue, weight: SSAValue, bias: SSAValue | None = None) -> SSAValue:
        """Return a product of the state with a bias: state @ weight^T + bias."""
        return self.b.nn("matmul", state, weight, bias, transpose_a=False, transpose_b=True)

    def apply(self, number: int, x: SSAValue) -> SSAValue:
        """Return an activation of this direction, by number, of x brought into the clip's range."""
        index = number + self.direction * self.FUNCTIONS
        clip = self.attrs["clip"]
        if isfinite(clip):
            x = self.b.nn("clip", x, min=-clip, max=clip)
        return activation(self.b, x, *(self.attrs[key][index] for key in ("activations", "alphas", "betas")))


class SummingCell(Cell):
    """A cell that adds the old state's products to those of the inputs, and reads them nowhere else."""

    @abstractmethod
    def of_sum(self, gates: SSAValue, states: Values) -> list[SSAValue]:
        """New states from the sum of all products [n, gates * k], and the old states [n, k]."""

    def combine(self, gates: SSAValue, product: Product, states: Values) -> list[SSAValue]:
        return self.of_sum(self.b.nn("add", gates, product(0)), states)


class RnnCell(SummingCell):
    """The simple recurrent cell: h' = f(gates + h r^T)."""

    def of_sum(self, gates: SSAValue, states: Values) -> list[SSAValue]:
        return self.of_parts([gates], states)

    def of_parts(self, parts: Values, states: Values) -> list[SSAValue]:
        return [self.apply(0, parts[0])]


class GruCell(Cell):
    """The cell of gated recurrent units: h' = (1 - z) n + z h."""

    FUNCTIONS: ClassVar[int] = 2

    def input_bias(self) -> SSAValue | None:
        return None if self.bias is None else cut(self.b, self.bias, 0, 2)[0]

    @property
    def resets_first(self) -> bool:
        """Whether the reset gate takes a part of the state before it is multiplied, instead of a part of the product."""
        return not self.attrs["linear_before_reset"]

    def weights(self) -> list[tuple[SSAValue, SSAValue | None]]:
        both = self._weights(0, 2)
        return [both] if self.resets_first else [both, self.last_weights()]

    def last_weights(self) -> tuple[SSAValue, SSAValue | None]:
        """Return the weights and the bias of the new state."""
        return self._weights(2, 1)

    def _weights(self, first: int, count: int) -> tuple[SSAValue, SSAValue | None]:
        """Return the weights and the bias of neighbouring gates."""
        b, k = self.b, self.size
        start, size = first * k, count * k
        bias = None if self.bias is None else part(b, cut(b, self.bias, 0, 2)[1], 0, start, size)
        return part(b, self.r, 0, start, size), bias

    def combine(self, gates: SSAValue, product: Product, states: Values) -> list[SSAValue]:
        b, k, (h,) = self.b, self.size, states
        both = self.apply(0, b.nn("add", part(b, gates, 1, 0, 2 * k), product(0)))
        update, reset = cut(b, both, 1, 2)
        if self.resets_first:
            hidden = self.product(b.nn("mul", reset, h), *self.last_weights())
        else:
            hidden = b.nn("mul", reset, product(1))
        return [self._mixed(update, b.nn("add", part(b, gates, 1, 2 * k, k), hidden), h)]

    def of_parts(self, parts: Values, states: Values) -> list[SSAValue]:
        """parts: sums of update, reset and new state, of which the last where the product is reset are two: of the old one's product, and
        of the input's.
        """
        update = self.apply(0, parts[0])
        if self.resets_first:
            return [self._mixed(update, parts[2], states[0])]
        hidden = self.b.nn("mul", self.apply(0, parts[1]), parts[2])
        return [self._mixed(update, self.b.nn("add", parts[3], hidden), states[0])]

    def kept(self, reset: SSAValue, h: SSAValue) -> SSAValue:
        """Return what is kept of the old state, and is multiplied if it is reset first.  reset: the sum of that gate."""
        return self.b.nn("mul", self.apply(0, reset), h)

    def _mixed(self, update: SSAValue, total: SSAValue, h: SSAValue) -> SSAValue:
        """Return the new state, given what it is a function of."""
        b = self.b
        new = self.apply(1, total)
        rest = b.nn("sub", b.scalar(1.0, update), update)
        return b.nn("add", b.nn("mul", rest, new), b.nn("mul", update, h))


class LstmCell(SummingCell):
    """The cell of long short-term memory: c' = forget c + enter g(new), h' = leave l(c')."""

    FUNCTIONS: ClassVar[int] = 3

    def of_sum(self, gates: SSAValue, states: Values) -> list[SSAValue]:
        return self.of_parts(cut(self.b, gates, 1, 4), states)

    def of_parts(self, parts: Values, states: Values) -> list[SSAValue]:
        b, c = self.b, states[1]
        enter, leave, forget, new = parts
        enter = self.apply(0, self._peek(enter, c, 0))
        coupled = self.attrs["input_forget"]
        forget = b.nn("sub", b.scalar(1.0, enter), enter) if coupled else self.apply(0, self._peek(forget, c, 2))
        c = b.nn("add", b.nn("mul", forget, c), b.nn("mul", enter, self.apply(1, new)))
        return [b.nn("mul", self.apply(0, self._peek(leave, c, 1)), self.apply(2, c)), c]

    def _peek(self, gate: SSAValue, c: SSAValue, number: int) -> SSAValue:
        if self.peepholes is None:
            return gate
        return self.b.nn("add", gate, self.b.nn("mul", cut(self.b, self.peepholes, 0, 3)[number], c))


CELLS: Mapping[str, type[Cell]] = {"nn.rnn": RnnCell, "nn.gru": GruCell, "nn.lstm": LstmCell, "nn.lstm_training": LstmCell}
"""The cells by the op of their layer."""
