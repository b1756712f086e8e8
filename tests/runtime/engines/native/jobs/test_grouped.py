"""Convolutions of few channels a group against their numpy kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.engines.native.convolved import convolved
from tests.runtime.engines.native.graphs import Given, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("amx", "avx2", "generic")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (1, 3)])
@pytest.mark.parametrize(("channels", "group"), [(8, 2), (24, 4), (48, 8), (32, 16), (24, 12)])
def test_groups_and_vectors(channels: int, group: int, strides: tuple[int, int], level: str) -> None:
    assert convolved((2, 7, 13, channels), (3, 3, group, channels), strides=strides, level=level).kernels == (
        "CopyRows",
        "Grouped",
    )


@pytest.mark.parametrize(("channels", "group", "results"), [(18, 6, 1), (10, 5, 1), (96, 24, 1), (16, 4, 2)])
def test_products_where_groups_do_not_fit_vectors(channels: int, group: int, results: int) -> None:
    assert convolved((1, 7, 9, channels), (3, 3, group, channels * results)).kernels[-1] == "Gemm"


def test_products_where_windows_are_wide() -> None:
    assert convolved((1, 3, 70, 16), (1, 65, 4, 16)).kernels[-1] == "Gemm"


def test_narrow_types() -> None:
    assert convolved((1, 9, 9, 32), (3, 3, 8, 32), format="Float16_b", share=2**-6).kernels[-1] == "Grouped"


def test_activations_and_gaps_between_taps() -> None:
    attrs: dict[str, Any] = {"activation": "clip", "activation_args": (0.0, 6.0), "dilations": (2, 3), "pads": (2, 3, 2, 3)}
    found = convolved((1, 10, 11, 32), (3, 3, 4, 32), **attrs)
    assert found.kernels == ("CopyRows", "Grouped")


def test_infinities_stay_in_their_group() -> None:
    images, weights = normal(1, 6, 6, 16), normal(3, 3, 4, 16)
    images[0, 2, 2, 5] = np.inf
    given = [Given(images), Given(weights, constant=True)]
    attrs = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "groups": 4}
    found = ran([Work("tile.conv2d", (0, 1, None), attrs, (TensorType((1, 6, 6, 16), "Float32"),))], given)
    assert found.kernels[-1] == "Grouped"
    assert np.isfinite(found.native[..., [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15]]).all()
    assert not np.isfinite(found.native[0, 1:4, 1:4, 4:8]).any()
