"""Functions of one operand: their attributes, vector modes, thresholds, formats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.dialects.netlist.buda.work.meanings import buda, check_error, random, result, tensor, work
from ttc.dialects.core.plain import interpret
from ttc.dialects.netlist.buda.work import work_of
from ttc.dialects.tile.facts.sfpu import SFPU_FUNCTIONS

S = 32
X = np.abs(random(2, S, 2 * S)) + np.float32(0.1)


@pytest.mark.parametrize("fn", SFPU_FUNCTIONS)
def test_every_function_reads_back(fn: str) -> None:
    attributes = {"lrelu": {"slope": 0.25}, "power": {"exp": 3}, "dropout": {"p": 0.5}}.get(fn, {})
    result(buda(fn, t=2, mblock=(1, 2), attributes=attributes), X)


def test_parameters() -> None:
    x = -X
    np.testing.assert_allclose(result(buda("lrelu", t=2, mblock=(1, 2)), x), x * np.float32(0.01))
    np.testing.assert_allclose(result(buda("lrelu", t=2, mblock=(1, 2), attributes={"slope": 0.5}), x), x / 2)
    np.testing.assert_allclose(result(buda("power", t=2, mblock=(1, 2), attributes={"exp": 3}), x), x**3, rtol=1e-6)
    kept = result(buda("dropout", t=2, mblock=(1, 2), attributes={"p": 0.5, "seed": 7}), x)
    assert set(np.unique(np.round(kept / x, 3))) == {0.0, 2.0}
    np.testing.assert_array_equal(kept[0, :, :S] != 0, kept[1, :, S:] != 0)


def test_vector_modes_leave_zeros() -> None:
    y = result(buda("square", t=2, mblock=(1, 2), attributes={"vector": "r"}), X)
    np.testing.assert_array_equal(y[:, :4], (X * X)[:, :4])
    assert not y[:, 4:].any()
    y = result(buda("square", t=2, mblock=(1, 2), attributes={"vector": "c"}), X)
    np.testing.assert_array_equal(y.reshape(2, S, 2, S)[..., :16], (X * X).reshape(2, S, 2, S)[..., :16])
    assert not y.reshape(2, S, 2, S)[..., 16:].any()


def test_small_tiles_are_computed_whole_and_end_where_they_end() -> None:
    x = random(1, 1, S)
    op = buda("exp", tile_dim=(32, 32), attributes={"vector": "r"})
    y = result(op, x, types=[tensor(x, tile=(1, 32))])
    np.testing.assert_allclose(y[:, :1], np.exp(x), rtol=1e-6)
    assert not y[:, 1:].any()


@pytest.mark.parametrize(("mode", "expected"), [("min", [0, 0, 0, 2]), ("max", [0, 0, 0.5, 1]), ("none", [0, 0, 0, 2])])
def test_thresholds(mode: str, expected: list[float]) -> None:
    x = np.tile(np.array([-1, 0, 0.5, 2], np.float32), (1, S, 8))
    relu = {"relu_en": True, "relu_mode": mode, "relu_threshold": 1.0}
    op = buda("nop", attributes=relu)
    found = interpret.run(work(op, [x]), [x])[0]
    np.testing.assert_array_equal(found[0, 0, :4], expected)


def test_operands_and_results_as_the_reference_rounds_them() -> None:
    x = random(1, S, S)
    op = buda("nop")
    (inputs,) = ([tensor(x)],)
    (wide,) = interpret.run(work_of(op, inputs, None, "wormhole_b0"), [x])
    np.testing.assert_array_equal(wide.view(np.uint32), x.view(np.uint32) & np.uint32(0xFFFFE000))
    (same,) = interpret.run(work_of(op, inputs, None, "blackhole"), [x])
    np.testing.assert_array_equal(same, x)
    small = work_of(op, [tensor(x, "Bfp4_b")], None, "wormhole_b0")
    assert [w.attrs.get("to") for w in small.works] == ["Bfp4_b", None]
    whole = work_of(buda("nop", out_df="Int8"), inputs, None, "grayskull")
    assert [w.attrs.get("to") for w in whole.works] == [None, "Int8"]


def test_untilized_results_are_in_rows() -> None:
    found = work(buda("nop", untilize_output=True), [X[:1, :, :S]])
    assert found.works[-1].results[0].layout == "rows"


@pytest.mark.parametrize(
    ("type_", "attributes", "code"),
    [
        ("power", {}, "E0402"),
        ("power", {"exp": 2.5}, "E0402"),
        ("lrelu", {"slope": "steep"}, "E0402"),
        ("exp", {"vector": "x"}, "E0402"),
        ("nop", {"relu_en": True, "relu_mode": "mid"}, "E0402"),
        ("drainer", {}, "E0503"),
    ],
)
def test_what_does_not_fit(type_: str, attributes: dict[str, Any], code: str) -> None:
    check_error(code, buda(type_, attributes=attributes), (1, S, S))
