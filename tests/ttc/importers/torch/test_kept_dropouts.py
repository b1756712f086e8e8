"""Dropouts stay what they are when a program is taken apart, and the program is afterwards as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
from torch.nn import functional  # noqa: E402

from ttc.importers.torch.exported import decomposed  # noqa: E402
from ttc.importers.torch.kept_dropouts import KEPT, WRITTEN  # noqa: E402

DROPOUTS: dict[str, Callable[..., Any]] = {
    "dropout": functional.dropout,
    "feature_dropout": functional.dropout2d,
    "alpha_dropout": functional.alpha_dropout,
    "feature_alpha_dropout": functional.feature_alpha_dropout,
}


class Dropping(torch.nn.Module):
    def __init__(self, kind: str, *, inplace: bool) -> None:
        super().__init__()
        self.kind, self.inplace = kind, inplace

    def forward(self, x: Any) -> Any:
        y = x * 2
        return DROPOUTS[self.kind](y, p=0.3, training=True, inplace=self.inplace) + y


def targets(program: Any) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("kind", DROPOUTS)
def test_a_dropout_is_one_op(kind: str, inplace: bool) -> None:
    program = torch.export.export(Dropping(kind, inplace=inplace), (torch.ones(2, 3, 4, 4),))
    before = str(program.graph)
    flat = decomposed(program)
    domain = "aten" if kind == "dropout" else "ttc"
    dropped = [name for name in targets(flat) if "dropout" in name]
    assert dropped in ([f"{domain}.{kind}.default"], [f"aten.native_{kind}.default"])
    assert str(program.graph) == before
    (sum_of,) = flat.graph.find_nodes(op="call_function", target=torch.ops.aten.add.Tensor)
    assert (sum_of.args[0] is sum_of.args[1]) == inplace  # who reads what was written over reads the dropout


def test_ours_compute_what_those_of_pytorch_do() -> None:
    x = torch.arange(1.0, 25).reshape(2, 3, 4)
    for given, kept in KEPT.items():
        for train in (False, True):
            torch.manual_seed(1)
            wanted = given(x, 0.4, train)
            torch.manual_seed(1)
            torch.testing.assert_close(kept(x, 0.4, train), wanted, rtol=0, atol=0)
    assert {str(op).removesuffix("_.default") for op in WRITTEN} == {f"aten.{kind}" for kind in DROPOUTS}
