"""Results of a run as files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ttc.cli.outputs import file_names, write_outputs
from ttc.dialects.core.errors import Error


def test_names_become_file_names() -> None:
    assert file_names(["y", "a/b", "a:b", "../x", "", "é", "A_B"]) == [
        "y.npy",
        "a_b.npy",
        "a_b.1.npy",
        ".._x.npy",
        "_.npy",
        "_.1.npy",
        "A_B.2.npy",
    ]
    assert len(file_names(["n" * 1000])[0]) < 255


def test_numbering_avoids_names_that_are_taken() -> None:
    assert file_names(["a.1", "a", "a"]) == ["a.1.npy", "a.npy", "a.2.npy"]


def test_files_and_index(tmp_path: Path) -> None:
    outputs = {"b/y": np.arange(3, dtype=np.float32), "a": np.array(2)}
    write_outputs(tmp_path / "new", outputs)
    np.testing.assert_array_equal(np.load(tmp_path / "new" / "b_y.npy"), outputs["b/y"])
    assert json.loads((tmp_path / "new" / "outputs.json").read_text())["outputs"] == [
        {"name": "b/y", "file": "b_y.npy", "dtype": "float32", "shape": [3]},
        {"name": "a", "file": "a.npy", "dtype": "int64", "shape": []},
    ]


def test_a_new_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    outputs = {"a": np.zeros(1), "b": np.zeros(1, [("objects", object)])}
    with pytest.raises(ValueError, match="pickle"):
        write_outputs(tmp_path / "new", outputs)
    assert list(tmp_path.iterdir()) == []


def test_notes_go_into_the_index(tmp_path: Path) -> None:
    write_outputs(tmp_path, {"a": np.zeros(1, np.float32)}, {"a": {"role": "input"}})
    (entry,) = json.loads((tmp_path / "outputs.json").read_text())["outputs"]
    assert entry == {"name": "a", "file": "a.npy", "dtype": "float32", "shape": [1], "role": "input"}


@pytest.mark.parametrize("place", ["file", "none/deeper"])
def test_places_that_are_no_folder(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Error) as caught:
        write_outputs(tmp_path / place, {"y": np.zeros(1)})
    assert caught.value.code == "E0103"
