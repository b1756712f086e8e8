"""Dynamic dimensions, and inputs that cannot be taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from tests.ttc.importers.onnx.cases import imported, model_of, normal, save, value_info
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.spec import spec_of
from ttc.importers.onnx import import_onnx

Dims = list[int | str | None]


def dynamic_model(*inputs: Dims) -> ModelProto:
    """relu of each input a, b, ..."""
    names = "abcd"[: len(inputs)]
    model = model_of([helper.make_node("Relu", [n], [f"{n}_out"]) for n in names], {}, [f"{n}_out" for n in names])
    model.graph.input.extend(helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n, dims in zip(names, inputs, strict=True))
    return model


def shapes(path: Path, **options: Any) -> list[tuple[int, ...]]:
    module, _ = import_onnx(path, **options)  # pyright: ignore[reportArgumentType]
    (function,) = entry_functions(module)
    return [spec_of(a.type).shape for a in function.body.block.args]


def failure(path: Path, **options: Any) -> Error:
    with pytest.raises(Error) as caught:
        import_onnx(path, **options)  # pyright: ignore[reportArgumentType]
    return caught.value


def test_static_inputs_need_nothing(tmp_path: Path) -> None:
    assert shapes(save(dynamic_model([2, 3], [], [0, 4]), tmp_path)) == [(2, 3), (), (0, 4)]


def test_batch_fixes_dimension_0_and_what_shares_its_name(tmp_path: Path) -> None:
    path = save(dynamic_model(["n", 3], [4, "n"], [None, 5]), tmp_path)
    assert shapes(path, batch=8) == [(8, 3), (4, 8), (8, 5)]


def test_shape_fixes_an_input(tmp_path: Path) -> None:
    path = save(dynamic_model(["n", "s"], ["n", 2]), tmp_path)
    assert shapes(path, shapes={"a": (2, 7), "b": (3, 2)}) == [(2, 7), (3, 2)]
    assert shapes(path, shapes={"a": (2, 7)}, batch=4) == [(2, 7), (4, 2)]


def test_open_dimensions_are_listed_with_the_flag_to_type(tmp_path: Path) -> None:
    error = failure(save(dynamic_model(["n", 3, "h"], [2, 2], [None]), tmp_path))
    assert error.code == "E0205"
    assert "'a' [n, 3, h], 'c' [?]" in error.message
    assert error.hint == "fix them: --shape a=1x3x128 --shape c=1"


def test_where_only_batches_are_open_the_hint_says_so(tmp_path: Path) -> None:
    assert failure(save(dynamic_model(["n", 3]), tmp_path)).hint == "fix them: --shape a=1x3 (or --batch 1)"


def test_dimensions_that_batch_leaves_open(tmp_path: Path) -> None:
    assert failure(save(dynamic_model(["n", "s"]), tmp_path), batch=2).code == "E0205"


@pytest.mark.parametrize("shape", [(2,), (2, 4), (-1, 3), (2, 3, 1)])
def test_shapes_that_do_not_fit(shape: tuple[int, ...], tmp_path: Path) -> None:
    error = failure(save(dynamic_model(["n", 3]), tmp_path), shapes={"a": shape})
    assert error.code == "E0206"
    assert error.hint == "for example --shape a=1x3"


def test_names_that_the_model_lacks(tmp_path: Path) -> None:
    model = dynamic_model(["n", 3])
    model.graph.input[0].name = model.graph.node[0].input[0] = "pixels"
    error = failure(save(model, tmp_path), shapes={"pixel": (1, 3)})
    assert (error.code, error.hint) == ("E0206", "did you mean 'pixels'?")


@pytest.mark.parametrize("batch", [0, -1])
def test_batches_that_are_none(batch: int, tmp_path: Path) -> None:
    assert failure(save(dynamic_model(["n", 3]), tmp_path), batch=batch).code == "E0206"


def test_an_input_without_a_shape(tmp_path: Path) -> None:
    model = dynamic_model([1])
    model.graph.input[0].type.tensor_type.ClearField("shape")
    assert failure(save(model, tmp_path)).code == "E0205"


@pytest.mark.parametrize(
    "value",
    [
        helper.make_tensor_value_info("a", TensorProto.COMPLEX64, [1]),
        helper.make_tensor_sequence_value_info("a", TensorProto.FLOAT, [1]),
        helper.make_value_info("a", helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [1]))),
        helper.make_value_info("a", helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, [1]))),
        ValueInfoProto(name="a"),
    ],
)
def test_inputs_of_other_types(value: ValueInfoProto, tmp_path: Path) -> None:
    model = dynamic_model([1])
    model.graph.input[0].CopyFrom(value)
    error = failure(save(model, tmp_path))
    assert error.code == "E0202"
    assert "input 'a'" in error.message


@pytest.mark.parametrize("dims", [[2**62, 2**62], [1] * 33, [-7]])
def test_impossible_shapes(dims: list[int], tmp_path: Path) -> None:
    assert failure(save(dynamic_model(dims), tmp_path)).code == "E0203"


def test_initializers_among_the_inputs_are_none(tmp_path: Path) -> None:
    x, w = normal(2, 3), normal(3)
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": x}, ["y"], {"w": w})
    model.graph.input.append(value_info("w", w))
    (y,) = imported(model, {"x": x}, tmp_path)
    assert (y == x + w).all()
