"""Matrix products against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check_node, imported, node_model, normal
from ttc.dialects.core.errors import Error


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 5)),
    ],
)
def test_mat_mul(left: tuple[int, ...], right: tuple[int, ...], tmp_path: Path) -> None:
    check_node(tmp_path, "MatMul", normal(*left), normal(*right))


@pytest.mark.parametrize("bias", [None, (5,), (3, 1), (3, 5), ()])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.5, 1.0), (1.0, 0.25), (2.0, 0.0)])
def test_gemm(bias: tuple[int, ...] | None, alpha: float, beta: float, tmp_path: Path) -> None:
    c = None if bias is None else np.asarray(normal(*bias), np.float32)
    operands = (normal(3, 4), normal(4, 5)) if c is None else (normal(3, 4), normal(4, 5), c)
    check_node(tmp_path, "Gemm", *operands, alpha=alpha, beta=beta)


def test_gemm_transposes(tmp_path: Path) -> None:
    check_node(tmp_path, "Gemm", normal(4, 3), normal(5, 4), normal(5), transA=1, transB=1)


def test_inner_dimensions_must_agree(tmp_path: Path) -> None:
    model, feeds = node_model("MatMul", normal(3, 4), normal(3, 4))
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0401"
    assert caught.value.where == "model.onnx: node"
