"""Whole programs on the native engine: beside what it generates code for stands all else that programs can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.conftest import Builder
from tests.runtime.engines.native.programs import Step, executors, network, program, tensor
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.netlist.model import Argument, Host, Netlist, Op
from ttc.runtime.engines.native import engine as engine_module
from ttc.runtime.engines.native.codegen import image
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.codegen.kernel_folders import KernelFolders
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.native.prepare.build import lower_graph
from ttc.runtime.executor import Executor
from ttc.runtime.manifest import Description, ManifestVariable
from ttc.runtime.metrics import current
from ttc.runtime.program import build_program
from ttc.runtime.tensors import TensorSource

X = np.random.default_rng(5).standard_normal((6, 33)).astype(np.float32)
MAP = "tile.map"


def same(
    inputs: Mapping[str, TensorType],
    held: Mapping[str, tuple[NDArray, str]],
    steps: Sequence[Step],
    outputs: Mapping[str, str],
    given: Mapping[str, NDArray],
    *,
    native: bool = True,
) -> dict[str, NDArray]:
    """What both engines find, twice on the native one; native: whether it has code of its own."""
    own, reference = executors(inputs, held, steps, outputs)
    assert isinstance(own.program.plans["g"], NativePlan) == native
    expected = reference.run(given)
    for _ in range(2):
        found = own.run(given)
        assert list(found) == list(expected)
        for name, value in expected.items():
            assert (found[name].shape, found[name].dtype) == (value.shape, value.dtype)
            if value.dtype.kind == "f":
                np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-5)
            else:
                assert np.array_equal(found[name], value)
    return own.run(given)


def test_jobs_and_steps_in_python_take_turns():
    lowered = lower_graph(network("native").netlist.graphs["g"], network("native").netlist, network("native").constants, host_cpu())
    assert [type(step) for step in lowered.steps if not (isinstance(step, Job) and "Pack" in type(step.kernel).__name__)] == [
        Job,
        PythonStep,
        *[Job] * (len(lowered.steps) - 4),
    ]
    native, reference = Executor(network("native")), Executor(network("reference"))
    for scale in (1, -3):
        found, expected = native.run({"x": X * scale}), reference.run({"x": X * scale})
        for name in ("y", "sums"):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-4)


def test_sizes_that_depend_on_data_in_the_middle():
    places = tensor(2, -1, format="Int64")
    steps = [
        Step("positive", MAP, ("x",), tensor(4, 5), {"fn": "relu"}),
        Step("places", "nn.non_zero", ("positive",), places),
        Step("sum", "nn.reduce_sum", ("places",), tensor(2, format="Int64"), {"axes": (1,), "keepdims": False}),
        Step("twice", MAP, ("sum", "sum"), tensor(2, format="Int64"), {"fn": "add"}),
        Step("y", MAP, ("positive", "x"), tensor(4, 5), {"fn": "mul"}),
    ]
    for x in (X[:4, :5], -np.abs(X[:4, :5])):
        found = same({"x": tensor(4, 5)}, {}, steps, {"a": "places", "b": "twice", "c": "y"}, {"x": x})
        assert found["a"].shape == (2, int((x > 0).sum()))


def test_views_of_computed_sizes_last_longer_than_what_they_are_views_of():
    steps = [
        Step("a", MAP, ("x",), tensor(6, 33), {"fn": "exp"}),
        Step("view", "nn.dynamic_reshape", ("a", "sizes"), tensor(-1, 11), {"sizes": (-1, 11)}),
        *[Step(f"b{i}", "tile.softmax", (f"b{i - 1}" if i else "x",), tensor(6, 33), {"axis": 1}) for i in range(3)],
    ]
    held = {"sizes": (np.array([18, 11]), "Int64")}
    same({"x": tensor(6, 33)}, held, steps, {"first": "view", "second": "b2"}, {"x": X})


def test_values_are_written_and_read_later():
    steps = [
        Step("a", MAP, ("x",), tensor(6, 33), {"fn": "exp"}),
        Step("b", MAP, ("a", "x"), tensor(6, 33), {"fn": "add"}),
        Step("c", "nn.sin", ("a",), tensor(6, 33)),
        Step("d", MAP, ("b", "c"), tensor(6, 33), {"fn": "mul"}),
    ]
    found = same({"x": tensor(6, 33)}, {}, steps, {"first": "a", "again": "a", "second": "b", "last": "d"}, {"x": X})
    assert not np.shares_memory(found["first"], found["again"])
    found["first"][:] = 0
    assert found["again"].any()


def test_outputs_that_are_inputs_or_constants_are_copies():
    held = {"w": (X[:2, :3].copy(), "Float32"), "i": (np.arange(6, dtype=np.int64), "Int64")}
    steps = [
        Step("same", "tile.reshape", ("x",), tensor(33, 6), {"shape": (33, 6)}),
        Step("turned", "tile.transpose", ("x",), tensor(33, 6), {"perm": (1, 0)}),
        Step("held", "tile.reshape", ("w",), tensor(3, 2), {"shape": (3, 2)}),
        Step("numbers", "tile.slice", ("i",), tensor(3, format="Int64"), {"starts": (4,), "sizes": (3,), "steps": (-2,)}),
        Step("more", MAP, ("w", "w"), tensor(2, 3), {"fn": "add"}),
        Step("y", MAP, ("x",), tensor(6, 33), {"fn": "neg"}),
    ]
    x = X.copy()
    outputs = {name: name for name in ("same", "turned", "held", "numbers", "more", "y")}
    found = same({"x": tensor(6, 33)}, held, steps, {f"{name}.out": name for name in outputs}, {"x": x})
    for value in found.values():
        assert value.flags.writeable
        value[...] = 7
    assert np.array_equal(x, X)
    assert np.array_equal(held["w"][0], X[:2, :3])
    again = same({"x": tensor(6, 33)}, held, steps, {f"{name}.out": name for name in outputs}, {"x": x})
    assert again["numbers.out"].tolist() == [4, 2, 0]


def test_all_kinds_of_numbers():
    wide, small, flags = tensor(4, 3, format="Float64"), tensor(4, 3, format="Int16"), tensor(4, 3, format="Bool")
    steps = [
        Step("sum", MAP, ("d", "d"), wide, {"fn": "add"}),
        Step("narrow", "tile.cast", ("sum",), tensor(4, 3), {"to": "float32"}),
        Step("n", MAP, ("i", "i"), small, {"fn": "mul"}),
        Step("less", MAP, ("narrow", "f"), flags, {"fn": "less"}),
        Step("picked", MAP, ("less", "narrow", "f"), tensor(4, 3), {"fn": "where"}),
        Step("count", "tile.reduce", ("n",), tensor(4, format="Int16"), {"fn": "max", "axes": (1,), "keepdims": False}),
    ]
    rng = np.random.default_rng(1)
    given = {
        "d": rng.standard_normal((4, 3)),
        "i": rng.integers(-300, 300, (4, 3)).astype(np.int16),
        "f": rng.standard_normal((4, 3)).astype(np.float32),
    }
    inputs = {"d": wide, "i": small, "f": tensor(4, 3)}
    same(inputs, {}, steps, {f"{s.name}.out": s.name for s in steps}, given)


def test_texts_beside_numbers():
    texts = tensor(3, format="String")
    steps = [
        Step("joined", "nn.string_concat", ("t", "t"), texts),
        Step("y", MAP, ("x",), tensor(6, 33), {"fn": "exp"}),
        Step("numbers", "nn.string_index", ("joined",), tensor(3, format="Int64"), {"words": ("aa", "bb")}),
        Step("more", MAP, ("numbers", "numbers"), tensor(3, format="Int64"), {"fn": "add"}),
    ]
    own, reference = executors({"t": texts, "x": tensor(6, 33)}, {}, steps, {"j": "joined", "y.out": "y", "m": "more"})
    given = {"t": np.array(["a", "b", "c"], dtype=object), "x": X}
    found, expected = own.run(given), reference.run(given)
    assert found["j"].tolist() == expected["j"].tolist() == ["aa", "bb", "cc"]
    assert np.array_equal(found["m"], expected["m"])
    np.testing.assert_allclose(found["y.out"], expected["y.out"], rtol=1e-5)


@pytest.mark.parametrize("format", ["Float16_b", "Half", "Bfp8_b", "Float16", "Bfp4_b", "Float32"])
@pytest.mark.parametrize("rounding", ["rne", "none"])
def test_formats_of_devices(format: str, rounding: str):
    stored = tensor(6, 33, format=format)
    steps = [
        Step("stored", "tile.cast", ("x",), stored, None, rounding),
        Step("sum", MAP, ("stored", "w"), stored, {"fn": "add"}, rounding),
        Step("rows", "tile.softmax", ("sum",), stored, {"axis": -1}, rounding),
        Step("y", "tile.transpose", ("rows",), tensor(33, 6, format=format), {"perm": (1, 0)}, rounding),
    ]
    own, reference = executors({"x": tensor(6, 33)}, {"w": (X + 1, format)}, steps, {"s": "sum", "y.out": "y"})
    found, expected = own.run({"x": X}), reference.run({"x": X})
    tolerance = {"Float32": 1e-6, "Float16_b": 2**-7, "Half": 2**-10, "Float16": 2**-9}.get(format, 2**-2)
    for name, value in expected.items():
        np.testing.assert_allclose(
            found[name], value, rtol=tolerance if rounding == "rne" else 1e-5, atol=1e-6 if rounding == "none" else 1e-2
        )


@pytest.mark.parametrize("held", [False, True])
def test_an_index_out_of_range_is_the_error_of_the_reference_engine(held: bool):
    table, index = tensor(5, 7), tensor(3, format="Int64")
    steps = [
        Step("a", MAP, ("t",), table, {"fn": "exp"}),
        Step("rows", "tile.embedding", ("a", "i"), tensor(3, 7)),
        Step("y", MAP, ("rows",), tensor(3, 7), {"fn": "neg"}),
    ]
    wrong = np.array([0, 5, 1])
    inputs, constants = ({"t": table}, {"i": (wrong, "Int64")}) if held else ({"t": table, "i": index}, {})
    own, reference = executors(inputs, constants, steps, {"y.out": "y"})
    given = {"t": X[:5, :7]} if held else {"t": X[:5, :7], "i": wrong}
    errors: list[str] = []
    for executor in (own, reference):
        with pytest.raises(Error) as failure:
            executor.run(given)
        errors.append(f"{failure.value.code} {failure.value}")
    assert errors[0] == errors[1]
    assert errors[0].startswith("E0802")
    if not held:
        good = {**given, "i": np.array([4, -5, 0])}
        np.testing.assert_allclose(own.run(good)["y.out"], reference.run(good)["y.out"], rtol=1e-6)


# ---- programs of several runs ----------------------------------------------------------------------------------------------------------

VECTOR = tensor(40)
_ONE = Argument("x", "input", "x", (40,), "float32")


def _op(name: str, fn: str, reads: Sequence[str]) -> Op:
    work = Work(MAP, tuple(range(len(reads))), {"fn": fn}, (VECTOR,), None, (name,))
    return Op(name, "map", tuple(reads), Host(), None, Function((VECTOR,) * len(reads), (work,), (len(reads),)))


def _session(b: Builder, tensors: Mapping[str, TensorSource], description: Description, engine: str) -> Executor:
    netlist: Netlist = b.netlist()
    return Executor(build_program(netlist, description, tensors, engine=engine, threads=2))


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_states_live_between_runs(engine: str):
    b = Builder()
    b.queue("x", "input", VECTOR)
    b.queue("counter", "state", VECTOR, key="start")
    for name, source in (("y", "sum"), ("next", "grown")):
        b.queue(name, "output", VECTOR, source=source)
    b.graph("g", [_op("sum", "add", ["x", "counter"]), _op("grown", "add", ["sum", "x"])], [("sum", "y"), ("grown", "next")])
    update = Argument("counter", "state", "next", (40,), "float32", updates="counter")
    b.program("forward", [_ONE], [replace(_ONE, name="y", queue="y", kind="output"), update], ["g"])
    states = {"counter": ManifestVariable("start", (40,), "float32")}
    session = _session(
        b, {"start": TensorSource.of_array(np.zeros(40, np.float32), "Float32")}, Description("t", "0.1.0", {}, {}, states), engine
    )
    x = np.arange(40, dtype=np.float32)
    for count in range(4):
        assert np.array_equal(session.run({"x": x})["y"], x * (2 * count + 1))
    assert np.array_equal(session.states()["counter"], x * 8)
    session.reset()
    assert np.array_equal(session.run({"x": x})["y"], x)


def test_microbatches_and_new_parameters():
    def sessions() -> list[Executor]:
        found: list[Executor] = []
        for engine in ("native", "reference"):
            b = Builder()
            b.queue("x", "input", tensor(5, 33), entries=3)
            b.queue("w", "parameter", tensor(33, 17), key="w")
            b.queue("y", "output", tensor(5, 17), entries=3, source="z")
            attrs: dict[str, Plain] = {"transpose_a": False, "transpose_b": False}
            work = Work("tile.matmul", (0, 1), attrs, (tensor(5, 17),), None, ("z",))
            op = Op("z", "matmul", ("x", "w"), Host(), None, Function((tensor(5, 33), tensor(33, 17)), (work,), (2,)))
            b.graph("g", [op], [("z", "y")], input_count=3)
            x = Argument("x", "input", "x", (15, 33), "float32", streamed=True)
            b.program("forward", [x], [replace(x, name="y", queue="y", kind="output", shape=(15, 17))], ["g"])
            weights = np.random.default_rng(2).standard_normal((33, 17)).astype(np.float32)
            description = Description("t", "0.1.0", {}, {"w": ManifestVariable("w", (33, 17), "float32")})
            found.append(_session(b, {"w": TensorSource.of_array(weights, "Float32")}, description, engine))
        return found

    native, reference = sessions()
    x = np.random.default_rng(3).standard_normal((15, 33)).astype(np.float32)
    new = {"w": np.random.default_rng(4).standard_normal((33, 17)).astype(np.float32)}
    before = native.run({"x": x})["y"]
    np.testing.assert_allclose(before, reference.run({"x": x})["y"], rtol=1e-4, atol=1e-4)
    other = Executor(native.program.with_parameters(new))
    np.testing.assert_allclose(other.run({"x": x})["y"], x @ new["w"], rtol=1e-4, atol=1e-4)
    assert np.array_equal(native.run({"x": x})["y"], before)


def test_memory_that_cannot_be_executed_is_a_clear_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(image, "_MPROTECT", lambda *_: -1)
    with pytest.raises(Error) as failure:
        Executor(network("native"))
    assert failure.value.code == "E0104"
    assert failure.value.hint == "use --engine reference"


def test_fewer_threads_than_asked_for_do(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator):
    type_, x = tensor(2048, 64), rng.standard_normal((2048, 64), np.float32)
    made = [program({"x": type_}, {}, [Step("s", "tile.softmax", ("x",), type_, {"axis": -1})], {"y": "s"}, "native", n) for n in (7, 1)]
    executor = Executor(made[0])
    plan = executor.program.plans["g"]
    assert isinstance(plan, NativePlan)
    started: list[object] = []

    class Libc:
        """The system's, which starts two threads and no more."""

        def __getattr__(self, name: str) -> object:
            return getattr(own, name)

        def pthread_create(self, *arguments: object) -> int:
            started.append(arguments)
            return own.pthread_create(*arguments) if len(started) < 3 else 11

    own = plan._pool._libc
    monkeypatch.setattr(plan._pool, "_libc", Libc())
    monkeypatch.setattr(plan._pool, "_team", None)
    plan._pool.renew()
    found = [executor.run({"x": x})["y"] for _ in range(3)]
    assert len(started) == 3
    expected = Executor(made[1]).run({"x": x})["y"]
    assert all(np.array_equal(y, expected) for y in found)


