"""Training with Lightning: `import ttc.lightning`, before or after lightning, and `Trainer(accelerator="ttc")` trains compiled models.

The accelerator puts compiled steps into the place of a model's own (steps); a precision plugin that computes on the CPU replaces
Lightning's, which would compute nothing in bfloat16 there (precision).
"""

from __future__ import annotations

from ttc.dialects.core.errors import Error

try:
    import lightning.pytorch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name not in ("lightning", "torch"):
        raise
    raise Error("E0104", f"ttc.lightning needs {error.name}, which is not installed", hint="pip install 'ttc[lightning]'") from None

from lightning.pytorch.accelerators import AcceleratorRegistry

from ttc.lightning.accelerator import TTCAccelerator
from ttc.lightning.callbacks import MetricsCallback
from ttc.lightning.pipeline import PipelineStrategy
from ttc.lightning.precision import TTCPrecision
from ttc.lightning.profiler import TTCProfiler
from ttc.lightning.sharded import ShardedStrategy

__all__ = ["MetricsCallback", "PipelineStrategy", "ShardedStrategy", "TTCAccelerator", "TTCPrecision", "TTCProfiler"]

TTCAccelerator.register_accelerators(AcceleratorRegistry)
