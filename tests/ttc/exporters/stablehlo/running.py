"""Runs StableHLO text by jax, on its CPU."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def run_text(text: str, inputs: Sequence[NDArray]) -> list[NDArray]:
    """Compile a module, and run its function `main`.  Raises ImportError without jax."""
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)  # else jax hands over integers of 64 bits as those of 32
    client = importlib.import_module("jax.extend.backend").get_backend("cpu")
    program = client.compile_and_load(text, client.local_devices()[:1])
    results = program.execute_sharded([jax.device_put(value, client.local_devices()[0]) for value in inputs])
    return [np.asarray(shards[0]) for shards in results.disassemble_into_single_device_arrays()]
