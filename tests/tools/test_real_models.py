"""`tools/real_models.py` on a wheel that holds small models."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import bench_measure
import real_catalogue
import real_models
from real_catalogue import Model, Port, drawn, extract, flags, shipped, write_inputs
from real_models import Row, Verdict, between, judged, kept, page

pytest.importorskip("onnxruntime")

CATALOGUE = """
[[package]]
name = "small-models"
version = "1.0"
[[package.model]]
file = "small/models/double.onnx"
shape = { x = [2, 3] }
[[package.model]]
file = "small/models/unknown.onnx"
shape = { x = [2, 3] }
"""


def graph(op: str, domain: str) -> bytes:
    """y = op(x, x), with x of two open dimensions."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", "m"]) for name in ("x", "y")]
    made = helper.make_graph([helper.make_node(op, ["x", "x"], ["y"], domain=domain)], "small", ports[:1], ports[1:])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("nobody", 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=10).SerializeToString()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which the wheel of the package has been downloaded already."""
    wheel = tmp_path / "wheels" / "small_models-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("small/models/double.onnx", graph("Add", ""))
        archive.writestr("small/models/unknown.onnx", graph("Nothing", "nobody"))
        archive.writestr("small/saved/saved_model.pb", b"x")
        archive.writestr("small/saved/variables/variables.index", b"y")
    (tmp_path / "catalogue.toml").write_text(CATALOGUE)
    return tmp_path


def test_models_of_a_wheel_are_compared(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One is right on both targets, and timed; a file that the reference cannot run either is no success."""
    monkeypatch.setattr(bench_measure, "TURN_SECONDS", 0.002)
    monkeypatch.setattr(real_models, "SOURCES", {"shipped": lambda where: shipped(where, where / "catalogue.toml")})
    page_file = folder / "page.md"
    arguments = ["--folder", str(folder), "--sources", "shipped", "--rounds", "2", "--json", "--write", str(page_file)]
    assert real_models.main([*arguments, "-k", "double", "--bar", "1"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["verdicts"] == {
        target: {"status": "right", "text": row["verdicts"][target]["text"], "max_abs": 0.0} for target in ("host", "n150")
    }
    assert set(row["milliseconds"]) == {"onnxruntime", "ours", "ours-n150"}
    assert row["ratio"] == pytest.approx(row["milliseconds"]["ours"] / row["milliseconds"]["onnxruntime"])
    assert "| small-models 1.0 | models/double.onnx | onnxruntime | 0.0e+00 | 0.0e+00 |" in page_file.read_text()
    assert real_models.main([*arguments, "-k", "unknown", "--bar", "0"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert {verdict["status"] for verdict in row["verdicts"].values()} == {"unchecked"}
    assert "the reference failed" in row["verdicts"]["host"]["text"]


def test_folders_of_a_wheel_come_whole(folder: Path) -> None:
    """A SavedModel is a folder; a name that the wheel lacks is an error."""
    wheel = folder / "wheels" / "small_models-1.0-py3-none-any.whl"
    extract(wheel, ["small/saved"], folder / "out")
    assert sorted(str(p.relative_to(folder / "out")) for p in (folder / "out").rglob("*") if p.is_file()) == [
        "small/saved/saved_model.pb",
        "small/saved/variables/variables.index",
    ]
    with pytest.raises(KeyError, match="has no small/other"):
        extract(wheel, ["small/other"], folder / "out")


def test_flags_and_arrays_follow_the_ports(tmp_path: Path) -> None:
    """Open dimensions that the catalogue does not name are 1; values are fixed; the same names give the same numbers."""
    model = Model("m 1", tmp_path / "net.onnx", "net.onnx", {"x": [2, 3]}, {"sr": 16000}, {"ids": (5, 6)})
    x, y, sr, ids = Port("x", "float32", (None, 3)), Port("y", "float16", (None, 4)), Port("sr", "int64", ()), Port("ids", "int32", (7,))
    write_inputs(model, [x, y, sr, ids])
    assert flags(model, [x, y, sr, ids]) == ["--shape", "x=2x3", "--shape", "y=1x4", "--values", f"sr={tmp_path}/net.in2.npy"]
    assert drawn(model, x).shape == (2, 3)
    assert np.array_equal(drawn(model, x), drawn(model, x))
    assert drawn(model, y).dtype == np.float16
    assert drawn(model, y).shape == (1, 4)
    assert drawn(model, sr) == 16000
    assert drawn(model, ids).tolist() == [5] * 7


def test_what_is_right() -> None:
    """Floating point by its bound, integers by steps, text by equality, shapes always; the worst output speaks."""
    model = Model("m 1", Path("net.onnx"), "net.onnx", bound=1)
    ones = np.ones((2, 2), np.float32)
    assert judged(model, [ones, ones], [ones, ones + np.float32(1e-5)]).status == "right"
    assert judged(model, [ones, ones], [ones, ones + np.float32(1e-3)]).text.startswith("output 1: max abs 0.001")
    assert judged(model, [ones[0]], [ones]).status == "wrong"
    steps = np.array([1, 2], np.int8)
    assert judged(model, [steps], [steps + np.int8(1)]).status == "right"
    assert judged(model, [steps], [steps + np.int8(2)]).status == "wrong"
    assert judged(model, [np.array(["a", "b"])], [np.array(["a", "c"])]).status == "wrong"


def test_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusals count against the share of right models alone; wrong models and slow ones always count."""
    right, refused, wrong = (Verdict(status, "why") for status in ("right", "refused", "wrong"))

    def rows(n150: Verdict, ratio: float = 0.5) -> list[Row]:
        good = Row("p", "m", "onnxruntime", {"host": right, "n150": right}, ratio=0.5)
        return [good, good, good, Row("p", "n", "onnxruntime", {"host": right, "n150": n150}, ratio=ratio)]

    assert kept(rows(refused), bar=0.75, worst=1.5, mean=0.75)
    assert not kept(rows(refused), bar=0.8, worst=1.5, mean=0.75)
    assert not kept(rows(wrong), bar=0.5, worst=1.5, mean=0.75)
    assert not kept(rows(right, 1.6), bar=0.5, worst=1.5, mean=0.75)
    assert not kept(rows(right, 1.4), bar=0.5, worst=1.5, mean=0.6)
    assert not kept([], bar=0, worst=1.5, mean=1)
    assert "n150: 3 of 4 right, 1 refused, 0 wrong" in page(rows(refused))
    assert "refused: why" in page(rows(refused))


def test_the_catalogue_is_whole() -> None:
    """At least 60 models, each of a package with its version, named once."""
    import tomllib

    packages = tomllib.loads(real_catalogue.CATALOGUE.read_text())["package"]
    keys = [(p["name"], p["version"], row["file"]) for p in packages for row in p["model"]]
    assert len(set(keys)) == len(keys) >= 60
    assert {key for p in packages for row in p["model"] for key in row} <= {"file", "shape", "values", "range", "bound", "exactness"}


@pytest.mark.parametrize(("found", "status"), [(1.5, "right"), (0.1, "right"), (-1.2, "wrong"), (np.nan, "wrong")])
def test_between_two_references(found: float, status: str) -> None:
    """One is at 0, the other at 1: what is no farther from either than they are from each other is right."""
    one, other, count = np.zeros(1, np.float32), np.ones(1, np.float32), np.array([3])
    before = Verdict("wrong", "far", 0.5)
    verdict = between(before, [np.array([found], np.float32), count], [one, count], [other, count])
    assert verdict.status == status
    assert between(before, [one, count + 1], [one, count], [other, count]) is before


def test_a_part_that_is_measured_anew_leaves_other_rows_as_they_are() -> None:
    """Verdicts with a bar in them, rows without times, and the order survive; a row measured again takes its place."""
    right, refused = Verdict("right", "", 1.2e-5), Verdict("refused", "error[E0202]: a | b")
    before = [
        Row("a 1", "m.onnx", "onnxruntime", {"host": right, "n150": refused}, {"ours": 1.5, "onnxruntime": 2.0}, 0.75),
        Row("b 1", "m.tflite", "tflite", {"host": refused, "n150": refused}, {"tflite": 0.5}),
        Row("c 1", "m.pt2", "torch-exported", {"host": right, "n150": right}),
    ]
    assert real_models.rows_of(page(before)) == before
    anew = Row("b 1", "m.tflite", "tflite", {"host": right, "n150": right}, {"ours": 0.4, "tflite": 0.5}, 0.8)
    more = Row("d 1", "m.onnx", "onnxruntime", {"host": right, "n150": right})
    found = real_models.rows_of(page(real_models.renewed(real_models.rows_of(page(before)), [anew, more])))
    assert found == [before[0], anew, before[2], more]
