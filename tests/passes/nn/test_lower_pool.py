"""Tests of the pass in passes/nn/lower_pool.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.lower_pool import LowerPool

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(LowerPool())


def fragment(kind: str, kernel: tuple[int, int], result: str, layout: str = "nhwc", pad: int = 0) -> str:
    average = "count_include_pad = true, " if kind == "avg" else ""
    return f"""(%x: tensor<2x5x6x3xf32>)
    %0 = nn.{kind}_pool2d(%x) {{ceil_mode = false, {average}dilations = [1, 1], kernel = {list(kernel)}, layout = "{layout}",
        pads = [{pad}, 0, {pad}, 0], strides = [1, 1]}} : (tensor<2x5x6x3xf32>) -> tensor<{result}xf32>
    return %0 : tensor<{result}xf32>"""


@pytest.mark.parametrize(("kind", "reduction"), [("avg", "reduce_mean"), ("max", "reduce_max")])
@pytest.mark.parametrize(("kernel", "result", "layout"), [((5, 6), "2x1x1x3", "nhwc"), ((6, 3), "2x5x1x1", "nchw")])
def test_whole_maps(harness: Harness, kind: str, reduction: str, kernel: tuple[int, int], result: str, layout: str) -> None:
    outcome = harness.numbers(LowerPool(), fragment(kind, kernel, result, layout))
    assert (outcome.count(reduction), outcome.count(f"{kind}_pool2d")) == (1, 0)


@pytest.mark.parametrize("kind", ["avg", "max"])
def test_single_elements(harness: Harness, kind: str) -> None:
    outcome = harness.numbers(LowerPool(), fragment(kind, (1, 1), "2x5x6x3"), tolerance=0)
    assert outcome.report.rewrites == {"drop-pool": 1}
    assert outcome.count(f"{kind}_pool2d") == 0


def test_padding_is_missed(harness: Harness) -> None:
    outcome = harness.unchanged(LowerPool(), fragment("avg", (7, 6), "2x1x1x3", pad=1))
    assert outcome.missed() == ["the only window of nn.avg_pool2d is not the map alone"]


def test_smaller_windows_stay(harness: Harness) -> None:
    assert harness.unchanged(LowerPool(), fragment("max", (2, 2), "2x4x5x3")).missed() == []
