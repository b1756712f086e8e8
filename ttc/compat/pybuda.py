"""PyBuda's names on ttc: modules, devices, the run API, ops, options.

Scripts of PyBuda run unchanged: devices are stages of a `ttc.Pipeline`, which this machine computes as they would.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ttc import optim
from ttc.compat.names import refusing, submodule
from ttc.compat.pybuda_config import MODULE, OVERRIDES
from ttc.compat.pybuda_config import REFUSED as REFUSED_OVERRIDES
from ttc.compat.pybuda_devices import CPUDevice, Device, TTDevice
from ttc.compat.pybuda_enums import BackendDevice, BackendType, DataFormat, MathFidelity
from ttc.compat.pybuda_modules import Module, OnnxModule, Parameter, PyBudaModule, PyTorchModule, Tensor, TFLiteModule, TFModule
from ttc.compat.pybuda_op import OP
from ttc.compat.pybuda_run import CALLS

__all__ = [
    "BackendDevice",
    "BackendType",
    "CPUDevice",
    "DataFormat",
    "Device",
    "MathFidelity",
    "Module",
    "OnnxModule",
    "Parameter",
    "PyBudaModule",
    "PyTorchModule",
    "TFLiteModule",
    "TFModule",
    "TTDevice",
    "Tensor",
]


def _optimizer(kind: type[Any], names: dict[str, str]) -> Any:
    """An optimizer of PyBuda as the record of ttc, its settings by PyBuda's names."""

    def made(learning_rate: float = 1e-3, device_params: bool = False, parameters: Any = None, **settings: Any) -> Any:
        return kind(lr=float(learning_rate), **{names.get(name, name): value for name, value in settings.items()})

    return made


_OPTIMIZERS = {
    "SGD": _optimizer(optim.SGD, {}),
    "Adam": _optimizer(optim.Adam, {"epsilon": "eps"}),
    "AdamW": _optimizer(optim.AdamW, {"epsilon": "eps"}),
    "LAMB": _optimizer(optim.LAMB, {"correction": "bias_correction"}),
    "LARS": _optimizer(optim.LARS, {"lars_coeff": "coefficient"}),
}
SUBMODULES: dict[str, ModuleType] = {
    "op": OP,
    "config": MODULE,
    "optimizers": submodule("pybuda", "optimizers", _OPTIMIZERS),
    "schedulers": submodule(
        "pybuda", "schedulers", {}, {"LearningRateScheduler": "ttc.Pipeline(scheduler=) takes schedules as text, or torch's on the CPU"}
    ),
    "verify": submodule(
        "pybuda",
        "verify",
        {},
        dict.fromkeys(("verify_module", "VerifyConfig", "verify_module_pipeline"), "verify='torch' of ttc.Pipeline compares every stage"),
    ),
}
"""SUBMODULES holds the modules inside pybuda by name."""
REFUSED: dict[str, str] = {
    **REFUSED_OVERRIDES,
    **dict.fromkeys(("VerifyConfig", "verify_module"), "verify='torch' of ttc.Pipeline compares every stage"),
    **dict.fromkeys(("PerfTraceLevel", "DeviceMode", "CompilerConfig"), "set_configuration_options sets what there is"),
    **dict.fromkeys(
        ("GPUDevice", "MXNetModule", "JaxModule", "TFGraphDefModule"), "ttc imports PyTorch, ONNX and TensorFlow, for CPU and tiles"
    ),
    "run_generate": "ttc.generator generates tokens",
    "query": "rules of placement match names by shell patterns",
    "get_intermediates_queue": "`taps` of ttc.Pipeline",
}
"""Names that mean nothing here, with the reason."""
globals().update(CALLS)
globals().update(OVERRIDES)
globals().update(SUBMODULES)
__getattr__ = refusing("pybuda", REFUSED)
