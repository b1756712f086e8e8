"""Models that converters make, for `real_models.py`: PyTorch's exporters, and onnxruntime's quantizers and optimizers.

    python tools/real_converted.py SOURCE FILE PATH

writes one of them to a path, with its inputs beside it: each in a process of its own, since frameworks keep memory.
The networks are those of tests/data/models/models.py, with random weights.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
from bench_engines import MODELS
from bench_measure import environment
from real_catalogue import Model

PIPELINES = Path(__file__).with_name("real_pipelines.py")


@dataclass(frozen=True)
class Recipe:
    """How one model is made.

    Args:
        source: the converter.
        file: the name of what it writes.
        make: writes the file into a folder, and its inputs as NAME.in<i>.npy beside it.
        exactness: whose bounds its results keep: quantizers round, and the order of sums decides ties.
    """

    source: str
    file: str
    make: Callable[[Path], None]
    exactness: str = "FLOAT32"


# ---- PyTorch ---------------------------------------------------------------------------------------------------------------------


def network(name: str) -> tuple[Any, tuple[Any, ...]]:
    """Return a network with random weights, and example inputs."""
    spec = importlib.util.spec_from_file_location("models", MODELS)
    if spec is None or spec.loader is None:
        raise SystemExit(f"cannot load {MODELS}")
    models = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(models)
    return models.build(name)


def _save_inputs(path: Path, inputs: tuple[Any, ...]) -> None:
    for index, tensor in enumerate(inputs):
        np.save(path.with_name(f"{path.stem}.in{index}.npy"), tensor.numpy())


def exported(name: str) -> Callable[[Path], None]:
    """Return what saves a network as an exported program."""

    def make(path: Path) -> None:
        import torch

        module, inputs = network(name)
        torch.export.save(torch.export.export(module, inputs), path)
        _save_inputs(path, inputs)

    return make


def as_onnx(name: str, *, dynamo: bool) -> Callable[[Path], None]:
    """Return what writes a network as ONNX, by the exporter of torch.export or by that of TorchScript."""

    def make(path: Path) -> None:
        import torch

        module, inputs = network(name)
        settings: dict[str, Any] = {"external_data": False, "verbose": False} if dynamo else {}
        with torch.no_grad():
            torch.onnx.export(module, inputs, path, dynamo=dynamo, opset_version=18, **settings)
        _save_inputs(path, inputs)

    return make


# ---- onnxruntime -----------------------------------------------------------------------------------------------------------------


def rewritten(name: str, rewrite: Callable[[Path, Path], None]) -> Callable[[Path], None]:
    """Return what exports a network, and writes what onnxruntime's tools make of the file."""

    def make(path: Path) -> None:
        plain = path.with_name(f"{path.stem}.plain.onnx")
        as_onnx(name, dynamo=True)(plain)
        rewrite(plain, path)
        for file in path.parent.glob(f"{plain.stem}.in*.npy"):
            file.rename(path.with_name(file.name.replace(".plain.", ".")))
        plain.unlink()

    return make


def quantize_dynamic(plain: Path, path: Path) -> None:
    """Quantize weights to 8 bits; activations are quantized as the model runs."""
    from onnxruntime.quantization import quantize_dynamic as quantize

    quantize(plain, path)


def quantize_static(form: str) -> Callable[[Path, Path], None]:
    """Return what quantizes weights and activations to 8 bits, in a form: QDQ or QOperator."""

    def rewrite(plain: Path, path: Path) -> None:
        from onnxruntime import quantization

        class Reader(quantization.CalibrationDataReader):
            def __init__(self) -> None:
                files = sorted(plain.parent.glob(f"{plain.stem}.in*.npy"))
                names = [port.name for port in _graph(plain).input]
                self._rows = iter([{name: np.load(file) for name, file in zip(names, files, strict=True)}])

            def get_next(self) -> Any:
                return next(self._rows, None)

        quantization.quantize_static(plain, path, Reader(), quant_format=quantization.QuantFormat[form], per_channel=form == "QDQ")

    return rewrite


def quantize_blocks(plain: Path, path: Path) -> None:
    """Quantize weights of matrix products to 4 bits with a scale for every 32 of them."""
    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
    from onnxruntime.quantization.onnx_model import ONNXModel

    quantizer = MatMulNBitsQuantizer(onnx.load(plain), block_size=32, is_symmetric=True)
    quantizer.process()
    assert isinstance(quantizer.model, ONNXModel)  # what other algorithms than the default leave there is none
    quantizer.model.save_model_to_file(str(path))


