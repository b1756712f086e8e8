"""Random numbers, and dropout in training.

A seed that a node does not give follows from its name: every run of a program draws the same numbers.
"""

from __future__ import annotations

import math
import zlib

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.tables import MAPPINGS
from ttc.importers.onnx.tensors import dtype_of

FLOAT = 1
INT32 = 6


@MAPPINGS.rule("RandomUniform-1")
def random_uniform_1(
    b: Builder, *, dtype: int = FLOAT, high: float = 1.0, low: float = 0.0, seed: float | None = None, shape: tuple[int, ...]
) -> SSAValue:
    """Draw numbers uniformly between low and high."""
    drawn = uniform(b, seed, shape, dtype_of(dtype, "dtype"))
    return _scaled(b, drawn, high - low, low)


@MAPPINGS.rule("RandomUniformLike-1")
def random_uniform_like_1(
    b: Builder, x: SSAValue, *, dtype: int | None = None, high: float = 1.0, low: float = 0.0, seed: float | None = None
) -> SSAValue:
    wanted = b.dtype(x) if dtype is None else dtype_of(dtype, "dtype")
    return _scaled(b, uniform(b, seed, b.shape(x), wanted), high - low, low)


@MAPPINGS.rule("RandomNormal-1")
def random_normal_1(
    b: Builder, *, dtype: int = FLOAT, mean: float = 0.0, scale: float = 1.0, seed: float | None = None, shape: tuple[int, ...]
) -> SSAValue:
    drawn = b.nn("random_normal", _seed(b, seed), shape=shape, dtype=dtype_of(dtype, "dtype"))
    return _scaled(b, drawn, scale, mean)


@MAPPINGS.rule("RandomNormalLike-1")
def random_normal_like_1(
    b: Builder, x: SSAValue, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> SSAValue:
    wanted = b.dtype(x) if dtype is None else dtype_of(dtype, "dtype")
    return _scaled(b, b.nn("random_normal", _seed(b, seed), shape=b.shape(x), dtype=wanted), scale, mean)


@MAPPINGS.rule("Multinomial-7")
def multinomial_7(b: Builder, x: SSAValue, *, dtype: int = INT32, sample_size: int = 1, seed: float | None = None) -> SSAValue:
    """Draw classes [batch, samples] by x[batch, classes], the logarithms of their weights."""
    if b.rank(x) != 2 or not 0 < sample_size < 1 << 20:
        raise Error("E0402", f"{sample_size} samples cannot be drawn by {b.spec(x)}: it takes rows of weights, and 1 to 2^20 - 1 samples")
    batch, classes = b.shape(x)
    below = b.nn("cumsum", b.nn("softmax", x, axis=1), axis=1, exclusive=False, reverse=False)
    drawn = uniform(b, seed, (batch, sample_size, 1), b.dtype(x))
    passed = b.cast(b.nn("greater_equal", drawn, b.reshape(below, batch, 1, classes)), np.dtype(np.int64))
    found = b.nn("reduce_sum", passed, axes=(2,), keepdims=False)
    last = b.constant(np.array(classes - 1, np.int64))
    return b.cast(b.nn("minimum", found, last), dtype_of(dtype, "dtype"))


def dropped(b: Builder, x: SSAValue, ratio: SSAValue | None, seed: float | None) -> tuple[SSAValue, SSAValue]:
    """Return x without a share of its elements, the rest scaled up to make up for it; and which are kept."""
    share = b.scalar(0.5, x) if ratio is None else b.cast(b.reshape(ratio), b.dtype(x))
    known = b.known(share)
    if known is not None and not 0 <= known.item() < 1:
        raise Error("E0402", f"a ratio of {known.item()} keeps nothing")
    kept = b.nn("greater_equal", uniform(b, seed, b.shape(x), np.dtype(np.float64)), b.cast(share, np.dtype(np.float64)))
    scaled = b.nn("div", x, b.nn("sub", b.scalar(1, x), share))
    return b.nn("where", kept, scaled, b.scalar(0, x)), kept


def uniform(b: Builder, seed: float | None, shape: tuple[int, ...], dtype: np.dtype) -> SSAValue:
    """Return numbers from 0 to 1."""
    return b.nn("random_uniform", _seed(b, seed), shape=shape, dtype=dtype)


def _seed(b: Builder, seed: float | None) -> SSAValue:
    if seed is not None and not (math.isfinite(seed) and abs(seed) < 1 << 62):
        raise Unsupported(f"a seed of {seed}")
    number = zlib.crc32(b.node.encode()) if seed is None else int(seed)
    return b.constant(np.array(number, np.int64))


def _scaled(b: Builder, x: SSAValue, scale: float, shift: float) -> SSAValue:
    x = x if scale == 1.0 else b.nn("mul", x, b.scalar(scale, x))
    return x if shift == 0.0 else b.nn("add", x, b.scalar(shift, x))
