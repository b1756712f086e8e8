"""Text from ONNX through an archive and the command line, against ONNX Runtime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, parser
from onnxruntime import InferenceSession

import ttc
from ttc.cli.app import main
from ttc.dialects.core.errors import Error
from ttc.runtime.loader import load

WORDS = """
<ir_version: 8, opset_import: ["" : 21, "ai.onnx.ml": 4]>
words (string[N,3] x, float[2] f) => (string[N,3,k] pieces, int64[N,3] counts, int64[N,3] label, bool[N,3] known, string[2] t, float[2] g) {
   tail = Constant<value = string[3] {"-a", "", "-größe"}>()
   y = StringConcat(x, tail)
   pieces, counts = StringSplit<delimiter: string = "-">(y)
   label = ai.onnx.ml.LabelEncoder<keys_strings: strings = ["a", "b-größe"], values_int64s: ints = [7, 8]>(y)
   known = RegexFullMatch<pattern: string = "[a-z]+(-größe)?">(y)
   t = Cast<to: int = 8>(f)
   g = Cast<to: int = 1>(t)
}
"""
FEEDS: dict[str, Any] = {"x": np.array([["a", "b", "c"], ["b", "a", "b"]]), "f": np.array([1.5, -2], np.float32)}


def model(folder: Path) -> Path:
    path = folder / "words.onnx"
    onnx.save(parser.parse_model(WORDS), path)
    return path


@pytest.mark.parametrize("target", ["host", "n150"])
def test_text_through_an_archive(target: str, tmp_path: Path) -> None:
    path = model(tmp_path)
    ttc.compile(path, batch=2, target=target).save(tmp_path / "words.tti")
    found = load(tmp_path / "words.tti").run(FEEDS)
    wanted: Any = InferenceSession(path).run(None, {**FEEDS, "x": FEEDS["x"].astype(object)})
    for (name, y), want in zip(found.items(), wanted, strict=True):
        assert (y.shape, y.dtype) == (want.shape, want.dtype), name
        assert y.tolist() == want.tolist()


def test_text_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, archive, out = model(tmp_path), tmp_path / "words.tti", tmp_path / "out"
    for name, value in FEEDS.items():
        np.save(tmp_path / f"{name}.npy", value)
    inputs = [flag for name in FEEDS for flag in ("--input", f"{name}={tmp_path / name}.npy")]
    assert main(["compile", str(path), "--batch", "2", "-o", str(archive)]) == 0
    assert main(["run", str(archive), *inputs, "--output-dir", str(out), "--check", str(path)]) == 0
    pieces = np.load(out / "pieces.npy", allow_pickle=False)
    assert pieces[0].tolist() == [["a", "a"], ["b", ""], ["c", "größe"]]
    assert json.loads((out / "outputs.json").read_text())["outputs"][0]["shape"] == [2, 3, 2]
    capsys.readouterr()
    assert main(["run", str(archive), "--random"]) == 0
    np.save(tmp_path / "x.npy", np.zeros((2, 3)))
    assert main(["run", str(archive), *inputs]) == 2
    assert "takes object[2, 3], not float64[2, 3]" in capsys.readouterr().err


@pytest.mark.parametrize("value", [np.array([["a", 1, "c"]] * 2, object), np.zeros((2, 3)), [["a", "b"]] * 2])
def test_inputs_that_are_no_text(value: Any, tmp_path: Path) -> None:
    session = ttc.load(_saved(tmp_path))
    with pytest.raises(Error) as caught:
        session.run({**FEEDS, "x": value})
    assert caught.value.code == "E0801"


def _saved(folder: Path) -> Path:
    ttc.compile(model(folder), batch=2, target="host").save(folder / "words.tti")
    return folder / "words.tti"


@pytest.mark.parametrize(
    ("x", "attrs"),
    [
        (np.array([1, 5, 2]), {"keys_int64s": [5, 1], "values_strings": ["five", "one"]}),
        (np.array([1, 5, 2]), {"keys_int64s": [5, 1], "values_floats": [0.5, 0.1], "default_float": -1.0}),
        (np.array([1, np.nan, 2], np.float32), {"keys_floats": [float("nan"), 2.0], "values_int64s": [7, 8]}),
        (np.array([["a", "b"]], object), {"keys_strings": ["b"], "values_strings": ["c"], "default_string": "?"}),
    ],
)
def test_label_encoder(x: np.ndarray, attrs: dict[str, Any], tmp_path: Path) -> None:
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", **attrs)
    kinds = {np.dtype(object): 8, np.dtype(np.int64): 7, np.dtype(np.float32): 1}
    found = 8 if "values_strings" in attrs else 7 if "values_int64s" in attrs else 1
    graph = helper.make_graph(
        [node],
        "labels",
        [helper.make_tensor_value_info("x", kinds[x.dtype], x.shape)],
        [helper.make_tensor_value_info("y", found, x.shape)],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 4), helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(made, tmp_path / "labels.onnx")
    results: Any = InferenceSession(made.SerializeToString()).run(None, {"x": x})
    y = ttc.load(_compiled(tmp_path / "labels.onnx")).run({"x": x})["y"]
    assert y.dtype == results[0].dtype
    assert y.tolist() == results[0].tolist()


def _compiled(path: Path) -> Path:
    ttc.compile(path, target="host").save(path.with_suffix(".tti"))
    return path.with_suffix(".tti")


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
def test_n_grams_of_words(mode: str, tmp_path: Path) -> None:
    attrs = {
        "max_gram_length": 2, "min_gram_length": 1, "max_skip_count": 1, "mode": mode, "ngram_counts": [0, 3],
        "ngram_indexes": [0, 1, 2, 3, 4],
        "pool_strings": ["a", "b", "c", "a", "b", "b", "c"], "weights": [1.0, 2.0, 3.0, 4.0, 5.0],
    }  # fmt: skip
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], **attrs)
    graph = helper.make_graph([node], "n", [helper.make_tensor_value_info("x", 8, (2, 4))], [helper.make_tensor_value_info("y", 1, (2, 5))])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(made, tmp_path / "n.onnx")
    x = np.array([["a", "b", "x", "c"], ["b", "a", "b", "b"]], object)
    results: Any = InferenceSession(made.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(ttc.load(_compiled(tmp_path / "n.onnx")).run({"x": x})["y"], results[0])


KINDS = {
    "StringConcat": "y = StringConcat(x, x)",
    "Identity": "y = Identity(x)",
    "Transpose": "y = Transpose(x)",
    "Concat": "y = Concat<axis: int = 0>(x, x)",
    "StringSplit": 'y, n = StringSplit<delimiter: string = "b">(x)',
    "RegexFullMatch": 'y = RegexFullMatch<pattern: string = "a.*">(x)',
    "Equal": "a, b = Split<axis: int = 0, num_outputs: int = 2>(x) y = Equal(a, b)",
    "LabelEncoder": 'y = ai.onnx.ml.LabelEncoder<keys_strings: strings = ["ab", "größe"], values_strings: strings = ["c", ""]>(x)',
    "SequenceConstruct": "s = SequenceConstruct(x, x) y = ConcatFromSequence<axis: int = 0>(s)",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_text_as_numpy_has_it_gives_what_text_of_python_gives(kind: str, engine: str, tmp_path: Path) -> None:
    """An array of fixed width is not taken apart before an op asks for `str`; results are of `str` in any case."""
    type_ = "bool" if kind in ("RegexFullMatch", "Equal") else "string"
    text = f'<ir_version: 8, opset_import: ["" : 21, "ai.onnx.ml": 4]> g (string[2,3] x) => ({type_}[a] y) {{ {KINDS[kind]} }}'
    made = parser.parse_model(text)
    made.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(made, tmp_path / "g.onnx")
    ttc.compile(tmp_path / "g.onnx", target="host").save(tmp_path / "g.tti")
    executor = load(tmp_path / "g.tti", engine=engine)
    x = np.array([["ab", "", "größe"], ["b", "ab", "größe"]])
    found, wanted = executor.run({"x": x})["y"], executor.run({"x": x.astype(object)})["y"]
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    assert found.tolist() == wanted.tolist()
    assert {type(value) for value in found.ravel()} == {type(value) for value in wanted.ravel()} <= {str, np.bool_}


def test_categories_of_a_table_are_looked_up_at_once(tmp_path: Path) -> None:
    """As skl2onnx writes an OrdinalEncoder: columns of one input, each with a list of its own."""
    text = """
    <ir_version: 8, opset_import: ["" : 21, "ai.onnx.ml": 3]> g (string[5,2] x) => (float[5,2] y) {
       i = Constant<value = int64[1] {0}>()
       j = Constant<value = int64[1] {1}>()
       a = ai.onnx.ml.ArrayFeatureExtractor(x, i)
       b = ai.onnx.ml.ArrayFeatureExtractor(x, j)
       c = ai.onnx.ml.LabelEncoder<keys_strings: strings = ["red", "green"], values_int64s: ints = [0, 1], default_int64: int = -1>(a)
       d = ai.onnx.ml.LabelEncoder<keys_strings: strings = ["L", "red"], values_int64s: ints = [5, 6], default_int64: int = -1>(b)
       e = Concat<axis: int = 1>(c, d)
       y = Cast<to: int = 1>(e)
    }
    """
    onnx.save(parser.parse_model(text), tmp_path / "g.onnx")
    program = ttc.compile(tmp_path / "g.onnx", target="host")
    graph, *_ = program.netlist.graphs.values()
    assert [op.type for op in graph.ops].count("string_index") == 1
    program.save(tmp_path / "g.tti")
    x = np.array([["red", "red"], ["green", "L"], ["L", "green"], ["", "x" * 70], ["red", "größe"]])
    for given in (x, x.astype(object)):
        found = load(tmp_path / "g.tti").run({"x": given})["y"]
        assert found.tolist() == [[0, 6], [1, 5], [-1, -1], [-1, -1], [0, -1]]
