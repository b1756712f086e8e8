"""Tensors of the stand-in for TT-NN, and the device that they lie on: values are held as their formats hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ttc.dialects.core.formats import format_named

bfloat16, bfloat8_b, float32, uint32, int32 = "bfloat16", "bfloat8_b", "float32", "uint32", "int32"
TILE_LAYOUT, ROW_MAJOR_LAYOUT = "tile", "row_major"
DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG = "dram", "l1"
TILE = 32


class Tensor:
    """A tensor of TT-NN: values in float32 (or integers), as its format holds them."""

    def __init__(self, values: torch.Tensor, dtype: str, layout: str, *, on_device: bool = True) -> None:
        self.values, self.dtype, self.layout, self.on_device = rounded(values, dtype), dtype, layout, on_device
        self.memory = DRAM_MEMORY_CONFIG

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)


def rounded(values: torch.Tensor, dtype: str) -> torch.Tensor:
    """Values as a format of the device holds them."""
    if dtype in (uint32, int32):
        return values.to(torch.int64)
    if dtype == bfloat16:
        return values.to(torch.bfloat16).to(torch.float32)
    if dtype == bfloat8_b:
        return torch.from_numpy(in_blocks(values.to(torch.float32).numpy()))
    return values.to(torch.float32)


def in_blocks(values: np.ndarray) -> np.ndarray:
    """Values in blocks of 16 along rows, which share an exponent."""
    format_ = format_named("Bfp8_b")
    width = values.shape[-1]
    padded = np.pad(values.reshape(-1, width), ((0, 0), (0, -width % 16)))
    return format_.round(padded.reshape(-1, 16)).reshape(padded.shape)[:, :width].reshape(values.shape)


def tiles(*tensors: Any) -> list[torch.Tensor]:
    """The values of operands, which have to be on the device, in tiles, of two dimensions or more."""
    for tensor in tensors:
        assert isinstance(tensor, Tensor), tensor
        assert (tensor.on_device, tensor.layout) == (True, TILE_LAYOUT)
        assert len(tensor.shape) >= 2, tensor.shape
    return [tensor.values for tensor in tensors]


def made(values: torch.Tensor, like: Tensor, dtype: str | None = None, layout: str = TILE_LAYOUT) -> Tensor:
    return Tensor(values, dtype or (bfloat16 if like.dtype == bfloat8_b else like.dtype), layout)


# ---- devices and transfers --------------------------------------------------------------------------------------------------------------


class Device:
    """One device: a mesh of one."""

    def arch(self) -> str:
        return "wormhole_b0"


def from_torch(
    tensor: torch.Tensor,
    *,
    dtype: str,
    layout: str,
    device: Device | None = None,
    memory_config: str | None = None,
    mesh_mapper: Any = None,
) -> Tensor:
    assert (device is None) == (memory_config is None)
    assert dtype != bfloat8_b or layout == TILE_LAYOUT
    return Tensor(tensor, dtype, layout, on_device=device is not None)


def to_torch(tensor: Tensor) -> torch.Tensor:
    return tensor.values.to(torch.bfloat16) if tensor.dtype == bfloat16 else tensor.values


def to_layout(tensor: Tensor, layout: str) -> Tensor:
    return Tensor(tensor.values, tensor.dtype, layout)
