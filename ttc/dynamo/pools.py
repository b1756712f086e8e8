"""Gradients of max pools in graphs of aten ops: of the images, which are kept anyway, and not of places that forward would have to give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_aten = torch.ops.aten


@torch.library.custom_op("ttc::max_pool2d_backward", mutates_args=())
def _by_images(
    dy: torch.Tensor, x: torch.Tensor, kernel: list[int], stride: list[int], padding: list[int], dilation: list[int], ceil: bool
) -> torch.Tensor:
    """PyTorch's own way, where it runs the graph: places are found once more."""
    places = _aten.max_pool2d_with_indices.default(x, kernel, stride, padding, dilation, ceil)[1]
    return _aten.max_pool2d_with_indices_backward.default(dy, x, kernel, stride, padding, dilation, ceil, places)


@_by_images.register_fake
def _type(dy: torch.Tensor, x: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty_like(x)


def _without_places(dy: torch.Tensor, x: torch.Tensor, *rest: Any) -> torch.Tensor:
    *settings, _ = rest
    return torch.ops.ttc.max_pool2d_backward.default(dy, x, *settings)


WITHOUT_PLACES: dict[Any, Callable[..., Any]] = {_aten.max_pool2d_with_indices_backward.default: _without_places}
"""The gradient of a max pool that reads places, and how to compute it without them."""
