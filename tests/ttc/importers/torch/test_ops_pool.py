"""Pools of PyTorch over one to three dimensions."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch.nn import functional as F  # noqa: E402

from tests.ttc.importers.torch.many import agree, randn  # noqa: E402


def test_pools() -> None:
    functions = {
        "max": lambda x: F.max_pool2d(x, 3, 2, 1),
        "max_ceil": lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True),
        "max_places": lambda x: F.max_pool2d(x, (2, 3), return_indices=True),
        "max_1d": lambda x: F.max_pool1d(x[0], 3, dilation=2),
        "max_3d": lambda x: F.max_pool3d(x[:, :, None], (1, 2, 2)),
        "avg": lambda x: F.avg_pool2d(x, 3, 2, 1),
        "avg_inside": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        "avg_ceil": lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True),
        "avg_divisor": lambda x: F.avg_pool2d(x, 2, ceil_mode=True, divisor_override=3),
        "avg_one_image": lambda x: F.avg_pool2d(x[0], 2),
        "adaptive_even": lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
        "adaptive_uneven": lambda x: F.adaptive_avg_pool2d(x, (4, 3)),
        "adaptive_one": lambda x: F.adaptive_avg_pool2d(x, 1),
        "adaptive_1d": lambda x: F.adaptive_avg_pool1d(x[0], 5),
        "adaptive_max": lambda x: F.adaptive_max_pool2d(x, (4, 3), return_indices=True),
        "adaptive_max_even": lambda x: F.adaptive_max_pool2d(x, (3, 2)),
        "lp": lambda x: F.lp_pool2d(x.abs(), 2, 2),
    }
    agree(functions, randn(2, 3, 9, 8))


def test_places_of_ties_of_nan_and_of_the_lowest_numbers() -> None:
    """Windows of few taps, and of many; the first of equal elements counts, and no place is in the padding."""
    x = randn(2, 3, 19, 18).round()
    x[1, 2] = -torch.inf
    x[0, 1, 4, 4] = torch.nan
    windows = {
        "pairs": {"kernel_size": 2},
        "padded": {"kernel_size": 3, "stride": 2, "padding": 1},
        "dilated": {"kernel_size": (2, 3), "stride": 1, "dilation": 2},
        "up": {"kernel_size": 2, "ceil_mode": True},
        "many taps": {"kernel_size": 5, "stride": 3, "padding": 2},
    }
    agree({name: lambda x, how=how: F.max_pool2d(x, return_indices=True, **how) for name, how in windows.items()}, x)
