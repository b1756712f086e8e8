"""The pass that writes Fourier transforms as products with the matrices of cosines and sines of their size."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.records import record
from ttc.dialects.nn.binary import AddOp, SubOp
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.pieces import PadOp, SliceOp
from ttc.dialects.nn.spectral import FftOp, IrfftOp, SpectralOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, inverse, reshaped, shape_of, spec, stem_of, sweep_entries, transposed

MAX_SIZE = 2048
"""The largest transform that becomes products: its matrices grow with the square of its size."""


@record
class LowerFft(Pass):
    """Write Fourier transforms as products, for targets with tiles: (a + i c)(cos - i sin), rows by matrices.

    Before:
        (%x: tensor<2x2xf32>)
        %y, %z = nn.fft(%x, _) {axis = -1, inverse = false, onesided = true, size = 2}
            : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
        return %y, %z : tensor<2x2xf32>, tensor<2x2xf32>
    After:
        (%x: tensor<2x2xf32>)
        %c = ttc.constant() {value = #ttc.weight<"y.fft.cosines", tensor<2x2xf32>>} : () -> tensor<2x2xf32>
        %s = ttc.constant() {value = #ttc.weight<"y.fft.sines", tensor<2x2xf32>>} : () -> tensor<2x2xf32>
        %y = nn.matmul(%x, %c, _) {transpose_a = false, transpose_b = false} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
        %z = nn.matmul(%x, %s, _) {transpose_a = false, transpose_b = false} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
        return %y, %z : tensor<2x2xf32>, tensor<2x2xf32>
    Missed:
        a size of more than 2048; a dimension that depends on data.  Targets in row layout have transforms of their own.
    """

    name: ClassVar[str] = "lower-fft"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if unit.target.tile is None:
            return
        lowered = _Lowering(unit, rewriter)
        sweep_entries(unit, rewriter, {FftOp: lowered.fft, IrfftOp: lowered.irfft})


@record
class _Lowering:
    unit: Unit
    rewriter: Rewriter

    def fft(self, op: FftOp) -> None:
        size = attr(op, "size")
        if not self._allowed(op, size):
            return
        bins = size // 2 + 1 if attr(op, "onesided") else size
        angles = _angles(size, size, bins)
        cosines, sines = np.cos(angles), -np.sin(angles)
        if attr(op, "inverse"):
            cosines, sines = cosines / size, -sines / size
        cosine, sine = self._constant(op, "cosines", cosines), self._constant(op, "sines", sines)
        a, c = self._lines(op, size)
        real, imaginary = self._times(op, a, cosine), self._times(op, a, sine)
        if c is not None:
            real = self.rewriter.build(op, SubOp, real, self._times(op, c, sine)).results[0]
            imaginary = self.rewriter.build(op, AddOp, imaginary, self._times(op, c, cosine)).results[0]
        self._finish(op, real, imaginary)

    def irfft(self, op: IrfftOp) -> None:
        size = attr(op, "size")
        if not self._allowed(op, size):
            return
        bins = size // 2 + 1
        angles = _angles(size, bins, size)
        weights = np.full((bins, 1), 2 / size)  # of an element and its mirror image, which the ends lack
        weights[0] = 1 / size
        if size % 2 == 0:
            weights[-1] = 1 / size
        a, c = self._lines(op, bins)
        y = self._times(op, a, self._constant(op, "cosines", weights * np.cos(angles)))
        if c is not None:
            sines = self._constant(op, "sines", weights * np.sin(angles))
            y = self.rewriter.build(op, SubOp, y, self._times(op, c, sines)).results[0]
        self._finish(op, y)

    def _allowed(self, op: SpectralOp, size: int) -> bool:
        reason = f"its size is above {MAX_SIZE}" if size > MAX_SIZE else None
        if not all(spec(value).is_static for value in (*op.operands, *op.results)):
            reason = "a dimension depends on data"
        if reason is not None:
            self.rewriter.missed(op, f"the transform stays: {reason}")
        return reason is None and self.rewriter.allow("lower-fft", op)

    def _lines(self, op: SpectralOp, size: int) -> tuple[SSAValue, SSAValue | None]:
        """Real and imaginary parts as rows of that many elements, cut or padded."""
        axis, rank = attr(op, "axis"), len(shape_of(op.real))
        perm = _to_end(axis, rank)
        found = [transposed(self.rewriter, op, self._sized(op, x, axis % rank, size), perm) for x in op.operands]
        rows = [x if rank > 1 else reshaped(self.rewriter, op, x, (1, size)) for x in found]  # products take rows
        return rows[0], rows[1] if len(rows) > 1 else None

    def _sized(self, op: SpectralOp, x: SSAValue, axis: int, size: int) -> SSAValue:
        shape = shape_of(x)
        wanted = tuple(size if i == axis else d for i, d in enumerate(shape))
        zeros, ones = (0,) * len(shape), (1,) * len(shape)
        if shape[axis] > size:
            return self.rewriter.build(op, SliceOp, x, starts=zeros, sizes=wanted, steps=ones).results[0]
        after = tuple(w - d for w, d in zip(wanted, shape, strict=True))
        return self.rewriter.build(op, PadOp, x, before=zeros, after=after, value=0.0, mode="constant").results[0] if any(after) else x

    def _times(self, op: SpectralOp, x: SSAValue, matrix: SSAValue) -> SSAValue:
        flags: dict[str, Any] = {"transpose_a": False, "transpose_b": False}
        return self.rewriter.build(op, MatmulOp, x, matrix, None, **flags).results[0]

    def _constant(self, op: SpectralOp, what: str, matrix: NDArray) -> SSAValue:
        matrix = matrix.astype(spec(op.real).dtype)
        leaf = ConstantOp.weight(matrix, self.unit.weights, f"{stem_of(op)}.{what}", self.rewriter.location((op,)))
        return self.rewriter.insert(op, leaf).result

    def _finish(self, op: SpectralOp, *lines: SSAValue) -> None:
        """Put the axis of rows back in its place."""
        shape = shape_of(op.results[0])
        back = inverse(_to_end(attr(op, "axis"), len(shape)))
        found = [transposed(self.rewriter, op, y, back) if len(shape) > 1 else reshaped(self.rewriter, op, y, shape) for y in lines]
        self.rewriter.applied(op, "a Fourier transform is products")
        self.rewriter.replace(op, found)


def _angles(size: int, rows: int, columns: int) -> NDArray:
    return 2 * np.pi * (np.outer(np.arange(rows), np.arange(columns)) % size) / size


def _to_end(axis: int, rank: int) -> tuple[int, ...]:
    return (*(i for i in range(rank) if i != axis % rank), axis % rank)