def test_constants_are_given_back_when_they_are_packed():
    made = network("native")
    plan = made.plans["g"]
    assert isinstance(plan, NativePlan)
    keys = {view.buffer.key for job in plan.jobs() for view in job.read if view.buffer.array is not None}
    assert not keys & {"w1", "w2"}
    assert not made.constants._values.keys() & {"w1", "w2"}


def test_what_all_programs_need_is_kept_ahead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So that plans find it; with the kernels of a program alone there are as many more."""
    monkeypatch.setenv("TTC_CACHE_DIR", str(tmp_path / "cache"))
    engine = NativeEngine(1, host_cpu().limited_to("avx2"))

    def compiled() -> int:
        return int(sum(current()["kernels_compiled"].values()))

    before = compiled()
    engine.prepare_cache()
    ahead = compiled() - before
    assert ahead > 0
    engine.prepare_cache()
    assert compiled() == before + ahead
    made = network("native")
    engine.prepare(made.netlist.graphs["g"], made.netlist, made.constants)
    own = compiled() - before - ahead
    monkeypatch.setenv("TTC_CACHE_DIR", str(tmp_path / "other"))
    engine.prepare(made.netlist.graphs["g"], made.netlist, made.constants)
    assert compiled() - before == 2 * (own + ahead)


def test_nothing_is_compiled_ahead_that_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelFolders, "store", lambda self: SimpleNamespace(reason="no folder"))
    monkeypatch.setattr(engine_module, "compiled", lambda *_: pytest.fail("compiled"))
    NativeEngine(1, host_cpu().limited_to("avx2")).prepare_cache()
