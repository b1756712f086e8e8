"""Gradients against PyTorch's own kernels."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from tests.ttc.importers.torch.single_op import check, randn  # noqa: E402

aten = torch.ops.aten

CONVOLUTIONS = [
    # x, weight, stride, padding, dilation, transposed, output padding, groups
    ((2, 3, 8, 9), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), False, (0, 0), 1),
    ((2, 4, 9, 8), (6, 2, 3, 2), (2, 3), (1, 0), (2, 1), False, (0, 0), 2),  # columns that no window reaches
    ((1, 4, 7, 7), (4, 1, 3, 3), (2, 2), (0, 0), (1, 1), False, (0, 0), 4),
    ((2, 3, 10), (5, 3, 4), (3,), (2,), (1,), False, (0,), 1),
    ((1, 2, 5, 6, 7), (4, 2, 2, 3, 3), (2, 1, 2), (0, 1, 1), (1, 1, 1), False, (0, 0, 0), 1),
    ((2, 4, 5, 6), (4, 3, 3, 3), (2, 2), (1, 1), (1, 1), True, (1, 1), 1),
    ((2, 4, 5, 4), (4, 2, 2, 3), (1, 2), (0, 1), (2, 1), True, (0, 0), 2),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution(case: tuple[Any, ...]) -> None:
    shape, weight, *settings = case
    x, w = randn(*shape), randn(*weight)
    y = aten.convolution(x, w, None, *settings[:3], settings[3], settings[4], settings[5])
    bias = [y.shape[1]]
    check(aten.convolution_backward.default, randn(*y.shape), x, w, bias, *settings, [True, True, True], tolerance=2e-5)


def test_convolution_gives_only_what_is_asked_for() -> None:
    x, w = randn(1, 2, 5, 5), randn(3, 2, 3, 3)
    args = randn(1, 3, 3, 3), x, w, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1
    check(aten.convolution_backward.default, *args, [False, True, False], tolerance=2e-5)


def test_max_pool() -> None:
    x = randn(2, 3, 8, 7)
    settings = (3, 2), (2, 2), (1, 0), (1, 1), True
    y, indices = aten.max_pool2d_with_indices(x, *settings)
    check(aten.max_pool2d_with_indices_backward.default, randn(*y.shape), x, *settings, indices)
    overlapping = torch.ones(1, 1, 4, 4)
    y, indices = aten.max_pool2d_with_indices(overlapping, (3, 3), (1, 1))
    check(aten.max_pool2d_with_indices_backward.default, randn(*y.shape), overlapping, (3, 3), (1, 1), (0, 0), (1, 1), False, indices)


def test_adaptive_max_pool() -> None:
    x = randn(2, 3, 7, 5)
    y, indices = aten.adaptive_max_pool2d(x, (3, 2))
    check(aten.adaptive_max_pool2d_backward.default, randn(*y.shape), x, indices)


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("divisor", [None, 5])
def test_avg_pool(include: bool, divisor: int | None) -> None:
    x = randn(2, 3, 8, 7)
    settings = (3, 2), (2, 3), (1, 1), True, include, divisor
    y = aten.avg_pool2d(x, *settings)
    check(aten.avg_pool2d_backward.default, randn(*y.shape), x, *settings)


def test_avg_pool_of_volumes_steps_by_its_kernel() -> None:
    x = randn(2, 2, 4, 6, 5)
    settings = (2, 3, 2), (), (0, 0, 0), False, True, None
    y = aten.avg_pool3d(x, *settings)
    check(aten.avg_pool3d_backward.default, randn(*y.shape), x, *settings)


def test_adaptive_avg_pool() -> None:
    x = randn(2, 3, 7, 5)
    check(aten._adaptive_avg_pool2d_backward.default, randn(2, 3, 3, 2), x)


RESIZES = [
    ("upsample_nearest1d", (2, 3, 5), (8,), (None,)),
    ("upsample_nearest2d", (2, 3, 4, 5), (8, 7), (None, None)),
    ("_upsample_nearest_exact2d", (2, 3, 4, 5), (8, 7), (2.0, 1.5)),
    ("upsample_linear1d", (2, 3, 5), (8,), (False, None)),
    ("upsample_bilinear2d", (1, 2, 4, 5), (7, 10), (False, None, None)),
    ("upsample_bilinear2d", (1, 2, 4, 5), (7, 10), (True, None, None)),
    ("upsample_bilinear2d", (1, 2, 4, 5), (8, 7), (False, 2.0, 1.5)),
    ("upsample_bicubic2d", (1, 2, 6, 5), (3, 9), (False, None, None)),
    ("upsample_trilinear3d", (1, 2, 3, 4, 2), (5, 4, 4), (True, None, None, None)),
    ("_upsample_bilinear2d_aa", (1, 2, 8, 9), (3, 4), (False, None, None)),
]


@pytest.mark.parametrize("case", RESIZES)
def test_resize(case: tuple[Any, ...]) -> None:
    name, shape, sizes, settings = case
    check(getattr(aten, f"{name}_backward").default, randn(*shape[:2], *sizes), list(sizes), list(shape), *settings)


@pytest.mark.parametrize("dim", [0, 2])
def test_weight_norm(dim: int) -> None:
    v = randn(4, 3, 5)
    size = randn(*(n if axis == dim else 1 for axis, n in enumerate(v.shape))).abs() + 0.5
    w, norms = aten._weight_norm_interface(v, size, dim)
    check(aten._weight_norm_interface_backward.default, randn(*w.shape), v, size, norms, dim, tolerance=1e-5)
