"""Images at computed positions against their numpy kernel in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.core.plain.interpret import kernel

LEVELS = ("amx", "avx2", "generic")
MODES, PADDINGS = ("nearest", "linear", "cubic"), ("zeros", "border", "reflection")


def sampled(
    x: NDArray, grid: NDArray, mode: str, padding: str, align: bool = False, *, level: str = "amx", format: str = "Float32"
) -> tuple[Ran, NDArray]:
    attrs = {"mode": mode, "padding": padding, "align_corners": align}
    expected = np.asarray(kernel("nn.grid_sample")(x.astype(np.float64), grid, **attrs))
    work = Work("tile.grid_sample", (0, 1), attrs, (TensorType(expected.shape, format),))
    return ran([work], [Given(x, format), Given(grid)], level=level), expected


def close(found: tuple[Ran, NDArray], error: float = 1e-5) -> None:
    ran_, expected = found
    assert not ran_.refusals
    assert "GridSample" in ran_.kernels
    np.testing.assert_allclose(ran_.native, expected, rtol=error, atol=error)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("align", [False, True])
def test_modes(mode: str, padding: str, align: bool) -> None:
    close(sampled(normal(2, 3, 7, 5), normal(2, 15, 17, 2) * 1.5, mode, padding, align))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("mode", MODES)
def test_instruction_sets(mode: str, level: str) -> None:
    close(sampled(normal(1, 17, 9, 4), normal(1, 3, 33, 2), mode, "reflection", level=level))


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("align", [False, True])
def test_dimensions_of_one_element(padding: str, align: bool) -> None:
    close(sampled(normal(1, 2, 1, 3), normal(1, 4, 5, 2) * 3, "linear", padding, align))


def test_volumes_and_lines() -> None:
    close(sampled(normal(2, 3, 4, 5, 6), normal(2, 3, 2, 7, 3), "linear", "border"))
    close(sampled(normal(2, 3, 31), normal(2, 65, 1), "cubic", "zeros"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", PADDINGS)
def test_positions_that_are_far_or_none(mode: str, padding: str) -> None:
    grid = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 1.0, -1.0, 0.0], np.float32)
    both = np.stack(np.meshgrid(grid, grid), -1)[None]
    found, expected = sampled(normal(1, 2, 4, 5), both, mode, padding)
    assert not found.refusals
    near: Any = np.isin(both, (1.0, -1.0, 0.0)).all(-1) if padding == "reflection" else np.ones(both.shape[:-1], bool)
    keep = np.broadcast_to(near[:, None], expected.shape)
    np.testing.assert_allclose(found.native[keep], expected[keep], rtol=1e-5, atol=1e-5)
    assert np.isfinite(found.native).all()


def test_narrow_images() -> None:
    close(sampled(normal(1, 3, 6, 5), normal(1, 4, 4, 2), "linear", "zeros", format="Float16_b"), 3e-2)


def test_many_elements_a_position_run_in_python() -> None:
    found, _ = sampled(normal(1, 2, 3, 3, 3), normal(1, 2, 2, 2, 3), "cubic", "zeros")
    assert found.refusals == (("tile.grid_sample", "64 elements a position"),)
    np.testing.assert_array_equal(found.native, found.reference)
