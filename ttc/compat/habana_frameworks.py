"""Names of habana_frameworks.torch on `ttc.graphs` and `ttc.metrics`: where scripts import them from.

`torch.compile(backend="hpu_backend")` is the backend `ttc`.  PyTorch is loaded when the first name is asked for.
"""

from __future__ import annotations

import os
from types import ModuleType

from ttc.compat.names import lazy_submodule
from ttc.dialects.core.errors import warn

_HOME = "ttc.compat.habana_torch"
_STREAMS = "work is done when a call returns"
REFUSED: dict[str, str] = {
    **dict.fromkeys(("Stream", "Event", "stream", "current_stream", "default_stream"), _STREAMS),
    "random": "torch.manual_seed",
    "memory": "ttc.metrics has the memory of programs",
    "FusedAdamW": "torch.optim.AdamW",
    "FusedClipNorm": "torch.nn.utils.clip_grad_norm_",
    "enable_recompute_FusedSDPA": "ttc compiles torch's scaled_dot_product_attention",
    "hmp": "torch.autocast computes in bfloat16",
    "memory_defragmentation": "memory is planned before a run",
}
"""Names that mean nothing here, with the reason."""
_HPU = (
    *("HPUGraph", "graph", "make_graphed_callables", "ModuleCacher", "wrap_in_hpu_graph"),
    *("is_available", "device_count", "synchronize", "current_device", "get_device_name"),
)
_METRICS = ("metric_global", "metric_localcontext", "metrics_dump")
_PLACES = {
    "torch": ("mark_step",),
    "torch.core": ("mark_step",),
    "torch.hpu": _HPU,
    "torch.hpu.metrics": _METRICS,
    "torch.hpu.graphs": _HPU[:5],
    "torch.distributed": (),
    "torch.distributed.hccl": ("initialize_distributed_hpu",),
}
"""Names by the module, within habana_frameworks, that scripts import them from."""
SUBMODULES: dict[str, ModuleType] = {
    place: lazy_submodule("habana_frameworks", place, _HOME, names, REFUSED) for place, names in _PLACES.items()
}
"""SUBMODULES holds the modules inside habana_frameworks by name."""
for _place, _module in SUBMODULES.items():
    _outer, _, _name = _place.rpartition(".")
    if _outer:
        setattr(SUBMODULES[_outer], _name, _module)
SUBMODULES["torch.core"].__dict__["hpu"] = SUBMODULES["torch.hpu"]
torch = SUBMODULES["torch"]
__getattr__ = lazy_submodule("habana_frameworks", "", _HOME, (), REFUSED).__dict__["__getattr__"]
for _variable, _ours in {"HABANA_VISIBLE_MODULES": "TTC_VISIBLE_DEVICES", "HABANA_PROFILE": "TTC_PROFILE"}.items():
    if _variable in os.environ:
        warn(f"{_variable} is {_ours} in ttc, and is not read")
