"""Programs for two chips, split by chip: two sessions joined by queues give the numbers of the whole."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import ttc
from tests.ttc.compiler.test_driver_chips import LOOP, network
from ttc.pipeline.parts import Joints, parts_of
from ttc.runtime.engines.table import engine_named
from ttc.runtime.machine.session import Session
from ttc.runtime.program import Program

TIMEOUT = 60.0


def piped(parts: dict[int, Program], joints: Joints, rows: list[dict[str, NDArray]]) -> list[dict[str, NDArray]]:
    """The outputs of runs on some inputs; each part runs in a session and a thread of its own."""

    def work(chip: int) -> list[dict[str, NDArray]]:
        session = Session(parts[chip])
        entry = session.entry("forward")
        own = {argument.name for argument in entry.arguments}
        found = []
        for row in rows:
            session.push("forward", joints.take(chip, entry, timeout=TIMEOUT) | {n: x for n, x in row.items() if n in own}, timeout=TIMEOUT)
            session.run("forward", timeout=TIMEOUT)
            found.append(joints.give(chip, session.pop("forward", timeout=TIMEOUT), timeout=TIMEOUT))
        session.close()
        return found

    with ThreadPoolExecutor(len(parts)) as pool:
        several = [future.result() for future in [pool.submit(work, chip) for chip in parts]]
    return [{name: value for part in each for name, value in part.items()} for each in zip(*several, strict=True)]


def with_host_ops(layers: int) -> onnx.ModelProto:
    """The network, with an integer output that only the host computes: it comes after the last chip."""
    found = network(layers)
    found.graph.node.append(onnx.helper.make_node("NonZero", ["y"], ["z"], name="/NonZero"))
    found.graph.output.append(onnx.helper.make_tensor_value_info("z", onnx.TensorProto.INT64, [2, None]))
    return found


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize(
    ("model", "batch", "fields"),
    [
        (lambda: network(8), 256, {"target": "n300", "chips": 2, "parallel": "pipeline"}),  # eight microbatches a run
        (lambda: network(8), 96, {"target": "n300", "chips": 2, "parallel": "pipeline", "format": "Bfp8_b"}),
        (lambda: network(8), 32, {"target": "n150", "cluster": LOOP, "chips": 3, "parallel": "pipeline", "format": "Float16_b"}),
        (lambda: with_host_ops(4), 32, {"target": "n300", "chips": 2, "parallel": "pipeline"}),
    ],
    ids=["microbatches", "blocks", "three", "host"],
)
def test_parts_give_the_numbers_of_the_whole(
    model: Callable[[], onnx.ModelProto], batch: int, fields: dict[str, object], engine: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(model(), path)
    ttc.compile(path, batch=batch, **fields).save(tmp_path / "model.tti")
    rows = [{"x": rng.standard_normal((batch, 96)).astype(np.float32)} for _ in range(3)]
    with ttc.load(tmp_path / "model.tti", engine=engine) as executor:
        wanted = [executor.run(row) for row in rows]
        parts, joints = parts_of(executor.program, engine_named(engine, 1))
    assert len(parts) == fields["chips"]
    assert all(joint.source < joint.target for joint in joints)
    for found, expected in zip(piped(parts, Joints(joints), rows), wanted, strict=True):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)


def test_rounds_over_the_batch(tmp_path: Path, rng: np.random.Generator) -> None:
    """The whole runs its graphs in a loop; each part keeps the loop, and its joints hold what all rounds pass."""
    path = tmp_path / "model.onnx"
    onnx.save(network(8, 512), path)
    program = ttc.compile(path, batch=8192, target="n300", chips=2, parallel="pipeline")
    parts, joints = parts_of(program, engine_named("native", 1))
    for part in parts.values():
        instructions = part.netlist.programs["forward"].instructions
        assert [step.opcode for step in instructions] == ["loop", "execute", "endloop"]
        assert {part.netlist.queues[joint.queue].entries for joint in joints} == {256}
    rows = [{"x": rng.standard_normal((8192, 512)).astype(np.float32)}]
    (found,) = piped(parts, Joints(joints), rows)
    np.testing.assert_array_equal(found["y"], Session(program).call("forward", rows[0])["y"])


def test_parts_have_their_own_tensors(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(network(8), path)
    program = ttc.compile(path, batch=32, target="n300", chips=2, parallel="pipeline")
    parts, _ = parts_of(program, engine_named("reference", 1))
    keys = {chip: {queue.key for queue in part.netlist.queues.values()} - {None} for chip, part in parts.items()}
    assert {chip: set(part.constants.sources) for chip, part in parts.items()} == keys
    assert keys[0] | keys[1] == set(program.constants.sources)
    assert len(keys[0] & keys[1]) == 1  # the weight that the first and the last layer share
    for chip, part in parts.items():
        part.save(tmp_path / f"{chip}.tti")
        with ttc.load(tmp_path / f"{chip}.tti") as executor:
            assert executor.netlist == part.netlist
