"""Convolutions of images with channels last, with constant weights, on the native engine and by their numpy kernel."""

from __future__ import annotations

from typing import Any

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.kernels.windows import window_counts, windows
from ttc.dialects.core.plain.functions import TensorType, Work


def convolved(
    shape: tuple[int, ...],
    filter: tuple[int, int, int, int],
    *,
    level: str = "amx",
    format: str = "Float32",
    bias: bool = True,
    share: float = 1e-6,
    **attrs: Any,
) -> Ran:
    """One convolution of x[n, h, w, c] with a filter [kh, kw, channels of a group, results], by default with margins of 1.

    share: largest difference of the two, of the sum of magnitudes.
    """
    attrs = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "groups": shape[3] // filter[2], **attrs}
    counts = window_counts((shape[1], shape[2]), windows(filter[:2], attrs["strides"], attrs["pads"], attrs["dilations"]))
    given = [Given(normal(*shape), format), Given(normal(*filter), format, constant=True)]
    given += [Given(normal(filter[3]), format, constant=True)] if bias else []
    work = Work("tile.conv2d", (0, 1, 2 if bias else None), attrs, (TensorType((shape[0], *counts, filter[3]), format),))
    found = ran([work], given, level=level)
    found.close(share)
    return found
