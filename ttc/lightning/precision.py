"""Precisions that mean something on ttc, and those that do not."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch
from lightning.pytorch.plugins.precision import HalfPrecision, Precision
from lightning.pytorch.strategies import Strategy

from ttc.dialects.core.errors import Error, nearest

PRECISIONS = ("32-true", "bf16-mixed", "bf16-true")
"""Precisions that a Trainer on ttc takes."""
_FLOAT16 = "float16 has a small range, for which losses must be scaled; bfloat16 has that of float32"
REFUSED = {
    "16-mixed": _FLOAT16,
    "16-true": _FLOAT16,
    "64-true": "nothing trains in float64 here; 32-true is the most exact one",
    "transformer-engine": "it is a library for CUDA",
    "transformer-engine-float16": "it is a library for CUDA",
}
"""Precisions of Lightning that a Trainer on ttc does not take, with the reason."""
_OWN_MODULES = ("lightning.pytorch.plugins.precision.", "lightning.fabric.plugins.precision.")


class TTCPrecision(HalfPrecision):
    """The precision in which compiled steps compute.

    32-true: float32.  bf16-mixed: parameters are float32; products and convolutions take and give bfloat16, as PyTorch's autocast says.
    bf16-true: parameters and inputs are bfloat16.

    Args:
        precision: one of them.
    Raises: E0101 for any other, with the reason.
    """

    def __init__(self, precision: str = "32-true") -> None:
        if precision in REFUSED:
            raise Error("E0101", f"there is no precision '{precision}' on ttc: {REFUSED[precision]}", hint=", ".join(PRECISIONS))
        if precision not in PRECISIONS:
            raise Error("E0101", f"there is no precision '{str(precision)[:40]}'", hint=nearest(str(precision), PRECISIONS))
        super().__init__("bf16-true")
        self.precision: Any = precision
        if precision != "bf16-true":
            self._desired_input_dtype = torch.float32

    def convert_module(self, module: torch.nn.Module) -> torch.nn.Module:
        """Return the model with parameters of the type that they have in this precision; others than bf16-true leave them as they are."""
        return super().convert_module(module) if self.precision == "bf16-true" else module

    def convert_input(self, data: Any) -> Any:
        """Return a batch with tensors of the type that inputs have in this precision; others than bf16-true leave them as they are."""
        return super().convert_input(data) if self.precision == "bf16-true" else data

    @contextmanager
    def forward_context(self) -> Generator[None, None, None]:
        """Run steps in the precision."""
        if self.precision == "bf16-true":
            with super().forward_context():
                yield
        else:
            with torch.autocast("cpu", torch.bfloat16, enabled=self.precision == "bf16-mixed", cache_enabled=False):
                yield


def use_precision(strategy: Strategy) -> None:
    """Give a strategy this package's plugin for the precision that Lightning's asks for; plugins of others stay.

    Lightning's own would ask for CUDA's bfloat16, and so compute in float32.  Raises E0101 for a precision that means nothing here.
    """
    plugin: Precision = strategy.precision_plugin
    if type(plugin).__module__.startswith(_OWN_MODULES):
        strategy.precision_plugin = TTCPrecision(str(plugin.precision))
