"""Lightning-Habana's names on `ttc.lightning`: where scripts import them from.  Lightning is loaded when the first of them is asked for."""

from __future__ import annotations

from types import ModuleType

from ttc.compat.names import lazy_submodule

_HOME = "ttc.compat.habana_strategies"
_REFUSED = {
    "HPUCheckpointIO": "Lightning's own CheckpointIO writes checkpoints",
    "HPUDataModule": "LightningDataModule loads data on the host",
    "MediaModule": "LightningDataModule loads data on the host",
}
"""Names of it that mean nothing here, with the reason."""
_STRATEGIES = ("HPUDDPStrategy", "HPUDeepSpeedStrategy", "HPUFSDPStrategy", "HPUParallelStrategy", "SingleHPUStrategy")
_PRECISIONS = ("HPUDeepSpeedPrecisionPlugin", "HPUFSDPPrecision", "HPUFSDPPrecisionPlugin", "HPUPrecisionPlugin")
_ALL = ("HPUAccelerator", "HPUProfiler", *_STRATEGIES, *_PRECISIONS)
_PLACES = {
    "": _ALL,
    "pytorch": _ALL,
    "pytorch.accelerator": ("HPUAccelerator",),
    "pytorch.profiler": ("HPUProfiler",),
    "pytorch.profiler.profiler": ("HPUProfiler",),
    "pytorch.strategies": _STRATEGIES,
    "pytorch.plugins": _PRECISIONS,
    "pytorch.plugins.fsdp_precision": ("HPUFSDPPrecision", "HPUFSDPPrecisionPlugin"),
    "pytorch.plugins.precision": _PRECISIONS,
}
"""Names by the module, within lightning_habana, that scripts import them from."""
SUBMODULES: dict[str, ModuleType] = {
    place: lazy_submodule("lightning_habana", place, _HOME, names, _REFUSED) for place, names in _PLACES.items() if place
}
"""SUBMODULES holds the modules inside lightning_habana by name."""
for _place, _module in SUBMODULES.items():
    _outer, _, _name = _place.rpartition(".")
    if _outer:
        setattr(SUBMODULES[_outer], _name, _module)
pytorch = SUBMODULES["pytorch"]
__getattr__ = lazy_submodule("lightning_habana", "", _HOME, _ALL, _REFUSED).__dict__["__getattr__"]