def optimize_session(plain: Path, path: Path) -> None:
    """Write the graph as onnxruntime's session optimizes it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(str(plain), options, providers=["CPUExecutionProvider"])


def optimize_transformer(kind: str) -> Callable[[Path, Path], None]:
    """Return what fuses attention, layer norms and GELU by onnxruntime's optimizer of transformers."""

    def rewrite(plain: Path, path: Path) -> None:
        from onnxruntime.transformers import optimizer

        optimizer.optimize_model(str(plain), model_type=kind, num_heads=12, hidden_size=768).save_model_to_file(str(path))

    return rewrite


def to_float16(plain: Path, path: Path) -> None:
    """Keep weights and compute in float16; inputs and outputs stay float32."""
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(plain), keep_io_types=True), path)


def _graph(path: Path) -> Any:
    import onnx

    return onnx.load(path).graph


# ---- all -------------------------------------------------------------------------------------------------------------------------

RECIPES: tuple[Recipe, ...] = (
    *(Recipe("torch.export", f"{name}.pt2", exported(name)) for name in ("cnn", "mobilenetv2", "unet", "bert", "vit", "gpt2")),
    *(
        Recipe("torch.onnx", f"{name}.onnx", as_onnx(name, dynamo=True))
        for name in ("mlp", "resnet50", "mobilenetv2", "bert", "vit", "gpt2")
    ),
    *(Recipe("torch.onnx of TorchScript", f"{name}.onnx", as_onnx(name, dynamo=False)) for name in ("cnn", "mobilenetv2", "unet")),
    *(Recipe("quantize_dynamic", f"{name}.onnx", rewritten(name, quantize_dynamic), "BITS16") for name in ("mlp", "bert", "gpt2")),
    *(
        Recipe("quantize_static QDQ", f"{n}.onnx", rewritten(n, quantize_static("QDQ")), "BITS8")
        for n in ("cnn", "mobilenetv2", "resnet50")
    ),
    *(
        Recipe("quantize_static QOperator", f"{n}.onnx", rewritten(n, quantize_static("QOperator")), "BITS8")
        for n in ("cnn", "mobilenetv2")
    ),
    *(Recipe("MatMulNBitsQuantizer", f"{name}.onnx", rewritten(name, quantize_blocks), "BITS16") for name in ("mlp", "bert")),
    *(Recipe("SessionOptions", f"{name}.onnx", rewritten(name, optimize_session)) for name in ("cnn", "resnet50", "bert", "gpt2")),
    *(Recipe("optimizer of transformers", f"{n}.onnx", rewritten(n, optimize_transformer(n))) for n in ("bert", "vit")),
    *(Recipe("float16", f"{name}.onnx", rewritten(name, to_float16), "BITS16") for name in ("mobilenetv2", "bert")),
)


def pipelines(folder: Path) -> Iterator[Model]:
    """Return pipelines of scikit-learn, XGBoost and LightGBM, all made if there is none yet. Raises CalledProcessError."""
    place = folder / "pipelines"
    if not place.is_dir():
        made = place.with_name("pipelines.tmp")
        alone = environment(1)  # small data: threads of these libraries would wait for each other most of the time
        command = [sys.executable, str(PIPELINES), str(made)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=alone)
        made.rename(place)
    for path in sorted(place.glob("*.onnx")):
        yield Model("skl2onnx, onnxmltools", path, path.name, given=True)


def converted(folder: Path) -> Iterator[Model]:
    """Yield the models of all recipes, each made if it is not there yet.  Raises CalledProcessError."""
    for recipe in RECIPES:
        path = folder / recipe.source.replace(" ", "-") / recipe.file
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, __file__, recipe.source, recipe.file, str(path)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        yield Model(recipe.source, path, recipe.file, exactness=recipe.exactness, given=True)


def main() -> None:
    """Make one model."""
    source, file, path = sys.argv[1:]
    recipes: Mapping[tuple[str, str], Recipe] = {(recipe.source, recipe.file): recipe for recipe in RECIPES}
    recipes[source, file].make(Path(path))


if __name__ == "__main__":
    main()
