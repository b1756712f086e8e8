"""Activations of onnxruntime's domain, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ttc.importers.onnx.ort_cases import Case, case, check_case, f, named

CASES = (
    case("Gelu", f(2, 3)),
    case("BiasGelu", f(2, 3), f(3)),
    case("FastGelu", f(2, 3)),
    case("FastGelu", f(2, 3), f(3)),
    case("QuickGelu", f(2, 3)),
    case("QuickGelu", f(2, 3), alpha=1.0),
    case("ScaledSiLU", f(2, 3)),
)


@pytest.mark.parametrize(("name", "found"), named(CASES), ids=[name for name, _ in named(CASES)])
def test_agrees_with_onnxruntime(name: str, found: Case, tmp_path: Path) -> None:
    check_case(found, name, tmp_path)
