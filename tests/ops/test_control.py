"""BranchOp, LoopOp and YieldOp: semantics, text, what they refuse, and regions that come out of an archive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects import builtin
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_of
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import Port, entry_functions, finish_function, make_function
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.evaluate import evaluate
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.check_work import check_function
from ttc.dialects.netlist.codec import decode, encode
from ttc.dialects.netlist.from_plain import function_block
from ttc.dialects.netlist.ops import YieldOp as NetlistYieldOp
from ttc.dialects.netlist.violations import Findings
from ttc.dialects.nn.base import dialect
from ttc.dialects.nn.control import BranchOp
from ttc.importers.common.builder import Builder
from ttc.importers.common.control import LoopIteration, branch, loop
from ttc.importers.common.unsupported import Unsupported

Body = Callable[[Builder, Sequence[SSAValue]], Sequence[SSAValue]]


def module_of(specs: Sequence[Spec], body: Body) -> builtin.ModuleOp:
    """A module whose function makes the body's values of arguments of these types."""
    function = make_function("main", [(Port(f"x{i}"), tensor_type(s)) for i, s in enumerate(specs)])
    builder = Builder()
    builder.enter("node")
    results = list(body(builder, list(function.body.block.args)))
    builder.finish(function.body.block, set(results))
    finish_function(function, [(Port(f"y{i}"), value) for i, value in enumerate(results)])
    return builtin.ModuleOp([function])


def run(body: Body, *arrays: NDArray, specs: Sequence[Spec] | None = None) -> list[NDArray]:
    """The body's values through verification, text, the plain form of archives and back, and the interpreter."""
    module = module_of(specs or [Spec(x.shape, x.dtype) for x in arrays], body)
    verify(module)
    text = print_op(module)
    again = parse_module(text, "round trip", [dialect])
    verify(again)
    assert print_op(again) == text
    plain = plain_block(entry_functions(again)[0].body.block)
    assert decode(Function, encode(plain)) == plain
    found = Findings()
    assert check_function(plain, "here", found), found.violations
    block = function_block(plain, [a.type for a in entry_functions(again)[0].body.block.args], NetlistYieldOp, on_host=True)
    assert plain_block(block) == plain
    return interpret.run(plain, [x.astype(format_of(x.dtype).compute) for x in arrays])


def f32(*values: float) -> NDArray:
    return np.array(values, np.float32)


