"""Normalizations against float64."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests import sums
from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("amx", "avx2", "generic")
EPS = 1e-5


def normed(
    x: NDArray, others: tuple[NDArray, ...], *, axis: int = -1, op: str = "layer_norm", format: str = "Float32", level: str = "amx"
) -> Ran:
    work = Work(f"tile.{op}", tuple(range(1 + len(others))), {"axis": axis, "eps": EPS}, (TensorType(x.shape, format),))
    return ran([work], [Given(x, format), *(Given(other, format, constant=True) for other in others)], level=level)


def exact(x: NDArray, others: tuple[NDArray, ...], *, axis: int = -1, op: str = "layer_norm") -> NDArray:
    axes = tuple(range(axis % x.ndim, x.ndim))
    y = x.astype(np.float64)
    y = y - y.mean(axis=axes, keepdims=True) if op == "layer_norm" else y
    y /= np.sqrt((y * y).mean(axis=axes, keepdims=True) + EPS)
    y = y * others[0] if others else y
    return y + others[1] if len(others) > 1 else y


def close(found: Ran, x: NDArray, others: tuple[NDArray, ...], *, axis: int = -1) -> None:
    """As close as float32 may be: what is subtracted and added counts by its magnitude."""
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = x.astype(np.float64)
    magnitudes = (np.abs(wide) + np.abs(wide).mean(axis=axes, keepdims=True)) / np.sqrt(wide.var(axis=axes, keepdims=True) + EPS)
    scale, bias = (np.abs(other) for other in others) if others else (1, 0)
    sums.close(found.native, exact(x, others, axis=axis), magnitudes * scale + bias, 1e-6)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("length", [1, 15, 17, 64, 768, 4099])
def test_rows_of_all_lengths(length: int, level: str):
    x, others = normal(5, length) * 3 + 100, (normal(length), normal(length))
    found = normed(x, others, level=level)
    assert found.kernels == ("NormRows",)
    close(found, x, others)


@pytest.mark.parametrize("level", LEVELS)
def test_root_mean_squares(level: str):
    x, scale = normal(2, 9, 37), (normal(37),)
    found = normed(x, scale, op="rms_norm", level=level)
    assert not found.refusals
    np.testing.assert_allclose(found.native, exact(x, scale, op="rms_norm"), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(("scale", "bias"), [((5, 37), (37,)), ((1,), (3, 1, 1)), ((3, 5, 37), (5, 1)), ((3, 1, 37), (1, 1, 1))], ids=str)
def test_scales_of_other_shapes(scale: tuple[int, ...], bias: tuple[int, ...]):
    x, others = normal(3, 5, 37), (normal(*scale), normal(*bias))
    found = normed(x, others, axis=1)
    assert not found.refusals
    close(found, x, others, axis=1)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("format", ["Float16_b", "Half"])
def test_narrow_floats(format: str, level: str):
    found = normed(normal(7, 45), (normal(45), normal(45)), format=format, level=level)
    assert not found.refusals
    np.testing.assert_allclose(found.native, found.reference, rtol=2**-7, atol=2**-9)


def test_rows_that_lie_in_columns_are_copied_first():
    x = normal(37, 6)
    works = [
        Work("tile.transpose", (0,), {"perm": (1, 0)}, (TensorType((6, 37), "Float32"),)),
        Work("tile.layer_norm", (1,), {"axis": 1, "eps": EPS}, (TensorType((6, 37), "Float32"),)),
    ]
    found = ran(works, [Given(x)])
    assert not found.refusals
    close(found, x.T, ())
