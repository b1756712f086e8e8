"""Classical machine learning: what chooses, marks and names; and how models of that domain are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

from tests.ttc.importers.onnx.cases import Arrays, check, imported, ints, model_of, normal
from tests.ttc.importers.onnx.test_walk import failure, save
from ttc.dialects.core.errors import Error

DOMAIN = "ai.onnx.ml"


def ml_model(op: str, feeds: Arrays, version: int = 1, outputs: int = 1, **attrs: Any) -> ModelProto:
    names = ["y", *(f"y{i}" for i in range(1, outputs))]
    return model_of([helper.make_node(op, list(feeds), names, domain=DOMAIN, **attrs)], feeds, names, domains={DOMAIN: version})


def agrees(model: ModelProto, feeds: Arrays, folder: Path, against: ModelProto | None = None) -> None:
    """The imported model gives what onnxruntime does with it, or with another one, on one thread."""
    runtime = pytest.importorskip("onnxruntime")
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = 1
    theirs = model if against is None else against
    theirs.ir_version = 8
    wanted = runtime.InferenceSession(theirs.SerializeToString(), settings).run(None, dict(feeds))
    found = imported(model, feeds, folder)
    assert len(found) == len(wanted)
    for y, z in zip(found, wanted, strict=True):
        assert y.shape == z.shape
        if z.dtype.kind in "OUi":
            assert y.tolist() == z.tolist()
            continue
        assert y.dtype == z.dtype
        np.testing.assert_allclose(y, z, rtol=1e-4, atol=1e-5)


def test_array_feature_extractor(tmp_path: Path) -> None:
    x, columns = normal(3, 4), ints(3, 0)
    check(ml_model("ArrayFeatureExtractor", {"x": x, "c": columns}), {"x": x, "c": columns}, tmp_path, wanted=[x[:, [3, 0]]])
    row = {"x": x[0], "c": columns}
    check(ml_model("ArrayFeatureExtractor", row), row, tmp_path, wanted=[x[:1, [3, 0]]])


def test_binarizer(tmp_path: Path) -> None:
    x = np.array([[0.5, 1.5], [1.0, -2.0]], np.float32)
    check(ml_model("Binarizer", {"x": x}, threshold=1.0), {"x": x}, tmp_path, wanted=[np.array([[0, 1], [0, 0]], np.float32)])


def test_models_without_onnx_own_domain(tmp_path: Path) -> None:
    model = ml_model("Binarizer", {"x": normal(2)})
    del model.opset_import[0]
    assert [entry.domain for entry in model.opset_import] == [DOMAIN]
    x = np.array([1, -1], np.float32)
    check(model, {"x": x}, tmp_path, wanted=[np.array([1, 0], np.float32)])


def test_one_hot_encoder(tmp_path: Path) -> None:
    numbers, words = np.array([[1, 2], [3, 9]]), np.array([["a", "b"], ["c", "?"]], object)
    cases: list[tuple[Arrays, dict[str, Any]]] = [
        ({"x": numbers}, {"cats_int64s": [1, 2, 3]}),
        ({"x": words}, {"cats_strings": ["a", "b", "c"]}),
    ]
    for feeds, attrs in cases:
        agrees(ml_model("OneHotEncoder", feeds, **attrs), feeds, tmp_path)
        known = {"x": feeds["x"][:, :1]}
        agrees(ml_model("OneHotEncoder", known, **attrs, zeros=0), known, tmp_path)
        with pytest.raises(Error) as caught:
            imported(ml_model("OneHotEncoder", feeds, **attrs, zeros=0), feeds, tmp_path)
        assert caught.value.code == "E0802"
    reals = {"x": np.array([[1, 2.5], [3, 9]], np.float32)}
    agrees(ml_model("OneHotEncoder", reals, cats_int64s=[1, 2, 3]), reals, tmp_path)


def test_zip_map_gives_the_values_of_its_maps(tmp_path: Path) -> None:
    x = normal(3, 2)
    each: list[dict[str, Any]] = [{"classlabels_int64s": [5, 3]}, {"classlabels_strings": ["b", "a"]}]
    for labels in each:
        check(ml_model("ZipMap", {"x": x}, **labels), {"x": x}, tmp_path, wanted=[x])


@pytest.mark.parametrize(
    ("op", "attrs", "code"),
    [
        ("ZipMap", {"classlabels_int64s": [1, 2, 3]}, "E0402"),
        ("ZipMap", {}, "E0402"),
        ("OneHotEncoder", {}, "E0402"),
        ("DictVectorizer", {"int64_vocabulary": [1]}, "E0202"),
        ("CastMap", {}, "E0202"),
    ],
)
def test_what_is_refused(op: str, attrs: dict[str, Any], code: str, tmp_path: Path) -> None:
    assert failure(save(ml_model(op, {"x": normal(2, 2)}, **attrs), tmp_path)).code == code
