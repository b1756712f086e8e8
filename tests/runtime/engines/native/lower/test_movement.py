"""Ops that put elements elsewhere, against their numpy kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.draws import rng_of_test
from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.core.plain.interpret import kernel

FORMATS = ("Float32", "Float16_b", "Int32", "UInt8")


def moved(op: str, shapes: list[tuple[int, ...]], format: str = "Float32", **attrs: Any) -> Ran:
    """One op over numbers that the format holds."""
    xs = [rng_of_test().integers(0, 100, shape).astype(format_named(format).compute) for shape in shapes]
    shape = np.shape(kernel(f"tile.{op}")(*xs, **attrs))
    found = ran([Work(f"tile.{op}", tuple(range(len(xs))), attrs, (TensorType(shape, format),))], [Given(x, format) for x in xs])
    np.testing.assert_array_equal(found.native, found.reference)
    return found


BLOCKS: dict[str, Any] = {
    "pieces": (0, 2, 2, 0, 1, 1),
    "units": 12,
    "granularity": "ublock",
    "grid": (2, 2),
    "mblock": (2, 6),
    "block": (16, 16),
}

CASES: dict[str, tuple[str, list[tuple[int, ...]], dict[str, Any]]] = {
    "channels joined": ("concat", [(1, 5, 7, 16), (1, 5, 7, 33), (1, 5, 7, 3)], {"axis": 3}),
    "rows joined": ("concat", [(1, 5, 7), (1, 1, 7)], {"axis": -2}),
    "padded": ("pad", [(1, 5, 7, 3)], {"before": (0, 1, 2, 0), "after": (1, 0, 3, 2), "value": 1.5}),
    "not padded": ("pad", [(4, 5)], {"before": (0, 0), "after": (0, 0), "value": 0.0}),
    "rows repeated": ("repeat", [(3, 5, 7)], {"axis": 1, "n": 4}),
    "columns repeated": ("repeat", [(3, 5, 7)], {"axis": -1, "n": 3}),
    "one repeated": ("repeat", [(3, 1)], {"axis": 1, "n": 5}),
    "row of a tile": ("tile_broadcast", [(2, 64, 96)], {"dim": "r", "tile": (32, 32)}),
    "column of a tile": ("tile_broadcast", [(2, 64, 96)], {"dim": "c", "tile": (32, 32)}),
    "element of a tile": ("tile_broadcast", [(64, 32)], {"dim": "rc", "tile": (16, 32)}),
    "smaller tiles": ("retile", [(2, 64, 96)], {"source": (32, 32), "kept": (16, 5), "target": (16, 16)}),
    "larger tiles": ("retile", [(2, 64, 96)], {"source": (16, 32), "kept": (16, 32), "target": (32, 32)}),
    "matrices in turn": ("splice", [(6, 4, 5), (4, 4, 5)], {"pieces": (1, 2, 2, 0, 2, 2), "units": 8, "granularity": "t"}),
    "blocks in turn": ("splice", [(2, 64, 128), (2, 64, 64)], BLOCKS | {"order": "r"}),
    "blocks in turn, columns first": ("splice", [(2, 128, 64), (2, 64, 64)], BLOCKS | {"order": "c", "mblock": (6, 2)}),
    "broadcast": ("broadcast", [(3, 1, 7)], {"shape": (2, 3, 5, 7)}),
    "same layout": ("relayout", [(3, 1, 7)], {}),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("case", CASES)
def test_elements_in_their_places(case: str, format: str) -> None:
    op, shapes, attrs = CASES[case]
    found = moved(op, shapes, format, **attrs)
    assert not found.refusals


def test_operands_are_written_where_they_are_joined() -> None:
    type_, joined = TensorType((2, 3, 8), "Float32"), TensorType((2, 3, 16), "Float32")
    works = [
        Work("tile.map", (0,), {"fn": "relu"}, (type_,)),
        Work("tile.map", (0,), {"fn": "neg"}, (type_,)),
        Work("tile.concat", (1, 2), {"axis": -1}, (joined,)),
    ]
    found = ran(works, [Given(normal(2, 3, 8))])
    assert "CopyRows" not in found.kernels
    np.testing.assert_array_equal(found.native, found.reference)
