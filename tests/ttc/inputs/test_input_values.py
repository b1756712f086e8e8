"""Values of inputs that a model is compiled for, and the contract they become, through IR text, archive and run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ttc
from tests.archives import run_alike
from tests.ttc.importers.onnx.cases import ints, model_of, normal
from ttc.comparison.reference_outputs import reference_outputs
from ttc.compiler.driver import compile_path, compile_source
from ttc.compiler.source import open_source
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import module_attr
from ttc.inputs.input_values import InputValue, read_values, values_of
from ttc.options import CompileOptions, resolve
from ttc.runtime.contract import MAX_ELEMENTS
from ttc.runtime.manifest import manifest_from_json

X = normal(2, 6)


@pytest.fixture
def reshaping(tmp_path: Path) -> Path:
    """y = reshape(x, sizes) @ w, for x[2, 6] and two sizes."""
    nodes = [helper.make_node("Reshape", ["x", "sizes"], ["r"], name="/Reshape"), helper.make_node("MatMul", ["r", "w"], ["y"])]
    path = tmp_path / "reshaping.onnx"
    onnx.save(model_of(nodes, {"x": X, "sizes": ints(3, 4)}, ["y"], {"w": normal(4, 300)}), path)
    return path


@pytest.fixture
def choosing(tmp_path: Path) -> Path:
    """y = s[i], or x where the optional o has no element, of a sequence s."""
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 3])
    graph = helper.make_graph(
        [
            helper.make_node("SequenceAt", ["s", "i"], ["y"]),
            helper.make_node("OptionalHasElement", ["o"], ["has"]),
            helper.make_node("SequenceLength", ["e"], ["length"]),
        ],
        "g",
        [
            helper.make_value_info("s", helper.make_sequence_type_proto(tensor)),
            helper.make_value_info("e", helper.make_sequence_type_proto(tensor)),
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_value_info("o", helper.make_optional_type_proto(tensor)),
        ],
        [
            helper.make_tensor_value_info("y", 1, [2, 3]),
            helper.make_tensor_value_info("has", 9, []),
            helper.make_tensor_value_info("length", 7, []),
        ],
    )
    path = tmp_path / "choosing.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    return path


def code(call: Any, *arguments: Any, **more: Any) -> str:
    with pytest.raises(Error) as caught:
        call(*arguments, **more)
    return caught.value.code


# ---- reading ---------------------------------------------------------------------------------------------------------------------


def test_values_come_from_files_and_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "a=b.npy", np.asfortranarray(np.arange(6).reshape(2, 3)).astype(">i4"))
    (found,) = read_values([f"in=put={tmp_path / 'a=b.npy'}"])
    assert (found.name, found.kind, found.shape) == ("in=put", "int32", (2, 3))
    assert found.array() is not None
    np.testing.assert_array_equal(found.array(), np.arange(6).reshape(2, 3))
    assert read_values({"in=put": np.arange(6, dtype=np.int32).reshape(2, 3)}) == (found,)
    assert read_values((found,)) == (found,)
    assert hash(found) == hash(InputValue(*(getattr(found, name) for name in ("name", "kind", "shape", "data"))))


def test_numbers_may_stand_in_place_of_files() -> None:
    found = values_of(read_values(["sr=16000", "on=true", "by=-2"]))
    assert {name: (x.dtype.name, x.shape, x.item()) for name, x in found.items() if x is not None} == {
        "by": ("int64", (), -2),
        "on": ("bool", (), True),
        "sr": ("int64", (), 16000),
    }


def test_what_sequences_and_optionals_are(tmp_path: Path) -> None:
    x = normal(2, 3)
    np.save(tmp_path / "x.npy", x)
    found = values_of(read_values({"s": [x, x[:1]], "o": None, "e": []}))
    assert list(found) == ["e", "o", "s[0]", "s[1]"]
    assert found["e"] is found["o"] is None
    assert found["s[1]"] is not None
    assert (found["s[1]"].shape, found["s[1]"].dtype, float(found["s[1]"].sum())) == ((1, 3), np.float32, 0.0), "values do not count"
    assert read_values([f"s[0]={tmp_path / 'x.npy'}", "o=none", "e=sequence"]) == read_values({"s": [x], "o": None, "e": []})


@pytest.mark.parametrize("raw", ["sizes", "=file.npy", 3, {"": ints(1)}, {3: ints(1)}, {"t": np.array(["a"])}, {"t": np.array([None])}])
def test_what_is_no_value(raw: object) -> None:
    assert code(resolve, CompileOptions, {"values": raw}) == "E0101"


def test_files_are_not_trusted(tmp_path: Path) -> None:
    np.save(tmp_path / "pickled.npy", np.array([{}], object), allow_pickle=True)
    np.save(tmp_path / "large.npy", np.zeros(MAX_ELEMENTS + 1, np.int64))
    np.save(tmp_path / "short.npy", np.zeros(100, np.int64))
    with (tmp_path / "short.npy").open("r+b") as file:
        file.truncate(200)
    (tmp_path / "text.npy").write_text("1 2 3")
    names = {"pickled": "E0801", "large": "E0101", "short": "E0801", "text": "E0801", "missing": "E0102"}
    for name, expected in names.items():
        assert code(resolve, CompileOptions, {"values": [f"x={tmp_path / name}.npy"]}) == expected


def test_variables_and_tables(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", ints(3, 4))
    expected = read_values({"sizes": ints(3, 4)})
    assert resolve(CompileOptions, {}, {"TTC_VALUES": f"sizes={tmp_path / 'v.npy'}"}).values == expected
    assert resolve(CompileOptions, {}, {}, {"compile": {"values": {"sizes": str(tmp_path / "v.npy")}}}).values == expected


# ---- the contract ----------------------------------------------------------------------------------------------------------------


def test_a_program_is_held_to_the_values(reshaping: Path, tmp_path: Path) -> None:
    program = ttc.compile(reshaping, {"x": X, "sizes": ints(3, 4)}, target="host")
    program.save(tmp_path / "m.tti")
    with ttc.load(tmp_path / "m.tti") as executor:
        (y,) = executor(X, ints(3, 4))
        np.testing.assert_allclose(y, reference_outputs(reshaping, {"x": X, "sizes": ints(3, 4)})[0]["y"], rtol=1e-5)
        np.testing.assert_array_equal(executor.fixed_inputs["sizes"], [3, 4])
        with pytest.raises(Error) as caught:
            executor(X, ints(4, 3))
        assert (caught.value.code, caught.value.message.startswith("input 'sizes' is [4, 3]")) == ("E0806", True)
        np.testing.assert_array_equal(executor(X, ints(3, 4))[0], y)


def test_values_that_nothing_needs_are_free(reshaping: Path) -> None:
    model = model_of([helper.make_node("Gather", ["w", "ids"], ["y"])], {"ids": ints(1, 0)}, ["y"], {"w": X})
    onnx.save(model, reshaping)
    program = ttc.compile(reshaping, {"ids": ints(1, 0)}, target="host")
    assert program.description.fixed_inputs == ()
    (y,) = ttc.Executor(program)(ints(0, 0))
    np.testing.assert_array_equal(y, X[[0, 0]])


def test_text_resumes_to_what_runs_alike(reshaping: Path, tmp_path: Path) -> None:
    options = CompileOptions(values={"sizes": ints(3, 4)})  # pyright: ignore[reportArgumentType]
    compile_path(reshaping, options).program().save(tmp_path / "whole.tti")
    for stage in ("import", "nn", "tile", "netlist"):
        text = tmp_path / f"{stage}.mlir"
        text.write_text(compile_path(reshaping, resolve(CompileOptions, {"values": options.values, "to": stage})).text())
        assert '["sizes", array<i64: 2>, "int64", "3 4"]' in text.read_text()
        compile_path(text, CompileOptions(weights=reshaping)).program().save(tmp_path / "resumed.tti")
        assert run_alike(tmp_path / "resumed.tti") == run_alike(tmp_path / "whole.tti")
    assert code(open_source, text, resolve(CompileOptions, {"values": options.values})) == "E0101"
    text.write_text(text.read_text().replace('"3 4"', '"3 x"'))
    assert code(open_source, text, CompileOptions()) == "E0302"


def test_sequences_and_optionals_resume(choosing: Path, tmp_path: Path) -> None:
    x = normal(2, 3)
    given = {"s": [x, x], "i": np.array(1), "o": None, "e": []}
    program = ttc.compile(choosing, given, target="host")
    program.save(tmp_path / "whole.tti")
    assert program.description.absent_inputs == (("e", "sequence"), ("o", "none"))
    text = tmp_path / "nn.mlir"
    text.write_text(compile_path(choosing, CompileOptions(target="host", to="nn", values=given)).text())  # pyright: ignore[reportArgumentType]
    resumed = compile_path(text, CompileOptions(weights=choosing)).program()
    assert [item.name for item in resumed.description.fixed_inputs] == ["i"]
    assert resumed.description.absent_inputs == program.description.absent_inputs
    feeds = {"s[0]": x, "s[1]": 2 * x, "i": np.array(1)}
    found = ttc.Executor(resumed).run(feeds)
    expected, _ = reference_outputs(choosing, feeds, dict(program.description.absent_inputs))
    assert {name: value.tolist() for name, value in found.items()} == {name: value.tolist() for name, value in expected.items()}
    assert (found["has"].tolist(), found["length"].tolist()) == (False, 0)


@pytest.mark.parametrize(
    "rows", ["3", '["s"]', '[["s[0]", 2, "float32"]]', '[["s[0]", array<i64: -2>, "float32"]]', '[["s[0]", array<i64: 2>, "float33"]]']
)
def test_text_that_records_nonsense(rows: str, small_onnx: Path, tmp_path: Path) -> None:
    text = compile_path(small_onnx, CompileOptions(batch=2, to="nn")).text()
    for name in ("item_inputs", "absent_inputs", "fixed_inputs"):
        (tmp_path / "m.mlir").write_text(text.replace("ttc.model = ", f"ttc.{name} = {rows}, ttc.model = ", 1))
        assert code(open_source, tmp_path / "m.mlir", CompileOptions()) == "E0302"


def test_values_that_do_not_fit(reshaping: Path) -> None:
    wrong: list[dict[str, Any]] = [{"sizes": np.array([3, 4], np.int32)}, {"sizes": ints(3)}, {"size": ints(3, 4)}, {"t": None}]
    for values in wrong:
        assert code(open_source, reshaping, CompileOptions(values=values)) == "E0206"  # pyright: ignore[reportArgumentType]
    floats = CompileOptions(values={"x": X, "sizes": ints(3, 4)})  # pyright: ignore[reportArgumentType]
    with pytest.raises(Error) as caught:
        open_source(reshaping, floats)
    assert (caught.value.code, caught.value.hint) == ("E0206", "--shape x=2x6 sets its shape")


def test_a_refusal_names_the_inputs_that_would_help(reshaping: Path) -> None:
    with pytest.raises(Error) as caught:
        open_source(reshaping, CompileOptions())
    assert (caught.value.code, caught.value.hint) == (
        "E0202",
        "the model can be compiled for one value of sizes: --values sizes=FILE.npy|NUMBER",
    )
    nodes = [helper.make_node("Cast", ["f"], ["axes"], to=7), helper.make_node("ReduceMax", ["x", "axes"], ["y"])]
    model = model_of(nodes, {"x": X, "f": normal(1)}, ["y"])
    onnx.save(model, reshaping)
    with pytest.raises(Error) as caught:
        open_source(reshaping, CompileOptions(values={"x": X}))  # pyright: ignore[reportArgumentType]
    assert (caught.value.code, caught.value.hint) == ("E0202", None), "values of floating-point inputs are never used"


def test_values_fix_dimensions(reshaping: Path) -> None:
    model = onnx.load(reshaping)
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "rank"
    onnx.save(model, reshaping)
    source = open_source(reshaping, CompileOptions(values={"sizes": ints(1, 3, 4)}))  # pyright: ignore[reportArgumentType]
    assert module_attr(source.module, "fixed_inputs") == (("sizes", (3,), "int64", "1 3 4"),)


def test_a_manifest_with_another_contract_is_refused(reshaping: Path) -> None:
    options = CompileOptions(target="host", values={"sizes": ints(3, 4)})  # pyright: ignore[reportArgumentType]
    result = compile_source(open_source(reshaping, options), options)
    assert result.package is not None
    from ttc.runtime.manifest import make_manifest, manifest_to_json

    text = manifest_to_json(make_manifest(result.package.description, result.package.netlist, {}, {}))
    assert manifest_from_json(text).fixed_inputs == result.package.description.fixed_inputs
    document = json.loads(text)
    for field, value in (("values", "3"), ("values", "3 four"), ("dtype", "float32"), ("shape", [2, 2]), ("shape", [-2])):
        changed = {**document, "fixed_inputs": [{**document["fixed_inputs"][0], field: value}]}
        assert code(manifest_from_json, json.dumps(changed).encode()) == "E0703"
    twice = {**document, "fixed_inputs": document["fixed_inputs"] * 2}
    assert code(manifest_from_json, json.dumps(twice).encode()) == "E0703"
    assert code(manifest_from_json, json.dumps({**document, "absent_inputs": [["o", "lost"]]}).encode()) == "E0703"
