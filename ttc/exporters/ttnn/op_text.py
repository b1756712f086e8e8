"""One op while its text is written: what rules ask, and what they give."""

from __future__ import annotations

from math import prod
from typing import cast

from numpy.typing import NDArray

from ttc.dialects.core.plain.functions import Work
from ttc.exporters.ttnn.code import CallText, Code
from ttc.exporters.ttnn.emitter import Emitter
from ttc.exporters.ttnn.values import FLAT, FULL, HOST, PlacedValue, flattened


class OpText:
    """One op while its text is written: what rules ask, and what they give.

    Args:
        emitter: the text.
        work: the op.
        operands: its values; None where one is absent.
        results: values to be given names.
    """

    def __init__(self, emitter: Emitter, work: Work, operands: list[PlacedValue | None], results: list[PlacedValue]) -> None:
        self.emitter, self.work, self.operands, self.results = emitter, work, operands, results

    def on_host(self, whole: Work) -> OpText:
        """Return the op as the host computes it, with the rows of all chips.  whole: its work there."""
        operands = [None if value is None else value.on_host for value in self.operands]
        return OpText(self.emitter, whole, operands, [value.on_host for value in self.results])

    def operand(self, index: int) -> PlacedValue:
        """Return an operand that is present."""
        value = self.operands[index] if index < len(self.operands) else None
        if value is None:
            raise Elsewhere(f"operand {index} is absent")
        return value

    def has(self, index: int) -> bool:
        """Return whether an operand is present."""
        return index < len(self.operands) and self.operands[index] is not None

    @property
    def weight_format(self) -> str:
        """The format of the op's weights."""
        return self.emitter.precision.weights_of(self.work)

    @property
    def config(self) -> str:
        """The variable that configures the multiplier for the op."""
        return self.emitter.precision.config_of(self.work)

    @property
    def present(self) -> list[PlacedValue]:
        """The operands that are there."""
        return [value for value in self.operands if value is not None]

    @property
    def stem(self) -> str:
        """The op's mnemonic as a name of Python."""
        name = self.work.op.removeprefix("nn.")
        return f"{name}_" if name in ("and", "or", "not") else name

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.results[0].shape

    def axis(self, name: str = "axis", rank: int | None = None) -> int:
        """Return an axis of an attribute, counted from the end: it is the same in tensors that were given more dimensions."""
        axis = cast("int", self.work.attrs[name])
        rank = len(self.operand(0).shape) if rank is None else rank
        return axis if axis < 0 else axis - rank

    def scalar(self, index: int, beside: int) -> int | float | None:
        """Return an operand that is one constant number as that number; None for any other.

        Args:    beside: the operand that the result has its rank of: a constant of more dimensions than it would add some.
        """
        value = self.operand(index)
        if value.leaf is None or prod(value.shape) != 1 or len(value.shape) > max(2, len(self.operand(beside).shape)):
            return None
        return self.emitter.graph.leaf(value.leaf).reshape(()).item()

    def array(self, index: int) -> NDArray:
        """Return the value of a constant operand.  Raises Elsewhere for one that is computed."""
        value = self.operand(index)
        if value.leaf is None:
            raise Elsewhere(f"operand {index} is no constant")
        return self.emitter.graph.leaf(value.leaf)

    def full(self, index: int) -> str:
        """Return an operand on the device in its own shape."""
        return self.emitter.full(self.operand(index))

    def flat(self, index: int) -> str:
        """Return an operand on the device as one row of pixels."""
        return self.emitter.flat(self.operand(index))

    def host(self, index: int) -> str:
        """Return an operand on the host."""
        return self.emitter.host(self.operand(index))

    def as_it_lies(self, index: int) -> tuple[str, str]:
        """Return the form in which the device holds an operand, FLAT or FULL, and its name in that."""
        return (FLAT, self.flat(index)) if self.operand(index).is_flat else (FULL, self.full(index))

    def give(self, code: CallText, form: str = FULL, index: int = 0, *, stem: str | None = None) -> str:
        """Write the op's call, with the memory of its result."""
        value = self.results[index]
        name = self._write(stem or self.stem, code, flattened(value.shape) if form == FLAT else value.shape)
        return self.emitter.hold(value, form, name)

    def keep(self, stem: str, code: CallText, shape: tuple[int, ...]) -> str:
        """Write a call whose result other ops read, too: it lives until the emitter's `pass_through` is told of it."""
        return self._write(stem, code, shape)

    def let(self, stem: str, code: CallText, shape: tuple[int, ...] | None = None) -> str:
        """Write a call whose result is on the way to the op's own.  shape: of it; None: that of the op's result."""
        name = self.keep(stem, code, self.shape if shape is None else shape)
        self.emitter.pass_through(name)
        return name

    def _write(self, stem: str, code: CallText, shape: tuple[int, ...]) -> str:
        name, place = self.emitter.memory(stem, shape)
        self.emitter.write(f"{name} = ", CallText(code.callee, code.arguments, (*code.keywords, ("memory_config", place)), code.brackets))
        return name

    def same(self, form: str, name: str, index: int = 0) -> None:
        """Give a result the name of a value that there is."""
        self.emitter.hold(self.results[index], form, name)

    def torch(self, code: Code, index: int = 0) -> None:
        """Write a computation on the host."""
        self.emitter.hold(self.results[index], HOST, self.emitter.let(self.stem, code))


class Elsewhere(Exception):
    """Raised for an op that a rule does not take, and why; another kind of rule may take it."""


def ints(step: OpText, name: str) -> tuple[int, ...]:
    """Return an attribute that is a list of whole numbers; an absent one is empty."""
    return tuple(cast("tuple[int, ...]", step.work.attrs.get(name) or ()))


def floats(step: OpText, name: str) -> tuple[float, ...]:
    """Return an attribute that is a list of numbers; an absent one is empty."""
    return tuple(cast("tuple[float, ...]", step.work.attrs.get(name) or ()))
