"""Marks of stages change no number, and are kept in exported graphs."""

from __future__ import annotations

from typing import Any

import pytest

import ttc
from ttc.dialects.core.errors import Error

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")


class Staged(torch.nn.Module):
    """Two stages, each marked in another way."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ttc.stage(2)(torch.nn.Linear(3, 3))

    def forward(self, x: Any) -> Any:
        with ttc.stage(0):
            y = x.exp()
        y = ttc.stage(1)(torch.tanh)(y)
        return self.last(y).neg()


def test_nodes_have_the_stage_that_began_last() -> None:
    from ttc.marks.stages import stages_of_nodes, tracing_stages

    model = Staged()
    with tracing_stages():
        program = torch.export.export(model, (torch.zeros(2, 3),), strict=False)
    found = {str(node.target): number for node, number in stages_of_nodes(program.graph).items() if node.op == "call_function"}
    assert found == {"aten.exp.default": 0, "aten.tanh.default": 1, "aten.linear.default": 2, "aten.neg.default": 2}


def test_they_change_no_number() -> None:
    model, x = Staged(), torch.ones(2, 3)
    with ttc.inference(model, target="host", threads=1) as executor:
        torch.testing.assert_close(executor(x), model(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("number", [-1, True, 1.5, "1"])
def test_what_is_no_stage(number: Any) -> None:
    with pytest.raises(Error) as raised:
        ttc.stage(number)
    assert raised.value.code == "E0101"


def test_a_module_has_one_stage() -> None:
    with pytest.raises(Error, match="of stage 0 already"):
        ttc.stage(1)(ttc.stage(0)(torch.nn.Linear(1, 1)))
