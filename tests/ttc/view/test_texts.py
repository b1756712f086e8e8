"""Names and values as bounded text."""

from __future__ import annotations

from ttc.dialects.core.plain.functions import TensorType
from ttc.view.texts import MAX_CHARACTERS, all_clipped, clipped, tensor_text


def test_long_names_keep_their_ends() -> None:
    text = clipped("a" * 1_000_000 + "end")
    assert len(text) <= MAX_CHARACTERS
    assert text.startswith("aaa")
    assert text.endswith("end")
    assert "…" in text
    assert clipped("short") == "short"


def test_lists_and_types() -> None:
    assert clipped((1, 2)) == "[1, 2]"
    assert all_clipped([1, "x"]) == ["1", "x"]
    assert tensor_text(TensorType((1, 56, 64), "Bfp8_b")) == "1x56x64 Bfp8_b"
    assert tensor_text(TensorType((), "Float32")) == "scalar Float32"
    assert tensor_text(TensorType((2, 64), "Float32", "tiles(32, 32)")) == "2x64 Float32 tiles(32, 32)"
