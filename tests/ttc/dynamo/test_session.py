"""Machine code of compiled graphs is kept on the disk: another process that compiles the same model makes none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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
