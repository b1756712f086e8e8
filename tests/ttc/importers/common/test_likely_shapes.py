"""Shapes that open dimensions are taken to have."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.importers.common.likely_shapes import Guess, flags_text, likely_shapes, value_of
from ttc.importers.common.open_input import OpenInput

F32, I64 = np.dtype(np.float32), np.dtype(np.int64)
INPUTS = [
    OpenInput("image", ("n", 3, "h", "w"), F32),
    OpenInput("ids", ("n", "length"), I64),
    OpenInput("mask", ("n", "", "length", "length"), I64),
    OpenInput("fixed", (2, 3), F32),
]


def test_sizes_by_place_and_name() -> None:
    assert likely_shapes(INPUTS, {}) == {"image": (1, 3, 224, 224), "ids": (1, 128), "mask": (1, 128, 128, 128)}
    assert likely_shapes(INPUTS, {"ids": (4, 77)}) == {"image": (4, 3, 224, 224), "ids": (4, 77), "mask": (4, 128, 77, 77)}
    assert likely_shapes(INPUTS[:1], {}, 2) == {"image": (2, 3, 224, 224)}
    assert likely_shapes(INPUTS[:2], {}, guess=Guess(32, 32, 16)) == {"image": (1, 3, 32, 32), "ids": (1, 16)}


@pytest.mark.parametrize(
    ("dims", "shape"),
    [
        (("", "", "", 3), (1, 224, 224, 3)),
        (("b", "c", "h", "w"), (1, 3, 224, 224)),
        (("b", 1, 96, "w"), (1, 1, 96, 96)),
        (("b", 12, "past", 64), (1, 12, 128, 64)),
        (("b", 3, "d", "h", "w"), (1, 3, 64, 64, 64)),
        (("b", 16, "frames"), (1, 16, 128)),
        (("n",), (1,)),
    ],
)
def test_sizes_of_one_input(dims: tuple[int | str, ...], shape: tuple[int, ...]) -> None:
    assert likely_shapes([OpenInput("x", dims, F32)], {}) == {"x": shape}


def test_sizes_that_follow_from_others() -> None:
    mask = OpenInput("mask", ("batch", "past + sequence"), I64)
    past = OpenInput("past_key", ("batch", 12, "past", 64), F32)
    ids = OpenInput("ids", ("batch", "sequence"), I64)
    found = likely_shapes([mask, past, ids], {"ids": (2, 5)})
    assert found == {"mask": (2, 133), "past_key": (2, 12, 128, 64), "ids": (2, 5)}
    limited = OpenInput("x", ("n", "s"), F32, {"n": (2, 8), "s": (1, 16)})
    assert likely_shapes([limited], {}) == {"x": (2, 16)}


def test_values_of_expressions() -> None:
    sizes = {"a": 3, "b": 4}
    assert [value_of(text, sizes) for text in ("a + b", "2*a - 1", "a*b", "7", "a/b", "c + 1", "a - b")] == [7, 5, 12, 7, None, None, None]


def test_flags_are_quoted_for_a_shell() -> None:
    assert flags_text({"x": (1, 3), "input image": (2,)}) == "--shape x=1x3 --shape 'input image=2'"
