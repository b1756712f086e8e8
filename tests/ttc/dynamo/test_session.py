"""Machine code of compiled graphs is kept on the disk: another process that compiles the same model makes none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import json, torch, ttc
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
compiled = torch.compile(model, backend="ttc", options={"target": "host", "fallback": False})
loss = compiled(torch.ones(5, 4)).square().sum()
loss.backward()
print(json.dumps({"loss": float(loss), **ttc.metrics.snapshot().flat()}))
"""


def ran(folder: Path) -> dict[str, Any]:
    environment = {**os.environ, "TTC_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


def test_a_second_process_makes_no_machine_code(tmp_path: Path) -> None:
    first, second = ran(tmp_path), ran(tmp_path)
    assert first["kernels_compiled"] > 0
    assert (second["kernels_compiled"], second["kernel_cache_misses"]) == (0, 0)
    assert second["kernel_cache_hits"] >= first["kernels_compiled"]
    assert second["loss"] == first["loss"]


def test_tensors_that_are_laid_out_otherwise_are_read_as_they_are() -> None:
    """A compiled graph runs on the memory of its inputs where that is laid out as usual, and on arrays of them where it is not."""
    graph = torch.compile(lambda a, b: a * 2 + b, backend="ttc", options={"target": "host", "fallback": False}, dynamic=False)
    base = torch.arange(24.0).reshape(4, 6)
    other = torch.ones(4, 6)
    bytes_ = bytearray(4 * 24 + 1)
    bytes_[1:] = base.numpy().tobytes()
    misaligned = torch.frombuffer(bytes_, dtype=torch.float32, offset=1, count=24).reshape(4, 6)
    negative = torch.complex(other, -base).conj().imag
    for x in (base, base.reshape(6, 4).T, torch.arange(48.0).reshape(4, 12)[:, ::2], misaligned, negative, base.expand(4, 6)):
        torch.testing.assert_close(graph(x, other), x * 2 + other, rtol=0, atol=0)
        torch.testing.assert_close(graph(other, x), other * 2 + x, rtol=0, atol=0)
