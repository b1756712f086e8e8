"""Regions of loops and branches with plans of their own: the results of the reference engine, constants, errors, and what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.conftest import Builder
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.core.plain.interpret import RegionBody
from ttc.dialects.netlist.model import Host, Netlist, Op
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.planning.planned_body import PlannedBody
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.reference import ReferenceEngine, ReferencePlan
from ttc.runtime.tensors import Constants, TensorSource

I64, TRUTH, X, W = TensorType((), "Int64"), TensorType((), "Bool"), TensorType((4, 64), "Float32"), TensorType((64, 64), "Float32")
TABLE, STACK, GROWING = TensorType((9,), "Float32"), TensorType((-1, 4, 64), "Float32"), TensorType((-1, 64), "Float32")


def work(name: str, operands: tuple[int | None, ...], result: TensorType, **attrs: object) -> Work:
    return Work(name, operands, attrs, (result,), None, (f"node {name}",))  # pyright: ignore[reportArgumentType]


MATMUL = {"transpose_a": False, "transpose_b": False}
STEP = Function(
    (I64, X, W),
    (
        work("tile.matmul", (1, 2, None), X, **MATMUL),
        work("tile.map", (3,), X, fn="tanh"),
        work("tile.map", (4, 1), X, fn="add"),
        work("ttc.constant", (), I64, values=(4,)),
        work("tile.map", (0, 6), TRUTH, fn="less"),
    ),
    (7, 5, 4, 1),
)
"""An iteration: x + tanh(x w) goes on while i < 4; tanh(x w) and x are stacked."""


def looping(body: Function, stacks: int, going: bool = True) -> Work:
    """A loop over x and w, both values of the graph, up to n iterations."""
    operands = (0, 1 if going else None, 2, 3)
    return Work("nn.loop", operands, {"carried": 1}, (X, *(STACK,) * stacks), None, ("the loop",), (body,))


def netlist_of(control: Work, types: Mapping[str, TensorType], held: tuple[str, ...] = ("w",)) -> Netlist:
    """A graph of one op with regions: values by name, of which some are constants, and a queue for each result."""
    b = Builder()
    for name, type_ in types.items():
        b.queue(name, "constant" if name in held else "input", type_, key=name if name in held else None)
    inputs = tuple(types.values())
    ops: list[Op] = []
    for number, result in enumerate(control.results):
        function = Function(inputs, (control,), (len(inputs) + number,))
        ops.append(Op(f"y{number}", "loop", tuple(types), Host(), None, function, location=control.location))
        b.queue(f"out{number}", "output", result, source=f"y{number}")
    b.graph("g", ops, [(f"y{number}", f"out{number}") for number in range(len(ops))])
    return b.netlist()


def plans(netlist: Netlist, held: Mapping[str, NDArray]) -> tuple[NativePlan, list[RegionBody], ReferencePlan]:
    """The native plan, its planned regions, and the plan of the reference engine."""
    constants = Constants({name: TensorSource.of_array(value, "Float32") for name, value in held.items()})
    graph = netlist.graphs["g"]
    plan = NativeEngine(threads=2).prepare(graph, netlist, constants)
    assert isinstance(plan, NativePlan)
    steps = [segment.step for segment in plan.prepared.layout.segments]
    bodies = [body for step in steps if isinstance(step, PythonStep) for body in step.bodies]
    return plan, bodies, ReferenceEngine().prepare(graph, netlist, constants)


TYPES = {"n": I64, "go": TRUTH, "x": X, "w": W}


def entries(rng: np.random.Generator, trips: int = 9, go: bool = True) -> dict[str, NDArray]:
    return {"n": np.array(trips), "go": np.array(go), "x": rng.standard_normal((4, 64), np.float32)}


@pytest.mark.parametrize(("trips", "go", "ran"), [(9, True, 5), (2, True, 2), (0, True, 0), (9, False, 0)])
def test_a_loop_gives_what_the_reference_engine_gives(trips: int, go: bool, ran: int, rng: np.random.Generator) -> None:
    held = {"w": rng.standard_normal((64, 64), np.float32) / 8}
    plan, bodies, reference = plans(netlist_of(looping(STEP, 2), TYPES), held)
    assert [type(body) for body in bodies] == [PlannedBody]
    given = entries(rng, trips, go)
    found, wanted = plan.run(given), reference.run(given)
    assert found["out1"].shape == (ran, 4, 64)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, atol=1e-5)


def test_constants_are_packed_once_and_small_regions_run_by_one_call(rng: np.random.Generator) -> None:
    held = {"w": rng.standard_normal((64, 64), np.float32)}
    _, (body,), _ = plans(netlist_of(looping(STEP, 2), TYPES), held)
    assert isinstance(body, PlannedBody)
    assert [number for number, _ in body.given] == [0, 1]  # w is no input of a call
    assert body.short is not None


def test_weights_that_a_run_is_given_are_inputs_of_each_call(rng: np.random.Generator) -> None:
    w = rng.standard_normal((64, 64), np.float32) / 8
    plan, (body,), reference = plans(netlist_of(looping(STEP, 2), TYPES, held=()), {})
    assert isinstance(body, PlannedBody)
    assert [number for number, _ in body.given] == [0, 1, 2]
    given = {**entries(rng), "w": w}
    np.testing.assert_allclose(plan.run(given)["out0"], reference.run(given)["out0"], atol=1e-5)


def test_an_error_names_the_op_of_the_region(rng: np.random.Generator) -> None:
    """Row i of a table of 9: from iteration 9 on there is none."""
    row = work("nn.gather", (2, 0), TensorType((), "Float32"), axis=0)
    body = Function((I64, X, TABLE), (row, work("tile.map", (1, 3), X, fn="add")), (4,))
    netlist = netlist_of(looping(body, 0, going=False), {"n": I64, "go": TRUTH, "x": X, "t": TABLE}, held=())
    plan, bodies, _ = plans(netlist, {})
    assert bodies
    given = {**entries(rng), "t": rng.standard_normal(9).astype(np.float32)}
    np.testing.assert_allclose(plan.run(given)["out0"], given["x"] + given["t"].sum(), atol=1e-5)
    with pytest.raises(Error) as caught:
        plan.run({**given, "n": np.array(10)})
    assert (caught.value.code, caught.value.where) == ("E0802", "node nn.gather")


def test_a_value_that_grows_is_held_by_python(rng: np.random.Generator) -> None:
    """The carried value gets a row more in each iteration, beside products of fixed size."""
    product = work("tile.matmul", (3, 2, None), TensorType((1, 64), "Float32"), **MATMUL)
    sum_ = work("nn.reduce_sum", (1,), TensorType((1, 64), "Float32"), axes=(0,), keepdims=True)
    grown = work("nn.concat", (1, 4), GROWING, axis=0)
    body = Function((I64, GROWING, W), (sum_, product, grown), (5,))
    control = Work("nn.loop", (0, None, 2, 3), {"carried": 1}, (GROWING,), None, ("the loop",), (body,))
    held = {"w": rng.standard_normal((64, 64), np.float32) / 64}
    plan, bodies, reference = plans(netlist_of(control, TYPES), held)
    assert [type(body) for body in bodies] == [PlannedBody]
    given = entries(rng, 6)
    assert plan.run(given)["out0"].shape == (10, 64)
    np.testing.assert_allclose(plan.run(given)["out0"], reference.run(given)["out0"], atol=1e-4)


@pytest.mark.parametrize("which", [True, False])
def test_a_branch_runs_the_plan_of_the_region_it_takes(which: bool, rng: np.random.Generator) -> None:
    first = Function((X, W), (work("tile.matmul", (0, 1, None), X, **MATMUL), work("tile.map", (2,), X, fn="relu")), (3,))
    second = Function((X, W), (work("tile.map", (0,), X, fn="exp"), work("tile.map", (2,), X, fn="neg")), (3,))
    control = Work("nn.branch", (1, 2, 3), {}, (X,), None, ("the branch",), (first, second))
    plan, bodies, reference = plans(netlist_of(control, TYPES), {"w": rng.standard_normal((64, 64), np.float32)})
    assert [type(body) for body in bodies] == [PlannedBody] * 2
    given = entries(rng, go=which)
    np.testing.assert_allclose(plan.run(given)["out0"], reference.run(given)["out0"], atol=1e-4)


@pytest.mark.parametrize("which", [True, False])
def test_a_region_without_native_code_runs_beside_one_that_has_it(which: bool, rng: np.random.Generator) -> None:
    """What hands its values on has none."""
    first = Function((X, W), (), (0,))
    second = Function((X, W), (work("tile.matmul", (0, 1, None), X, **MATMUL), work("tile.map", (2,), X, fn="neg")), (3,))
    control = Work("nn.branch", (1, 2, 3), {}, (X,), None, ("the branch",), (first, second))
    plan, bodies, reference = plans(netlist_of(control, TYPES), {"w": rng.standard_normal((64, 64), np.float32)})
    assert [type(body) for body in bodies] == [PlannedBody] * 2
    given = entries(rng, go=which)
    np.testing.assert_allclose(plan.run(given)["out0"], reference.run(given)["out0"], atol=1e-4)


def in_blocks(rows: int) -> Work:
    """The product of rows of x with w, and its exponentials, in blocks of 2 and 8 rows."""
    bodies: list[Function] = []
    for size in (2, 8):
        block = TensorType((size, 64), "Float32")
        bodies.append(
            Function((block, W), (work("tile.matmul", (0, 1, None), block, **MATMUL), work("tile.map", (2,), block, fn="exp")), (3,))
        )
    return Work("nn.row_blocks", (0, 1), {"rows": rows}, (GROWING,), None, ("the blocks",), tuple(bodies))


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 21])
def test_rows_in_blocks(count: int, rng: np.random.Generator) -> None:
    held = {"w": rng.standard_normal((64, 64), np.float32) / 64}
    plan, bodies, reference = plans(netlist_of(in_blocks(1), {"x": GROWING, "w": W}), held)
    assert [body.given for body in bodies if isinstance(body, PlannedBody)] == [((0, "body_in0"),)] * 2  # w is packed once
    given = {"x": rng.standard_normal((count, 64), np.float32)}
    found, wanted = plan.run(given)["out0"], reference.run(given)["out0"]
    assert found.shape == wanted.shape == (count, 64)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize("rows", [-1, 0, 2, 10**9])
def test_blocks_of_rows_that_no_compiler_writes_end_in_an_error_of_the_op(rows: int, rng: np.random.Generator) -> None:
    plan, _, _ = plans(netlist_of(in_blocks(rows), {"x": GROWING, "w": W}), {"w": rng.standard_normal((64, 64), np.float32)})
    with pytest.raises(Error) as caught:
        plan.run({"x": rng.standard_normal((3, 64), np.float32)})
    assert caught.value.code in ("E0609", "E0802")
    assert caught.value.where == "the blocks"


def test_regions_of_dialect_nn_are_interpreted(rng: np.random.Generator) -> None:
    """Archives of earlier versions have such regions."""
    body = Function((I64, X, W), (work("nn.matmul", (1, 2, None), X, **MATMUL),), (3,))
    netlist = netlist_of(looping(body, 0, going=False), TYPES)
    graph = netlist.graphs["g"]
    w = rng.standard_normal((64, 64), np.float32) / 8
    plan = NativeEngine(threads=2).prepare(graph, netlist, Constants({"w": TensorSource.of_array(w, "Float32")}))
    assert isinstance(plan, ReferencePlan)
    given = entries(rng, 2)
    np.testing.assert_allclose(plan.run(given)["out0"], given["x"] @ w @ w, atol=1e-5)


def test_the_plan_of_a_region_is_shown(rng: np.random.Generator) -> None:
    plan, (body,), _ = plans(netlist_of(looping(STEP, 2), TYPES), {"w": rng.standard_normal((64, 64), np.float32)})
    assert isinstance(body, PlannedBody)
    assert body.text() in plan.text()
    assert "graph 'y0_body'" in plan.text()
    assert "python" not in body.text()


def test_a_value_of_another_shape_than_a_region_takes_is_refused(rng: np.random.Generator) -> None:
    _, (body,), _ = plans(netlist_of(looping(STEP, 2), TYPES), {"w": rng.standard_normal((64, 64), np.float32)})
    assert isinstance(body, PlannedBody)
    with pytest.raises(Error) as caught:
        body(np.array(0), np.zeros((5, 64), np.float32), np.zeros((64, 64), np.float32))
    assert caught.value.code == "E0802"


@pytest.mark.parametrize("attrs", [{}, {"carried": "2"}, {"carried": -3}, {"carried": 10**9}, {"carried": 1, "length": "x"}])
def test_attributes_that_no_compiler_writes_end_in_an_error_of_the_op(attrs: dict[str, Plain], rng: np.random.Generator) -> None:
    control = replace(looping(STEP, 2), attrs=attrs)
    plan, _, _ = plans(netlist_of(control, TYPES), {"w": rng.standard_normal((64, 64), np.float32)})
    with pytest.raises(Error) as caught:
        plan.run(entries(rng))
    assert caught.value.code in ("E0609", "E0802")
    assert caught.value.where == "the loop"
