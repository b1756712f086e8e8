"""Runs exported modules on the stand-in for TT-NN."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any

import pytest
from safetensors.torch import load

from tests.ttc.exporters.ttnn import stand_in


def prepared(files: Mapping[str, bytes], ttnn: Any = stand_in, device: stand_in.Device | None = None) -> Any:
    """The exported module, prepared.  ttnn: what it imports by this name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "ttnn", ttnn)
        module = types.ModuleType("exported")
        exec(compile(files["model.py"], "model.py", "exec"), vars(module))
        module.prepare(device or stand_in.Device(), load(files["weights.safetensors"]))
    return module


def run_module(
    files: Mapping[str, bytes], inputs: Mapping[str, Any], ttnn: Any = stand_in, device: stand_in.Device | None = None
) -> dict[str, Any]:
    """What the exported module gives, tensors of torch by name.  ttnn: what it imports by this name."""
    device = device or stand_in.Device()
    return prepared(files, ttnn, device).forward(device, inputs)
