"""ttc: compile PyTorch, ONNX and TensorFlow models for tiled dataflow accelerators and the CPU, and run them.

compile, load, training, inference, generator, Device, Pipeline, Program, Executor, TrainingExecutor, InferenceExecutor, DataLoader,
Generator, Sampling, CompileOptions, RunOptions, Error, TtcWarning, the marks probe, mark_loss, stage, recompute and host, cut, and the
modules compat, dist, graphs, lightning, losses, metrics, nn, ops, optim and profiler: loaded when first asked for, so that `import ttc` is
cheap.
"""

from importlib import import_module as _import_module
from os import environ as _environ
from os import path as _path

TYPE_CHECKING = False  # type checkers know the name; loading `typing` or `pathlib` would put off when a command takes interrupts
if TYPE_CHECKING:
    from ttc import compat as compat
    from ttc import dist as dist
    from ttc import graphs as graphs
    from ttc import lightning as lightning
    from ttc import losses as losses
    from ttc import metrics as metrics
    from ttc import nn as nn
    from ttc import ops as ops
    from ttc import optim as optim
    from ttc import profiler as profiler
    from ttc.api import compile
    from ttc.dialects.core.errors import Error, TtcWarning
    from ttc.executors import inference, training
    from ttc.generation.entry import generator
    from ttc.generation.generator import Generator
    from ttc.generation.sampling import Sampling
    from ttc.loading import load
    from ttc.marks.ops import mark_loss, probe
    from ttc.marks.recomputed import recompute
    from ttc.marks.stages import stage
    from ttc.options import CompileOptions, RunOptions
    from ttc.pipeline.device import Device
    from ttc.pipeline.pipeline import Pipeline
    from ttc.runtime.executor import Executor
    from ttc.runtime.program import Program
    from ttc.stages.cutting import cut
    from ttc.train.executor import TrainingExecutor
    from ttc.train.hosted import host
    from ttc.train.inference import InferenceExecutor
    from ttc.train.loader import DataLoader

__version__ = "0.1.0"
__all__ = [
    "CompileOptions",
    "Device",
    "DataLoader",
    "Error",
    "Executor",
    "Generator",
    "InferenceExecutor",
    "Pipeline",
    "Program",
    "RunOptions",
    "Sampling",
    "TrainingExecutor",
    "TtcWarning",
    "compile",
    "cut",
    "generator",
    "host",
    "inference",
    "load",
    "mark_loss",
    "probe",
    "recompute",
    "stage",
    "training",
]

_root = _path.dirname(_path.dirname(_path.realpath(__file__)))
if _path.isdir(_path.join(_root, "dialects")) and _path.isfile(_path.join(_root, "pyproject.toml")):
    __path__.append(_root)  # a checkout: dialects/, passes/, runtime/ lie beside this folder

_HOMES = {
    "CompileOptions": "ttc.options",
    "Device": "ttc.pipeline.device",
    "DataLoader": "ttc.train.loader",
    "Error": "ttc.dialects.core.errors",
    "Executor": "ttc.runtime.executor",
    "Generator": "ttc.generation.generator",
    "InferenceExecutor": "ttc.train.inference",
    "Pipeline": "ttc.pipeline.pipeline",
    "Program": "ttc.runtime.program",
    "RunOptions": "ttc.options",
    "Sampling": "ttc.generation.sampling",
    "TrainingExecutor": "ttc.train.executor",
    "TtcWarning": "ttc.dialects.core.errors",
    "compile": "ttc.api",
    "cut": "ttc.stages.cutting",
    "generator": "ttc.generation.entry",
    "host": "ttc.train.hosted",
    "inference": "ttc.executors",
    "load": "ttc.loading",
    "mark_loss": "ttc.marks.ops",
    "probe": "ttc.marks.ops",
    "recompute": "ttc.marks.recomputed",
    "stage": "ttc.marks.stages",
    "training": "ttc.executors",
}


_MODULES = ("compat", "dist", "graphs", "lightning", "losses", "metrics", "nn", "ops", "optim", "profiler")
"""Modules of names that users write: ttc.losses.MSE(), ttc.optim.SGD(0.1), ttc.compat.install("poptorch")."""


def __getattr__(name: str) -> object:
    if name not in _MODULES and name not in _HOMES:
        raise AttributeError(f"module 'ttc' has no attribute '{name}'")
    try:
        home = _import_module(_HOMES.get(name, f"ttc.{name}"))
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("ttc."):
            raise
        from ttc.dialects.core.errors import Error

        raise Error("E0104", f"ttc.{name} belongs to the compiler, and only the runtime is installed", hint="pip install ttc") from None
    return home if name in _MODULES else getattr(home, name)


if _environ.get("TTC_PROFILE"):
    _import_module("ttc.profiler.variable").begin()
