"""Whether a model compiles, and what can be told of it if it does not."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, helper, numpy_helper

from tests.ttc.importers.onnx.cases import ints, model_of, normal
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.importers.common.inputs import OpenDimensions
from ttc.options import CompileOptions, resolve
from ttc.passes.tile.split_concat import SplitConcat
from ttc.reports.readiness import ReadinessFindings, check

X = normal(4, 64)


def checked(model: onnx.ModelProto, folder: Path, **options: Any) -> ReadinessFindings:
    onnx.save(model, folder / "m.onnx")
    return check(folder / "m.onnx", resolve(CompileOptions, options))


def node(op: str, inputs: str, outputs: str, **attrs: Any) -> NodeProto:
    return helper.make_node(op, inputs.split(), outputs.split(), name=f"/{op}", **attrs)


def test_a_model_that_compiles(tmp_path: Path) -> None:
    model = model_of([node("MatMul", "x w", "p"), node("Relu", "p", "y")], {"x": X}, ["y"], {"w": normal(64, 32)})
    found = checked(model, tmp_path, target="n150")
    assert (found.compiles, found.error, found.stage, found.refusals, found.flags) == (True, None, "tti", (), ())
    assert found.host == ()
    assert found.flops == 2 * 4 * 64 * 32, "an activation that is fused counts with its product"
    assert found.file_bytes == (tmp_path / "m.onnx").stat().st_size


@pytest.mark.parametrize("target", ["n150", "host"])
def test_ops_in_host_segments(target: str, tmp_path: Path) -> None:
    model = model_of([node("Unique", "x", "u"), node("MatMul", "x x", "p")], {"x": normal(8, 8)}, ["u", "p"])
    found = checked(model, tmp_path, target=target)
    assert found.compiles
    (entry,) = found.host
    assert (entry.op, entry.nodes, len(entry.why)) == ("unique", ("/Unique",), 1)
    assert (found.host_flops, found.flops) == (64, 64 + 2 * 8**3)


def test_open_dimensions_are_told_and_the_rest_is_checked(small_onnx: Path) -> None:
    found = check(small_onnx, CompileOptions())
    assert isinstance(found.error, OpenDimensions)
    assert (found.compiles, found.compiles_with_flags, found.stage) == (False, True, "tti")
    assert found.flags == ("--shape x=1x8",)
    assert found.flops is not None
    fixed = check(small_onnx, resolve(CompileOptions, {"shape": ["x=3x8"]}))
    assert (fixed.compiles, fixed.flags) == (True, ())
    assert fixed.flops == 3 * found.flops


def test_open_dimensions_and_another_failure(tmp_path: Path) -> None:
    """What compile ends in is told first, then what it would end in with the sizes that were taken."""
    open_model = model_of([node("Gemm", "x w", "y")], {"x": X}, ["y"], {"w": normal(3, 3)})
    open_model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    found = checked(open_model, tmp_path, target="host")
    assert (found.compiles, found.compiles_with_flags, found.assumed) == (False, False, {"x": (1, 64)})
    assert ((found.error or Error("", "")).code, (found.failure or Error("", "")).code) == ("E0205", "E0401")


def test_sizes_that_the_layers_of_a_model_ask_for(tmp_path: Path) -> None:
    """A flattened image of 28 by 28 fits the weights of the layer behind it; no other does."""
    nodes = [node("Flatten", "x", "f"), node("Gemm", "f w", "y")]
    model = model_of(nodes, {"x": normal(1, 1, 28, 28)}, ["y"], {"w": normal(784, 10)})
    for axis, name in ((0, "n"), (2, "h"), (3, "w")):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    found = checked(model, tmp_path, target="host")
    assert (found.compiles_with_flags, found.flags) == (True, ("--shape x=1x1x28x28",))


def test_a_fault_of_the_finished_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks that an archive passes before it is written count."""
    monkeypatch.setattr("ttc.passes.pipeline.SplitConcat", lambda _: SplitConcat(0))
    inputs = {f"x{i}": normal(1, 32) for i in range(45)}
    model = model_of([helper.make_node("Concat", list(inputs), ["y"], axis=0)], inputs, ["y"])
    found = checked(model, tmp_path, target="n150")
    assert (found.compiles, (found.error or Error("", "")).code) == (False, "E0610")


