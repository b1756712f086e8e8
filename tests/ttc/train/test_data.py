"""Data sets: what is mapped, what is converted, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.train.data import Column, Data, read_data

WANTED = {"x": Column("x", (3,), "float32"), "target": Column("target", (), "int32")}


@pytest.fixture
def arrays(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"x": rng.standard_normal((10, 3)), "target": rng.integers(0, 5, 10)}


def saved(folder: Path, arrays: dict[str, np.ndarray]) -> Path:
    folder.mkdir()
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return folder


def error(call, *arguments) -> Error:
    with pytest.raises(Error) as caught:
        call(*arguments)
    return caught.value


@pytest.mark.parametrize("form", ["folder", "stored", "compressed"])
def test_rows_are_those_of_the_arrays(tmp_path: Path, arrays: dict[str, np.ndarray], form: str) -> None:
    path = tmp_path / "data.npz"
    if form == "folder":
        path = saved(tmp_path / "data", arrays | {"x": np.asfortranarray(arrays["x"])})
    else:
        save = np.savez if form == "stored" else np.savez_compressed
        save(path, **arrays)  # pyright: ignore[reportArgumentType]
    data = read_data(path, WANTED)
    assert (data.rows, isinstance(data.arrays["x"], np.memmap)) == (10, form != "compressed")
    rows = data.take(np.array([7, 2]))
    np.testing.assert_array_equal(rows["x"], arrays["x"][[7, 2]].astype(np.float32))
    np.testing.assert_array_equal(rows["target"], arrays["target"][[7, 2]])
    assert (rows["x"].dtype, rows["target"].dtype) == (np.float32, np.int32)


def test_bfloat16_of_numpys_files(tmp_path: Path) -> None:
    values = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    data = read_data(saved(tmp_path / "data", {"x": values}), {"x": Column("x", (3,), "bfloat16")})
    np.testing.assert_array_equal(data.take(slice(0, 2))["x"], values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": None}, "lack x"),
        ({"y": np.zeros(10)}, "'y' is not an input"),
        ({"x": np.zeros((10, 4))}, "takes float32"),
        ({"x": np.zeros((10, 3), complex)}, "takes float32"),
        ({"target": np.zeros(10)}, "takes int32"),
        ({"target": np.zeros(9, int)}, "9"),
        ({"x": np.zeros((0, 3)), "target": np.zeros(0, int)}, "no rows"),
        ({"x": np.zeros((10, 3), "S4")}, "holds no numbers"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, arrays: dict[str, np.ndarray], change: dict, message: str) -> None:
    given = {name: array for name, array in {**arrays, **change}.items() if array is not None}
    found = error(read_data, saved(tmp_path / "data", given), WANTED)
    assert found.code == "E0801"
    assert message in found.message


@pytest.mark.parametrize("form", ["pickled", "cut", "text", "absent", "empty"])
def test_files_that_hold_no_arrays(tmp_path: Path, arrays: dict[str, np.ndarray], form: str) -> None:
    folder = saved(tmp_path / "data", {"target": arrays["target"]})
    path = folder / "x.npy"
    if form == "pickled":
        np.save(path, np.array([print, "x"], object), allow_pickle=True)
    elif form == "cut":
        np.save(path, arrays["x"])
        path.write_bytes(path.read_bytes()[:-8])
    elif form == "text":
        path.write_bytes(pickle.dumps(arrays["x"]))
    elif form == "empty":
        (folder / "target.npy").unlink()
    else:
        folder = tmp_path / "none.npz"
    assert error(read_data, folder, WANTED).code == ("E0102" if form in ("absent", "empty") else "E0801")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_bundles_cut_anywhere(tmp_path: Path, arrays: dict[str, np.ndarray], save) -> None:
    path = tmp_path / "data.npz"
    save(path, **arrays)
    whole = path.read_bytes()
    for size in range(0, len(whole), 37):
        path.write_bytes(whole[:size])
        assert error(read_data, path, WANTED).code == "E0801"


def test_values_out_of_range(arrays: dict[str, np.ndarray]) -> None:
    arrays["target"][4], arrays["target"][6] = -100, 9
    data = Data.of("data", arrays, WANTED)
    found = error(data.check_range, "target", 0, 5, -100)
    assert (found.code, "holds 9 in row 6" in found.message) == ("E0802", True)
    assert "holds -100 in row 4" in error(data.check_range, "target", 0, 10).message
    data.check_range("target", 0, 10, -100)
    arrays["target"][1] = 1 << 40
    assert error(data.take, slice(0, 5)).code == "E0802"


def test_values_that_are_not_finite(arrays: dict[str, np.ndarray]) -> None:
    data = Data.of("data", arrays, WANTED)
    data.check_finite()
    arrays["x"][8, 1] = np.nan
    found = error(data.check_finite)
    assert (found.code, found.message) == ("E0808", "'x' holds nan in row 8")
