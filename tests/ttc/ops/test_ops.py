"""Every op of `ttc.ops` has the values and gradients that PyTorch has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import ttc  # noqa: E402
from tests.ttc.ops.cases import CASES, Case  # noqa: E402
from ttc import ops  # noqa: E402

UNLIKE = frozenset(("floor_div", "heaviside"))
"""Ops that PyTorch has no gradients of."""


class Applied(ttc.nn.Module):
    """An op of inputs, or of parameters, times an input."""

    def __init__(self, case: Case, operands: list[Any] | None) -> None:
        super().__init__(case.op)
        self.case = case
        self.operands = None if operands is None else [ttc.nn.Parameter(x) if x.dtype == np.float32 else x for x in operands]

    def forward(self, *xs: ttc.nn.Tensor) -> ttc.nn.Tensor:
        if self.operands is None:
            return self.case.ours(*xs)
        return self.case.ours(*self.operands) * xs[0]


def drawn(case: Case, rng: np.random.Generator) -> list[Any]:
    return [rng.uniform(case.low, case.high, x).astype(np.float32) if isinstance(x, tuple) else x for x in case.operands]


def test_every_op_has_a_case() -> None:
    assert {case.op for case in CASES} == set(ops.__all__)


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case.op}" for i, case in enumerate(CASES)])
def test_values_and_gradients_are_those_of_pytorch(case: Case, rng: np.random.Generator) -> None:
    operands = drawn(case, rng)
    tensors = [torch.tensor(x, requires_grad=x.dtype == np.float32) for x in operands]
    wanted = case.theirs(*tensors)
    program = ttc.compile(Applied(case, None), tuple(operands), target="host")
    (found,) = ttc.Executor(program).run({f"xs_{i}": x for i, x in enumerate(operands)}).values()
    assert found.shape == tuple(wanted.shape)
    np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=2e-5, atol=2e-5)
    if not wanted.requires_grad or case.op in UNLIKE:
        return
    dy = rng.standard_normal(tuple(wanted.shape)).astype(np.float32)
    wanted.backward(torch.tensor(dy))
    ones = np.ones(dy.shape or 1, np.float32)
    with ttc.training(Applied(case, operands), example_inputs=(ones,), target="host", batch_norm="given") as executor:
        executor.forward(ones)
        executor.backward(dy.reshape(ones.shape))
        grads = executor.grads()
    expected = {f"operands.{i}": t.grad.numpy() for i, t in enumerate(tensors) if t.grad is not None}
    for name, grad in expected.items():
        np.testing.assert_allclose(grads[name], grad, rtol=1e-4, atol=1e-4, err_msg=name)
