"""Numpy semantics of the elementwise ops of Buda netlists, as the reference defines them: in float32, finite where it can be."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.tiling.arrays import split
from ttc.dialects.tile.facts.sfpu import MAX_EXPONENT
from ttc.dialects.tile.kernels import KERNELS

VECTOR_ROWS, VECTOR_COLUMNS = 4, 16
"""Rows and columns of a tile that the vector modes `r` and `c` compute."""
SMALL = 16
"""Tiles of at most so many rows or columns are computed whole, whatever the mode."""

_FLOAT32 = np.finfo(np.float32)
_GELU_SCALE = sqrt(2 / np.pi)
_MT19937_SEED = 5489
"""The seed of the Mersenne twister where none is given."""


@KERNELS.rule("sfpu")
def sfpu(
    x: NDArray, *, fn: str, parameter: float = 0.0, vector: str = "rc", rest: str = "zero", tile: tuple[int, int] = (32, 32)
) -> NDArray:
    """Return fn of x; in vector modes of a part of every tile, beside zeros or what x holds."""
    values = x.astype(np.float32, copy=False)
    vector = "rc" if min(tile) <= SMALL else vector
    if fn == "dropout":
        found = _dropout(values, parameter, tile, vector)
    else:
        found = _functions()[fn](values, parameter)
    if vector == "rc":
        return found.astype(np.float32, copy=False)
    y = split(np.zeros_like(values) if rest == "zero" else values.copy(), tile)
    part = (..., slice(VECTOR_ROWS), slice(None), slice(None)) if vector == "r" else (..., slice(VECTOR_COLUMNS))
    y[part] = split(found, tile)[part]
    return y.reshape(x.shape)


@KERNELS.rule("binary")
def binary(a: NDArray, b: NDArray, *, fn: str) -> NDArray:
    """Return a op b; a product with zero is zero, whatever the other factor."""
    left, right = a.astype(np.float32, copy=False), b.astype(np.float32, copy=False)
    if fn == "add":
        return left + right
    if fn == "subtract":
        return left - right
    if fn == "maximum":
        return np.maximum(left, right)
    return _product(left, right)


@KERNELS.rule("relu")
def relu(x: NDArray, *, mode: str, threshold: float) -> NDArray:
    """Return x from a threshold on and 0 below it (`min`), or x between 0 and the threshold and these outside (`max`)."""
    values, limit = x.astype(np.float32, copy=False), np.float32(threshold)
    if mode == "min":
        return np.where(values >= limit, values, np.float32(0))
    return np.where(values >= limit, limit, np.where(values >= 0, values, np.float32(0)))


@KERNELS.rule("rescale")
def rescale(x: NDArray, scale: NDArray, *, kind: str, zero_point: float) -> NDArray:
    """x * scale + zero point, or for `dequantization` (x - zero point) * scale."""
    values, factor, zero = x.astype(np.float32, copy=False), scale.astype(np.float32, copy=False), np.float32(zero_point)
    if kind == "dequantization":
        return _product(values - zero, factor)
    return _product(values, factor) + zero


def _product(a: NDArray, b: NDArray) -> NDArray:
    """a * b, 0 where either is 0."""
    y = a * b
    if not np.isfinite(y).all():
        y = np.where((a == 0) | (b == 0), np.float32(0), y)
    return y


# ---- functions -------------------------------------------------------------------------------------------------------------------


def _functions() -> dict[str, Callable[[NDArray, float], NDArray]]:
    """Return functions of an array and a parameter, by name."""
    return {
        "abs": lambda x, _: np.abs(x),
        "cosine": lambda x, _: np.cos(x),
        "exp": lambda x, _: _exp(x),
        "gelu": lambda x, _: x * _gate(x),
        "gelu_derivative": lambda x, _: _gate(x) + x * np.exp(-0.5 * x * x) * np.float32(_GELU_SCALE / 2),
        "log": lambda x, _: np.log(np.where(x == 0, _FLOAT32.eps, x)),
        "lrelu": lambda x, slope: np.where(x > 0, x, x * np.float32(slope)),
        "power": _power,
        "reciprocal": lambda x, _: 1 / np.where(x == 0, _FLOAT32.eps, x),
        "sigmoid": lambda x, _: 1 / (1 + _exp(-x)),
        "sine": lambda x, _: np.sin(x),
        "sqrt": _sqrt,
        "square": lambda x, _: x * x,
        "tanh": lambda x, _: np.tanh(x),
    }


def _exp(x: NDArray) -> NDArray:
    """e^x, at most the largest number."""
    return np.minimum(np.exp(x), _FLOAT32.max)


def _gate(x: NDArray) -> NDArray:
    """(1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2."""
    return np.float32(0.5) * (1 + np.tanh(np.float32(_GELU_SCALE) * (x + np.float32(0.044715) * x * x * x)))


def _sqrt(x: NDArray, _: float) -> NDArray:
    """No number where there is no root; the reference stops there, but other elements are still worth having."""
    with np.errstate(invalid="ignore"):
        return np.sqrt(x)


def _power(x: NDArray, exponent: float) -> NDArray:
    """x times itself, one factor after the other."""
    if not exponent <= MAX_EXPONENT:
        raise Error("E0402", f"a power of {exponent} takes too many products")
    y = np.ones_like(x)
    for _ in range(int(exponent)):
        y = x * y
    return y


def _dropout(x: NDArray, probability: float, tile: tuple[int, int], vector: str) -> NDArray:
    """Return elements dropped with that probability, the others scaled so that the expectation stays.

    Each tile draws anew from a Mersenne twister of the default seed, so all tiles drop the same elements.  A draw takes two words, the
    lower one first, for a number in [0, 1) of 64 bits.
    """
    tiles = split(x, tile)  # before a mask is drawn for tiles of any size
    high = VECTOR_ROWS if vector == "r" else tile[0]
    wide = VECTOR_COLUMNS if vector == "c" else tile[1]
    words = np.random.RandomState(_MT19937_SEED).randint(0, 1 << 32, 2 * high * wide, np.uint32).astype(np.float64)
    drawn = ((words[0::2] + words[1::2] * 2.0**32) / 2.0**64).reshape(high, wide)
    kept = np.ones(tile, np.float32)
    kept[:high, :wide] = drawn >= probability
    scale = np.float32(1.0 if probability >= 1 else 1 / (1 - probability))
    return (tiles * kept[:, None, :]).reshape(x.shape) * scale
