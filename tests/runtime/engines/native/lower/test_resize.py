"""Images sampled anew, against their numpy kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work

MORE: dict[str, Any] = {"cubic": -0.75, "exclude_outside": False, "antialias": False, "fill": 0.0}


def resized(shape: tuple[int, ...], sizes: tuple[int, ...], format: str = "Float32", level: str = "amx", **attrs: Any) -> Ran:
    """One op; scales are those of the sizes."""
    scales = tuple(count / size for count, size in zip(sizes, shape, strict=True))
    given = {"mode": "linear", "coordinates": "half_pixel", "rounding": "round_prefer_floor", **MORE, **attrs}
    window = given.pop("window", (0.0,) * len(shape) + (1.0,) * len(shape))
    work = Work("tile.resize", (0,), {"sizes": sizes, "scales": scales, "window": window, **given}, (TensorType(sizes, format),))
    return ran([work], [Given(normal(*shape), format)], level=level)


@pytest.mark.parametrize("level", ["amx", "avx2", "generic"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_modes(mode: str, level: str) -> None:
    found = resized((1, 9, 11, 20), (1, 18, 25, 20), mode=mode, level=level)
    assert found.kernels == ("Resample", "Resample")
    np.testing.assert_array_equal(found.native, found.reference)


@pytest.mark.parametrize("coordinates", ["asymmetric", "align_corners", "pytorch_half_pixel"])
def test_smaller_images(coordinates: str) -> None:
    found = resized((2, 3, 17, 33), (2, 3, 8, 5), coordinates=coordinates, antialias=True)
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)


@pytest.mark.parametrize("format", ["Float16_b", "Float64"])
def test_types(format: str) -> None:
    found = resized((1, 9, 11, 3), (1, 18, 22, 3), format)
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)


def test_samples_outside_the_image_are_left_to_python() -> None:
    window = (0.0, -0.5, 0.0, 1.0, 1.5, 1.0)
    found = resized((1, 6, 4), (1, 9, 4), coordinates="tf_crop_and_resize", window=window, fill=7.0)
    assert found.refusals == (("tile.resize", "samples outside"),)
    np.testing.assert_array_equal(found.native, found.reference)
