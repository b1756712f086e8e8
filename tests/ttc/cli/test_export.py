"""`ttc export`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ttc.cli import main

TEXT = """builtin.module attributes {ttc.stage = "import"} {
  func.func @forward(%0: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
    %1 = nn.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("rectified")
    func.return %1 : tensor<2x3xf32>
  }
}
"""
TWO_REFUSED = """builtin.module attributes {ttc.stage = "import"} {
  func.func @forward(%0: tensor<3x3xf32> {ttc.name = "x"}) -> (tensor<f32> {ttc.name = "y"}, tensor<3x3xf32> {ttc.name = "z"}) {
    %1 = nn.det(%0) : (tensor<3x3xf32>) -> tensor<f32> loc("volume")
    %2 = nn.cholesky(%0) : (tensor<3x3xf32>) -> tensor<3x3xf32> loc("root")
    func.return %1, %2 : tensor<f32>, tensor<3x3xf32>
  }
}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "model.mlir"
    path.write_text(text)
    return path


def test_a_folder_for_ttnn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    assert main(["export", str(written(tmp_path, TEXT)), "--to", "ttnn", "-o", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["model.py", "weights.safetensors"]
    text = (folder / "model.py").read_text()
    assert "    # rectified\n" in text
    assert "    relu = ttnn.relu(sent, memory_config=L1)\n" in text
    assert "(weights.safetensors, model.py)" in capsys.readouterr().out


def test_chips_divide_the_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, model = tmp_path / "out", str(written(tmp_path, TEXT))
    assert main(["export", model, "--to", "ttnn", "--chips", "2", "-o", str(folder)]) == 0
    text = (folder / "model.py").read_text()
    assert "The device is a mesh of 2 chips, which divide the 2 rows of the batch." in text
    assert 'sent = to_device(device, inputs["x"], rows=0)' in text
    capsys.readouterr()
    assert main(["export", model, "--to", "ttnn", "--chips", "3", "-o", str(tmp_path / "none")]) == 2
    assert "3 chips cannot divide a batch of 2" in capsys.readouterr().err
    assert main(["export", model, "--to", "onnx", "--chips", "2", "-o", str(tmp_path / "none")]) == 2
    assert "--to onnx does not write programs for several chips" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("name", ["model.py", "weights.safetensors"])
def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    folder = tmp_path / "out"
    (folder / name).mkdir(parents=True)
    assert main(["export", str(written(tmp_path, TEXT)), "--to", "ttnn", "-o", str(folder)]) == 2
    assert f"cannot write {folder / name}: it exists and is not a regular file" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == [name]


def test_a_netlist(tmp_path: Path) -> None:
    out = tmp_path / "model.yaml"
    assert main(["export", str(written(tmp_path, TEXT)), "--to", "netlist", "-o", str(out)]) == 0
    assert out.read_text().startswith("devices:\n  arch: wormhole_b0\n")


def test_a_module_of_stablehlo(tmp_path: Path) -> None:
    out = tmp_path / "stable.mlir"
    assert main(["export", str(written(tmp_path, TEXT)), "--to", "stablehlo", "-o", str(out)]) == 0
    assert '    %relu = "stablehlo.maximum"(%x, %constant) : ' in out.read_text()
    assert main(["check", str(written(tmp_path, TWO_REFUSED)), "--exporter", "stablehlo"]) == 2


def test_all_refused_ops_are_named_before_anything_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    assert main(["export", str(written(tmp_path, TWO_REFUSED)), "--to", "ttnn", "-o", str(folder)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error[E0503]: TT-NN has no form of 2 ops: nn.det (volume): ")
    assert "nn.cholesky (root): " in error
    assert not folder.exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--to", "ttn"], "there is no export to 'ttn'"),
        (["--to", "ttnn", "--format", "Bfp2"], "--to ttnn does not write --format Bfp2"),
        (["--to", "onnx", "--format", "Float16_b"], "--to onnx does not write --format Float16_b"),
        (["--to", "onnx", "--fidelity", "LoFi"], "--to onnx does not write --fidelity LoFi"),
        (["--to", "onnx", "--amp", "1"], "--to onnx does not write mixed precision"),
        (["--to", "stablehlo", "--format", "Bfp8"], "--to stablehlo does not write --format Bfp8"),
        (["--to", "ttnn", "--target", "e150"], "TT-NN does not run on 'e150'"),
        (["--to", "ttnn", "--program", "backward"], "there is no program 'backward'"),
        (["--to", "netlist", "--program", "forward"], "a netlist holds all programs"),
    ],
)
def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str) -> None:
    assert main(["export", str(written(tmp_path, TEXT)), *flags, "-o", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_rules_are_refused_where_they_would_say_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[precision]]\nfidelity = "LoFi"\n')
    arguments = ["export", str(written(tmp_path, TEXT)), "--precision-file", str(rules), "-o", str(tmp_path / "out")]
    assert main([*arguments, "--to", "stablehlo"]) == 2
    error = capsys.readouterr().err
    assert "--to stablehlo does not write precision of single ops" in error
    assert "leave out --precision-file" in error
    assert not (tmp_path / "out").exists()


def test_an_archive_of_text_past_nn_has_no_ops_of_nn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive, text = tmp_path / "model.tti", tmp_path / "tile.mlir"
    assert main(["compile", str(written(tmp_path, TEXT)), "--kernels", "buda", "--to", "tile", "-o", str(text)]) == 0
    assert main(["compile", str(text), "-o", str(archive)]) == 0
    capsys.readouterr()
    assert main(["export", str(archive), "--to", "ttnn", "-o", str(tmp_path / "out")]) == 2
    assert "holds no ops of dialect nn" in capsys.readouterr().err
    assert main(["export", str(archive), "--to", "netlist", "--fidelity", "LoFi", "-o", str(tmp_path / "out.yaml")]) == 2
    assert "not of --fidelity LoFi" in capsys.readouterr().err
    assert main(["export", str(archive), "--to", "netlist", "-o", str(tmp_path / "out.yaml")]) == 0


@pytest.mark.parametrize("exporter", ["ttnn", "onnx"])
def test_check_says_it_without_writing(tmp_path: Path, capsys: pytest.CaptureFixture[str], exporter: str) -> None:
    assert main(["check", str(written(tmp_path, TEXT)), "--exporter", exporter]) == 0
    assert capsys.readouterr().out == f"model.mlir can be exported to {exporter}\n"
    assert main(["check", str(written(tmp_path, TWO_REFUSED)), "--exporter", exporter, "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["exports"] is False
    assert [row["nodes"] for row in found["refused"]][-1] == ["root"]
    assert main(["check", str(written(tmp_path, TWO_REFUSED)), "--exporter", exporter]) == 2
    assert "model.mlir cannot be exported" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["model.mlir"]


LAYERS = """builtin.module attributes {ttc.stage = "nn", ttc.seed = 1} {
  func.func @forward(%0: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
    %1 = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<3x4xf32>>} : () -> tensor<3x4xf32>
    %2 = ttc.param() {sym = "v", value = #ttc.weight<"v", tensor<4x3xf32>>} : () -> tensor<4x3xf32>
    %3 = nn.matmul(%0, %1, _) {transpose_a = false, transpose_b = false} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %4 = nn.matmul(%3, %2, _) {transpose_a = false, transpose_b = false} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    func.return %4 : tensor<2x3xf32>
  }
}
"""


def test_chips_divide_tensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, model = tmp_path / "out", str(written(tmp_path, LAYERS))
    assert main(["export", model, "--to", "ttnn", "--chips", "4", "--parallel", "tensor", "-o", str(folder)]) == 0
    text = (folder / "model.py").read_text()
    assert '    "w": ("device", ttnn.bfloat16, ttnn.TILE_LAYOUT, 1),\n' in text
    assert '    "v": ("device", ttnn.bfloat16, ttnn.TILE_LAYOUT, 0),\n' in text
    assert "    all_reduce = ttnn.all_reduce(matmul_1, memory_config=L1)\n" in text
    capsys.readouterr()
    for arguments, message in (
        (["ttnn", "--parallel", "tensor"], "say how many by --chips"),
        (["ttnn", "--chips", "5", "--parallel", "tensor"], "cannot be divided over 5 chips"),
        (["netlist", "--chips", "2", "--parallel", "tensor"], "--to netlist does not write programs whose tensors chips divide"),
    ):
        assert main(["export", model, "--to", *arguments, "-o", str(tmp_path / "none")]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
