"""Fixtures that tests of all floors share: small ONNX models built with onnx's own helpers, so that no exporter is needed."""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import llvmlite.binding  # noqa: F401 - kernels of tests are compiled in their own process: there are many times a few
import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, register_random, settings
from onnx import TensorProto, helper, numpy_helper

from tests.draws import EXAMPLES, drawing
from ttc.compiler import kept
from ttc.dialects.core.errors import Error
from ttc.dialects.core.garbage import uncollected
from ttc.runtime import forked
from ttc.runtime.engines.native.graph.nodes import Node
from ttc.runtime.engines.native.prepare import lower_nodes

CACHE = "TTC_CACHE_DIR"
LIBRARIES = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "HF_HUB_OFFLINE": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
}
"""What libraries read once, when whichever test comes first imports them; workers of pytest-xdist have it before they import any.

Threads of numpy's products would wait for each other beside those of the other worker; those of PyTorch do, but sleep while they wait:
otherwise they spin, and take the processors of the other worker.
"""
_MADE: list[str] = []

# Garbage of a test process stays as it is in children: sessions of libraries, when they go, wait for threads that a child does not have.
os.register_at_fork(after_in_child=gc.freeze)
# A run is never red by chance: the same examples each time, whatever the machine has to do beside.
settings.register_profile("tests", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")
register_random(EXAMPLES)
forked.can_fork = lambda: False  # tests watch what is compiled, in their own process; those of copies have processes without this
gc.freeze()  # before anything is compiled, so that what is set aside below stays so


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order", type=int, metavar="SEED", help="shuffle modules of tests, and the tests of each, by this seed")


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("order")
    return None if seed is None else f"order of tests: --order {seed}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --order, tests run shuffled, those of a module together as it sets up once; all workers find the same order."""
    seed = config.getoption("order")
    if seed is not None:
        chance = random.Random(seed)
        modules = {path: chance.random() for path in sorted({item.path for item in items})}
        items.sort(key=lambda item: (modules[item.path], chance.random()))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without searches for cyclic garbage, and keep what came of it, frameworks and tests that live on, out of later searches."""
    with uncollected():
        result = yield
        gc.freeze()
    gc.set_threshold(10_000, 10, 10)  # most of what a test makes goes as soon as nothing refers to it
    return result


def pytest_configure() -> None:
    """Generated code of the session lies in a folder of its own, unless the environment names one: workers of pytest-xdist inherit it."""
    for name, value in LIBRARIES.items():
        os.environ.setdefault(name, value)
    kept.compiler_version = lambda: None  # models are compiled by each test: some have passes or kernels of their own
    os.environ.pop("COLUMNS", None)  # pytest-xdist sets it: tables would be laid out for readers
    if CACHE not in os.environ:
        _MADE.append(tempfile.mkdtemp(prefix="ttc-tests-"))
        os.environ[CACHE] = _MADE[0]


def pytest_unconfigure() -> None:
    for folder in _MADE:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def same_environment() -> Iterator[None]:
    """Change variables of the process back to what they were: commands that run in it set some, as for threads of libraries."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """The next test finds the variables of the process as this one did."""
    with same_environment():
        yield


@pytest.fixture(autouse=True)
def rng(request: pytest.FixtureRequest) -> Iterator[np.random.Generator]:
    """The generator of the test alone, seeded by its name with its parameters: the same numbers in any order of tests."""
    with drawing(request.node.name) as own:
        yield own


@pytest.fixture(autouse=True)
def lowerings_have_no_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a lowering of the native engine raises by mistake is an error here; for users the op runs in Python."""
    quiet = lower_nodes.fault

    def loud(node: Node, error: Exception) -> str:
        if isinstance(error, Error):
            return quiet(node, error)
        raise Error("E0901", f"the lowering of {node.work.op} raises {type(error).__name__}: {error}", node.op.name) from error

    monkeypatch.setattr(lower_nodes, "fault", loud)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """An interrupt is one, also where a shell started the tests in the background, which has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def small_model(seed: int = 0) -> onnx.ModelProto:
    """relu(x @ w + b), then softmax: x[batch, 8] -> probabilities[batch, 4]."""
    rng = np.random.default_rng(seed)
    weights = {"w": rng.standard_normal((8, 4)).astype(np.float32), "b": rng.standard_normal(4).astype(np.float32)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], name="/fc/MatMul"),
        helper.make_node("Add", ["product", "b"], ["sum"], name="/fc/Add"),
        helper.make_node("Relu", ["sum"], ["positive"], name="/Relu"),
        helper.make_node("Softmax", ["positive"], ["probabilities"], name="/Softmax", axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 4])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


@pytest.fixture
def small_onnx(tmp_path: Path) -> Path:
    """The file of `small_model`."""
    path = tmp_path / "small.onnx"
    onnx.save(small_model(), path)
    return path
