"""Rows of a tensor in several files are put together, and refused where they do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from ttc.dialects.core.errors import Error
from ttc.dist.pieces import Collected, RowRange

WHOLE = torch.arange(12.0).reshape(6, 2)


def collected(folder: Path, pieces: list[tuple[torch.Tensor, str | None]], rows: RowRange | None = None) -> Collected:
    found = Collected("w", rows)
    for number, (piece, first) in enumerate(pieces):
        path = folder / f"{number}.safetensors"
        save_file({"w": piece.contiguous()}, path)
        with safe_open(path, framework="pt") as opened:
            found.add(opened.get_slice("w"), first)
    return found


@pytest.mark.parametrize("rows", [None, RowRange(0, 6), RowRange(1, 4), RowRange(3, 3), RowRange(5, 6)])
def test_rows_of_pieces_in_any_order(tmp_path: Path, rows: RowRange | None) -> None:
    saved = collected(tmp_path, [(WHOLE[4:], "4"), (WHOLE[:3], "0"), (WHOLE[3:4], "3")], rows).put_together()
    assert saved.shape == (6, 2)
    assert torch.equal(saved.value, WHOLE if rows is None else WHOLE[rows.first : rows.end])


def test_rows_of_what_is_whole(tmp_path: Path) -> None:
    assert torch.equal(collected(tmp_path, [(WHOLE, None)], RowRange(2, 5)).put_together().value, WHOLE[2:5])
    assert torch.equal(collected(tmp_path, [(torch.tensor(3.0), None)], RowRange(0, 1)).put_together().value, torch.tensor(3.0))


@pytest.mark.parametrize(
    "pieces",
    [
        [(WHOLE[:3], "0"), (WHOLE[4:], "4")],
        [(WHOLE[:3], "0"), (WHOLE[2:], "2")],
        [(WHOLE[:3], "0"), (WHOLE[3:, :1], "3")],
        [(WHOLE[:3], "0"), (WHOLE[3:].double(), "3")],
        [(WHOLE[3:], "3")],
        [(WHOLE, None), (WHOLE, None)],
        [(WHOLE, "0"), (WHOLE, None)],
        [(WHOLE, "-1")],
        [(WHOLE, "\u0660")],
        [(WHOLE, "")],
        [(torch.tensor(3.0), "0")],
    ],
)
def test_pieces_that_do_not_fit(tmp_path: Path, pieces: list[tuple[torch.Tensor, str | None]]) -> None:
    with pytest.raises(Error, match="E0807"):
        collected(tmp_path, pieces).put_together()
