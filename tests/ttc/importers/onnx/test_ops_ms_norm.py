"""Normalizations of onnxruntime's domain, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ttc.importers.onnx.ort_cases import Case, Draw, byte, case, check_case, f, named, real, u8

CASES = (
    case("SimplifiedLayerNormalization", f(2, 3, 8), f(8), domain="", epsilon=1e-05),
    case("SkipLayerNormalization", f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)),
    case("SkipLayerNormalization", f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8), outputs=[1, 0, 0, 1]),
    case("SkipLayerNormalization", f(2, 3, 8), f(1, 3, 8), f(8)),
    case("SkipLayerNormalization", f(2, 3, 8), f(3, 8), f(8)),
    case("SkipSimplifiedLayerNormalization", f(2, 3, 8), f(2, 3, 8), f(8), f(8), outputs=[1, 0, 0, 1], epsilon=1e-05),
    case(
        "EmbedLayerNormalization",
        Draw("bit", (2, 5)),
        Draw("bit", (2, 5)),
        f(10, 8),
        f(6, 8),
        f(2, 8),
        f(8),
        f(8),
        Draw("bit", (2, 5)),
        outputs=[1, 1],
    ),
    case(
        "EmbedLayerNormalization",
        Draw("bit", (2, 5)),
        None,
        f(10, 8),
        f(6, 8),
        None,
        f(8),
        f(8),
        None,
        Draw("bit", (2, 5)),
        outputs=[1, 1, 1],
    ),
    case("EmbedLayerNormalization", Draw("bit", (2, 5)), None, f(10, 8), f(6, 8), None, f(8), f(8), outputs=[1, 1]),
    case(
        "QEmbedLayerNormalization",
        Draw("bit", (2, 5)),
        Draw("bit", (2, 5)),
        u8(10, 8),
        u8(6, 8),
        u8(2, 8),
        u8(8),
        u8(8),
        Draw("bit", (2, 5)),
        real(0.1),
        real(0.2),
        real(0.1),
        real(0.05),
        real(0.03),
        byte(100),
        byte(120),
        byte(130),
        byte(2),
        byte(7),
        outputs=[1, 1],
    ),
    case("GatedRMSNorm", f(2, 3, 8), f(8), f(2, 3, 8)),
)


@pytest.mark.parametrize(("name", "found"), named(CASES), ids=[name for name, _ in named(CASES)])
def test_agrees_with_onnxruntime(name: str, found: Case, tmp_path: Path) -> None:
    check_case(found, name, tmp_path)
