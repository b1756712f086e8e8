"""The builder of quantized graphs: integers that stand for real numbers, and the real numbers that ops are mapped on."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.quantization import CODES
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import NO_INPUTS
from ttc.importers.tflite.model import Quantization

FLOAT32 = np.dtype(np.float32)


class _Coded(NamedTuple):
    """The integers of a real value, and what they stand for."""

    codes: SSAValue
    quantization: Quantization


class TfliteBuilder(Builder):
    """A builder that knows which real numbers were integers.

    declared: of the current node's outputs, the types that the model says they have.
    zero: the integer that stands for 0 where the current node computes on integers alone, else 0.
    """

    def __init__(self, reserved: frozenset[str], inputs: Mapping[SSAValue, NDArray] = NO_INPUTS) -> None:
        super().__init__(reserved, inputs)
        self.declared: tuple[np.dtype, ...] = ()
        self.zero = 0
        self._steps: dict[tuple[Quantization, int, np.dtype], tuple[SSAValue, SSAValue]] = {}
        self._real: dict[tuple[SSAValue, Quantization], SSAValue] = {}
        self._coded: dict[SSAValue, _Coded] = {}
        self._taken: set[str] = set()

    def free_name(self, name: str) -> str:
        """Return the name, with a number if a weight has it already."""
        found, number = name, 0
        while found in self._taken or found in self._weights:
            number += 1
            found = f"{name}.{number}"
        self._taken.add(found)
        return found

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Keep real numbers that are made inside the block from being used outside: they stand in a region."""
        real, coded = dict(self._real), dict(self._coded)
        try:
            yield
        finally:
            self._real, self._coded = real, coded

    def real(self, codes: SSAValue, quantization: Quantization) -> SSAValue:
        """Return the float32 numbers that integers stand for, made once."""
        key = codes, quantization
        if key not in self._real:
            scale, zero = self._step(quantization, self.spec(codes).shape, self.dtype(codes))
            if str(self.dtype(codes)) in CODES:
                value = self.nn("dequantize", codes, scale, zero)
            else:
                value = self.nn("mul", self.nn("sub", self.cast(codes, FLOAT32), self.cast(zero, FLOAT32)), scale)
            self._real[key] = value
            self._coded[value] = _Coded(codes, quantization)
        return self._real[key]

    def codes(self, value: SSAValue, quantization: Quantization, dtype: np.dtype) -> SSAValue:
        """Return the integers that stand for real numbers."""
        scale, zero = self._step(quantization, self.spec(value).shape, dtype)
        return self.nn("quantize", value, scale, zero)

    def forget_unused(self, values: Iterable[SSAValue | None], kept: Container[SSAValue]) -> None:
        """Drop real numbers that the current node did not use after all; kept: those that the node gives."""
        for value in values:
            coded = None if value is None else self._coded.get(value)
            if value is None or coded is None or value.uses or value in kept:
                continue
            place = next((i for i in range(len(self._body) - 1, -1, -1) if self._body[i] is value.owner), None)
            if place is not None:
                self._body.pop(place).drop_all_references()
                del self._real[coded], self._coded[value]

    def whole(self, value: SSAValue, what: str) -> int:
        """Return the known integer of an operand with one element.  Raises Unsupported, E0203."""
        found = self.ints(value, what)
        if len(found) != 1:
            raise Error("E0203", f"{what} must be one integer, not {len(found)}", where=self.node)
        return found[0]

    def moved(self, value: SSAValue, perm: tuple[int, ...]) -> SSAValue:
        """Return the transpose of weights; of quantized ones the integers are transposed, so that they still meet the op that reads
        them.
        """
        coded = self._coded.get(value)
        if coded is None:
            return self.nn("transpose", value, perm=perm)
        codes, q = coded
        return self.real(self.nn("transpose", codes, perm=perm), Quantization(q.scales, q.zeros, perm.index(q.axis)))

    def _step(self, q: Quantization, of: tuple[int, ...], dtype: np.dtype) -> tuple[SSAValue, SSAValue]:
        """Scale and zero as operands, shaped to broadcast; the same values for the same steps, by which passes tell them.  Raises E0401."""
        several, rank = len(q.scales) > 1, len(of)
        if several and (q.axis >= rank or of[q.axis] != len(q.scales)):
            raise Error("E0401", f"{len(q.scales)} scales do not fit axis {q.axis} of {list(of)}")
        key = q, rank if several else 0, dtype
        if key not in self._steps:
            shape = tuple(len(q.scales) if i == q.axis else 1 for i in range(rank)) if several else ()
            scale = self.constant(np.array(q.scales, np.float32).reshape(shape))
            zeros = np.array(q.zeros, np.int64).astype(dtype)
            zero = self.constant(zeros[0] if len(set(q.zeros)) == 1 else zeros.reshape(shape))
            self._steps[key] = scale, zero
        return self._steps[key]
