"""Products and convolutions on the native engine, and what they are in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, Ran, ran
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.core.plain.interpret import kernel

_OPTIONS = ("level", "threads", "precision", "tiles")
"""Of `ran`; all else that is named is an attribute of the op."""


def product(a: NDArray, b: NDArray, *others: Given, format: str = "Float32", constant: bool = True, **rest: Any) -> Ran:
    """One product of matrices, b a constant or computed at each run."""
    options = {name: rest.pop(name) for name in _OPTIONS if name in rest}
    attrs = {"transpose_a": False, "transpose_b": False, **rest}
    left, right = (x.swapaxes(-1, -2) if attrs[f"transpose_{name}"] else x for x, name in ((a, "a"), (b, "b")))
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), left.shape[-2], right.shape[-1])
    works = [Work("tile.matmul", tuple(range(2 + len(others))), attrs, (TensorType(shape, format),))]
    return ran(works, [Given(a, format), Given(b, format, constant), *others], **options)


def multiplied(a: NDArray, b: NDArray) -> NDArray:
    """The product in float64, then rounded to float32: infinities and NaN where float32 has them."""
    with np.errstate(invalid="ignore", over="ignore"):
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)


def convolved(
    x: NDArray,
    w: NDArray,
    *others: Given,
    op: str = "conv2d",
    format: str = "Float32",
    constant: bool = True,
    after: str | None = None,
    **rest: Any,
) -> tuple[Ran, NDArray]:
    """One convolution of x[n, h, w, c], and what it is in float64.  after: a function of one operand that follows, on the engine alone."""
    options = {name: rest.pop(name) for name in _OPTIONS if name in rest}
    attrs = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1, **rest}
    expected = convolution(op, [x, w, *(other.array for other in others)], attrs)
    type_ = TensorType(expected.shape, format)
    works = [Work(f"tile.{op}", tuple(range(2 + len(others))), attrs, (type_,))]
    if after is not None:
        works.append(Work("tile.map", (2 + len(others),), {"fn": after}, (type_,)))
    return ran(works, [Given(x, format), Given(w, format, constant), *others], **options), expected


def convolution(op: str, arrays: Sequence[NDArray], attrs: Mapping[str, Any]) -> NDArray:
    """The same by its numpy kernel."""
    return np.asarray(kernel(f"tile.{op}")(*(array.astype(np.float64) for array in arrays), **attrs))


def close_where_tame(found: NDArray, expected: NDArray, atol: float, least: int) -> None:
    """Numbers that are not finite at the same places; all others but the largest close, more than `least` of them."""
    with np.errstate(over="ignore"):
        narrow = expected.astype(np.float32)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(narrow))
    tame = np.isfinite(narrow) & (np.abs(narrow) < 1e6)
    assert tame.sum() > least
    np.testing.assert_allclose(found[tame], narrow[tame], rtol=0, atol=atol)


def strange_alike(found: NDArray, expected: NDArray) -> None:
    """NaN and infinities at the same places."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
