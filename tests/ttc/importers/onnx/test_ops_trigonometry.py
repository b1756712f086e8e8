"""Hyperbolic functions and inverses against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check_node

UNIT = np.linspace(-0.9, 0.9, 15, dtype=np.float32).reshape(3, 5)


@pytest.mark.parametrize("op", ["Sinh", "Cosh", "Asin", "Acos", "Atan", "Asinh", "Atanh"])
def test_unary(op: str, tmp_path: Path) -> None:
    check_node(tmp_path, op, UNIT)


def test_acosh(tmp_path: Path) -> None:
    check_node(tmp_path, "Acosh", UNIT + 2)
