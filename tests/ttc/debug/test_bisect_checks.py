"""Checks of modules."""

from __future__ import annotations

from pathlib import Path

from ttc.compiler.driver import compile_path
from ttc.debug.bisect_checks import NumbersKept
from ttc.options import CompileOptions, resolve


def test_a_tolerance_of_ones_own(small_onnx: Path) -> None:
    """Bfp8_b is within the usual bound of its kind, and outside of a hundredth of it."""
    stops = [{"to": "import"}, {"to": "tile", "format": "Bfp8_b"}]
    first, coarse = (compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, **stop})).unit for stop in stops)
    usual, strict = NumbersKept(None), NumbersKept(None, rtol=1e-4)
    assert [usual(first), usual(coarse)] == [None, None]
    assert strict(first) is None
    problem = strict(coarse)
    assert problem is not None
    assert "relative L2" in problem
