"""Checks of numbers after passes."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests.ttc.planted import plant
from ttc.accuracy.distances import Exactness
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.instruments.dump import Dump
from ttc.instruments.numerics import Bound, NumericCheck, comparisons, widened
from ttc.options import CompileOptions, resolve
from ttc.passes.nn.fuse_bias import FuseBias
from ttc.passes.tile.assign_formats import AssignFormats


def test_figures_go_into_the_dump(small_onnx: Path, tmp_path: Path) -> None:
    compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "format": "Bfp8_b"}), [NumericCheck(), Dump(tmp_path)])
    rows = {row["pass"].partition("{")[0]: row for row in json.loads((tmp_path / "index.json").read_text())}
    (figures,) = rows["assign-formats"]["numerics"].values()
    assert figures["pass"]["exactness"] == "bits8"
    assert 1e-4 < figures["pass"]["relative_l2"] < 0.1
    assert figures["model"] == figures["pass"]
    assert "numerics" not in rows["keep-sources"] or rows["keep-sources"]["changed"]


@pytest.mark.parametrize(("kind", "format_"), [(FuseBias, "source"), (AssignFormats, "Bfp8_b")])
def test_the_pass_is_named(kind: type, format_: str, small_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, kind)
    with pytest.raises(Error) as caught:
        compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "format": format_}), [NumericCheck()])
    assert (caught.value.code, caught.value.hint) == ("E0505", "ttc bisect finds the rewrite")
    assert f"pass {kind.name}@1" in caught.value.message


def test_bounds_widen_with_formats(small_onnx: Path) -> None:
    def bound(format_: str) -> Bound:
        unit = compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "format": format_, "to": "tile"})).unit
        return widened(Bound(), unit.module)

    assert bound("source") == Bound()
    assert bound("Float16_b") == Bound(Exactness.BITS16)
    assert bound("Bfp8_b") == Bound(Exactness.BITS8)


def test_an_output_that_is_gone_or_has_another_size_is_infinitely_far_off() -> None:
    then = {"forward": {"y": np.ones(3), "z": np.ones(4), "new count": np.ones(1)}}
    now = {"forward": {"y": np.ones((3, 1)), "z": np.ones(5), "extra": np.ones(1)}}
    found = dict(comparisons(now, then, Bound(rtol=1.0)))
    assert {name: figures.relative_l2 for name, figures in found.items()} == {"y": 0.0, "z": math.inf, "new count": math.inf}
    assert [Bound().keeps(figures) for figures in found.values()] == [True, False, False]
