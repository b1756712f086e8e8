"""Training over processes: `torch.distributed` carries it, and each process compiles the stages of a model that are its own.

What `__all__` names is loaded when first asked for: the package loads no torch.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ttc.dist.clipping import clip_grad_norm_
    from ttc.dist.cutting import partition
    from ttc.dist.parts import linearize
    from ttc.dist.processes import Mesh, mesh
    from ttc.dist.runner import Runner, StepResult
    from ttc.dist.saving import save_stages
    from ttc.dist.sharded import Sharded, shard

__all__ = ["Mesh", "Runner", "Sharded", "StepResult", "clip_grad_norm_", "linearize", "mesh", "partition", "save_stages", "shard"]
_HOMES = {
    "Mesh": "processes",
    "Runner": "runner",
    "Sharded": "sharded",
    "StepResult": "runner",
    "clip_grad_norm_": "clipping",
    "linearize": "parts",
    "mesh": "processes",
    "partition": "cutting",
    "save_stages": "saving",
    "shard": "sharded",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'ttc.dist' has no attribute '{name}'")
    return getattr(_import_module(f"ttc.dist.{_HOMES[name]}"), name)
