"""Checks on files before work is done for them."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest

from ttc.dialects.core.errors import Error, TtcWarning
from ttc.inputs.files import MAX_CONFIG_BYTES, npz_of, read_config, require_folder, require_input, require_output, rules_table, write_bytes


def code(call, *arguments) -> str:
    with pytest.raises(Error) as caught:
        call(*arguments)
    return caught.value.code


def test_inputs(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("x")
    assert require_input(file) == file
    assert code(require_input, tmp_path) == "E0102"
    assert code(require_input, tmp_path / "none") == "E0102"
    assert code(require_input, tmp_path / "n\0l") == "E0102"
    assert code(require_input, Path("/dev/null")) == "E0102"


def test_outputs(tmp_path: Path) -> None:
    file, link = tmp_path / "f", tmp_path / "link"
    file.write_text("x")
    link.symlink_to(tmp_path / "nowhere")
    assert require_output(file) == file
    assert require_output(tmp_path / "new") == tmp_path / "new"
    for wrong in (tmp_path, tmp_path / "none" / "x", link, Path("/dev/null"), file / "below"):
        assert code(require_output, wrong) == "E0103"


def test_the_input_is_not_overwritten(tmp_path: Path) -> None:
    file, other = tmp_path / "f", tmp_path / "other"
    file.write_text("x")
    os.link(file, other)
    assert code(require_output, file, file) == "E0103"
    assert code(require_output, other, file) == "E0103"


def test_folders(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    assert require_folder(tmp_path / "new") == tmp_path / "new"
    assert not (tmp_path / "new").exists()
    assert code(require_folder, tmp_path / "f") == "E0103"
    assert code(require_folder, tmp_path / "a" / "b") == "E0103"


def test_writing_is_whole_or_not_at_all(tmp_path: Path) -> None:
    write_bytes(tmp_path / "f", b"abc")
    assert (tmp_path / "f").read_bytes() == b"abc"
    assert code(write_bytes, Path("/dev/full"), b"abc") == "E0103"
    assert os.listdir(tmp_path) == ["f"]


def test_configs(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text("[compile]\nbatch = 2\n")
    assert read_config(file) == {"compile": {"batch": 2}}
    for data in (b"a = " + b"9" * 5000, b"a = " + b"[" * 100_000, b"\xff", b"a = 1979-99-99", b"#" * (MAX_CONFIG_BYTES + 1)):
        file.write_bytes(data)
        assert code(read_config, file) == "E0101"
    assert code(read_config, Path("/dev/zero")) == "E0102"
    assert code(read_config, tmp_path / "n\0l") == "E0102"


def test_tables_of_others_beside_rules(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text("[[precision]]\nop = 'a'\n[tool]\n[precison]\n")
    with pytest.warns(TtcWarning, match=r"r.toml has tables .* passed over: precison \(did you mean 'precision'\?\), tool$"):
        assert rules_table(path, "precision", "precision") == [{"op": "a"}]
    path.write_text("")
    assert rules_table(path, "precision", "precision") == []
    for text in ("[precison]\n", "x = 1\n[[precision]]\n"):
        path.write_text(text)
        assert code(rules_table, path, "precision", "precision") == "E0101"


def test_arrays_of_any_names_are_one_bundle() -> None:
    arrays = {"file": np.arange(3), "allow_pickle": np.float32(2).reshape(()), "a/b.weight": np.zeros((2, 0)), "": np.array([True])}
    with np.load(io.BytesIO(npz_of(arrays))) as found:
        assert list(found) == list(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array, strict=True)
    assert npz_of(arrays) == npz_of(arrays)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        npz_of({"x": np.array([{}])})
