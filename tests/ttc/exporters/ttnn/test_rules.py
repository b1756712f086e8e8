"""Every rule of TT-NN and of the host against the kernels of dialect nn, one op at a time, on the stand-in for TT-NN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="exported modules compute on the host by PyTorch")

from tests.ttc.exporters.one_op import CASES, OpCase, graph_of_op, inputs_of, reference  # noqa: E402
from tests.ttc.exporters.ttnn.running import run_module  # noqa: E402 - it needs torch
from ttc.exporters.ttnn.export import export  # noqa: E402


def check(case: OpCase, rng: np.random.Generator) -> str:
    """The exported program gives what the kernels give; returns its text."""
    arrays = case.arrays(rng)
    graph = graph_of_op(case.op, arrays, case.attrs, case.constants)
    inputs = inputs_of(graph, arrays)
    files = export(graph, "Float32")
    found = run_module(files, {name: torch.from_numpy(value.copy()) for name, value in inputs.items()})
    for value, wanted in zip(found.values(), reference(graph, inputs), strict=True):
        np.testing.assert_allclose(value.numpy(), wanted, rtol=1e-5, atol=1e-5, strict=True)
    return files["model.py"].decode()


@pytest.mark.parametrize("case", CASES)
def test_shared_cases(rng: np.random.Generator, case: str) -> None:
    check(CASES[case], rng)