@pytest.mark.parametrize("which", [True, False])
def test_a_branch_of_two(which: bool) -> None:
    def body(b: Builder, x: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return branch(b, x[0], [lambda: [b.nn("exp", x[1])], lambda: [b.nn("mul", x[1], b.constant(np.float32(3)))]])

    (y,) = run(body, np.array(which), f32(1, 2))
    np.testing.assert_allclose(y, np.exp(f32(1, 2)) if which else f32(3, 6), rtol=1e-6)


@pytest.mark.parametrize(("which", "wanted"), [(0, [1.0]), (2, [3.0]), (7, [3.0]), (-1, [3.0])])
def test_a_branch_of_many_is_the_last_where_there_is_none(which: int, wanted: list[float]) -> None:
    def body(b: Builder, x: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return branch(b, x[0], [lambda i=i: [b.constant(f32(i + 1))] for i in range(3)])

    assert run(body, np.array([which], np.int32))[0].tolist() == wanted


def test_dimensions_in_which_branches_differ_are_dynamic() -> None:
    def body(b: Builder, x: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return branch(b, x[0], [lambda: [b.nn("concat", x[1], x[1], axis=0)], lambda: [x[1]]])

    module = module_of([Spec((), np.dtype(bool)), Spec((2, 3), np.dtype(np.float32))], body)
    (op,) = [op for op in entry_functions(module)[0].body.block.ops if isinstance(op, BranchOp)]
    assert str(spec_of(op.results[0].type)) == "float32[?, 3]"


def counted(b: Builder, x: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """x[1] doubled x[0] times, and its history."""

    def step(number: SSAValue, values: Sequence[SSAValue]) -> LoopIteration:
        doubled = b.nn("add", values[0], values[0])
        return LoopIteration([doubled], [doubled, number])

    (last,), stacks = loop(b, step, [x[1]], count=x[0])
    return [last, *stacks]


@pytest.mark.parametrize("count", [0, 1, 3, -2])
def test_a_loop_of_a_count(count: int) -> None:
    last, history, numbers = run(counted, np.array(count), f32(1, 2))
    wanted = [f32(1, 2) * 2 ** (i + 1) for i in range(count)]
    assert last.tolist() == (f32(1, 2) * 2 ** max(count, 0)).tolist()
    assert history.tolist() == np.array(wanted).tolist()
    assert history.shape == (max(count, 0), 2)
    assert numbers.tolist() == list(range(count))


def test_a_loop_of_a_condition_in_a_loop() -> None:
    def body(b: Builder, x: Sequence[SSAValue]) -> Sequence[SSAValue]:
        def inner(_: SSAValue, values: Sequence[SSAValue]) -> LoopIteration:
            doubled = b.nn("add", values[0], values[0])
            return LoopIteration([doubled], going=b.nn("less", doubled, x[1]))

        def outer(_: SSAValue, values: Sequence[SSAValue]) -> LoopIteration:
            grown = loop(b, inner, values, condition=b.nn("less", values[0], x[1]))[0]
            return LoopIteration([b.nn("sub", grown[0], b.constant(np.float32(3)))], grown)

        return [y for part in loop(b, outer, [x[0]], length=3) for y in part]

    last, history = run(body, np.array(1, np.float32), np.array(10, np.float32))
    assert history.tolist() == [16, 13, 10]
    assert last.tolist() == 7
    assert history.shape == (3,)


def test_a_carried_value_that_changes_its_shape() -> None:
    def body(b: Builder, x: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return loop(b, lambda i, v: LoopIteration([b.nn("concat", v[0], x[1], axis=0), v[0]]), [x[1], x[1]], count=x[0])[0]

    for count in (0, 1, 3):
        grown, before = run(body, np.array(count), f32(1, 2))
        assert (grown.size, before.size) == (2 * count + 2, max(2 * count, 2))


def test_what_cannot_be_carried_or_chosen() -> None:
    x = [Spec((), np.dtype(np.int64)), Spec((2,), np.dtype(np.float32))]
    with pytest.raises(Unsupported, match="here and"):
        module_of(x, lambda b, v: loop(b, lambda i, s: LoopIteration([b.reshape(s[0], 1, 2)]), [v[1]], count=v[0])[0])
    with pytest.raises(Unsupported, match="here and"):
        module_of(x, lambda b, v: branch(b, v[0], [lambda: [v[1]], lambda: [v[0]]]))
    with pytest.raises(Unsupported, match="different numbers"):
        module_of(x, lambda b, v: branch(b, v[0], [lambda: [v[1]], lambda: []]))
    with pytest.raises(Unsupported, match="condition"):
        module_of(x, lambda b, v: loop(b, lambda i, s: LoopIteration(s, going=None), [v[1]], condition=b.constant(np.array(True)))[0])


def test_iterations_whose_values_cannot_be_stacked() -> None:
    def body(b: Builder, x: Sequence[SSAValue]) -> Sequence[SSAValue]:
        (last,), stacks = loop(b, lambda i, v: LoopIteration([b.nn("concat", v[0], x[1], axis=0)], v), [x[1]], count=x[0])
        return [last, *stacks]

    with pytest.raises(Error) as caught:
        run(body, np.array(2), f32(1))
    assert (caught.value.code, caught.value.where) == ("E0802", "node")


TEXT = """
func.func @main(%c: tensor<i1> {ttc.name = "c"}, %x: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
  %y = nn.branch(%c, %x) : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    %b = nn.exp(%a) : (tensor<2xf32>) -> tensor<2xf32>
    nn.yield(%b) : (tensor<2xf32>) -> ()
  } {
  ^bb0(%a: tensor<2xf32>):
    nn.yield(%a) : (tensor<2xf32>) -> ()
  }
  func.return %y : tensor<2xf32>
}
"""


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("nn.exp(%a)", "nn.exp(%x)", "E0303"),
        ("^bb0(%a: tensor<2xf32>):\n    nn", "^bb0(%a: tensor<3xf32>):\n    nn", None),
        ("nn.yield(%a) : (tensor<2xf32>) -> ()\n  }", "}", "E0302"),
        ("%b = nn.exp(%a)", '%b = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<2xf32>>}', None),
        ("nn.branch(%c, %x) : (tensor<i1>, ", "nn.branch(%x, %x) : (tensor<2xf32>, ", "E0403"),
        ("-> tensor<2xf32> {", "-> tensor<?xf32> {", None),
    ],
)
def test_text_that_is_no_branch(old: str, new: str, code: str | None) -> None:
    verify(parse_module(TEXT, "text", [dialect]))
    assert old in TEXT
    with pytest.raises(Error) as caught:
        verify(parse_module(TEXT.replace(old, new, 1), "text", [dialect]))
    assert caught.value.code in ((code,) if code else ("E0301", "E0302"))


def looping() -> Function:
    module = module_of([Spec((), np.dtype(np.int64)), Spec((2,), np.dtype(np.float32))], counted)
    return plain_block(entry_functions(module)[0].body.block)


def changed(**changes: Any) -> Callable[[Work], Work]:
    return lambda work: replace(work, **changes)


F, N = TensorType((2,), "Float32"), TensorType((), "Int64")


def tile_body(work: Work) -> Work:
    inner = replace(work.bodies[0].works[0], op="tile.map", results=(replace(F, layout="tiles(32, 32)"),))
    return replace(work, bodies=(replace(work.bodies[0], works=(inner,)),))


def nested(work: Work) -> Work:
    body = Function((N, F), (work,), (2, 3))
    for _ in range(20):
        work = Work("nn.branch", (0, 1), {}, (F, F), None, (), (body,))
        body = Function((N, F), (work,), (2, 3))
    return work


@pytest.mark.parametrize(
    "change",
    [
        changed(op="nn.exp"),
        tile_body,
        nested,
        lambda w: replace(w, bodies=(replace(w.bodies[0], outputs=(99,)),)),
        lambda w: replace(w, bodies=(replace(w.bodies[0], inputs=(TensorType((-9,), "Float32"),)),)),
    ],
)
def test_regions_of_an_archive_that_are_refused(change: Callable[[Work], Work]) -> None:
    function = looping()
    found = Findings()
    assert not check_function(replace(function, works=(change(function.works[0]),)), "here", found)
    assert found.violations[0].code in ("E0609", "E0602")


@pytest.mark.parametrize(
    "change",
    [
        changed(attrs={"carried": 9}),
        changed(attrs={"carried": "x"}),
        changed(attrs={}),
        changed(operands=(0,)),
        changed(operands=(0, None)),
        lambda w: replace(w, bodies=(replace(w.bodies[0], inputs=(N,)),)),
        lambda w: replace(w, bodies=(replace(w.bodies[0], inputs=(N, TensorType((3,), "Float32"))),)),
        lambda w: replace(w, bodies=()),
        lambda w: replace(w, bodies=w.bodies * 2),
    ],
)
def test_regions_of_an_archive_that_do_not_fit_end_in_an_error(change: Callable[[Work], Work]) -> None:
    function = looping()
    with pytest.raises(Error) as caught:
        evaluate(replace(function, works=(change(function.works[0]),)), [np.array(2), f32(1, 2)], None, "op")
    assert caught.value.code in ("E0609", "E0802", "E0302")


def test_a_run_with_another_truth_is_refused() -> None:
    def body(b: Builder, x: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [b.nn("require", *x, wanted=False, message="not for this")]

    (y,) = run(body, f32(1, 2), np.array(False))
    np.testing.assert_array_equal(y, f32(1, 2))
    with pytest.raises(Error, match="not for this") as caught:
        run(body, f32(1, 2), np.array(True))
    assert caught.value.code == "E0802"
    with pytest.raises(Error, match="is one bool, not") as caught:
        run(body, f32(1, 2), np.array([True]))
    assert caught.value.code == "E0403"


@pytest.mark.parametrize("execute", [interpret.run_work, interpret.run_unrounded])
def test_regions_compute_what_their_ops_do_one_by_one(execute: interpret.Execute) -> None:
    """Kernels, literals, ops with regions, results that are rounded, and an op that fails, which is named."""
    half = TensorType((2,), "Half")
    works = (
        Work("ttc.constant", (), {"values": (0.1, 3.0)}, (half,)),
        Work("tile.map", (0, 1), {"fn": "mul"}, (half,)),
        Work("nn.split", (2,), {"axis": 0, "sizes": (1, 1)}, (TensorType((1,), "Float32"),) * 2),
        Work("nn.cast", (3,), {"dtype": "int64"}, (TensorType((1,), "Int64"),)),
        Work("nn.gather", (0, 5), {"axis": 0}, (TensorType((1,), "Float32"),), location=("pick",)),
    )
    function = Function((TensorType((2,), "Float32"),), works, (2, 4, 6))
    region = interpret.Body(function, None, execute)
    for x in (f32(3.3, 7), f32(-3.3, 1 / 3)):
        for found, expected in zip(region(x), interpret.run(function, [x], None, execute), strict=True):
            assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())
    with pytest.raises(Error) as caught:
        region(f32(30, 0))
    assert (caught.value.code, caught.value.where) == ("E0802", "pick")
