"""Real networks the whole way: exported by PyTorch, compiled, saved, loaded, run, compared with onnxruntime.

Slow by nature: a network is exported once (bert: about 8 s) and compiled for two targets and three formats.  Of bert, gpt2 and vit two
layers stand for the twelve, which are alike.  With NETWORKS=all, as in `make conformance-networks`, all twelve are compared and searched
for patterns too, and networks of many ops also on a device.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ttc
from ttc.accuracy.distances import Exactness, compare
from ttc.compiler.driver import compile_path
from ttc.compiler.source import dialects
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.attributes import plain
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.numerics import FIDELITIES
from ttc.dialects.netlist.occupancy import occupancy
from ttc.options import CompileOptions
from ttc.passes.base import Unit, Watcher
from ttc.runtime.engines.table import Exact
from ttc.runtime.executor import Executor
from ttc.runtime.program import Program, build_program

MODELS = Path(__file__).parent / "data" / "models" / "models.py"
ALL = os.environ.get("NETWORKS") == "all"
SMALL = ["cnn", "mlp", "unet", "shallow bert", "shallow gpt2"]
NETWORKS = [*SMALL, "resnet50", "mobilenetv2", "shallow vit"]
LARGE = ["bert", "gpt2", "vit"]
COMPARED = {"n150": NETWORKS + LARGE if ALL else SMALL, "host": NETWORKS + LARGE if ALL else NETWORKS}
"""Networks that are compared with onnxruntime, by target."""

torch: Any = pytest.importorskip("torch", reason="networks are exported by PyTorch, which has no CPU build for this Python")


@cache
def models() -> ModuleType:
    spec = importlib.util.spec_from_file_location("network_models", MODELS)
    if spec is None or spec.loader is None:
        raise RuntimeError(MODELS)
    module = importlib.util.module_from_spec(spec)
    sys.modules["network_models"] = module
    spec.loader.exec_module(module)
    return module


def shallow_bert() -> tuple[Any, tuple[Any, ...]]:
    """Return two layers of bert, of its width, and its arguments."""
    import transformers

    torch.manual_seed(0)
    network = transformers.BertModel(transformers.BertConfig(num_hidden_layers=2, vocab_size=1000)).eval()
    wrapped = models().W(network, lambda m, ids, mask: m(input_ids=ids, attention_mask=mask).last_hidden_state).eval()
    return wrapped, (torch.randint(0, 1000, (1, 128)), torch.ones(1, 128, dtype=torch.long))


def shallow_gpt2() -> tuple[Any, tuple[Any, ...]]:
    """Return two layers of gpt2, of its width, with a head of 1,000 tokens, and its arguments."""
    import transformers

    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=2, vocab_size=1000, use_cache=False, bos_token_id=1, eos_token_id=2)
    wrapped = models().W(transformers.GPT2LMHeadModel(config).eval(), lambda m, ids: m(input_ids=ids, use_cache=False).logits).eval()
    return wrapped, (torch.randint(0, 1000, (1, 64)),)


def shallow_vit() -> tuple[Any, tuple[Any, ...]]:
    """Return two layers of vit, of its width, with all of its patches, and its arguments."""
    import transformers

    torch.manual_seed(0)
    network = transformers.ViTModel(transformers.ViTConfig(num_hidden_layers=2), add_pooling_layer=True).eval()
    wrapped = models().W(network, lambda m, x: m(pixel_values=x).last_hidden_state).eval()
    return wrapped, (torch.randn(1, 3, 224, 224),)


SHALLOW: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "shallow bert": shallow_bert,
    "shallow gpt2": shallow_gpt2,
    "shallow vit": shallow_vit,
}
"""Networks of the ops of large ones, for what takes long: the device's arithmetic, phase by phase."""


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """name -> (path of the ONNX file, inputs by name, outputs by name as onnxruntime computes them); one process exports for all."""
    import onnxruntime

    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if own.name.startswith("popen-") else own) / "networks"
    folder.mkdir(exist_ok=True)

    @cache
    def export(name: str) -> tuple[Path, dict[str, np.ndarray], dict[str, np.ndarray]]:
        path, examples = folder / f"{name}.onnx", folder / f"{name}.npz"
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not examples.exists():
                model, arguments = SHALLOW[name]() if name in SHALLOW else models().build(name)
                with torch.no_grad():
                    torch.onnx.export(model, arguments, path, dynamo=True, opset_version=18, external_data=False, verbose=False)
                np.savez(examples, *[argument.numpy() for argument in arguments])
        session = onnxruntime.InferenceSession(path)
        with np.load(examples) as arrays:
            inputs = {x.name: arrays[f"arr_{i}"] for i, x in enumerate(session.get_inputs())}
        outputs: Any = session.run(None, inputs)
        return path, inputs, dict(zip([y.name for y in session.get_outputs()], outputs, strict=True))

    return export


PEAK = 1.1
"""DRAM that a chip takes over the most bytes alive at one time."""


@pytest.mark.parametrize(
    ("name", "target"), [pytest.param(n, t, marks=pytest.mark.xdist_group(n)) for t, names in COMPARED.items() for n in names]
)
def test_results_agree_with_onnxruntime(exported: Any, tmp_path: Path, name: str, target: str) -> None:
    """In three formats; tensors lie near one another in memory, and blocks make archives small."""
    path, inputs, wanted = exported(name)
    sizes: dict[str, int] = {}
    for format_ in ("Float32", "Float16_b", "Bfp8_b"):
        archive = tmp_path / f"{format_}.tti"
        program = ttc.compile(path, target=target, format=None if format_ == "Float32" else format_)
        program.save(archive)
        sizes[format_] = archive.stat().st_size
        assert all(use.peak_bytes <= PEAK * use.bound_bytes for use in occupancy(program.netlist))
        with ttc.load(archive) as executor:
            found = executor.run(inputs)
        assert list(found) == list(wanted)
        for key, reference in wanted.items():
            difference = compare(found[key], reference, Exactness.BITS8 if format_ == "Bfp8_b" else Exactness.of_format(format_))
            assert difference.within, (format_, difference)
            assert format_ == "Bfp8_b" or difference.pcc >= 0.999, (format_, difference)
        archive.unlink()
    bound = 0.28 if name in ("resnet50", "bert") else 0.4  # in small ones, texts and channels short of a block count
    assert sizes["Bfp8_b"] <= bound * sizes["Float32"]


