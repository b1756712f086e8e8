"""Matrix products."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.tile.vocabulary import expand, one_op

PLAIN: dict[str, Any] = {"transpose_a": False, "transpose_b": False}


@pytest.mark.parametrize(
    "after",
    [{}, {"activation": "relu"}, {"activation": "clip", "activation_args": (0.0, 0.5)}],
)
def test_what_stays(after: dict[str, Any]) -> None:
    operands = ["Float32[2, 3, 5; 2]", "Float32[5, 7]", "Float32[7]"]
    assert expand(one_op("tile.matmul", operands, "Float32[2, 3, 7; 2]", PLAIN | after)).names() == ["tile.matmul"]


@pytest.mark.parametrize(
    "after", [("gelu", None), ("silu", None), ("clip", (-0.5, 0.5)), ("leaky_relu", (0.1,)), ("tanh", None), ("hard_swish", None)]
)
def test_activations(after: tuple[str, tuple[float, ...] | None]) -> None:
    attrs = PLAIN | {"activation": after[0]} | ({} if after[1] is None else {"activation_args": after[1]})
    outcome = expand(one_op("tile.matmul", ["Float32[2, 3, 5; 2]", "Float32[5, 7]", "Float32[7]"], "Float32[2, 3, 7; 2]", attrs))
    assert outcome.names()[0] == "tile.matmul"


@pytest.mark.parametrize("fold", [1, 2])
def test_a_transposed_left_operand(fold: int) -> None:
    attrs = PLAIN | {"transpose_a": True, "activation": "silu"}
    expand(one_op("tile.matmul", [f"Float32[2, 5, 3; {fold}]", "Float32[5, 7]"], "Float32[2, 3, 7]", attrs, absent=1))