def test_an_archive_that_could_not_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What writing refuses counts: here, a manifest larger than loading takes."""
    monkeypatch.setattr("ttc.runtime.archive.MAX_JSON_BYTES", 100)
    found = checked(model_of([node("Relu", "x", "y")], {"x": X}, ["y"]), tmp_path, target="host")
    assert (found.compiles, (found.error or Error("", "")).code) == (False, "E0703")


def test_all_that_is_not_supported_is_listed_with_the_rest(tmp_path: Path) -> None:
    nodes = [
        node("MatMul", "x w", "p"),
        node("Mystery", "p", "m", domain="nobody"),
        helper.make_node("Reshape", ["p", "sizes"], ["r"], name="first"),
        helper.make_node("Reshape", ["p", "sizes"], ["s"], name="second"),
        node("Unheard", "m", "u"),
    ]
    found = checked(model_of(nodes, {"x": X, "sizes": ints(1)}, ["u", "r", "s"], {"w": normal(64, 32)}), tmp_path)
    assert not found.compiles
    assert found.error is not None
    assert found.error.code == "E0202"
    assert {row.op: (row.why, row.nodes) for row in found.refusals} == {
        "Reshape": ("needs a constant shape", ("first", "second")),
        "Mystery": ("its domain is not imported", ("/Mystery",)),
        "Unheard": ("no such op in this opset", ("/Unheard",)),
    }
    assert (found.wanted, found.flags) == (("sizes",), ("--values sizes=FILE.npy|NUMBER",))
    assert found.facts.ops == {"Reshape": 2, "MatMul": 1, "Unheard": 1, "nobody.Mystery": 1}
    assert (found.flops, found.stage) == (2 * 4 * 64 * 32, "tti"), "of what could be imported"


def test_nothing_can_be_imported(tmp_path: Path) -> None:
    found = checked(model_of([node("Mystery", "x", "y", domain="nobody")], {"x": X}, ["y"]), tmp_path)
    assert (found.compiles, found.stage, found.flops, len(found.refusals)) == (False, None, None, 1)


def test_what_fails_later_is_told_with_its_stage(tmp_path: Path) -> None:
    model = model_of([node("Gemm", "x w", "y")], {"x": X}, ["y"], {"w": normal(3, 3)})
    found = checked(model, tmp_path)
    assert (found.compiles, found.stage) == (False, None)
    assert (found.error or Error("", "")).code == "E0401"
    assert found.facts.ops == {"Gemm": 1}


def test_text_can_be_checked(small_onnx: Path, tmp_path: Path) -> None:
    text = tmp_path / "m.mlir"
    text.write_text(compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "to": "nn"})).text())
    assert (check(text, CompileOptions()).error or Error("", "")).code == "E0304", "as ttc compile says, without --weights"
    found = check(text, CompileOptions(weights=small_onnx))
    assert (found.compiles, found.facts.kind, found.stage) == (True, "IR text", "tti")
    assert found.facts.ops["softmax"] == 1


def test_a_stage_that_is_asked_for(small_onnx: Path) -> None:
    found = check(small_onnx, resolve(CompileOptions, {"batch": 2, "to": "nn"}))
    assert (found.compiles, found.stage, found.host) == (True, "nn", ())


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(Error) as caught:
        check(tmp_path / "m.onnx", CompileOptions())
    assert caught.value.code == "E0102"


def test_a_thousand_nodes(tmp_path: Path) -> None:
    """Under ten seconds, on a machine that does nothing else: five are allowed here for each of two stages that wait for a core."""
    nodes, weights, value = [], {}, "x"
    for index in range(250):
        weights[f"w{index}"] = normal(64, 64)
        nodes += [
            helper.make_node("MatMul", [value, f"w{index}"], [f"p{index}"]),
            helper.make_node("Softmax", [f"p{index}"], [f"s{index}"], axis=-1),
            helper.make_node("Add", [f"s{index}", value], [f"a{index}"]),
            helper.make_node("Tanh", [f"a{index}"], [f"t{index}"]),
        ]
        value = f"t{index}"
    model = model_of(nodes, {"x": X}, [value], weights)
    onnx.save(model, tmp_path / "m.onnx")
    start = time.process_time()
    found = check(tmp_path / "m.onnx", CompileOptions())
    assert time.process_time() - start < 10
    assert (found.compiles, sum(found.facts.ops.values())) == (True, 1000)
    assert numpy_helper.to_array(model.graph.initializer[0]).nbytes * 250 == found.facts.weight_bytes


def test_what_stands_in_branches_counts_where_they_run(tmp_path: Path) -> None:
    def branch(op: str) -> onnx.GraphProto:
        nodes = [helper.make_node("MatMul", ["x", "x"], ["m"]), helper.make_node(op, ["m"], ["o"])]
        return helper.make_graph(nodes, "b", [], [onnx.ValueInfoProto(name="o")])

    chosen = node("If", "c", "y", then_branch=branch("Exp"), else_branch=branch("ReduceSum"))
    model = model_of([node("MatMul", "x x", "p"), chosen], {"x": normal(8, 8), "c": np.array(True)}, ["y", "p"])
    found = checked(model, tmp_path)
    (entry,) = found.host
    assert (entry.op, entry.nodes, entry.flops) == ("branch", ("/If",), 2 * (2 * 8**3 + 64))
    assert found.flops == entry.flops + 2 * 8**3
