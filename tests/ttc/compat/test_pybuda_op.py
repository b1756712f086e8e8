"""Ops of pybuda.op: values and gradients of PyTorch, for every op that there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from tests.ttc.compat.pybuda_cases import CASES  # noqa: E402
from tests.ttc.ops import test_ops as numbers  # noqa: E402
from ttc.compat import pybuda_op  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402


def test_every_op_has_a_case() -> None:
    assert {case.op for case in CASES} == set(pybuda_op._RULES)  # noqa: SLF001 - the table itself


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case.op}" for i, case in enumerate(CASES)])
def test_values_and_gradients_are_those_of_pytorch(case: Any, rng: np.random.Generator) -> None:
    numbers.test_values_and_gradients_are_those_of_pytorch(case, rng)


@pytest.mark.parametrize("name", pybuda_op.REFUSED)
def test_ops_without_a_meaning_tell_why(name: str) -> None:
    with pytest.raises(Error, match=name) as caught:
        getattr(pybuda_op.OP, name)
    assert caught.value.code == "E0105"


def test_losses_are_modules_of_pytorch(rng: np.random.Generator) -> None:
    x, y = (torch.tensor(rng.standard_normal((3, 4))) for _ in range(2))
    torch.testing.assert_close(pybuda_op.OP.loss.L1Loss("l", reduction="sum").forward(x, y), (x - y).abs().sum())
    rows = torch.softmax(y, 1)
    wanted = -(rows * torch.log_softmax(x, 1)).sum(1).mean()
    torch.testing.assert_close(pybuda_op.OP.loss.CrossEntropyLoss("l").forward(x, rows), wanted)
