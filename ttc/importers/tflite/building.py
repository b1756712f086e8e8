"""The builder of quantized graphs: integers that stand for real numbers, and the real numbers that ops are mapped on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.nn.base import NNOp
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
        """The name, or with a number if a weight has it already."""
        found, number = name, 0
        while found in self._taken:
            number += 1
            found = f"{name}.{number}"
        self._taken.add(found)
        return found

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Real numbers that are made inside are not used again outside: they stand in a region."""
        real, coded = dict(self._real), dict(self._coded)
        try:
            yield
        finally:
            self._real, self._coded = real, coded

    def real(self, codes: SSAValue, quantization: Quantization) -> SSAValue:
        """The float32 numbers that integers stand for, made once."""
        key = codes, quantization
        if key not in self._real:
            scale, zero = self._step(quantization, len(self.shape(codes)), self.dtype(codes))
            if str(self.dtype(codes)) in CODES:
                value = self.nn("dequantize", codes, scale, zero)
            else:
                value = self.nn("mul", self.nn("sub", self.cast(codes, FLOAT32), self.cast(zero, FLOAT32)), scale)
            self._real[key] = value
            self._coded[value] = _Coded(codes, quantization)
        return self._real[key]

    def codes(self, value: SSAValue, quantization: Quantization, dtype: np.dtype) -> SSAValue:
        """The integers that stand for real numbers."""
        scale, zero = self._step(quantization, len(self.shape(value)), dtype)
        return self.nn("quantize", value, scale, zero)

    def moved(self, value: SSAValue, perm: tuple[int, ...]) -> SSAValue:
        """The transpose of weights.  Of quantized ones the integers are transposed, so that they still meet the op that reads them."""
        coded = self._coded.get(value)
        if coded is None:
            return self.nn("transpose", value, perm=perm)
        codes, q = coded
        if not value.uses and isinstance(value.owner, NNOp) and value.owner in self._body:
            self._body.remove(value.owner)
            del self._real[codes, q], self._coded[value]
            value.owner.drop_all_references()
        return self.real(self.nn("transpose", codes, perm=perm), Quantization(q.scales, q.zeros, perm.index(q.axis)))

    def _step(self, q: Quantization, rank: int, dtype: np.dtype) -> tuple[SSAValue, SSAValue]:
        """Scale and zero as operands, shaped to broadcast; the same values for the same steps, by which passes tell them."""
        key = Quantization(q.scales, q.zeros, q.axis), rank if len(q.scales) > 1 else 0, dtype
        if key not in self._steps:
            shape = tuple(len(q.scales) if i == q.axis else 1 for i in range(rank)) if len(q.scales) > 1 else ()
            scale = self.constant(np.array(q.scales, np.float32).reshape(shape))
            zeros = np.array(q.zeros, np.int64).astype(dtype)
            zero = self.constant(zeros[0] if len(set(q.zeros)) == 1 else zeros.reshape(shape))
            self._steps[key] = scale, zero
        return self._steps[key]
