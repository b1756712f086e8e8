"""Compile one layer of a large language model from PyTorch, in three number formats, and see what each costs in accuracy and time.

    python examples/llm_layer.py

The layer is that of Llama: RMS norm, rotary positions, attention with shared heads of keys and values, a gated feed-forward network.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import ttc

WIDTH, HEADS, SHARED, HIDDEN, TOKENS = 128, 8, 2, 256, 64
"""Width of the layer, heads of queries, heads of keys and values, width of the feed-forward network, length of the sequence."""


class Layer(nn.Module):
    """x[batch, tokens, WIDTH] -> the same shape."""

    cos: Tensor
    sin: Tensor

    def __init__(self) -> None:
        super().__init__()
        size = WIDTH // HEADS
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, SHARED * size, bias=False)
        self.value = nn.Linear(WIDTH, SHARED * size, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate, self.up = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)
        angles = torch.outer(torch.arange(TOKENS), 10000.0 ** (-torch.arange(0, size, 2) / size)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def rotated(self, x: Tensor) -> Tensor:
        """x with positions: each pair of elements turned by the angle of its token."""
        low, high = x.chunk(2, dim=-1)
        return x * self.cos + torch.cat((-high, low), dim=-1) * self.sin

    def attended(self, x: Tensor) -> Tensor:
        """Causal attention; each head of keys and values serves HEADS / SHARED heads of queries."""
        batch, tokens, _ = x.shape
        query, key, value = (p(x).view(batch, tokens, -1, WIDTH // HEADS).transpose(1, 2) for p in (self.query, self.key, self.value))
        query, key = self.rotated(query), self.rotated(key)
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        return self.output(found.transpose(1, 2).reshape(batch, tokens, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attended(self.norm1(x))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def main() -> None:
    """Compile the layer for a device in three formats, and print its error against PyTorch."""
    torch.manual_seed(0)
    layer, x = Layer().eval(), torch.randn(1, TOKENS, WIDTH)
    with torch.no_grad():
        expected = layer(x).numpy()
    exported = torch.export.export(layer, (x,))
    for format in ("Float32", "Bfp8_b", "Bfp4_b"):
        archive = Path(f"layer-{format}.tti")
        ttc.compile(exported, target="n150", format=format).save(archive)
        with ttc.load(archive) as executor:
            (found,) = executor(x.numpy())
        error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
        print(f"{format}: relative L2 error {error:.1e}, archive {archive.stat().st_size >> 10} KB")
    print("estimate for the device: ttc perf layer-Bfp8_b.tti")


if __name__ == "__main__":
    main()
