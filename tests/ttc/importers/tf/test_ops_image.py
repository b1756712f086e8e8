"""Images sampled anew and coloured, beside TensorFlow's own results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: it has no build for this Python")

from tests.ttc.importers.tf.cases import check, normal  # noqa: E402

RAW = tf.raw_ops


METHODS = ("bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "bilinear")


def test_sampling_by_kernels(tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        small = {f"small {m}": tf.image.resize(x, [3, 5], m, antialias=True) for m in METHODS}
        large = {f"large {m}": tf.image.resize(x, [10, 13], m) for m in METHODS}
        old = {f"cubic {a}": RAW.ResizeBicubic(images=x, size=[9, 7], align_corners=a) for a in (False, True)}
        return {**small, **large, **old, "area": RAW.ResizeArea(images=x, size=[4, 9], align_corners=True)}

    check(function, normal(2, 8, 6, 3), folder=tmp_path)


def test_colours(tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        turned = {f"hue {d}": tf.image.adjust_hue(x, d) for d in (-0.4, 0.3)}
        other = {"saturation": tf.image.adjust_saturation(x, 1.5), "contrast": tf.image.adjust_contrast(x, 0.5)}
        grey = tf.image.rgb_to_hsv(tf.ones([1, 1, 1, 3]) * x[0, 0, 0, 0])
        return {**turned, **other, "hsv": tf.image.rgb_to_hsv(x), "rgb": tf.image.hsv_to_rgb(x), "grey": grey}

    check(function, np.random.default_rng(0).uniform(0, 1, (2, 4, 5, 3)).astype(np.float32), folder=tmp_path)
