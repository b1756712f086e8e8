"""Engines that `bench_peers.py` compares, each behind the same four calls; the process of an engine imports that engine alone."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "tests" / "data" / "models" / "models.py"


@dataclass(frozen=True)
class Job:
    """What an engine is asked to run.

    Args:
        model: the ONNX file; the inputs lie beside it as NAME.in<i>.npy.
        built: what was made of the model before, by a compiler that works ahead of time: an archive of ours, a module of IREE.
        threads: CPU threads.
        ours: which of our engines.
    """

    model: Path
    built: Path | None
    threads: int
    ours: str

    def inputs(self) -> list[NDArray[Any]]:
        """Return the arrays, in the model's order."""
        found: list[NDArray[Any]] = []
        while (path := self.model.with_name(f"{self.model.stem}.in{len(found)}.npy")).exists():
            found.append(np.load(path, allow_pickle=False))
        return found


class Engine(Protocol):
    """Runs models: making one imports what it needs; `open` loads the model; `run` computes once; `arrays` are the outputs in the model's
    order.
    """

    def open(self) -> None: ...

    def run(self) -> Any: ...

    def arrays(self, outputs: Any) -> list[NDArray[Any]]: ...


class Ours:
    """Runs an archive of ours."""

    def __init__(self, job: Job) -> None:
        import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
        import ttc
        import ttc.runtime.loader
        from ttc.runtime.engines.table import engine_named

        engine_named(job.ours, job.threads)  # `import ttc` alone loads next to nothing
        self._ttc, self._job, self._given = ttc, job, job.inputs()

    def open(self) -> None:
        """Check the archive and make its plans."""
        from ttc.runtime.arguments import inputs_of

        self._executor = self._ttc.load(str(self._job.built), threads=self._job.threads, engine=self._job.ours)
        names = [argument.name for argument in inputs_of(self._executor.program.entry("forward"))]
        self._inputs = dict(zip(names, self._given, strict=True))

    def run(self) -> Any:
        """Return outputs by name."""
        return self._executor.run(self._inputs)

    def arrays(self, outputs: Any) -> list[NDArray[Any]]:
        """Return outputs in order, text as numpy's own."""
        return [np.asarray(array, "U") if array.dtype.kind == "O" else array for array in outputs.values()]


def onnxruntime_arrays(outputs: Sequence[Any]) -> list[NDArray[Any]]:
    """Return outputs as arrays: text as numpy's own, items of a sequence each by itself, a list of maps as a row of values for each map."""
    found: list[NDArray[Any]] = []
    for value in outputs:
        maps = isinstance(value, list) and value and isinstance(value[0], dict)
        items = [np.array([[*row.values()] for row in value])] if maps else value if isinstance(value, list) else [value]
        found += [array.astype("U") if array.dtype.kind == "O" else array for array in map(np.asarray, items)]
    return found


class OnnxRuntime:
    """onnxruntime on its own CPU provider, all optimizations."""

    def __init__(self, job: Job) -> None:
        import onnxruntime

        self._ort, self._job, self._given = onnxruntime, job, job.inputs()

    def open(self) -> None:
        """Open a session with its threads fixed."""
        options = self._ort.SessionOptions()
        options.intra_op_num_threads = self._job.threads
        options.inter_op_num_threads = 1
        self._session = self._ort.InferenceSession(str(self._job.model), options, providers=["CPUExecutionProvider"])
        self._inputs = {port.name: array for port, array in zip(self._session.get_inputs(), self._given, strict=True)}

    def run(self) -> Any:
        """Return a list of arrays."""
        return self._session.run(None, self._inputs)

    def arrays(self, outputs: Any) -> list[NDArray[Any]]:
        """Return outputs as `onnxruntime_arrays` does."""
        return onnxruntime_arrays(outputs)


