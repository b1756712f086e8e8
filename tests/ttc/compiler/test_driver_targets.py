"""Compilations for every target, for descriptor files, and without harvested rows: placed legally, run, resumed."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ttc
from tests.archives import run_alike
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import target_names
from ttc.dialects.netlist.model import Grid
from ttc.options import CompileOptions, resolve

SAMPLES = Path(__file__).parents[2] / "data" / "device_descriptors"


def results(path: Path, **fields: Any) -> np.ndarray:
    """The result for a fixed input, by an archive that was saved and loaded."""
    archive = path.with_suffix(".tti")
    ttc.compile(path, batch=2, **fields).save(archive)
    value = onnx.load(path).graph.input[0]
    shape = [2, *(dim.dim_value for dim in value.type.tensor_type.shape.dim[1:])]
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    with ttc.load(archive) as executor:
        return next(iter(executor.run({value.name: x}).values()))


@pytest.mark.parametrize("target", [name for name in target_names() if name != "host"])
@pytest.mark.parametrize("format_", ["Float32", "Float16_b"])
def test_a_model_on_every_target(target: str, format_: str, small_onnx: Path) -> None:
    wanted = results(small_onnx, target="host", format="Float32")
    found = results(small_onnx, target=target, format=format_)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 if format_ == "Float32" else 2e-2 * np.abs(wanted).max())


@pytest.mark.parametrize("sample", sorted(path.stem for path in SAMPLES.glob("*.yaml") if "cluster" not in path.stem))
def test_a_model_on_every_sample(sample: str, small_onnx: Path) -> None:
    wanted = results(small_onnx, target="host")
    np.testing.assert_allclose(results(small_onnx, target=str(SAMPLES / f"{sample}.yaml")), wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("target", "accumulate", "ublock_tiles"), [("n150", {"Float32"}, 4), ("p150", {"Float32"}, 4), ("e150", {"Float16_b"}, 8)]
)
def test_accumulation(target: str, accumulate: set[str], ublock_tiles: int, small_onnx: Path) -> None:
    netlist = ttc.compile(small_onnx, batch=2, target=target).netlist
    ops = [op for graph in netlist.graphs.values() for op in graph.ops if isinstance(op.place, Grid)]
    assert {op.accumulate for op in ops} == accumulate
    assert all(op.blocking is not None and op.blocking.ublock[0] * op.blocking.ublock[1] <= ublock_tiles for op in ops)


MASKED = """
builtin.module attributes {ttc.stage = "import", ttc.model = "masked"} {
  func.func @forward(%x: tensor<2x4xf32> {ttc.name = "x"}, %ids: tensor<2x4xi64> {ttc.name = "ids"})
      -> (tensor<2x4xf32> {ttc.name = "y"}) {
    %zero = ttc.constant() {value = #ttc.literal<[0.0], tensor<f32>>} : () -> tensor<f32> loc("zero")
    %low = ttc.constant() {value = #ttc.literal<[-3.0], tensor<f32>>} : () -> tensor<f32> loc("low")
    %keep = nn.cast(%ids) {dtype = i1} : (tensor<2x4xi64>) -> tensor<2x4xi1> loc("keep")
    %mask = nn.where(%keep, %zero, %low) : (tensor<2x4xi1>, tensor<f32>, tensor<f32>) -> tensor<2x4xf32> loc("mask")
    %y = nn.add(%x, %mask) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32> loc("y")
    func.return %y : tensor<2x4xf32>
  }
}
"""


@pytest.mark.parametrize("format_", ["Float32", "Float16_b"])
@pytest.mark.parametrize(("target", "on_host"), [("e150", {"keep", "mask"}), ("p150", set())])
def test_integers_stay_on_the_host_of_a_chip_without_them(target: str, on_host: set[str], format_: str, tmp_path: Path) -> None:
    path = tmp_path / "masked.mlir"
    path.write_text(MASKED)
    program = ttc.compile(path, target=target, format=format_)
    ops = [op for graph in program.netlist.graphs.values() for op in graph.ops if not isinstance(op.place, Grid)]
    assert {name for op in ops for name in op.location} & {"keep", "mask"} == on_host
    program.save(tmp_path / "masked.tti")
    with ttc.load(tmp_path / "masked.tti") as executor:
        x, ids = np.ones((2, 4), np.float32), np.array([[0, 1, -5, 0], [7, 0, 0, 2**30]])
        np.testing.assert_array_equal(executor.run({"x": x, "ids": ids})["y"], np.where(ids != 0, 1.0, -2.0))


# ---- files -------------------------------------------------------------------------------------------------------------------------------


def compiled(path: Path, **fields: Any) -> ttc.Program | str:
    result = compile_path(path, resolve(CompileOptions, fields))
    return result.text() if result.package is None else result.program()


def saved(path: Path, out: Path, **fields: Any) -> bytes:
    compile_path(path, resolve(CompileOptions, fields)).program().save(out)
    return out.read_bytes()


def test_an_archive_says_nothing_of_where_the_descriptor_lay(small_onnx: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    here, there = tmp_path / "chip.yaml", tmp_path / "elsewhere" / "chip.yaml"
    for path in (here, there):
        shutil.copy(SAMPLES / "wormhole_b0_4x6.yaml", path)
    archive = tmp_path / "a.tti"
    assert saved(small_onnx, archive, batch=2, target=str(here)) == saved(small_onnx, tmp_path / "b.tti", batch=2, target=str(there))
    members = zipfile.ZipFile(archive)
    assert not any(str(tmp_path).encode() in members.read(name) for name in members.namelist())
    program = compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "target": str(here)})).program()
    assert (program.netlist.chip.target, program.netlist.chip.grid) == ("chip", (4, 6))


@pytest.mark.parametrize("stage", ["import", "nn", "tile", "netlist"])
def test_resuming_without_the_file(stage: str, small_onnx: Path, tmp_path: Path) -> None:
    chip, text = tmp_path / "chip.yaml", tmp_path / "ir.mlir"
    shutil.copy(SAMPLES / "wormhole_b0_4x6.yaml", chip)
    fields = {"batch": 2, "target": str(chip), "harvested_rows": 1}
    saved(small_onnx, tmp_path / "a.tti", **fields)
    text.write_text(compile_path(small_onnx, resolve(CompileOptions, {**fields, "to": stage})).text())
    chip.unlink()
    weights = small_onnx if stage == "import" else tmp_path / "a.tti"
    saved(text, tmp_path / "b.tti", weights=weights)
    assert run_alike(tmp_path / "b.tti") == run_alike(tmp_path / "a.tti")


def test_resuming_with_another_file_of_that_name(small_onnx: Path, tmp_path: Path) -> None:
    chip, text = tmp_path / "chip.yaml", tmp_path / "ir.mlir"
    shutil.copy(SAMPLES / "wormhole_b0_4x6.yaml", chip)
    text.write_text(compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "target": str(chip), "to": "tile"})).text())
    compile_path(text, resolve(CompileOptions, {"target": str(chip), "weights": small_onnx}))
    shutil.copy(SAMPLES / "wormhole_b0_1x1.yaml", chip)
    for fields in ({"target": str(chip)}, {"target": "n150"}, {"harvested_rows": 1}):
        with pytest.raises(Error, match="E0101"):
            compile_path(text, resolve(CompileOptions, {"weights": small_onnx, **fields}))


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ('{name = "x", arch = "y"}', "E0101"),
        ('{name = "../x"}', "E0101"),
        ("{gird = 1 : i64}", "E0101"),
        ("{}", "E0101"),
        ('"n150"', "E0302"),
        ("array<i64: 1>", "E0302"),
    ],
)
def test_a_recorded_target_is_not_trusted(target: str, code: str, small_onnx: Path, tmp_path: Path) -> None:
    text = compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "to": "tile"})).text()
    path = tmp_path / "ir.mlir"
    path.write_text(text.replace("builtin.module attributes {", f"builtin.module attributes {{ttc.target = {target}, ", 1))
    with pytest.raises(Error, match=code):
        compile_path(path, resolve(CompileOptions, {}))


def test_no_file_is_read_that_ir_names(small_onnx: Path, tmp_path: Path) -> None:
    text = compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "to": "tile"})).text()
    path = tmp_path / "ir.mlir"
    path.write_text(text.replace('target = "n150"', f'target = "{SAMPLES / "wormhole_b0_1x1.yaml"}"'))
    with pytest.raises(Error, match="which is no machine's name") as caught:
        compile_path(path, resolve(CompileOptions, {"weights": small_onnx}))
    assert caught.value.code == "E0101"


# ---- harvested rows ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "grid"), [(1, (8, 8)), ("[3, 7]", (7, 8)), ([1, 2, 3], (6, 8)), ("8", (1, 8))])
def test_harvested_rows(rows: object, grid: tuple[int, int], small_onnx: Path) -> None:
    program = compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "harvested_rows": rows})).program()
    assert program.netlist.chip.grid == grid
    wanted = results(small_onnx, target="host")
    np.testing.assert_allclose(results(small_onnx, harvested_rows=rows), wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("rows", [0, -1, True, "x", "[1, 1]", "[6]", 9, 1.5, [], {"a": 1}, [1, "b"]])
def test_bad_harvested_rows(rows: object, small_onnx: Path) -> None:
    with pytest.raises(Error, match="E0101"):
        compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "target": "n150", "harvested_rows": rows}))
