"""Tensors from nothing: filled ones, ranges, and triangles of ones."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.dynamic import expanded
from ttc.importers.common.parts import padded, triangle
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import Operand, TorchBuilder
from ttc.importers.torch.elements import floating
from ttc.importers.torch.tables import Row, Rows

Ints: TypeAlias = tuple[int, ...]


def filled(b: TorchBuilder, size: Ints, value: Operand) -> SSAValue:
    """Return a filled tensor in the dtype that PyTorch found for the result."""
    number = b.operand(value, b.result)
    return number if not size else b.nn("expand", b.reshape(number), shape=tuple(size))


def full(b: TorchBuilder, size: Ints, value: Operand, **_options: Any) -> SSAValue:
    return filled(b, size, value)


def full_like(b: TorchBuilder, x: SSAValue, value: Operand, **_options: Any) -> SSAValue:
    if b.spec(x).is_static:
        return filled(b, b.shape(x), value)
    return expanded(b, b.operand(value, b.result), b.nn("shape", x), b.spec(x).shape)


def new_full(b: TorchBuilder, x: SSAValue, size: Ints, value: Operand, **_options: Any) -> SSAValue:
    return filled(b, size, value)


def _of(value: float) -> Row:
    return lambda b, size, *_arguments, **_options: filled(b, size, value)


def _like(value: float) -> Row:
    return lambda b, x, *_arguments, **_options: full_like(b, x, value)


def _new(value: float) -> Row:
    return lambda b, x, size, *_arguments, **_options: filled(b, size, value)


def scalar_tensor(b: TorchBuilder, value: Operand, **_options: Any) -> SSAValue:
    return filled(b, (), value)


def _line(b: TorchBuilder, values: np.ndarray) -> SSAValue:
    return b.constant(values.astype(b.result))


def _steps(b: TorchBuilder, start: float, end: float, step: float) -> SSAValue:
    count = max(int(np.ceil((end - start) / step)), 0)
    if count > MAX_ELEMENTS:
        raise Unsupported(f"a range of {count} elements")
    return _line(b, start + np.arange(count) * step)


def arange(b: TorchBuilder, *bounds: Any, **_options: Any) -> SSAValue:
    """Return a range, given end; start, end; or start, end, step."""
    if any(isinstance(v, SSAValue) for v in bounds):
        raise Unsupported("bounds that depend on data")
    start, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return _steps(b, start, end, step)


def iota(b: TorchBuilder, length: int, *, start: int, step: int, **_options: Any) -> SSAValue:
    return _steps(b, start, start + length * step, step)


def _spaced(b: TorchBuilder, start: Operand, end: Operand, steps: int) -> SSAValue:
    """From start to end, both included, in floating point."""
    if steps > MAX_ELEMENTS:
        raise Unsupported(f"{steps} steps")
    dtype = b.result if b.result.kind in "fV" else np.dtype(np.float64)
    first, last = (b.reshape(floating(b, b.operand(v, dtype))) for v in (start, end))
    shares = np.arange(steps) / max(steps - 1, 1)
    early = b.nn("mul", last, b.constant(shares.astype(dtype)))
    return b.nn("add", b.nn("mul", first, b.constant((1 - shares).astype(dtype))), early)


def linspace(b: TorchBuilder, start: Operand, end: Operand, steps: int, **_options: Any) -> SSAValue:
    if isinstance(start, SSAValue) or isinstance(end, SSAValue):
        return b.cast(_spaced(b, start, end, steps), b.result)
    if steps > MAX_ELEMENTS:
        raise Unsupported(f"{steps} steps")
    if b.result.kind not in "fV":
        return _line(b, _whole_steps(start, end, steps))
    return _line(b, np.linspace(start, end, steps))


def _whole_steps(start: float, end: float, steps: int) -> np.ndarray:
    """Return whole numbers as PyTorch spaces them: counted from both ends to the middle, cut toward zero."""
    step = np.float32((end - start) / max(steps - 1, 1))
    at = np.arange(steps)
    early, late = int(start) + step * at, int(end) - step * (steps - 1 - at)
    return np.trunc(np.where(at < steps // 2, early, late))


def logspace(b: TorchBuilder, start: Operand, end: Operand, steps: int, base: float, **_options: Any) -> SSAValue:
    exponents = _spaced(b, start, end, steps)
    return b.cast(b.nn("pow", b.scalar(base, exponents), exponents), b.result)


def eye(b: TorchBuilder, n: int, m: int | None = None, **_options: Any) -> SSAValue:
    rows, columns = n, n if m is None else m
    if rows * columns > MAX_ELEMENTS:
        raise Unsupported(f"{rows} x {columns} elements")
    return b.constant(np.eye(rows, columns).astype(b.result))


def _indices(function: Any) -> Row:
    def row(b: TorchBuilder, rows: int, columns: int, offset: int, **_options: Any) -> SSAValue:
        if rows * columns > MAX_ELEMENTS:
            raise Unsupported(f"{rows} x {columns} elements")
        return _line(b, np.stack(function(rows, offset, columns)))

    return row


def tril(b: TorchBuilder, x: SSAValue, diagonal: int) -> SSAValue:
    return triangle(b, x, diagonal, upper=False)


def triu(b: TorchBuilder, x: SSAValue, diagonal: int) -> SSAValue:
    return triangle(b, x, diagonal, upper=True)


PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(b: TorchBuilder, x: SSAValue, pads: Ints, mode: str, value: float | None) -> SSAValue:
    """Pad before and after the last dimension, then the one before it; negative pads crop, for what is circular first."""
    if mode not in PAD_MODES:
        raise Unsupported(f"mode {mode[:20]}")
    rank = b.rank(x)
    before, after = [0] * rank, [0] * rank
    for i in range(len(pads) // 2):
        before[rank - 1 - i], after[rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    if mode == "circular":
        return padded(b, x, before, after, mode=PAD_MODES[mode])
    wider = padded(b, x, [max(p, 0) for p in before], [max(p, 0) for p in after], float(value or 0.0), PAD_MODES[mode])
    return padded(b, wider, [min(p, 0) for p in before], [min(p, 0) for p in after])


def constant_pad(b: TorchBuilder, x: SSAValue, pads: Ints, value: float) -> SSAValue:
    return pad(b, x, pads, "constant", value)


def _pad_mode(mode: str) -> Row:
    return lambda b, x, pads: pad(b, x, pads, mode, None)


ROWS: Rows = {
    "aten.full.default": full,
    "aten.full_like.default": full_like,
    "aten.new_full.default": new_full,
    "aten.fill.Scalar": full_like,
    "aten.fill.Tensor": full_like,
    **{f"aten.{name}.default": _of(value) for name, value in (("zeros", 0), ("ones", 1), ("empty_strided", 0), ("empty_permuted", 0))},
    **{f"aten.{name}_like.default": _like(value) for name, value in (("zeros", 0), ("ones", 1), ("empty", 0))},
    **{f"aten.new_{name}.default": _new(value) for name, value in (("zeros", 0), ("ones", 1), ("empty", 0), ("empty_strided", 0))},
    "aten.empty.memory_format": _of(0),
    "aten.zero.default": _like(0),
    "aten.scalar_tensor.default": scalar_tensor,
    "aten.arange.default": arange,
    "aten.arange.start": arange,
    "aten.arange.start_step": arange,
    "prims.iota.default": iota,
    **{f"aten.linspace.{kind}": linspace for kind in ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")},
    **{f"aten.logspace.{kind}": logspace for kind in ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")},
    "aten.eye.default": eye,
    "aten.eye.m": eye,
    "aten.tril_indices.default": _indices(np.tril_indices),
    "aten.triu_indices.default": _indices(np.triu_indices),
    "aten.tril.default": tril,
    "aten.triu.default": triu,
    "aten.pad.default": pad,
    "aten.constant_pad_nd.default": constant_pad,
    **{f"aten.reflection_pad{n}d.default": _pad_mode("reflect") for n in (1, 2, 3)},
    **{f"aten.replication_pad{n}d.default": _pad_mode("replicate") for n in (1, 2, 3)},
    "aten._pad_circular.default": _pad_mode("circular"),
}
