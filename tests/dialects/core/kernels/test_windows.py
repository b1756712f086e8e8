"""Window arithmetic of convolutions and pools."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.windows import Window, as_layout, channels_last, transposed_counts, window_counts, windows


@pytest.mark.parametrize(
    ("window", "size", "count"),
    [
        (Window(3, 1, 1, 0, 0), 5, 3),
        (Window(3, 2, 1, 1, 1), 224, 112),
        (Window(3, 2, 2, 0, 0), 5, 1),
        (Window(3, 2, 1, 0, 0), 2, 0),
        (Window(2, 2, 1, 0, 0, ceil=True), 5, 3),
        (Window(2, 3, 1, 1, 1, ceil=True), 5, 2),  # a third would start in the padding after the input
        (Window(2, 2, 1, 0, 0, ceil=True), 1, 1),
        (Window(3, 1, 1, 0, 0), -1, -1),
    ],
)
def test_count(window: Window, size: int, count: int) -> None:
    assert window.count(size) == count


def test_reach_spans_the_counted_windows() -> None:
    window = Window(kernel=3, stride=2, dilation=4, before=0, after=0)
    assert (window.extent, window.reach(5)) == (9, 17)
    assert window.count(window.reach(5)) == 5


def test_windows_take_pads_as_top_left_bottom_right() -> None:
    rows, columns = windows((2, 3), (4, 5), (6, 7, 8, 9), (1, 2), ceil=True)
    assert rows == Window(2, 4, 1, 6, 8, ceil=True)
    assert columns == Window(3, 5, 2, 7, 9, ceil=True)


@pytest.mark.parametrize(
    "attrs",
    [
        ((0, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
        ((1, 1), (1, 0), (0, 0, 0, 0), (1, 1)),
        ((1, 1), (1, 1), (0, 0, 0, -1), (1, 1)),
        ((1, 1), (1, 1), (0, 0, 0, 0), (1,)),
        ((1, 1), (1, 1), (), (1, 1)),
    ],
)
def test_attributes_out_of_range(attrs: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(Error) as caught:
        windows(*attrs)
    assert caught.value.code == "E0402"


def test_no_window_fits() -> None:
    with pytest.raises(Error) as caught:
        window_counts((8, 3), windows((2, 5), (1, 1), (0, 0, 0, 1), (1, 1)))
    assert caught.value.code == "E0401"
    assert "5 elements does not fit into 4" in caught.value.message


def test_transposed() -> None:
    moves = windows((3, 2), (2, 1), (1, 0, 1, 1), (1, 2))
    assert transposed_counts((4, 5), moves, (1, 0)) == (8, 6)
    assert transposed_counts((-1, 5), moves, (0, 0)) == (-1, 6)
    for sizes, padding, code in (((1, 5), (0, -1), "E0402"), ((1, 5), (0,), "E0402"), ((0, 5), (0, 0), "E0401")):
        with pytest.raises(Error) as caught:
            transposed_counts(sizes, moves, padding)
        assert caught.value.code == code


def test_layouts() -> None:
    assert channels_last("nchw", "nchw") == ("n", "h", "w", "c")
    assert channels_last("nhwc", "nhwc") == ("n", "h", "w", "c")
    assert as_layout(1, 2, 3, 4, "nchw") == (1, 4, 2, 3)
    with pytest.raises(Error) as caught:
        channels_last("chwn", "chwn")
    assert caught.value.code == "E0402"