class Texts(Watcher):
    """The module as text at the end of every stage."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def on_stage(self, stage: str, unit: Unit) -> None:
        if stage != "tti":
            self.found[stage] = print_op(unit.module) + "\n"


RESUMED = ["cnn", "mlp", "unet", "resnet50"]
"""The others resume to the same archives, too; parsing all their stages takes minutes."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.xdist_group(n)) for n in RESUMED])
def test_every_stage_resumes_to_the_same_archive(exported: Any, tmp_path: Path, name: str) -> None:
    """Weights are the same objects in both, so netlist, names and expressions are compared, without writing hundreds of megabytes."""
    path, _, _ = exported(name)
    texts = Texts()
    whole = compile_path(path, CompileOptions(), [texts]).package
    assert whole is not None
    for stage, text in texts.found.items():
        module = parse_module(text, stage, dialects())
        assert print_op(module) + "\n" == text
        file = tmp_path / f"{stage}.mlir"
        file.write_text(text)
        package = compile_path(file, CompileOptions(weights=path)).package
        assert package is not None
        assert (package.netlist, package.description) == (whole.netlist, whole.description), stage
        assert {k: (t.shape, t.format) for k, t in package.tensors.items()} == {k: (t.shape, t.format) for k, t in whole.tensors.items()}


PATTERNS = {
    "resnet50": {"conv2d": 53, "attention": 0, "transpose": 1},
    "mobilenetv2": {"conv2d": 52, "transpose": 1},
    "shallow vit": {"attention": 2, "layer_norm": 5, "gelu": 2, "softmax": 0},
    "shallow bert": {"attention": 2, "layer_norm": 5, "gelu": 2, "softmax": 0},
    "shallow gpt2": {"attention": 2, "layer_norm": 5, "gelu": 2, "softmax": 0},
    "bert": {"attention": 12, "layer_norm": 25, "gelu": 12, "softmax": 0},
    "gpt2": {"attention": 12, "layer_norm": 25, "gelu": 12, "softmax": 0},
    "vit": {"attention": 12, "layer_norm": 25, "gelu": 12, "softmax": 0},
}
"""Ops at the end of stage nn; gelu also counts as an activation of a matmul."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.xdist_group(n)) for n in PATTERNS if ALL or n not in LARGE])
def test_patterns_are_recognized(exported: Any, name: str) -> None:
    module = compile_path(exported(name)[0], CompileOptions(to="nn")).unit.module
    (function,) = entry_functions(module)
    found: Counter[str] = Counter()
    for op in function.walk():
        found[op.name.removeprefix("nn.")] += 1
        activation = op.properties.get("activation")
        if activation is not None:
            found[str(plain(activation)).removesuffix("_tanh")] += 1
    assert {key: found[key] for key in PATTERNS[name]} == PATTERNS[name]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.xdist_group(n)) for n in ("cnn", "mlp", "mobilenetv2", "shallow bert")])
@pytest.mark.parametrize(("format_", "pcc"), [("source", 0.999), ("Float16_b", 0.999), ("Bfp8_b", 0.99)])
def test_the_vocabulary_of_buda_gives_the_same(exported: Any, name: str, format_: str, pcc: float) -> None:
    path, inputs, wanted = exported(name)
    found = Executor(ttc.compile(path, format=format_, kernels="buda")).run(inputs)
    for key, reference in wanted.items():
        difference = compare(found[key], reference, Exactness.of_format("Float32" if format_ == "source" else format_))
        assert difference.within, difference
        assert difference.pcc >= pcc, difference


ROUNDING = 1.1
"""How far the rounding of results to 16 bits may hide what a phase adds below their last bit."""


@pytest.mark.parametrize(
    ("name", "format_", "slack"),
    [
        pytest.param(name, format_, slack, marks=pytest.mark.xdist_group(name))
        for format_, slack, names in (
            ("Float32", 1.0, ("cnn", "mlp", "shallow bert")),
            ("Float16_b", ROUNDING, ("mobilenetv2", "unet", "shallow gpt2")),
        )
        for name in names
    ],
)
def test_more_fidelity_is_less_error(exported: Any, name: str, format_: str, slack: float) -> None:
    path, inputs, wanted = exported(name)
    program = ttc.compile(path, format=format_)
    errors = []
    for fidelity in FIDELITIES:
        found = Executor(with_fidelity(program, fidelity)).run(inputs)
        errors.append(max(compare(found[key], reference).relative_l2 for key, reference in wanted.items()))
    assert all(more * slack >= less for more, less in zip(errors, errors[1:], strict=False)), errors
    assert errors[0] > 1.3 * errors[3], errors
    assert errors[3] < 2e-2, errors


def with_fidelity(program: Program, fidelity: str) -> Program:
    """The program on the device's arithmetic, all its ops of one fidelity."""
    graphs = {
        name: replace(graph, ops=tuple(replace(op, fidelity=fidelity) for op in graph.ops))
        for name, graph in program.netlist.graphs.items()
    }
    return build_program(replace(program.netlist, graphs=graphs), program.description, program.constants.sources, exact=Exact())
