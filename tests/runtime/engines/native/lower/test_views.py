"""Views in formats that round, and in narrower types, are copies; all others move nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.engines.native.graphs import Given, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.core.plain.interpret import kernel

VIEWS: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "reshape": ("reshape", (2, 30, 40), {"shape": (40, 60)}),
    "transpose": ("transpose", (3, 20, 33), {"perm": (2, 0, 1)}),
    "heads": ("hslice", (2, 10, 96), {"n": 4}),
    "heads joined": ("hstack", (2, 4, 10, 24), {"n": 4}),
    "slice": ("slice", (6, 40), {"starts": (5, 3), "sizes": (3, 18), "steps": (-2, 2)}),
    "broadcast": ("broadcast", (3, 1, 20), {"shape": (2, 3, 5, 20)}),
    "relayout": ("relayout", (3, 20), {}),
}


@pytest.mark.parametrize("format", ["Float32", "Bfp8_b", "Bfp4", "Float16", "Tf32"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_in_any_format(view: str, format: str) -> None:
    op, shape, attrs = VIEWS[view]
    x = normal(*shape)
    type_ = TensorType(np.shape(kernel(f"tile.{op}")(x, **attrs)), format)
    found = ran([Work(f"tile.{op}", (0,), attrs, (type_,))], [Given(x, "Float32")])
    assert not found.refusals
    assert bool(found.kernels) == (format != "Float32" or op == "hstack")
    np.testing.assert_array_equal(found.native.view(np.uint32), found.reference.view(np.uint32))


def test_a_view_in_a_narrower_type_is_rounded() -> None:
    found = ran([Work("tile.transpose", (0,), {"perm": (1, 0)}, (TensorType((33, 20), "Float16_b"),))], [Given(normal(20, 33))])
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)


def test_planes_in_a_narrower_type_are_put_in_order_by_who_reads_them() -> None:
    """Pixels of three planes go to the frame of a convolution at once, and not first to rows of three elements."""
    pixels = Work("tile.transpose", (0,), {"perm": (0, 2, 3, 1)}, (TensorType((1, 20, 24, 3), "Float16_b"),))
    attrs = {"strides": (1, 1), "pads": (3, 3, 3, 3), "dilations": (1, 1), "groups": 1}
    windows = Work("tile.conv2d", (2, 1), attrs, (TensorType((1, 20, 24, 16), "Float32"),))
    given = [Given(normal(1, 3, 20, 24)), Given(normal(7, 7, 3, 16), constant=True)]
    found = ran([pixels, windows], given, precision="bfloat16", tiles=True)
    assert not found.refusals
    assert {"CopyRows", "Interleave", "AmxGemm"} < set(found.kernels)
    assert "CopyElements" not in found.kernels
    found.close(2.0**-7)
