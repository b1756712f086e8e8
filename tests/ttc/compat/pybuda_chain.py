"""A module of PyBuda for tests, and what its scripts have set."""

from __future__ import annotations

import sys
from typing import Any

import torch


def chain(pybuda: Any) -> Any:
    """Return a module of three products by a matrix of 64 x 64: m0, m1 and m2."""

    class Products(pybuda.PyBudaModule):
        def __init__(self) -> None:
            super().__init__("products")
            self.w = pybuda.Parameter(torch.eye(64))

        def forward(self, x: Any) -> Any:
            for number in range(3):
                x = pybuda.op.Matmul(f"m{number}", x, self.w)
            return x

    return Products()


def fields_of() -> dict[str, Any]:
    """What scripts have set, as fields of CompileOptions."""
    return sys.modules["ttc.compat.pybuda_config"].CONFIG.fields()
