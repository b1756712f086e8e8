"""Where values are written so that they need not be moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.runtime.engines.native.graphs import Given, emulated_tiles, normal, ran
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.model import Host, Op
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.graph.nodes import Flat, Node
from ttc.runtime.engines.native.graph.tensors import PlanBuffer, View, dense, lies_at
from ttc.runtime.engines.native.prepare.wanted import wanted_layouts

PLAIN = Cpu("x86-64", frozenset())


class Drawn:
    """A flat graph, op by op; values are numbered as they come."""

    def __init__(self) -> None:
        self.flat = Flat()

    def value(self, *shape: int, format: str = "Float32") -> int:
        self.flat.types.append(TensorType(shape, format))
        return len(self.flat.types) - 1

    def op(self, name: str, operands: Sequence[int], *shape: int, format: str = "Float32", **attrs: Any) -> int:
        types = [self.flat.types[i] for i in operands]
        result = TensorType(shape, format)
        work = Work(f"tile.{name}", tuple(range(len(operands))), attrs, (result,))
        op = Op(name, name, (), Host(), None, Function(tuple(types), (work,), (len(operands),)))
        value = self.value(*shape, format=format)
        self.flat.nodes.append(Node(work, op, tuple(operands), (value,)))
        return value

    def write(self, value: int) -> None:
        self.flat.writes.append((value, "y"))

    def found(self) -> dict[int, tuple[tuple[int, ...], int]]:
        """Strides, but of dimensions of one element, and offsets."""
        places = wanted_layouts(self.flat, PLAIN).items()
        return {i: (tuple(s for n, s in zip(x.shape, x.strides, strict=True) if n != 1), x.offset) for i, x in places}


SAME: dict[str, Any] = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1), "groups": 1}


class Images(Drawn):
    """A convolution of images of 16 channels in bfloat16, which some op makes."""

    def __init__(self, maker: str = "conv2d", **attrs: Any) -> None:
        super().__init__()
        self.made = self.op(maker, [self.value(1)], 1, 128, 128, 16, format="Float16_b")
        self.op("conv2d", [self.made, self.value(3, 3, 16, 16)], 1, 128, 128, 16, format="Float16_b", **(SAME | attrs))

    def margins(self, precision: str = "bfloat16", cpu: Cpu | None = None) -> tuple[int, int] | None:
        for node in self.flat.nodes:
            node.op = replace(node.op, precision=precision)  # pyright: ignore[reportArgumentType]
        found = wanted_layouts(self.flat, cpu or emulated_tiles()).get(self.made)
        return None if found is None else found.buffer.margins


@pytest.fixture
def g() -> Drawn:
    return Drawn()


def test_heads_are_written_side_by_side(g: Drawn) -> None:
    heads = g.op("attention", [g.value(1, 3, 5, 4)], 1, 3, 5, 4)
    joined = g.op("hstack", [heads], 1, 5, 12, n=3)
    g.op("matmul", [g.op("reshape", [joined], 5, 12)], 5, 7)
    assert g.found() == {heads: ((4, 12, 1), 0)}


def test_a_transposed_tensor_that_is_reshaped_is_written_as_it_is_read(g: Drawn) -> None:
    heads = g.op("attention", [g.value(3, 5, 4)], 3, 5, 4)
    moved = g.op("transpose", [heads], 5, 3, 4, perm=(1, 0, 2))
    g.op("matmul", [g.op("reshape", [moved], 5, 12)], 5, 7)
    assert g.found() == {heads: ((4, 12, 1), 0)}


def test_what_is_free_where_it_lies_stays_there(g: Drawn) -> None:
    x = g.op("matmul", [g.value(5, 7)], 5, 12)
    g.op("attention", [g.op("hslice", [x], 3, 5, 4, n=3)], 3, 5, 4)
    y = g.op("matmul", [g.value(5, 7)], 5, 12)
    g.op("matmul", [g.op("transpose", [y], 12, 5, perm=(1, 0))], 12, 5)
    assert g.found() == {}


def test_results_of_a_graph_are_written_in_order(g: Drawn) -> None:
    x = g.op("matmul", [g.value(4, 3)], 3, 5, 4)
    g.write(g.op("transpose", [x], 5, 3, 4, perm=(1, 0, 2)))
    assert g.found() == {x: ((4, 12, 1), 0)}


@pytest.mark.parametrize("maker", ["conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d", "concat"])
def test_images_are_written_with_the_zeros_that_a_convolution_meets(maker: str) -> None:
    assert Images(maker).margins() == (1, 1)
    assert Images(maker, pads=(0, 2, 1, 0)).margins() == (1, 2)


def test_images_that_others_read_are_written_without_zeros() -> None:
    g = Images()
    g.op("max_pool2d", [g.made], 1, 64, 64, 16)
    assert g.margins() == (1, 1)
    g.op("relu", [g.made], 1, 128, 128, 16)
    assert g.margins() is None
    written = Images()
    written.write(written.made)
    assert written.margins() is None


def test_images_that_tiles_do_not_read_are_written_without_zeros() -> None:
    assert Images("relu").margins() is None
    assert Images().margins(cpu=PLAIN) is None
    assert Images().margins("high") is None
    for attrs in ({"strides": (2, 1)}, {"dilations": (1, 2)}, {"groups": 2}, {"pads": (0, 0, 0, 0)}, {"pads": (20, 20, 20, 20)}):
        assert Images(**attrs).margins() is None


@pytest.mark.parametrize("pads", [None, (), (1, 1), (1, 1, 1, -1), (1, 1, 1, "1"), 3])
def test_images_of_a_convolution_without_sense_are_left_alone(pads: object) -> None:
    assert Images(pads=pads).margins() is None


def test_columns_are_not_written_as_rows(g: Drawn) -> None:
    x = g.op("conv2d", [g.value(4, 3)], 1, 5, 6, 4)
    g.write(g.op("transpose", [x], 1, 4, 5, 6, perm=(0, 3, 1, 2)))
    assert g.found() == {}


def test_what_has_several_uses_is_not_reordered(g: Drawn) -> None:
    heads = g.op("attention", [g.value(1, 3, 5, 4)], 1, 3, 5, 4)
    g.op("matmul", [g.op("hstack", [heads], 1, 5, 12, n=3)], 5, 7)
    g.op("relu", [heads], 1, 3, 5, 4)
    other = g.op("attention", [g.value(1, 3, 5, 4)], 1, 3, 5, 4)
    g.op("matmul", [g.op("hstack", [other], 1, 5, 12, n=3)], 5, 7)
    g.write(other)
    assert g.found() == {}


@pytest.mark.parametrize(("axis", "joined"), [(0, True), (1, False)])
def test_what_is_also_read_elsewhere_is_a_slice_where_that_is_dense(g: Drawn, axis: int, joined: bool) -> None:
    """Steps of a recurrent layer's gradient: each goes on to the step before, and is a row of what the weights' product reads."""
    steps = [g.op("softmax", [g.value(1)], 2, 3) for _ in range(2)]
    for step in steps:
        g.op("matmul", [step], 2, 5)
    shape = (2, 2, 3) if axis == 0 else (2, 6)
    rows = [g.op("reshape", [step], *((1, 2, 3) if axis == 0 else (2, 3))) for step in steps]
    whole = g.op("concat", rows, *shape, axis=axis)
    found = wanted_layouts(g.flat, PLAIN)
    assert found[whole].is_whole
    assert [step in found for step in steps] == [joined, joined]
    if joined:
        assert [(found[step].offset, found[step].is_dense) for step in steps] == [(0, True), (6, True)]


def test_operands_of_a_concatenation_are_its_slices(g: Drawn) -> None:
    x, y = g.op("conv2d", [g.value(1)], 1, 5, 6, 4), g.op("conv2d", [g.value(1)], 1, 5, 6, 3)
    g.op("relu", [x], 1, 5, 6, 4)
    joined = g.op("concat", [x, y], 1, 5, 6, 7, axis=-1)
    found = wanted_layouts(g.flat, PLAIN)
    assert g.found() == {x: ((42, 7, 1), 0), y: ((42, 7, 1), 4), joined: ((42, 7, 1), 0)}
    assert found[x].buffer is found[y].buffer is found[joined].buffer
    assert found[joined].is_whole


def test_a_concatenation_of_what_is_reordered_and_joined(g: Drawn) -> None:
    image = g.op("conv2d", [g.value(1)], 1, 2, 3, 4)
    rows = g.op("reshape", [image], 1, 6, 4)
    inner = g.op("concat", [rows, g.value(1, 1, 4)], 1, 7, 4, axis=1)
    outer = g.op("concat", [g.op("relu", [g.value(1)], 1, 7, 2), inner], 1, 7, 6, axis=2)
    found = g.found()
    assert (found[image], found[inner]) == (((18, 6, 1), 2), ((6, 1), 2))
    assert found[outer] == ((6, 1), 0)


def test_what_a_concatenation_takes_twice_or_in_another_format_is_copied(g: Drawn) -> None:
    x = g.op("relu", [g.value(1)], 2, 3)
    y = g.op("relu", [g.value(1)], 2, 3, format="Float16_b")
    z = g.op("relu", [g.value(1)], 2, 3)
    joined = g.op("concat", [x, y, x, z], 2, 12, axis=1)
    assert g.found() == {z: ((12, 1), 9), joined: ((12, 1), 0)}


def test_formats_that_are_rounded_to_in_place_are_left_alone(g: Drawn) -> None:
    x = g.op("relu", [g.value(1)], 2, 3, format="Bfp8_b")
    g.op("concat", [x, x], 4, 3, axis=0, format="Bfp8_b")
    assert g.found() == {}


BROKEN = [
    ("concat", (3, 2), (2, 5), {"axis": 1}),
    ("concat", (2, 3), (2, 7), {"axis": 1}),
    ("concat", (2, 3), (2, 6), {"axis": 2}),
    ("concat", (2, 3), (2, 6), {}),
    ("transpose", (2, 3), (3, 2), {"perm": (1, 1)}),
    ("transpose", (2, 3), (3, 2), {"perm": (1,)}),
    ("transpose", (2, 3), (2, 3), {"perm": (1, 0)}),
    ("hstack", (2, 3), (3, 2), {"n": 2}),
    ("hstack", (2, 3, 4), (4, 6), {"n": 2}),
    ("hslice", (6,), (7,), {"n": 2}),
    ("reshape", (6,), (7,), {}),
]


@pytest.mark.parametrize(("name", "operand", "shape", "attrs"), BROKEN, ids=str)
def test_ops_that_do_not_fit_have_no_places(
    g: Drawn, name: str, operand: tuple[int, ...], shape: tuple[int, ...], attrs: dict[str, Any]
) -> None:
    x, y = (g.op("matmul", [g.value(1)], *operand) for _ in range(2))
    g.write(g.op(name, [x, y] if name == "concat" else [x], *shape, **attrs))
    g.write(g.op(name, [], *shape, **attrs))
    assert g.found() == {}


def test_views_of_the_same_elements_in_the_same_places() -> None:
    buffer = PlanBuffer(4 * 24)
    x = dense(buffer, "f32", (2, 3, 4))
    assert lies_at(View(buffer, "f32", (6, 1, 4), (4, 99, 1)), x)
    assert not lies_at(x.sliced(0, 1, 1), x.sliced(0, 0, 1))
    assert not lies_at(dense(PlanBuffer(96), "f32", (2, 3, 4)), x)
    assert not lies_at(x.permuted((1, 0, 2)), x)


def test_a_value_that_is_joined_and_read_is_written_once() -> None:
    """Skip connections: the first product is read where it lies, beside the second one."""
    attrs = {"transpose_a": False, "transpose_b": False}
    types = [TensorType(shape, "Float32") for shape in ((9, 21), (9, 5), (9, 26), (9, 26))]
    works = [
        Work("tile.matmul", (0, 1, None), attrs, (types[0],)),
        Work("tile.matmul", (3, 2, None), attrs, (types[1],)),
        Work("tile.concat", (3, 4), {"axis": 1}, (types[2],)),
        Work("tile.map", (5,), {"fn": "identity"}, (types[3],)),
    ]
    operands = [normal(9, 13), normal(13, 21), normal(21, 5)]
    found = ran(works, [Given(operands[0]), *(Given(x, constant=True) for x in operands[1:])])
    assert not found.refusals
    assert found.kernels == ("PackRows", "Gemm", "PackRows", "Gemm", "CopyRows")
    found.close(1e-6)


def test_a_result_that_is_a_part_of_what_another_is_joined_from() -> None:
    """The first rows of a buffer are not the whole buffer, though they are dense and at its start."""
    type_, whole = TensorType((3, 40), "Float32"), TensorType((6, 40), "Float32")
    works = [
        Work("tile.map", (0,), {"fn": "relu"}, (type_,)),
        Work("tile.map", (1,), {"fn": "exp"}, (type_,)),
        Work("tile.concat", (2, 3), {"axis": 0}, (whole,)),
        Work("tile.slice", (4,), {"starts": (0, 0), "sizes": (3, 40), "steps": (1, 1)}, (type_,)),
    ]
    operands = [normal(3, 40), normal(3, 40)]
    found = ran(works, [Given(x) for x in operands])
    assert not found.refusals
    np.testing.assert_array_equal(found.native, np.maximum(operands[0], 0))
