"""Ops that other packages define, as far as programs exported with them are to be read where they are not loaded.

PyTorch's deserializer looks ops up, and traces them on tensors without data.
"""

from __future__ import annotations

import torch

NAMES = {"transformers.grouped_mm_fallback": "transformers::grouped_mm_fallback"}
"""The qualified names of ops that other packages define, by the name in programs."""


def define(name: str) -> None:
    """Define an op of `NAMES`, unless its package has defined it; the package may still do so later, as the later definition counts."""
    domain, op = name.split(".")
    if name in NAMES and not hasattr(getattr(torch.ops, domain), op):
        schema = "(Tensor input, Tensor weight, Tensor offs) -> Tensor"
        torch.library.custom_op(NAMES[name], _grouped_product, mutates_args=(), schema=schema)
        torch.library.register_fake(NAMES[name], _grouped_product_type)


def _grouped_product(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    """Return rows up to each offset times the matrix of their group."""
    y = input.new_zeros(input.shape[0], weight.shape[2])
    start = 0
    for group, end in enumerate(offs.tolist()):
        y[start:end] = input[start:end] @ weight[group]
        start = max(start, end)
    return y


def _grouped_product_type(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    return input.new_empty(input.shape[0], weight.shape[2])
