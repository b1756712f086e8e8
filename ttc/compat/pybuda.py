"""PyBuda's names on ttc: modules, devices, the run API, ops, options.

Scripts of PyBuda run unchanged: devices are stages of a `ttc.Pipeline`, which this machine computes as they would.
"""

from __future__ import annotations

from types import ModuleType

from ttc.compat import pybuda_enums as enums
from ttc.compat.names import Refusing, submodule
from ttc.compat.pybuda_compiler import CompilerConfig, _get_global_compiler_config
from ttc.compat.pybuda_config import MODULE, OVERRIDES
from ttc.compat.pybuda_config import REFUSED as REFUSED_OVERRIDES
from ttc.compat.pybuda_devices import CPUDevice, Device, TTDevice
from ttc.compat.pybuda_image import TTDeviceImage
from ttc.compat.pybuda_modules import Module, OnnxModule, Parameter, PyBudaModule, PyTorchModule, Tensor, TFLiteModule, TFModule
from ttc.compat.pybuda_op import OP, OPS_INNER
from ttc.compat.pybuda_optim import OPTIMIZERS, SCHEDULERS
from ttc.compat.pybuda_query import QUERY
from ttc.compat.pybuda_run import CALLS
from ttc.compat.pybuda_verified import VERIFY
from ttc.compat.pybuda_verify import TestKind, config

_ENUMS = {
    kind.__name__: kind
    for kind in (
        *(enums.BackendDevice, enums.BackendType, enums.DataFormat, enums.MathFidelity, enums.DeviceMode, enums.PerfTraceLevel),
        enums.DRAMPlacementAlgorithm,
    )
}
_MODULES = {kind.__name__: kind for kind in (Module, OnnxModule, PyBudaModule, PyTorchModule, TFLiteModule, TFModule)}
_DEVICES = {kind.__name__: kind for kind in (CPUDevice, Device, TTDevice, TTDeviceImage)}
_OTHERS = {"Tensor": Tensor, "Parameter": Parameter, "CompilerConfig": CompilerConfig, "VerifyConfig": config, "TestKind": TestKind}
_GLOBALS = {"TILE_DIM": 32, **{name: CALLS[name] for name in ("pybuda_reset", "set_device_pipeline")}}
MODULE.__dict__.update(_get_global_compiler_config=_get_global_compiler_config, CompilerConfig=CompilerConfig)
_BACKEND = submodule("pybuda._C", "backend_api", _ENUMS)
SUBMODULES: dict[str, ModuleType] = {
    **{"op": OP, "config": MODULE, "optimizers": OPTIMIZERS, "schedulers": SCHEDULERS, "query": QUERY, **OPS_INNER, **VERIFY},
    "_C": submodule("pybuda", "_C", {**_ENUMS, "backend_api": _BACKEND}),
    "_C.backend_api": _BACKEND,
    "module": submodule("pybuda", "module", _MODULES),
    **{part: submodule("pybuda", part, _DEVICES) for part in ("device", "ttdevice", "cpudevice", "ttdeviceimage")},
    "tensor": submodule("pybuda", "tensor", {"Tensor": Tensor}),
    "parameter": submodule("pybuda", "parameter", {"Parameter": Parameter}),
    "pybudaglobal": submodule("pybuda", "pybudaglobal", _GLOBALS),
    "run": submodule("pybuda", "run", CALLS),
}
"""SUBMODULES holds the modules inside pybuda by name."""
REFUSED: dict[str, str] = {
    **REFUSED_OVERRIDES,
    **dict.fromkeys(
        ("GPUDevice", "MXNetModule", "JaxModule", "TFGraphDefModule"), "ttc imports PyTorch, ONNX and TensorFlow, for CPU and tiles"
    ),
    "run_generate": "ttc.generator generates tokens",
    "transformers": "pipelines of transformers run a model of ttc as they run one of PyTorch: torch.compile(model, backend='ttc')",
}
"""Names that mean nothing here, with the reason."""
globals().update(CALLS, **OVERRIDES, **_ENUMS, **_MODULES, **_DEVICES, **_OTHERS)
globals().update({name: made for name, made in SUBMODULES.items() if "." not in name})
__path__: list[str] = []
__getattr__ = Refusing("pybuda", REFUSED)
