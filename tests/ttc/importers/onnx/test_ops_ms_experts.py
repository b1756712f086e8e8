"""Layers of experts of onnxruntime's domain, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ttc.importers.onnx.ort_cases import Case, case, check_case, f, named, u8

CASES = (
    case("MoE", f(5, 8), f(5, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8), k=1, normalize_routing_weights=0, activation_type="relu"),
    case("MoE", f(5, 8), f(5, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8), k=2, normalize_routing_weights=0, activation_type="relu"),
    case("MoE", f(5, 8), f(5, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8), k=2, normalize_routing_weights=1, activation_type="relu"),
    case("MoE", f(5, 8), f(5, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8), k=1, normalize_routing_weights=0, activation_type="gelu"),
    case("MoE", f(5, 8), f(5, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8), k=2, normalize_routing_weights=0, activation_type="gelu"),
    case("MoE", f(5, 8), f(5, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8), k=2, normalize_routing_weights=1, activation_type="gelu"),
    case("MoE", f(5, 8), f(5, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8), k=1, normalize_routing_weights=0, activation_type="silu"),
    case("MoE", f(5, 8), f(5, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8), k=2, normalize_routing_weights=0, activation_type="silu"),
    case("MoE", f(5, 8), f(5, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8), k=2, normalize_routing_weights=1, activation_type="silu"),
    case(
        "MoE", f(5, 8), f(5, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8), k=1, normalize_routing_weights=0, activation_type="identity"
    ),
    case(
        "MoE", f(5, 8), f(5, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8), k=2, normalize_routing_weights=0, activation_type="identity"
    ),
    case(
        "MoE", f(5, 8), f(5, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8), k=2, normalize_routing_weights=1, activation_type="identity"
    ),
    case(
        "MoE",
        f(2, 3, 8),
        f(6, 4),
        f(4, 32, 8),
        f(4, 32),
        f(4, 8, 16),
        f(4, 8),
        k=2,
        activation_type="swiglu",
        swiglu_fusion=1,
        activation_alpha=1.7,
        activation_beta=1.0,
        swiglu_limit=7.0,
    ),
    case(
        "QMoE",
        f(5, 32),
        f(5, 4),
        u8(4, 64, 16),
        f(4, 64, factor=0.1),
        None,
        u8(4, 32, 16),
        f(4, 32, factor=0.1),
        k=2,
        activation_type="swiglu",
        swiglu_fusion=1,
        expert_weight_bits=4,
        normalize_routing_weights=1,
        constant=[2, 3, 5, 6],
        weights_prepacked=0,
    ),
    case(
        "QMoE",
        f(5, 32),
        f(5, 4),
        u8(4, 64, 16),
        f(4, 64, 2, factor=0.1),
        f(4, 64),
        u8(4, 32, 16),
        f(4, 32, 2, factor=0.1),
        f(4, 32),
        k=2,
        activation_type="swiglu",
        swiglu_fusion=1,
        expert_weight_bits=4,
        normalize_routing_weights=1,
        block_size=16,
        constant=[2, 3, 5, 6],
        weights_prepacked=0,
    ),
)


@pytest.mark.parametrize(("name", "found"), named(CASES), ids=[name for name, _ in named(CASES)])
def test_agrees_with_onnxruntime(name: str, found: Case, tmp_path: Path) -> None:
    check_case(found, name, tmp_path)
