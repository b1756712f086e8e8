"""Resizing against torch's interpolation and, sample by sample, the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.draws import generator
from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, run_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.resampling import COORDINATES, ROUNDINGS
from ttc.dialects.nn.resize import ResizeByOp, ResizeOp

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

X = generator("resize.X").standard_normal((2, 3, 5, 7)).astype(np.float32)


def attrs(sizes: tuple[int, ...], scales: tuple[float, ...] | None = None, x: np.ndarray = X, **changes: Any) -> dict[str, Any]:
    """Attributes of a resize to the sizes; scales follow from them unless given."""
    base = {
        "sizes": sizes,
        "scales": scales or tuple(s / d for s, d in zip(sizes, x.shape, strict=True)),
        "window": (0.0,) * x.ndim + (1.0,) * x.ndim,
        "mode": "nearest",
        "coordinates": "half_pixel",
        "rounding": "round_prefer_floor",
        "cubic": -0.75,
        "exclude_outside": False,
        "antialias": False,
        "fill": 0.0,
    }
    return {**base, **changes}


@pytest.mark.parametrize("sizes", [(10, 14), (4, 3), (5, 9), (1, 1)])
@pytest.mark.parametrize(
    ("mode", "name", "aligned", "antialias"),
    [
        ("linear", "bilinear", False, False),
        ("linear", "bilinear", True, False),
        ("cubic", "bicubic", False, False),
        ("cubic", "bicubic", True, False),
        ("linear", "bilinear", False, True),
    ],
)
def test_like_torch(sizes: tuple[int, int], mode: str, name: str, aligned: bool, antialias: bool) -> None:
    expected = torch.nn.functional.interpolate(torch.from_numpy(X), sizes, mode=name, align_corners=aligned, antialias=antialias).numpy()
    changes = {"mode": mode, "coordinates": "align_corners" if aligned else "half_pixel", "antialias": antialias}
    changes |= {"exclude_outside": antialias}
    check_op(ResizeOp, [X], attrs((2, 3, *sizes), **changes), expected, 1e-5)


@pytest.mark.parametrize("sizes", [(10, 14), (4, 3), (13, 6)])
def test_nearest_like_torch(sizes: tuple[int, int]) -> None:
    expected = torch.nn.functional.interpolate(torch.from_numpy(X), sizes, mode="nearest").numpy()
    check_op(ResizeOp, [X], attrs((2, 3, *sizes), coordinates="asymmetric", rounding="floor"), expected)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(("mode", "rounding"), [("linear", "floor"), ("cubic", "floor"), *(("nearest", r) for r in ROUNDINGS)])
@pytest.mark.parametrize(("size", "scale"), [(8, 1.7), (3, 0.62)])
def test_one_dimension_like_the_definition(size: int, scale: float, mode: str, rounding: str, coordinates: str) -> None:
    x = np.arange(1, 6, dtype=np.float32)
    changes: dict[str, Any] = {"mode": mode, "rounding": rounding, "coordinates": coordinates, "fill": -9.0}
    window = (0.1, 0.9) if coordinates == "tf_crop_and_resize" else (0.0, 1.0)
    expected = one_dimension(x, size, scale, window, changes)
    check_op(ResizeOp, [x], attrs((size,), (scale,), x, window=window, **changes), expected, 1e-5)


def one_dimension(x: np.ndarray, size: int, scale: float, window: tuple[float, float], a: dict[str, Any]) -> np.ndarray:
    """Sample by sample, by the definition."""
    at = position_rule(a["coordinates"])(np.arange(size), len(x), size, scale, *window)
    return np.array([sample(x, float(p), a) for p in at], np.float32)


def position_rule(coordinates: str) -> Any:
    rules = {
        "asymmetric": lambda i, d, n, s, a, b: i / s,
        "align_corners": lambda i, d, n, s, a, b: i * (d - 1) / (s * d - 1),
        "tf_crop_and_resize": lambda i, d, n, s, a, b: a * (d - 1) + i * (b - a) * (d - 1) / (s * d - 1),
        "half_pixel_symmetric": lambda i, d, n, s, a, b: d / 2 * (1 - n / (s * d)) + (i + 0.5) / s - 0.5,
    }
    return rules.get(coordinates, lambda i, d, n, s, a, b: (i + 0.5) / s - 0.5)


def sample(x: np.ndarray, at: float, a: dict[str, Any]) -> float:
    if a["coordinates"] == "tf_crop_and_resize" and not 0 <= at <= len(x) - 1:
        return a["fill"]
    if a["mode"] == "nearest":
        rules = {
            "floor": np.floor(at),
            "ceil": np.ceil(at),
            "round_prefer_floor": np.ceil(at - 0.5),
            "round_prefer_ceil": np.floor(at + 0.5),
        }
        return float(x[int(np.clip(rules[a["rounding"]], 0, len(x) - 1))])
    base = int(np.floor(at))
    reach = 1 if a["mode"] == "linear" else 2
    total = 0.0
    for place in range(base - reach + 1, base + reach + 1):
        d = abs(at - place)
        near, far = (1.25 * d - 2.25) * d * d + 1, -0.75 * (((d - 5) * d + 8) * d - 4)
        weight = max(1 - d, 0) if reach == 1 else near if d <= 1 else far if d < 2 else 0
        total += weight * float(x[min(max(place, 0), len(x) - 1)])
    return total


def test_nearest_takes_integers_and_any_dimension() -> None:
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    expected = np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)
    check_op(ResizeOp, [x], attrs((4, 9), x=x), expected)


def test_taps_outside_may_weigh_nothing() -> None:
    x = np.ones((1, 4), np.float32)
    check_op(ResizeOp, [x], attrs((1, 9), x=x, mode="cubic", exclude_outside=True, cubic=-0.5), np.ones((1, 9), np.float32), 1e-6)


def test_samples_beyond_the_window_s_image_are_filled() -> None:
    x = np.arange(4, dtype=np.float32)
    changes = {"coordinates": "tf_crop_and_resize", "window": (0.5, 1.5), "fill": 7.0, "mode": "linear"}
    check_op(ResizeOp, [x], attrs((4,), x=x, **changes), np.array([1.5, 2.5, 7, 7], np.float32), 1e-6)


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("E0402", {"mode": "area"}),
        ("E0402", {"coordinates": "corner"}),
        ("E0402", {"rounding": "up"}),
        ("E0402", {"sizes": (2, 3, 4)}),
        ("E0402", {"sizes": (2, 3, 4, -1)}),
        ("E0402", {"scales": (1.0, 1.0, 0.0, 1.0)}),
        ("E0402", {"scales": (1.0, 1.0, float("inf"), 1.0)}),
        ("E0402", {"window": (0.0,) * 4}),
        ("E0402", {"window": (float("nan"),) * 8}),
        ("E0402", {"scales": (1e-9, 1.0, 1.0, 1.0), "antialias": True}),
    ],
)
def test_errors(code: str, changes: dict[str, Any]) -> None:
    check_error(code, ResizeOp, [spec(2, 3, 5, 7)], {**attrs((2, 3, 4, 6)), **changes})


def test_dtypes_and_empty_operands() -> None:
    check_error("E0403", ResizeOp, [spec(2, 3, 5, 7, dtype="int32")], attrs((2, 3, 4, 6), mode="linear"))
    check_error("E0401", ResizeOp, [spec(2, 0, 5, 7)], attrs((2, 3, 4, 6)))


def test_batch() -> None:
    check_batch(ResizeOp, [X], [True], attrs((2, 3, 4, 9), mode="cubic"), 2)
    check_no_batch(ResizeOp, [spec(2, 3, 5, 7)], [True], attrs((4, 3, 5, 7)), 2)


def by(**changes: Any) -> dict[str, Any]:
    base = {k: v for k, v in attrs(X.shape).items() if k not in ("sizes", "scales", "window")}
    return {**base, "axes": (2, 3), **changes}


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_by_scales_that_are_computed(mode: str) -> None:
    scales = np.array([2.0, 0.5], np.float32)
    (expected,) = run_op(ResizeOp, [X], attrs((2, 3, 10, 3), (1.0, 1.0, 2.0, 0.5), mode=mode))
    check_op(ResizeByOp, [X, scales, None], by(mode=mode), expected)


def test_by_windows_that_are_computed() -> None:
    roi = np.array([0.1, 0.2, 0.9, 0.7], np.float32)
    window = (0.0, 0.0, *map(float, roi[:2]), 1.0, 1.0, *map(float, roi[2:]))
    changes = {"mode": "linear", "coordinates": "tf_crop_and_resize", "fill": 3.0}
    (expected,) = run_op(ResizeOp, [X], attrs((2, 3, 4, 3), (1.0, 1.0, 4 / 5, 3 / 7), window=window, **changes))
    check_op(ResizeByOp, [X, np.array([4 / 5, 3 / 7]), roi], by(sizes=(4, 3), **changes), expected)


def test_by_types_and_limits() -> None:
    assert ResizeByOp.infer(spec(2, 5), spec(1), **by(axes=(1,))) == spec(2, -1)
    assert ResizeByOp.infer(spec(2, 5), spec(1), **by(axes=(1,), sizes=(4,))) == spec(2, 4)
    check_error("E0401", ResizeByOp, [spec(2, 5), spec(2), None], by(axes=(1,)))
    check_error("E0401", ResizeByOp, [spec(2, 5), spec(1), spec(1)], by(axes=(1,)))
    check_error("E0402", ResizeByOp, [spec(2, 5), spec(1), None], by(axes=(-1,)))
    check_error("E0402", ResizeByOp, [spec(2, 5), spec(1), None], by(axes=(1,), mode="round"))
    for scale in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(Error) as caught:
            run_op(ResizeByOp, [X, np.array([scale, 1.0], np.float32), None], by())
        assert caught.value.code == "E0802"
