"""Tensors that processes share, made whole for a checkpoint of Lightning's, and cut again when it is read."""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.utils import _pytree as pytree


def whole(values: Any, *, keep: bool) -> Any:
    """Return a structure with whole tensors in the place of those that are cut; all processes that share them call it.

    Args:   keep: whether this process wants them; tensors without elements stand for them otherwise.
    """

    def gathered(value: Any) -> Any:
        if not isinstance(value, DTensor):
            return value
        found = value.full_tensor().detach()
        return found if keep else found.new_empty(0)

    return pytree.tree_map(gathered, values)


def cut_like(values: Any, like: Any) -> Any:
    """Return a structure whose tensors are cut as others are, each process having read the whole of them.

    Args:
        values: a mapping with whole tensors.
        like: one with tensors by the same names; or a parameter, as which all of its shape are cut.
    """
    found = {}
    for name, value in values.items():
        model = like.get(name) if isinstance(like, dict) else like
        found[name] = value
        if isinstance(model, DTensor) and isinstance(value, torch.Tensor) and value.shape == model.shape:
            found[name] = distribute_tensor(value, model.device_mesh, model.placements, src_data_rank=None)
    return found
