"""What is kept of programs, as bytes and back."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.programs import Step, network, program, tensor
from tests.runtime.engines.stateful import ENGINES, Stateful
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.planning.plan_bytes import KeptProgram, pack, pack_program, unpack, unpack_program
from ttc.runtime.engines.native.planning.template import Template

pytestmark = pytest.mark.skipif(host_cpu().arch != "x86-64", reason="runs code")

WEIGHTS = np.random.default_rng(2).standard_normal((33, 17)).astype(np.float32)
PRODUCT = Step("y", "tile.matmul", ("x", "w"), tensor(6, 17), {"transpose_a": False, "transpose_b": False})


def plan_of_product() -> NativePlan:
    made = program({"x": tensor(6, 33)}, {"w": (WEIGHTS, "Float32")}, [PRODUCT], {"out": "y"}, "native").plans["g"]
    assert isinstance(made, NativePlan)
    return made


def same(found: Template, expected: Template) -> None:
    assert (found.words.tolist(), found.table.tolist()) == (expected.words.tolist(), expected.table.tolist())
    assert (found.kernels, found.scratch_bytes) == (expected.kernels, expected.scratch_bytes)
    patches = [[(p.positions.tolist(), p.offsets.tolist()) for p in template.patches.values()] for template in (found, expected)]
    assert patches[0] == patches[1]
    for own, other in zip(found.patches, expected.patches, strict=True):
        assert (own.size_bytes, own.place, own.queue, own.key) == (other.size_bytes, other.place, other.queue, other.key)


def test_a_graph_comes_back_without_its_weights():
    prepared = plan_of_product().prepared
    data = pack(prepared)
    assert data is not None
    found = unpack(data)
    same(found.template, prepared.template)
    same(found.packing.template, prepared.packing.template)
    assert [(s.first, s.last, s.step) for s in found.layout.segments] == [(s.first, s.last, s.step) for s in prepared.layout.segments]
    assert (found.layout.arena.size_bytes, dict(found.layout.values)) == (prepared.layout.arena.size_bytes, dict(prepared.layout.values))
    assert [len(b) for b in found.packing.reads] == [len(b) for b in prepared.packing.reads]
    assert {buffer.key for buffer in found.buffers()} == {None, "w"}
    assert all(buffer.array is None for buffer in found.buffers())
    assert WEIGHTS.tobytes()[:64] not in data


def test_the_same_buffer_stays_one():
    found = unpack(pack(plan_of_product().prepared) or b"")
    (written,) = found.layout.written
    assert written.view is not None
    assert written.view.buffer in found.template.patches
    assert found.packing.kept <= {buffer for buffers in found.packing.writes for buffer in buffers} | set(found.template.patches)


def test_what_python_computes_is_not_kept():
    made = network("native").plans["g"]
    assert isinstance(made, NativePlan)
    assert pack(made.prepared) is None


def test_a_program_comes_back():
    kept = KeptProgram('{"a": "ä"}', {"k": ("symbol", "entry.code"), "l": ("other", "")}, {"g": b"123", "h": b"", "i": bytes(range(256))})
    assert unpack_program(pack_program(kept)) == kept


@pytest.mark.parametrize("cut", [8, 200])
def test_words_that_are_missing_are_noticed(cut: int):
    data = pack(plan_of_product().prepared)
    assert data is not None
    with pytest.raises(ValueError, match="words where|reshape"):
        unpack(data[:-cut])


def test_what_is_written_in_place_is_kept():
    type_ = tensor(4, 33)
    graph = Stateful({"a": type_, "i": tensor(1, 1, format="Int64"), "r": tensor(1, 33)},
                     [Step("next", "tile.scatter_nd", ("a", "i", "r"), type_, {"reduction": "none"})], {"a": "next"})  # fmt: skip
    made = graph.plan(ENGINES["native"])
    assert isinstance(made, NativePlan)
    layout, found = made.prepared.layout, unpack(pack(made.prepared) or b"").layout
    assert layout.in_place["a.next"].over == {"a": (1,)}
    assert (found.in_place, found.last_reads, found.variables) == (layout.in_place, layout.last_reads, frozenset({"a"}))
