"""Fused ops: values by name, in their order; and back to the schedule that was read, or to one of our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tests.dialects.netlist.buda.work.meanings import buda, check_error, placed, random, result, tensor, tms, work
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain import interpret
from ttc.dialects.netlist.buda.form import FusedOp, SubOp, Tm
from ttc.dialects.netlist.buda.work import form_of

S = 32
BLOCKS: dict[str, Any] = {"mblock": (1, 1), "ublock": (1, 1)}
SPREAD: Mapping[int, tuple[Tm, ...]] = {1: (Tm("tile_broadcast", ("c",)),)}


def fused(inputs: int, *steps: SubOp) -> FusedOp:
    return FusedOp("0", inputs, 8, None, (steps,))


def sub(type_: str, inputs: str, output: str, **fields: Any) -> SubOp:
    return SubOp(type_, type_, tuple(inputs.split()), output, **{**BLOCKS, **fields})


def test_values_go_by_name() -> None:
    x, y = random(1, S, S), random(1, S, S)
    steps = fused(
        2,
        sub("subtract", "input0 input1", "dest"),
        sub("square", "dest", "intermed0"),
        sub("exp", "input1", "intermed1"),
        sub("multiply", "intermed0 intermed1", "dest", pop=("intermed0", "intermed1")),
        sub("add", "dest input0", "output", attributes={"relu_en": True, "relu_mode": "min", "relu_threshold": 0.5}),
    )
    total = (x - y) ** 2 * np.exp(y) + x
    op = buda("fused_op", attributes={"fused_op_id": 0})
    expected = np.where(total >= 0.5, total, 0)
    np.testing.assert_allclose(result(op, x, y, fused=steps), expected, rtol=1e-5, atol=1e-6)
    own = form_of(placed(op, work(op, [x, y], fused=steps))).fused
    np.testing.assert_allclose(result(op, x, y, fused=own), expected, rtol=1e-5, atol=1e-6)


def test_works_get_a_schedule() -> None:
    x, y = random(1, S, 2 * S), random(1, S, S)
    steps = fused(2, sub("multiply", "input0 input1", "dest", input_tms=SPREAD), sub("sigmoid", "dest", "output"))
    op = buda("fused_op", mblock=(1, 2), tms=tms(i1=[Tm("broadcast", ("c", 2))]))
    found = work(op, [x, y], fused=steps)
    np.testing.assert_allclose(interpret.run(found, [x, y])[0], 1 / (1 + np.exp(-x * y[:, :, :1])), rtol=1e-5)
    form = form_of(placed(op, found))
    assert (form.inputs, dict(form.tms), form.attributes["fused_op_id"]) == ((0, 1), dict(op.input_tms), "op")
    own = form.fused
    assert own is not None
    assert [(s.type, s.inputs, s.output, dict(s.input_tms)) for s in own.schedules[0]] == [
        ("multiply", ("input0", "input1"), "dest", dict(SPREAD)),
        ("sigmoid", ("dest",), "output", {}),
    ]


def test_products_and_maxima_inside() -> None:
    x, y = random(1, S, 2 * S), random(1, 2 * S, S)
    steps = FusedOp(
        "0",
        2,
        1,
        None,
        (
            (sub("matmul", "input0 input1", "intermed0", attributes={"m_k": 2, "u_kt": 1}),),
            (sub("reduce", "intermed0", "output", pop=("intermed0",), attributes={"type": "max", "dim": "c", "m_k": 1, "u_kt": 1}),),
        ),
    )
    op = buda("fused_op")
    found = result(op, x, y, fused=steps)
    with pytest.raises(Error) as error:
        form_of(placed(op, work(op, [x, y], fused=steps)))
    assert error.value.code == "E0503"
    np.testing.assert_allclose(found[:, :, 0], (x @ y).max(axis=2), rtol=1e-4, atol=1e-4)
    assert not found[:, :, 1:].any()


def test_narrow_values_are_repeated() -> None:
    x, y = random(1, S, S), random(1, S, 3 * S)
    broadcast = {1: (Tm("broadcast", ("c", 3)), Tm("tile_broadcast", ("c",)))}
    steps = fused(2, sub("abs", "input0", "intermed0"), sub("add", "input1 intermed0", "output", input_tms=broadcast, pop=("intermed0",)))
    op = buda("fused_op", mblock=(1, 3))
    found = interpret.run(work(op, [x, y], fused=steps), [x, y])[0]
    np.testing.assert_allclose(found, y + np.abs(x[:, :, :1]), rtol=1e-6)


def test_what_vector_modes_leave_depends_on_the_place() -> None:
    x = random(1, S, S)
    vector = {"vector": "r"}
    fresh = fused(1, sub("abs", "input0", "dest", attributes=vector), sub("nop", "dest", "output"))
    assert not result(buda("fused_op"), x, fused=fresh)[:, 4:].any()
    in_place = fused(1, sub("nop", "input0", "dest"), sub("abs", "dest", "dest", attributes=vector), sub("nop", "dest", "output"))
    np.testing.assert_array_equal(result(buda("fused_op"), x, fused=in_place)[:, 4:], x[:, 4:])


def test_integers(rng: np.random.Generator) -> None:
    x, scale = rng.integers(-99, 100, (1, S, S)).astype(np.int8), np.full((1, S, S), 0.5, np.float32)
    steps = fused(
        2,
        sub("nop", "input0", "dest"),
        sub("dequantization", "input1 dest", "intermed0", zero_point=2.0),
        sub("quantization", "intermed0 input1", "output", zero_point=-1.0, pop=("intermed0",)),
    )
    op = buda("fused_op", out_df="Int8")
    found = interpret.run(work(op, [x, scale], [tensor(x, "Int8")], steps), [x, scale])[0]
    expected = np.clip(np.rint((x.astype(np.float32) - 2) / 4 - 1), -127, 127)
    np.testing.assert_array_equal(found.astype(np.float32), expected)


def test_what_does_not_fit() -> None:
    op = buda("fused_op", attributes={"fused_op_id": 3})
    check_error("E0601", op, (1, S, S))
    check_error("E0402", op, (1, S, S), fused=fused(1, sub("exp", "intermed0", "output")))
    check_error("E0402", op, (1, S, S), fused=fused(1, sub("exp", "input0", "dest")))
    check_error("E0401", op, (1, S, S), fused=fused(1, sub("add", "input0", "output")))
    check_error("E0503", op, (1, S, S), fused=fused(1, sub("splice", "input0", "output")))
    check_error("E0402", op, (1, S, S), fused=fused(1, *[sub("exp", "input0", "output")] * 2000))
