"""Images sampled anew by ONNX's own op."""

from __future__ import annotations

from math import floor

import numpy as np

from ttc.exporters.onnx.rules import NODE_RULES
from ttc.exporters.onnx.writer import NodeWriter, NoNode

COORDINATES = ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners", "tf_crop_and_resize")


@NODE_RULES.rule("resize")
def resize(step: NodeWriter) -> None:
    """Write a resize by scales, or by sizes where the scales do not come to them."""
    if step.attr("coordinates") not in COORDINATES:
        raise NoNode(f"ONNX has no coordinates {step.attr('coordinates')}")
    sizes, scales = step.attr("sizes"), step.attr("scales")
    exact = all(
        {floor(np.float32(scale) * np.float32(length)), floor(float(np.float32(scale)) * length)} == {size}
        for scale, length, size in zip(scales, step.shape(), sizes, strict=True)
    )
    roi = step.constant(step.attr("window"), np.float32) if step.attr("coordinates") == "tf_crop_and_resize" else ""
    wanted = (step.constant(scales, np.float32),) if exact else ("", step.constant(sizes))
    step.give(
        "Resize",
        step.x(),
        roi,
        *wanted,
        mode=step.attr("mode"),
        coordinate_transformation_mode=step.attr("coordinates"),
        nearest_mode=step.attr("rounding"),
        cubic_coeff_a=step.attr("cubic"),
        exclude_outside=int(step.attr("exclude_outside")),
        antialias=int(step.attr("antialias")),
        extrapolation_value=step.attr("fill"),
    )