class OpenVino:
    """OpenVINO's CPU plugin with the hint for latency, one stream, inputs and outputs shared with numpy."""

    precision = "f32"

    def __init__(self, job: Job) -> None:
        import openvino

        self._openvino, self._job, self._given = openvino, job, job.inputs()

    def open(self) -> None:
        """Compile the model, and make its request."""
        settings = {
            "INFERENCE_PRECISION_HINT": self.precision,
            "INFERENCE_NUM_THREADS": str(self._job.threads),
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": "1",
        }
        compiled = self._openvino.Core().compile_model(str(self._job.model), "CPU", settings)
        self._request = compiled.create_infer_request()
        self._inputs = dict(enumerate(self._given))

    def run(self) -> Any:
        """Return outputs by port, views of the request's memory."""
        return self._request.infer(self._inputs, share_inputs=True, share_outputs=True)

    def arrays(self, outputs: Any) -> list[NDArray[Any]]:
        """Return copies of outputs: the next run writes over the request's memory."""
        return [np.array(value, np.float32) for value in outputs.values()]


class OpenVinoBf16(OpenVino):
    """OpenVINO's CPU plugin, computing in bfloat16."""

    precision = "bf16"


class Torch:
    """Eager PyTorch, on the module that the ONNX file was exported from."""

    def __init__(self, job: Job) -> None:
        import torch

        torch.set_num_threads(job.threads)
        self._torch, self._job, self._given = torch, job, job.inputs()

    def open(self) -> None:
        """Build the module, with the same seeded weights."""
        spec = importlib.util.spec_from_file_location("models", MODELS)
        if spec is None or spec.loader is None:
            raise SystemExit(f"cannot load {MODELS}")
        models = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(models)
        self._call = self._ready(models.build(self._job.model.stem)[0])
        self._inputs = [self._torch.from_numpy(array) for array in self._given]

    def _ready(self, module: Any) -> Callable[..., Any]:
        return module

    def run(self) -> Any:
        """Return a tensor."""
        with self._torch.no_grad():
            return self._call(*self._inputs)

    def arrays(self, outputs: Any) -> list[NDArray[Any]]:
        """Return the tensor as an array."""
        return [outputs.numpy()]


class TorchCompile(Torch):
    """torch.compile with the parameters frozen."""

    def _ready(self, module: Any) -> Callable[..., Any]:
        import torch._inductor.config as inductor

        inductor.freezing = True
        return self._torch.compile(module)


class Iree:
    """IREE's llvm-cpu backend for this CPU, from a module built before."""

    def __init__(self, job: Job) -> None:
        import iree.runtime

        self._iree, self._job, self._given = iree.runtime, job, job.inputs()

    def open(self) -> None:
        """Map the module, on a driver with its threads fixed; inputs lie in the driver's memory."""
        self._iree.flags.parse_flags(f"--task_topology_max_group_count={self._job.threads}")
        config = self._iree.Config("local-task")
        module = self._iree.VmModule.mmap(config.vm_instance, str(self._job.built))
        bound = self._iree.load_vm_module(module, config)
        names = [name for name in module.function_names if not name.startswith("__") and not name.endswith("$async")]
        self._call = bound[names[0]]
        self._inputs = [self._iree.asdevicearray(config.device, array) for array in self._given]

    def run(self) -> Any:
        """Return an array of the device, ready."""
        found = self._call(*self._inputs)
        first = found[0] if isinstance(found, tuple | list) else found
        first.to_host()
        return found

    def arrays(self, outputs: Any) -> list[NDArray[Any]]:
        """Return the array on the host."""
        found = outputs if isinstance(outputs, tuple | list) else [outputs]
        return [item.to_host() for item in found]


class Tflite:
    """TensorFlow's interpreter of `.tflite` files, with its XNNPACK kernels, or with its own."""

    def __init__(self, job: Job, *, delegates: bool = True) -> None:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow

        self._tensorflow, self._job, self._given = tensorflow, job, job.inputs()
        self._kernels = "AUTO" if delegates else "BUILTIN_WITHOUT_DEFAULT_DELEGATES"

    def open(self) -> None:
        """Open an interpreter with the sizes of the inputs."""
        lite = self._tensorflow.lite
        kernels = lite.experimental.OpResolverType[self._kernels]
        self._interpreter = lite.Interpreter(str(self._job.model), num_threads=self._job.threads, experimental_op_resolver_type=kernels)
        self._ports = [port["index"] for port in self._interpreter.get_input_details()]
        for index, array in zip(self._ports, self._given, strict=True):
            self._interpreter.resize_tensor_input(index, array.shape)
        self._interpreter.allocate_tensors()
        self._outputs = [port["index"] for port in self._interpreter.get_output_details()]

    def run(self) -> Any:
        """Return copies of the outputs."""
        for index, array in zip(self._ports, self._given, strict=True):
            self._interpreter.set_tensor(index, array)
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(index) for index in self._outputs]

    def arrays(self, outputs: Any) -> list[NDArray[Any]]:
        """Return the outputs as they are."""
        return list(outputs)


