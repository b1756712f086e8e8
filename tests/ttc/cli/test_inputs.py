"""Inputs of a run."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ttc.cli.inputs import gather
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Argument

X = Argument("x", "input", "q0", (2, 3), "float32")
IDS = Argument("ids=a", "input", "q1", (4,), "int64")
X_VALUE = np.arange(6, dtype=np.float32).reshape(2, 3)
IDS_VALUE = np.arange(4)


def code(call, *arguments, **keywords) -> str:
    with pytest.raises(Error) as caught:
        call(*arguments, **keywords)
    return caught.value.code


def take(files=(), bundle=None, *, arguments=(X, IDS), random=False, seed=0):
    return gather(arguments, files, bundle, random=random, seed=seed)


@pytest.fixture
def saved(tmp_path: Path) -> dict[str, Path]:
    np.save(tmp_path / "x.npy", np.asfortranarray(X_VALUE))
    np.save(tmp_path / "ids.npy", IDS_VALUE.astype(">i8"))
    np.savez_compressed(tmp_path / "both.npz", **{"x": X_VALUE, "ids=a": IDS_VALUE})
    return {name: tmp_path / name for name in ("x.npy", "ids.npy", "both.npz")}


def test_files(saved: dict[str, Path]) -> None:
    found = take([f"ids=a={saved['ids.npy']}", f"x={saved['x.npy']}"])
    assert list(found.arrays) == ["x", "ids=a"]
    np.testing.assert_array_equal(found.arrays["x"], X_VALUE)
    np.testing.assert_array_equal(found.arrays["ids=a"], IDS_VALUE)
    assert found.arrays["ids=a"].dtype == np.int64
    assert found.drawn == ()


def test_bundle(saved: dict[str, Path]) -> None:
    found = take(bundle=saved["both.npz"])
    np.testing.assert_array_equal(found.arrays["x"], X_VALUE)
    np.testing.assert_array_equal(found.arrays["ids=a"], IDS_VALUE)


def test_random_values_depend_on_the_seed_alone() -> None:
    first, again, other = take(), take(), take(seed=1)
    assert first.drawn == ("x", "ids=a")
    np.testing.assert_array_equal(first.arrays["x"], again.arrays["x"])
    assert not np.array_equal(first.arrays["x"], other.arrays["x"])
    assert set(first.arrays["ids=a"].tolist()) <= {0, 1}


def test_some_but_not_all(saved: dict[str, Path]) -> None:
    with pytest.raises(Error, match=r"no value for input ids=a"):
        take([f"x={saved['x.npy']}"])
    assert take([f"x={saved['x.npy']}"], random=True).drawn == ("ids=a",)


def test_wrong_names(saved: dict[str, Path]) -> None:
    assert code(take, [f"y={saved['x.npy']}"]) == "E0801"
    assert code(take, [f"x={saved['x.npy']}"] * 2) == "E0801"
    assert code(take, [f"x={saved['x.npy']}"], saved["both.npz"]) == "E0801"
    assert code(take, ["x"]) == "E0101"
    assert code(take, bundle=saved["both.npz"], arguments=(X,)) == "E0801"
    assert code(take, ["x=/nowhere.npy"]) == "E0102"


@pytest.mark.parametrize("value", [X_VALUE.T, X_VALUE.astype(np.float64), X_VALUE[0], np.zeros((2, 3), "O"), np.zeros((2, 3), "U3")])
def test_wrong_shapes_and_types(value: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    np.save(path, value, allow_pickle=True)
    assert code(take, [f"x={path}"], arguments=(X,)) == "E0801"


def test_pickles_are_never_read(tmp_path: Path) -> None:
    path = tmp_path / "p.npy"
    path.write_bytes(pickle.dumps({"x": 1}))
    assert code(take, [f"x={path}"], arguments=(X,)) == "E0801"


def test_damaged_files(saved: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "cut"
    for source, option in (("x.npy", "files"), ("both.npz", "bundle")):
        data = saved[source].read_bytes()
        for size in range(0, len(data), max(len(data) // 16, 1)):
            path.write_bytes(data[:size])
            assert code(take, **({"files": [f"x={path}"], "arguments": (X,)} if option == "files" else {"bundle": path})) == "E0801"


def test_a_header_that_promises_too_much(tmp_path: Path) -> None:
    huge = Argument("x", "input", "q", (1 << 40,), "float32")
    path = tmp_path / "huge.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)})
    assert code(take, [f"x={path}"], arguments=(huge,)) == "E0801"
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as bundle:
        bundle.write(path, "x.npy")
    assert code(take, bundle=tmp_path / "huge.npz", arguments=(huge,)) == "E0801"


@pytest.mark.parametrize(
    "shape",
    [(True, 3), (-1, 3), (1 << 62, 3), (1 << 70, 3)],
)
def test_shapes_that_no_array_has(shape: tuple[int, ...], tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    text = str({"descr": "<f4", "fortran_order": False, "shape": shape}).encode() + b"\n"
    path.write_bytes(b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + bytes(24))
    assert code(take, [f"x={path}"], arguments=(Argument("x", "input", "q", (-1, 3), "float32"),)) == "E0801"


@pytest.mark.parametrize(
    "data", [b"\2\0\xff\xff\xff\xff", b"\2\0\x10\x27\0\0" + b"-" * 10_000, b"\3\0\0\0\0\0", b"\1\0\0\0", b"\1\0\x08\0((((((({"]
)
def test_headers_that_no_array_has(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY" + data)
    with pytest.raises(Error, match=r"not a readable .npy file: \S") as caught:
        take([f"x={path}"], arguments=(X,))
    assert caught.value.code == "E0801"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_compression(method: int, saved: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", method) as bundle:
        bundle.write(saved["x.npy"], "x.npy")
    data = bytearray(path.read_bytes())
    data[45:75] = bytes(30)
    path.write_bytes(data)
    assert code(take, bundle=path, arguments=(X,)) == "E0801"


def test_bfloat16(tmp_path: Path) -> None:
    value = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    np.save(tmp_path / "b.npy", value)
    found = take([f"b={tmp_path / 'b.npy'}"], arguments=(Argument("b", "input", "q", (2,), "bfloat16"),))
    assert found.arrays["b"].dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(found.arrays["b"], value)


def test_dynamic_shapes(saved: dict[str, Path]) -> None:
    dynamic = Argument("x", "input", "q", (-1, 3), "float32")
    np.testing.assert_array_equal(take([f"x={saved['x.npy']}"], arguments=(dynamic,)).arrays["x"], X_VALUE)
    assert code(take, arguments=(dynamic,)) == "E0801"


def test_bundles_that_unpack_to_more_than_any_run_takes(saved: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttc.inputs.npy_files.MAX_BUNDLE_BYTES", 100)
    assert code(take, bundle=saved["both.npz"]) == "E0801"
