"""Choosing the importer."""

from __future__ import annotations

from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import module_attr
from ttc.importers.base import SUPPORTED, import_model


def test_by_suffix(small_onnx: Path) -> None:
    module, weights = import_model(small_onnx, batch=2)
    assert module_attr(module, "model") == "small"
    assert sorted(weights) == ["b", "w"]


def test_other_suffixes(tmp_path: Path) -> None:
    path = tmp_path / "model.h5"
    path.write_bytes(b"x")
    with pytest.raises(Error) as caught:
        import_model(path)
    assert (caught.value.code, caught.value.hint) == ("E0201", SUPPORTED)


@pytest.mark.parametrize("name", ["none.onnx", "."])
def test_no_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(Error) as caught:
        import_model(tmp_path / name)
    assert caught.value.code == "E0102"