class TensorFlow:
    """The signature `serving_default` of a SavedModel, in a session of TensorFlow, which loads models of all its versions."""

    def __init__(self, job: Job) -> None:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow

        self._tensorflow, self._job, self._given = tensorflow.compat.v1, job, job.inputs()

    def open(self) -> None:
        """Load the model; its inputs and outputs in the order of their names."""
        threads = self._tensorflow.ConfigProto(intra_op_parallelism_threads=self._job.threads, inter_op_parallelism_threads=1)
        session = self._tensorflow.Session(graph=self._tensorflow.Graph(), config=threads)
        signature = saved_signature(self._tensorflow, session, self._job.model)
        inputs = [port.name for _, port in sorted(signature.inputs.items())]
        outputs = [port.name for _, port in sorted(signature.outputs.items())]
        call = session.make_callable(outputs, inputs)
        self._call = lambda: call(*(a.astype(object) if a.dtype.kind == "U" else a for a in self._given))

    def run(self) -> Any:
        """Return a list of arrays."""
        return self._call()

    def arrays(self, outputs: Any) -> list[NDArray[Any]]:
        """Return the outputs as they are, text as numpy's own."""
        return [np.char.decode(a.astype("S"), "utf-8") if a.dtype.kind == "O" else a for a in outputs]


def saved_signature(tensorflow: Any, session: Any, path: Path) -> Any:
    """Load a SavedModel into a session of tensorflow.compat.v1, and return its signature `serving_default`."""
    return tensorflow.saved_model.load(session, ["serve"], str(path)).signature_def["serving_default"]


class TorchExported:
    """An exported program of PyTorch, run eagerly."""

    def __init__(self, job: Job) -> None:
        import torch

        torch.set_num_threads(job.threads)
        self._torch, self._job, self._given = torch, job, job.inputs()

    def open(self) -> None:
        """Open the program as a module."""
        self._call = self._torch.export.load(self._job.model).module()
        self._inputs = [self._torch.from_numpy(array) for array in self._given]

    def run(self) -> Any:
        """Return whatever the program returns."""
        with self._torch.no_grad():
            return self._call(*self._inputs)

    def arrays(self, outputs: Any) -> list[NDArray[Any]]:
        """Return the tensors among the outputs as arrays, in order."""
        leaves = self._torch.utils._pytree.tree_leaves(outputs)
        return [leaf.float().numpy() if leaf.dtype == self._torch.bfloat16 else leaf.numpy() for leaf in leaves]


OURS: Mapping[str, tuple[str, ...]] = {
    "ours": ("--target", "host"),
    "ours-n150": ("--target", "n150"),
    "ours-high": ("--target", "host", "--precision", "high"),
    "ours-bf16": ("--target", "host", "--precision", "bfloat16"),
}
"""Flags of `ttc compile` by what runs the archive."""

ENGINES: Mapping[str, Callable[[Job], Engine]] = {
    **dict.fromkeys(OURS, Ours),
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
    "openvino-bf16": OpenVinoBf16,
    "torch-compile": TorchCompile,
    "torch": Torch,
    "iree": Iree,
    "tflite": Tflite,
    "tensorflow": TensorFlow,
    "torch-exported": TorchExported,
}
DEFAULT = tuple(name for name in ENGINES if name not in ("iree", "tflite", "tensorflow", "torch-exported"))
"""The engines that are compared unless others are named: IREE takes up to half a minute to compile a model; others read no ONNX."""
