"""What is known of integers that are multiplied."""

from __future__ import annotations

import pytest

from ttc.dialects.core.plain.functions import Work
from ttc.runtime.engines.native.graph.ranges import Range, fits, in_floats, limits, range_of
from ttc.runtime.engines.native.graph.region import Region, RegionStep

WIDE = (-(2**31), 2**31 - 1)


def cast(operand: int, to: str | None = "int32", storage: str = "i32") -> RegionStep:
    return RegionStep("cast", (operand,), storage, () if to is None else (("to", to),))  # pyright: ignore[reportArgumentType]


def constant(value: int) -> RegionStep:
    return RegionStep("constant", (), "i32", (("value", value),))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((cast(0),), (0, 255)),
        ((cast(0), constant(131), RegionStep("sub", (1, 2), "i32")), (-131, 124)),
        ((cast(0), constant(-3), RegionStep("add", (1, 2), "i32")), (-3, 252)),
        ((cast(0), cast(0), RegionStep("sub", (1, 2), "i32")), (-255, 255)),
        ((cast(0), constant(2**31 - 1), RegionStep("add", (1, 2), "i32")), WIDE),
        ((cast(0, "int8", "i8"),), (-128, 127)),
        ((cast(0, "int8"),), (-128, 127)),
        ((cast(0, "float32", "f32"), cast(1)), WIDE),
        ((cast(0, "bool", "bool"),), None),
        ((cast(0), cast(1, None, "i16")), (0, 255)),
        ((RegionStep("mul", (0, 0), "i32"),), WIDE),
        ((constant(3), RegionStep("sub", (0, 1), "i32")), WIDE),
    ],
)
def test_ranges_of_regions(steps: tuple[RegionStep, ...], expected: Range | None) -> None:
    assert range_of(Region(("u8",), steps, len(steps)), [None]) == expected


def test_known_ranges_of_inputs_count() -> None:
    assert range_of(Region(("i32", "i32"), (RegionStep("sub", (0, 1), "i32"),), 2), [(0, 9), (5, 5)]) == (-5, 4)


def test_limits() -> None:
    assert limits("u8") == (0, 255)
    assert limits("bf16") is limits("f32") is limits("bool") is None
    assert fits((-128, 127), "i8")
    assert not fits((-129, 0), "i8")
    assert not fits((0, 1), "f32")


@pytest.mark.parametrize(
    ("taps", "channels", "groups", "largest", "expected"),
    [(9, 16, 16, 255, True), (257, 16, 16, 255, True), (259, 16, 16, 255, False), (9, 16, 1, 255, False), (9, 1, 1, 255, False)],
)
def test_depthwise_sums_are_exact_in_float32_while_they_are_small(
    taps: int, channels: int, groups: int, largest: int, expected: bool
) -> None:
    work = Work("tile.conv2d", (0, 1), {"groups": groups}, ())
    shapes = ((1, 300, 4, channels), (taps, 1, 1 if groups > 1 else channels, channels))
    assert in_floats(work, shapes, [(0, largest), (-largest, largest)]) == expected
    assert not in_floats(work, shapes, [(0, largest), None])
