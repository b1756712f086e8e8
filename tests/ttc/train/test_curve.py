"""Loss curves."""

from __future__ import annotations

import math
import xml.etree.ElementTree as Tree
from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.train.curve import HEIGHT, WIDTH, check_curve, curve, curve_png, curve_svg
from ttc.train.log import LogLine

SVG = "{http://www.w3.org/2000/svg}"


def lines(count: int) -> list[LogLine]:
    return [LogLine(i, 1, 1 / i, 0.1, 2 / i if i % 10 == 0 else None, None, 0.1 * i) for i in range(1, count + 1)]


@pytest.mark.parametrize("count", [0, 1, 30, 5000])
def test_points_lie_inside(count: int) -> None:
    picture = Tree.fromstring(curve_svg(lines(count), "digits <1> & more"))
    drawn = picture.findall(f"{SVG}polyline")
    assert len(drawn) == min(count, 1) + (count >= 10)
    for polyline in drawn:
        points = [tuple(map(float, point.split(","))) for point in polyline.attrib["points"].split()]
        assert 0 < len(points) <= 600
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
        assert [x for x, _ in points] == sorted(x for x, _ in points)
        assert [y for _, y in points] == sorted(y for _, y in points), "the loss falls, and SVG counts downwards"
    assert "digits <1> & more" in [text.text for text in picture.findall(f"{SVG}text")]


def test_losses_that_are_not_finite_are_left_out() -> None:
    found = lines(4)
    found[2] = LogLine(3, 1, math.nan, 0.1, math.inf, None, 0.3)
    picture = Tree.fromstring(curve_svg(found, ""))
    (polyline,) = picture.findall(f"{SVG}polyline")
    assert len(polyline.attrib["points"].split()) == 3


@pytest.mark.parametrize("count", [0, 1, 5000])
def test_a_png_has_the_size_of_the_svg(count: int) -> None:
    pytest.importorskip("matplotlib", reason="an extra")
    picture = curve_png(lines(count), "digits $1 & more")
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == (WIDTH, HEIGHT)
    assert picture == curve_png(lines(count), "digits $1 & more")


def test_the_suffix_says_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert curve(Path("a.svg"), lines(3), "a") == curve_svg(lines(3), "a").encode()
    monkeypatch.setattr("ttc.train.curve.find_spec", lambda _name: None)
    for name, code in (("a.gif", "E0101"), ("a", "E0101"), ("a.png", "E0104")):
        with pytest.raises(Error) as caught:
            check_curve(Path(name))
        assert caught.value.code == code
