"""Elementwise works of the compiler as ops of Buda: what they say gives the same numbers when it is built again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import rng_of_test
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.netlist.buda.form import BudaOp, Tm
from ttc.dialects.netlist.buda.work import ImpliedConstant, OpForm, form_of, work_of
from ttc.dialects.netlist.model import Blocking, Grid, Op

LAYOUT = "tiles(32, 32)"
S = 32


def type_of(*shape: int) -> TensorType:
    return TensorType(shape, "Float32", LAYOUT)


def mapped(fn: str, *operands: int, shape: tuple[int, ...], **values: Any) -> Work:
    attrs: dict[str, Plain] = {"fn": fn}
    if values:
        attrs |= {"names": tuple(values), "values": tuple(values.values())}
    return Work("tile.map", operands, attrs, (type_of(*shape),))


def number(value: float) -> Work:
    return Work("ttc.constant", (), {"values": (value,)}, (type_of(),))


def op_of(inputs: tuple[TensorType, ...], *works: Work) -> Op:
    """An op on one core whose work ends with the last."""
    function = Function(inputs, works, (len(inputs) + len(works) - 1,))
    t, rows, columns = works[-1].results[0].tile_dims()
    return Op("op", "map", tuple(f"x{i}" for i in range(len(inputs))), Grid(0, 0, 1, 1), Blocking(t, (rows, columns), (1, 1)), function)


def region(inputs: tuple[TensorType, ...], *works: Work) -> Op:
    body = Function(inputs, works, (len(inputs) + len(works) - 1,))
    return op_of(inputs, Work("tile.eltwise", tuple(range(len(inputs))), {}, works[-1].results, body))


def again(op: Op, form: OpForm, *arrays: NDArray) -> NDArray:
    """The result of what the form says, on the arrays in whole tiles."""
    blocking = op.blocking
    assert blocking is not None
    values = [
        tiled(arrays[s]) if isinstance(s, int) else tiled(np.broadcast_to(s.values, (S, S)))  # pyright: ignore[reportAttributeAccessIssue]
        for s in form.inputs
        if not isinstance(s, tuple)
    ]
    tms = dict(form.tms)
    for i, source in enumerate(form.inputs):
        if isinstance(source, ImpliedConstant):
            dims = (blocking.t, *blocking.mblock)
            tms[i] = tuple(Tm("broadcast", (dim, n)) for dim, n in zip("zrc", dims, strict=True))
    written = BudaOp("op", form.type, grid_size=(1, 1), t=blocking.t, mblock=blocking.mblock, ublock=(1, 1), input_tms=tms)
    written = BudaOp(**{f: getattr(written, f) for f in written.__slots__ if f != "lines"} | {"attributes": form.attributes})
    types = [TensorType(v.shape, "Float32", LAYOUT) for v in values]
    return interpret.run(work_of(written, types, form.fused, "grayskull"), values)[0]


def tiled(x: NDArray) -> NDArray:
    """x as [t, rows, columns] in whole tiles, zeros beyond."""
    whole = x.reshape((1,) * (3 - x.ndim) + x.shape) if x.ndim <= 3 else x.reshape(-1, *x.shape[-2:])
    t, rows, columns = whole.shape
    y = np.zeros((t, -(-rows // S) * S, -(-columns // S) * S), np.float32)
    y[:, :rows, :columns] = whole
    return y


def check(op: Op, type_: str, *arrays: NDArray) -> OpForm:
    """The op is of that type, and computes the same."""
    form = form_of(op)
    assert form.type == type_
    expected = interpret.run(op.work, list(arrays))[0]
    found = again(op, form, *arrays)
    *_, rows, columns = (1, 1, *expected.shape)
    np.testing.assert_allclose(found[:, :rows, :columns].reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)
    return form


def random(*shape: int) -> NDArray:
    return rng_of_test().standard_normal(shape).astype(np.float32)


def test_a_function_is_an_op() -> None:
    x, y = random(50, 70), random(50, 70)
    check(op_of((type_of(50, 70),), mapped("exp", 0, shape=(50, 70))), "exp", x)
    check(op_of((type_of(50, 70),) * 2, mapped("sub", 0, 1, shape=(50, 70))), "subtract", x, y)
    check(op_of((type_of(50, 70),), mapped("leaky_relu", 0, shape=(50, 70), alpha=0.2)), "lrelu", x)
    assert form_of(op_of((type_of(50, 70),), mapped("mul", 0, 0, shape=(50, 70)))).inputs == (0, 0)


def test_relu_and_clip_are_attributes_of_a_nop() -> None:
    x = random(50, 70)
    form = check(op_of((type_of(50, 70),), mapped("relu", 0, shape=(50, 70))), "nop", x)
    assert dict(form.attributes) == {"relu_en": True, "relu_mode": "min", "relu_threshold": 0.0}
    form = check(op_of((type_of(50, 70),), mapped("clip", 0, shape=(50, 70), min=0.0, max=0.5)), "nop", x)
    assert form.attributes["relu_mode"] == "max"


def test_rows_columns_and_numbers_are_broadcast() -> None:
    x, row, column = random(2, 50, 70), random(70), random(2, 50, 1)
    form = check(op_of((type_of(2, 50, 70), type_of(70)), mapped("mul", 1, 0, shape=(2, 50, 70))), "fused_op", x, row)
    assert form.tms == {0: (Tm("broadcast", ("z", 2)), Tm("broadcast", ("r", 2)))}
    assert form.fused is not None
    (step,) = form.fused.schedules[0]
    assert (step.inputs, dict(step.input_tms)) == (("input1", "input0"), {1: (Tm("tile_broadcast", ("r",)),)})
    check(op_of((type_of(2, 50, 70), type_of(2, 50, 1)), mapped("sub", 0, 1, shape=(2, 50, 70))), "fused_op", x, column)
    check(op_of((type_of(2, 50, 70), type_of(2, 50, 1)), mapped("sub", 1, 0, shape=(2, 50, 70))), "fused_op", x, column)
    check(op_of((type_of(2, 50, 70), type_of(70)), mapped("maximum", 0, 1, shape=(2, 50, 70))), "fused_op", x, row)
    check(op_of((type_of(2, 50, 70),), number(0.5), mapped("mul", 0, 1, shape=(2, 50, 70))), "multiply", x)


def test_regions_keep_what_the_next_step_reads_in_dest() -> None:
    shape = (50, 70)
    x, y, column = random(*shape), random(*shape), random(50, 1)
    op = region(
        (type_of(*shape), type_of(*shape), type_of(50, 1)),
        mapped("sub", 0, 2, shape=shape),
        mapped("mul", 3, 3, shape=shape),
        number(0.25),
        mapped("add", 4, 5, shape=shape),
        mapped("sqrt", 6, shape=shape),
        mapped("mul", 7, 1, shape=shape),
        mapped("relu", 8, shape=shape),
    )
    form = check(op, "fused_op", x, y, column)
    assert form.fused is not None
    steps = form.fused.schedules[0]
    assert [(s.type, s.inputs, s.output, s.pop) for s in steps] == [
        ("subtract", ("input0", "input2"), "intermed0", ()),
        ("multiply", ("intermed0", "intermed0"), "dest", ("intermed0",)),
        ("add", ("dest", "input3"), "dest", ()),
        ("sqrt", ("dest",), "dest", ()),
        ("multiply", ("dest", "input1"), "dest", ()),
        ("nop", ("dest",), "output", ()),
    ]
    assert (form.fused.inputs, form.fused.intermediates) == (4, 1)


def test_dest_is_the_first_input() -> None:
    shape = (32, 32)
    inputs = (type_of(*shape), type_of(*shape))
    form = form_of(region(inputs, mapped("exp", 0, shape=shape), mapped("add", 1, 2, shape=shape), mapped("sub", 1, 3, shape=shape)))
    assert form.fused is not None
    assert [s.inputs for s in form.fused.schedules[0]] == [("input0",), ("dest", "input1"), ("input1", "intermed0")]


def test_columns_are_computed_before_they_are_broadcast() -> None:
    x, column, row = random(50, 70), np.abs(random(50, 1)), random(1, 70)
    op = region(
        (type_of(50, 70), type_of(50, 1), type_of(1, 70)),
        mapped("sqrt", 1, shape=(50, 1)),
        mapped("add", 3, 2, shape=(50, 70)),
        mapped("mul", 4, 0, shape=(50, 70)),
    )
    check(op, "fused_op", x, column, row)


def test_a_region_of_a_cast() -> None:
    x = random(50, 70)
    check(region((type_of(50, 70),), Work("tile.cast", (0,), {}, (type_of(50, 70),))), "nop", x)


def test_too_many_values_at_a_time() -> None:
    shape = (32, 32)
    waiting = [mapped("exp", 0, shape=shape) for _ in range(10)]
    sums = [mapped("maximum", i + 1, i + 2 if i == 0 else i + 10, shape=shape) for i in range(9)]
    with pytest.raises(Error) as error:
        form_of(region((type_of(*shape),), *waiting, *sums))
    assert error.value.code == "E0503"


@pytest.mark.parametrize(
    "work",
    [
        mapped("erf", 0, shape=(32, 32)),
        mapped("gelu", 0, shape=(32, 32), approximate="none"),
        mapped("clip", 0, shape=(32, 32), min=-1.0, max=1.0),
        Work("tile.cast", (0,), {"to": "int32"}, (type_of(32, 32),)),
        Work("tile.softmax", (0,), {"axis": 1}, (type_of(32, 32),)),
        Work("tile.reduce", (0,), {"fn": "sum", "axes": (1,), "keepdims": True}, (type_of(32, 1),)),
        Work("tile.matmul", (0, 0, None), {"transpose_a": True, "transpose_b": False}, (type_of(32, 32),)),
        Work("tile.concat", (0, 0), {"axis": 1}, (type_of(32, 64),)),
    ],
    ids=lambda work: work.op + str(work.attrs.get("fn", "")),
)
def test_what_buda_lacks_is_named(work: Work) -> None:
    with pytest.raises(Error) as error:
        form_of(op_of((type_of(32, 32),), work))
    assert error.value.code == "E0503"
    assert error.value.where == "op"


def test_works_that_lack_attributes() -> None:
    for work in (Work("tile.sfpu", (0,), {}, (type_of(32, 32),)), Work("tile.transpose", (0,), {"perm": 3}, (type_of(32, 32),))):
        with pytest.raises(Error) as error:
            form_of(op_of((type_of(32, 32),), work, mapped("exp", 1, shape=(32, 32))))
        assert error.value.code in ("E0402", "E0503", "E0609")
        assert error.value.where == "op"


def test_weights_of_summed_products_are_the_same_for_all_bands(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 3, S, S), np.float32), rng.standard_normal((3, S, S), np.float32)
    work = Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False, "accumulate": True}, (type_of(2, S, S),))
    form = check(op_of((type_of(2, 3, S, S), type_of(3, S, S)), work), "matmul", a, b)
    assert dict(form.tms)[1] == (Tm("broadcast", ("z", 2)),)
    assert dict(form.attributes)["z"] == 3
