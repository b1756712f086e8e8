"""Train a model of a file where no framework is loaded, in a process of its own, for `check_training.py` and `check_keras_training.py`.

    python training_files.py MODEL LOSS OPTIMIZER ACCUMULATE ROWS.npz WEIGHTS.npz [BATCH]

ROWS.npz: `x` and `y`: [updates, rows, ...].  WEIGHTS.npz: gradients of the first update, as `gradient.NAME`, and weights after all of them,
as `weight.NAME`.  BATCH: rows of a microbatch, of models that leave them open.  Exit status 1 where a framework was loaded after all.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import checkout  # noqa: F401
import ttc

FRAMEWORKS = ("torch", "tensorflow", "keras", "jax", "onnxruntime")
"""Modules that training must not load."""


def main() -> int:
    """Train as the command line says, save gradients and weights, and tell of frameworks that were loaded, which is status 1."""
    model, loss, optimizer, accumulate, rows, weights, *batch = sys.argv[1:]
    with np.load(rows) as bundle:
        batches = list(zip(bundle["x"], bundle["y"], strict=True))
    options = {"loss": loss, "optimizer": optimizer, "accumulate": int(accumulate), "target": "host", "threads": 1, "output": "loss"}
    options |= {"batch": int(batch[0])} if batch else {}
    with ttc.training(Path(model), **options) as executor:
        x, y = batches[0]
        for part, target in zip(np.split(x, int(accumulate)), np.split(y, int(accumulate)), strict=True):
            executor.forward(part)
            executor.backward(target)
        found = {f"gradient.{name}": value for name, value in executor.grads().items()}
        for x, y in batches:
            executor(x, y)
        found |= {f"weight.{name}": value for name, value in executor.weights().items()}
    np.savez(weights, **found)
    loaded = [name for name in FRAMEWORKS if name in sys.modules]
    print(f"frameworks that were loaded: {', '.join(loaded) or 'none'}", file=sys.stderr)
    return 1 if loaded else 0


if __name__ == "__main__":
    sys.exit(main())
