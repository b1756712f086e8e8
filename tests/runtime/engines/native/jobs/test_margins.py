"""Images with zeros around them, which convolutions read where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, Ran, emulated_tiles, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.builder import JobBuilder
from ttc.runtime.engines.native.jobs.convolutions import WindowAxis
from ttc.runtime.engines.native.jobs.margins import fill_margins, in_margins, margins_of, with_margins
from ttc.runtime.engines.native.prepare import wanted

TILES = pytest.mark.parametrize(
    "tiles",
    [
        True,
        pytest.param(False, marks=pytest.mark.skipif(not host_cpu().has_tiles, reason="this CPU has no tiles of bfloat16")),
    ],
    ids=["emulated", "host"],
)


class Chain:
    """Ops in bfloat16 on images, one after the other."""

    def __init__(self, *shape: int) -> None:
        self.given, self.works, self.shapes = [Given(normal(*shape), "Float16_b")], list[Work](), {0: shape}
        self.named = list[tuple[str, list[int | Given], dict[str, Any], tuple[int, ...]]]()

    def op(self, name: str, operands: Sequence[int | Given], *shape: int, **attrs: Any) -> int:
        """Add an op.  operands: numbers of what was added before, 0 the images, or constants.  Returns its number."""
        self.named.append((name, list(operands), attrs, shape))
        self.shapes[len(self.named)] = shape
        return len(self.named)

    def conv(self, x: int, outputs: int, taps: tuple[int, int] = (3, 3), pads: tuple[int, ...] = (1, 1, 1, 1), **attrs: Any) -> int:
        """Add a convolution with a filter and a bias."""
        count, height, width, channels = self.shapes[x]
        moves = {"strides": (1, 1), "dilations": (1, 1), "groups": 1, **attrs}
        (down, across), (below, beside) = moves["strides"], moves["dilations"]
        rows = (height + pads[0] + pads[2] - (taps[0] - 1) * below - 1) // down + 1
        columns = (width + pads[1] + pads[3] - (taps[1] - 1) * beside - 1) // across + 1
        filters = Given(normal(*taps, channels, outputs) / np.float32((taps[0] * taps[1] * channels) ** 0.5), "Float16_b", constant=True)
        bias = Given(normal(outputs), "Float16_b", constant=True)
        return self.op("conv2d", [x, filters, bias], count, rows, columns, outputs, pads=pads, activation="relu", **moves)

    def ran(self, tiles: bool = True) -> Ran:
        """Run all; the last one is the result."""
        constants = [x for _, operands, *_ in self.named for x in operands if isinstance(x, Given)]
        given = [*self.given, *constants]
        places = {id(x): i for i, x in enumerate(given)}
        works = []
        for name, operands, attrs, shape in self.named:
            numbers = [places[id(x)] if isinstance(x, Given) else 0 if x == 0 else len(given) + x - 1 for x in operands]
            works.append(Work(f"tile.{name}", tuple(numbers), attrs, (TensorType(shape, "Float16_b"),)))
        return ran(works, given, precision="bfloat16", tiles=tiles)


@pytest.fixture(autouse=True)
def small_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted, "_LEAST_BYTES", 0)


def compared(chain: Chain, monkeypatch: pytest.MonkeyPatch, placed: int, tiles: bool = True) -> None:
    """So many convolutions read images between zeros where they lie; the result is the same to the bit as if none did."""
    found = chain.ran(tiles)
    monkeypatch.setattr(wanted, "_LEAST_BYTES", 1 << 60)
    copied = chain.ran(tiles)
    assert found.rows.count("PlacedRows") - copied.rows.count("PlacedRows") == placed
    np.testing.assert_array_equal(found.native, copied.native)
    found.close(0.02)


@TILES
@pytest.mark.parametrize("channels", [16, 18, 32, 64])
@pytest.mark.parametrize(
    ("taps", "pads"),
    [((3, 3), (1, 1, 1, 1)), ((3, 2), (1, 0, 1, 1)), ((1, 3), (0, 1, 0, 1)), ((5, 5), (2, 2, 2, 2)), ((3, 3), (2, 0, 0, 1))],
)
def test_images_are_read_where_they_lie(
    monkeypatch: pytest.MonkeyPatch, channels: int, taps: tuple[int, int], pads: tuple[int, ...], tiles: bool
) -> None:
    chain = Chain(2, 21, 27, 9)
    chain.conv(chain.conv(0, channels), 20, taps, pads)
    compared(chain, monkeypatch, 1, tiles)


@pytest.mark.parametrize(
    ("channels", "attrs"),
    [(8, {}), (17, {}), (40, {}), (16, {"strides": (2, 1)}), (16, {"dilations": (1, 2)}), (16, {"pads": (9, 9, 9, 9)})],
)
def test_others_are_copied(monkeypatch: pytest.MonkeyPatch, channels: int, attrs: dict[str, Any]) -> None:
    chain = Chain(1, 13, 14, 16)
    chain.conv(chain.conv(0, channels), 20, **attrs)
    compared(chain, monkeypatch, 0)


@TILES
def test_a_network_that_goes_down_and_up(monkeypatch: pytest.MonkeyPatch, tiles: bool) -> None:
    """Images are written into those that are joined, from where a pool reads them."""
    chain = Chain(1, 16, 20, 3)
    skipped = chain.conv(chain.conv(0, 16), 16)
    pool: dict[str, Any] = {"kernel": (2, 2), "strides": (2, 2), "pads": (0, 0, 0, 0), "dilations": (1, 1), "ceil_mode": False}
    low = chain.conv(chain.op("max_pool2d", [skipped], 1, 8, 10, 16, **pool), 32)
    filters = Given(normal(2, 2, 16, 32), "Float16_b", constant=True)
    up: dict[str, Any] = {"strides": (2, 2), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1, "output_padding": (0, 0)}
    high = chain.op("conv_transpose2d", [low, filters], 1, 16, 20, 16, **up)
    joined = chain.op("concat", [skipped, high], 1, 16, 20, 32, axis=3)
    chain.conv(chain.conv(joined, 16), 16)
    compared(chain, monkeypatch, 4, tiles)


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_parts_of_joined_images_have_no_margins(monkeypatch: pytest.MonkeyPatch, axis: int) -> None:
    """What is joined to others is read by a convolution before the others, and zeros, are there."""
    chain = Chain(1, 16, 20, 3)
    first = chain.conv(0, 16)
    second = chain.conv(first, 16)
    shape = [1, 16, 20, 16]
    shape[axis] *= 2
    chain.conv(chain.op("concat", [first, second], *shape, axis=axis), 20)
    compared(chain, monkeypatch, 1)


@TILES
def test_wild_pixels_reach_what_their_windows_reach(tiles: bool) -> None:
    """Cells of 16 channels lie side by side: a tile holds those of one alone."""
    chain = Chain(1, 16, 20, 16)
    chain.conv(chain.conv(0, 16, (1, 1), (0, 0, 0, 0)), 20)
    chain.given[0].array[0, 7, 9, 3] = np.nan
    found = chain.ran(tiles)
    assert "PlacedRows" in found.rows
    wild = np.zeros((16, 20), np.bool_)
    wild[6:9, 8:11] = True
    np.testing.assert_array_equal(np.isnan(found.native[0]).max(-1), wild)


# ---- where images and zeros are --------------------------------------------------------------------------------------------------------


@given(shape=st.tuples(*[st.integers(1, 4)] * 4), margins=st.tuples(*[st.integers(0, 2)] * 2), pads=st.tuples(*[st.integers(0, 3)] * 2))
def test_windows_meet_pixels_and_zeros(shape: tuple[int, ...], margins: tuple[int, int], pads: tuple[int, int]) -> None:
    view = with_margins(shape, "bf16", margins)
    assert view.is_inside
    assert margins_of(view) == margins
    axes = tuple(WindowAxis(size, size, 2 * pad + 1, 1, 1, pad) for size, pad in zip(shape[1:3], pads, strict=True))
    found = in_margins(view, (axes[0], axes[1]), shape[3])
    if margins == (0, 0) or any(pad > margin for pad, margin in zip(pads, margins, strict=True)):
        assert found is None
        return
    assert found is not None
    memory = np.full(view.buffer.size_bytes // 2, -1, np.int64)
    for zeros in filled(view):
        assert zeros.is_inside
        shown(memory, zeros)[...] = 0
    assert (shown(memory, view) == -1).all()
    pixels = np.arange(1, view.elements + 1).reshape(shape)
    shown(memory, view)[...] = pixels
    assert (memory >= 0).all()
    around = np.pad(pixels, [(0, 0), *((pad, pad) for pad in pads), (0, 0)])
    seen = shown(memory, found.view)
    for y, x in product(range(shape[1]), range(shape[2])):
        window = (slice(None), slice(y, y + 2 * pads[0] + 1), slice(x, x + 2 * pads[1] + 1))
        np.testing.assert_array_equal(seen[window], around[window])


def filled(view: View) -> list[View]:
    """Where zeros are written."""

    class Targets(JobBuilder):
        def __init__(self) -> None:
            self.cpu, self.found = emulated_tiles(), list[View]()

        def job(self, *_: Any, written: Sequence[View], **__: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            self.found += written

    targets = Targets()
    fill_margins(targets, view)
    return targets.found


def shown(memory: NDArray[np.int64], view: View) -> NDArray[np.int64]:
    return as_strided(memory[view.offset :], view.shape, [stride * memory.itemsize for stride in view.strides])


@pytest.mark.parametrize(("axis", "start", "size"), [(0, 1, 1), (1, 0, 3), (1, 1, 3), (2, 0, 2), (3, 0, 4), (3, 4, 4)])
def test_a_part_of_images_has_no_margins(axis: int, start: int, size: int) -> None:
    view = with_margins((2, 5, 6, 8), "bf16", (1, 1))
    assert margins_of(view.sliced(axis, start, size)) == (0, 0)
