"""Programs that are kept from one load to the next: the same results, without reading the netlist; and what is not kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.draws import generator
from tests.runtime.conftest import Builder
from tests.runtime.engines.native.programs import Step, program, tensor, typed_ops
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Argument, Netlist
from ttc.reports.profiling import profile
from ttc.runtime.archive import Archive, open_archive, write_archive
from ttc.runtime.engines.native import engine as engine_module
from ttc.runtime.engines.native.codegen.cache import Cache
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.executor import Executor
from ttc.runtime.kept import recall
from ttc.runtime.loader import load, load_program
from ttc.runtime.manifest import Description, ManifestVariable
from ttc.runtime.program import Program
from ttc.runtime.tensors import TensorSource

pytestmark = pytest.mark.skipif(host_cpu().arch != "x86-64", reason="runs code")

X = generator("kept.X").standard_normal((6, 33)).astype(np.float32)
SHAPES = {"w": (33, 17), "b": (17,), "t": (17,)}
WEIGHTS = {name: generator(f"kept.{name}").standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}
STEPS = (
    Step("h", "tile.matmul", ("x", "w", "b"), tensor(6, 17), {"transpose_a": False, "transpose_b": False}),
    Step("p", "tile.softmax", ("h",), tensor(6, 17), {"axis": -1}),
    Step("r", "tile.map", ("p", "t"), tensor(6, 17), {"fn": "mul"}),
)
IN_PYTHON = Step("r", "nn.neg", ("p",), tensor(6, 17))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache; the sources of this checkout may be new."""
    monkeypatch.setenv("TTC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(engine_module, "planner_version", lambda: b"version")
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Archives whose netlist was read, since the list was cleared."""
    found: list[Path] = []
    own = Archive.netlist

    def netlist(archive: Archive) -> Netlist:
        found.append(archive.path)
        return own(archive)

    monkeypatch.setattr(Archive, "netlist", netlist)
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "a.tti")


def written(path: Path, steps: tuple[Step, ...] = STEPS, weights: dict[str, np.ndarray] | None = None) -> Path:
    """An archive of the network, whose weights are parameters of the model."""
    held = {name: (value, "Float32") for name, value in (weights or WEIGHTS).items() if any(name in s.reads for s in steps)}
    made = program({"x": tensor(6, 33)}, held, steps, {"y": "r"}, "reference")
    parameters = {name: ManifestVariable(name, value.shape, "float32") for name, (value, _) in held.items()}
    description = Description("test", "0.1.0", {}, parameters)
    write_archive(path, netlist=made.netlist, tensors=made.constants.sources, description=description)
    return path


def recalled(path: Path, threads: int = 2) -> Program | None:
    return recall(open_archive(path), NativeEngine(threads, host_cpu()))


def test_a_second_load_gives_the_same_without_the_netlist(path: Path, read: list[Path]):
    expected = load(path, threads=2).run({"x": X})
    assert read == [path]
    read.clear()
    second = load(path, threads=2)
    for _ in range(2):
        np.testing.assert_array_equal(second.run({"x": X})["y"], expected["y"])
    np.testing.assert_array_equal(second.run({"x": X.tolist()})["y"], expected["y"])
    assert not read


def test_the_netlist_is_read_when_somebody_asks_for_it(path: Path, read: list[Path]):
    first = load_program(path, threads=2)
    read.clear()
    second = load_program(path, threads=2)
    assert (second.description, second.netlists.surface) == (first.description, first.netlists.surface)
    assert second.netlists.direct == first.netlists.direct
    assert not read
    assert (second.netlist, second.netlists.executed) == (first.netlist, first.netlists.executed)
    assert read == [path]


def test_new_parameters_make_new_plans(path: Path):
    load(path, threads=2)
    kept = load_program(path, threads=2)
    changed = kept.with_parameters({"w": WEIGHTS["w"] * 2})
    expected = Executor(load_program(written(path, weights={**WEIGHTS, "w": WEIGHTS["w"] * 2}), engine="reference")).run({"x": X})["y"]
    np.testing.assert_allclose(Executor(changed).run({"x": X})["y"], expected, rtol=1e-4, atol=1e-5)


def test_jobs_are_named_as_in_a_fresh_program(path: Path, read: list[Path]):
    fresh, kept = (load_program(path, threads=2) for _ in range(2))
    assert read == [path]
    found, expected = ([(j.op, j.kernel, j.location, j.flops) for j in profile(p, {"x": X})[0].jobs] for p in (kept, fresh))
    assert found == expected
    assert len(found) > 1


def test_a_run_that_needs_the_reference_engine_finds_it(tmp_path: Path, read: list[Path], rng: np.random.Generator):
    """Rows out of range: the native job says so, and the reference engine what is wrong."""
    table = rng.standard_normal((5, 3)).astype(np.float32)
    steps = (Step("r", "tile.gather", ("t", "x"), tensor(4, 3), {"axis": 0}),)
    made = program({"x": tensor(4, format="Int32")}, {"t": (table, "Float32")}, steps, {"y": "r"}, "reference")
    path = tmp_path / "g.tti"
    write_archive(path, netlist=made.netlist, tensors=made.constants.sources, description=Description("test", "0.1.0", {}))
    load(path, threads=2)
    session = load(path, threads=2)
    assert read == [path]
    np.testing.assert_array_equal(session.run({"x": np.array([4, 0, 1, 1], np.int32)})["y"], table[[4, 0, 1, 1]])
    with pytest.raises(Error) as failure:
        session.run({"x": np.array([0, 9, 0, 0], np.int32)})
    assert failure.value.code == "E0802"


def stateful(path: Path) -> Path:
    """An archive: `step` with two graphs: h = x + s, s = h; y = h * w through queue `edge`; `peek`: the state; `double`: z = x + x."""
    types, b = dict.fromkeys(("x", "s", "w"), tensor(4)), Builder()
    b.queue("x", "input", tensor(4))
    b.queue("s", "state", tensor(4), key="s")
    b.queue("w", "parameter", tensor(4), key="w")
    b.queue("edge", "edge", tensor(4), source="h")
    for name, source in (("next", "n"), ("y", "p"), ("now", "c"), ("z", "d")):
        b.queue(name, "output", tensor(4), source=source)
    b.queues |= {name: replace(b.queues[name], lifetime=(0, 1)) for name in ("edge", "next", "y")}

    def graph(name: str, steps: Sequence[tuple[str, str, tuple[str, ...]]], writes: list[tuple[str, str]]) -> None:
        made = [Step(step, "tile.map", reads, tensor(4), {"fn": fn}) for step, fn, reads in steps]
        b.graph(name, typed_ops(made, types | {"edge": tensor(4)}), writes)

    graph("first", [("h", "add", ("x", "s")), ("n", "add", ("x", "s"))], [("h", "edge"), ("n", "next")])
    graph("second", [("p", "mul", ("edge", "w"))], [("p", "y")])
    graph("third", [("c", "mul", ("s", "w"))], [("c", "now")])
    graph("fourth", [("d", "add", ("x", "x"))], [("d", "z")])
    x = Argument("x", "input", "x", (4,), "float32")
    y, now, z = (replace(x, name=name, queue=name, kind="output") for name in ("y", "now", "z"))
    b.program("step", [x], [y, replace(x, name="s", kind="state", queue="next", updates="s")], ["first", "second"])
    b.program("peek", [], [now], ["third"])
    b.program("double", [x], [z], ["fourth"])
    tensors = {name: TensorSource.of_array(np.full(4, value, np.float32), "Float32") for name, value in (("s", 0), ("w", 3))}
    known = {name: ManifestVariable(name, (4,), "float32") for name in ("s", "w")}
    description = Description("test", "0.1.0", {}, {"w": known["w"]}, {"s": known["s"]})
    write_archive(path, netlist=b.netlist(), tensors=tensors, description=description)
    return path


def test_states_entries_and_queues_are_kept(tmp_path: Path, read: list[Path]):
    path, x = stateful(tmp_path / "s.tti"), np.arange(4, dtype=np.float32)
    for loads in range(3):
        with load(path, threads=2) as executor:
            for count in range(1, 4):
                assert executor.run({"x": x}, "step")["y"].tolist() == (3 * count * x).tolist()
                assert executor.run({}, "peek")["now"].tolist() == (3 * count * x).tolist()
                assert executor.run({"x": x}, "double")["z"].tolist() == (2 * x).tolist()
            assert executor.states()["s"].tolist() == (3 * x).tolist()
            executor.checkpoint(tmp_path / "c")
            executor.reset()
            assert executor.run({}, "peek")["now"].tolist() == [0] * 4
            executor.restore(tmp_path / "c")
            assert executor.run({"x": x}, "step")["y"].tolist() == (12 * x).tolist()
        assert read == [path], loads


def test_what_is_not_kept(tmp_path: Path, counter):
    mixed = written(tmp_path / "mixed.tti", (*STEPS[:2], IN_PYTHON))
    netlist, tensors, description = counter
    stateful = tmp_path / "counter.tti"
    write_archive(stateful, netlist=netlist, tensors=tensors, description=description)
    for path in (mixed, stateful):
        load(path, threads=2)
        assert recalled(path) is None


def test_only_the_same_archive_and_threads_are_found(path: Path, tmp_path: Path):
    load(path, threads=2)
    assert recalled(path) is not None
    assert recalled(path, threads=1) is None
    other = written(tmp_path / "b.tti", weights={**WEIGHTS, "b": WEIGHTS["b"] + 1})
    assert recalled(other) is None


def test_another_version_is_not_found(path: Path, monkeypatch: pytest.MonkeyPatch):
    load(path, threads=2)
    monkeypatch.setattr(engine_module, "planner_version", lambda: b"another")
    assert recalled(path) is None
    monkeypatch.setattr(engine_module, "planner_version", lambda: None)
    load(path, threads=2)
    assert recalled(path) is None


def test_damage_is_a_load_as_the_first(path: Path, folder: Path, read: list[Path]):
    expected = load(path, threads=2).run({"x": X})["y"]
    for entry in list(Cache(folder).entries()):
        whole = (folder / entry.name).read_bytes()
        for damage in (whole[:-1], whole[:60] + bytes([whole[60] ^ 1]) + whole[61:], None):
            if damage is None:
                os.unlink(folder / entry.name)
            else:
                (folder / entry.name).write_bytes(damage)
            read.clear()
            np.testing.assert_array_equal(load(path, threads=2).run({"x": X})["y"], expected)
            assert read == [path]
    assert recalled(path) is not None


def test_no_cache_is_no_error(path: Path, monkeypatch: pytest.MonkeyPatch, read: list[Path]):
    monkeypatch.setenv("TTC_CACHE_DIR", "/dev/null/cache")
    first, second = load(path, threads=2), load(path, threads=2)
    assert read == [path, path]
    np.testing.assert_array_equal(first.run({"x": X})["y"], second.run({"x": X})["y"])


def test_the_seal_is_that_of_the_file(path: Path):
    archive = open_archive(path)
    assert archive.seal.startswith("ttc archive sha256 ")
    assert archive.seal.encode() == path.read_bytes()[-len(archive.seal) :]
