"""Einsum against numpy's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, imported, node_model, normal, save
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions
from ttc.importers.onnx import import_onnx


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("ij,jk", [(3, 4), (4, 5)]),
        ("ba,cb", [(3, 4), (5, 3)]),
        ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("bhij,bjhd->bihd", [(2, 3, 4, 6), (2, 6, 3, 5)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
        ("...ij,...jk->...ik", [(3, 4), (2, 4, 5)]),
        ("...,...->...", [(2, 3), (3,)]),
        ("i,j->ij", [(3,), (4,)]),
        ("i,i->", [(3,), (3,)]),
        ("i,i->i", [(3,), (3,)]),
        ("ij->ji", [(3, 4)]),
        ("ij->", [(3, 4)]),
        ("ij->j", [(3, 4)]),
        ("ii->i", [(4, 4)]),
        ("...ii", [(2, 4, 4)]),
        ("iij,j->i", [(4, 4, 3), (3,)]),
        ("ij,kl->", [(3, 4), (2, 5)]),
        ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 2)]),
        ("i,ij,ijk,ik->jk", [(3,), (3, 4), (3, 4, 5), (3, 5)]),
        ("a B , B c -> c a", [(3, 4), (4, 5)]),
    ],
)
def test_like_numpy(equation: str, shapes: list[tuple[int, ...]], tmp_path: Path) -> None:
    operands = [normal(*shape) for shape in shapes]
    model, feeds = node_model("Einsum", *operands, equation=equation)
    check(model, feeds, tmp_path, wanted=[np.asarray(np.einsum(equation, *operands))])


def test_products_of_matrices_are_matrix_products(tmp_path: Path) -> None:
    model, _ = node_model("Einsum", normal(2, 3, 4, 5), normal(2, 3, 6, 5), equation="bhid,bhjd->bhij")
    (function,) = entry_functions(import_onnx(save(model, tmp_path))[0])
    names = [op.name for op in function.body.block.ops]
    assert names.count("nn.matmul") == 1
    assert not {"nn.mul", "nn.reduce_sum"} & set(names)


@pytest.mark.parametrize("equation", ["ij,jk->iz", "ij->ij", "ij,jk->ii", "ijk,jk->i", "i-,jk->i", "ij,jk->i,k"])
def test_errors(equation: str, tmp_path: Path) -> None:
    model, feeds = node_model("Einsum", normal(3, 4), normal(4, 5), equation=equation)
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0402"


def test_diagonals_of_large_matrices_are_refused(tmp_path: Path) -> None:
    model, feeds = node_model("Einsum", np.zeros((1, 1), np.float32), equation="ii->i")
    for dim in model.graph.input[0].type.tensor_type.shape.dim:
        dim.dim_value = 1 << 14
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0202"
