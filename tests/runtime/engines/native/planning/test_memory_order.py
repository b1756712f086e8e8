"""Orders of steps that need less memory: values stay right, the peak never grows, and what is computed again is not kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.engines.native.programs import Step, executors, tensor
from ttc.dialects.core.plain.functions import RECOMPUTED
from ttc.runtime.engines.native.codegen.features import VARIABLE
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.graph.tensors import STATUS, PlanBuffer, View
from ttc.runtime.engines.native.planning import memory_order as module
from ttc.runtime.engines.native.planning.memory_order import compact_order
from ttc.runtime.executor import Executor

MB = 1 << 20


@dataclass
class Stand:
    """A step that is nothing but what it uses."""

    read: tuple[View, ...]
    written: tuple[View, ...]


@dataclass
class Use:
    """A step with the buffers that it uses."""

    reads: tuple[PlanBuffer, ...]
    writes: tuple[PlanBuffer, ...]
    fails: bool = False

    @property
    def step(self) -> Stand:
        return Stand((), (STATUS,) if self.fails else ())


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Use], set[PlanBuffer]]:
    """Steps that read buffers which earlier ones wrote, and write new ones or, now and then, over what they read; and what is kept."""
    buffers: list[PlanBuffer] = []
    uses: list[Use] = []
    for _ in range(draw(st.integers(1, 24))):
        reads = tuple(draw(st.lists(st.sampled_from(buffers), max_size=3, unique=True))) if buffers else ()
        over = draw(st.booleans()) and draw(st.booleans())
        if not reads or not over:
            buffers.append(PlanBuffer(draw(st.integers(0, 8)) * MB))
        uses.append(Use(reads, (reads[0] if reads and over else buffers[-1],), draw(st.integers(0, 9)) == 0))
    return uses, set(draw(st.lists(st.sampled_from(buffers), max_size=4)))


def contents(uses: list[Use], order: list[int]) -> dict[PlanBuffer, object]:
    """Return what each buffer holds at the end: the step that wrote it last with all that it read."""
    held: dict[PlanBuffer, object] = {}
    for number in order:
        made = (number, tuple(held[buffer] for buffer in uses[number].reads))
        held.update(dict.fromkeys(uses[number].writes, made))
    return held


def peak(uses: list[Use], order: list[int], kept: set[PlanBuffer]) -> int:
    return module._peak(module._spans(uses, order, kept), len(uses))


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_values_are_as_they_were_and_the_peak_is_no_higher(drawn: tuple[list[Use], set[PlanBuffer]]):
    uses, kept = drawn
    same = list(range(len(uses)))
    found = compact_order(uses, kept)
    assert sorted(found) == same
    assert contents(uses, found) == contents(uses, same)
    assert peak(uses, found, kept) <= peak(uses, same, kept)
    assert found == same or peak(uses, found, kept) <= peak(uses, same, kept) - MB


def test_large_values_are_made_when_they_are_read():
    """Four large values made at first, and read one by one; the second time each by a step that can fail stays where it is."""
    large, sums = [PlanBuffer(4 * MB) for _ in range(4)], [PlanBuffer(64) for _ in range(4)]
    made = [Use((), (buffer,)) for buffer in large]
    read = [Use((buffer, *sums[number - 1 : number]), (sums[number],)) for number, buffer in enumerate(large)]
    assert compact_order([*made, *read], {sums[-1]}) == [0, 4, 1, 5, 2, 6, 3, 7]
    stay = [Use(use.reads, use.writes, fails=True) for use in made]
    assert compact_order([*stay, *read], {sums[-1]}) == list(range(8))


def test_a_long_chain_before_one_step(monkeypatch: pytest.MonkeyPatch):
    """Hundreds of steps are put right before each other; labels are made anew many times."""
    monkeypatch.setattr(module, "_GAP", 2)
    count = 300
    large = [PlanBuffer(MB) for _ in range(count)]
    chain = [Use(large[number - 1 : number] if number else (), (buffer,)) for number, buffer in enumerate(large)]  # pyright: ignore[reportArgumentType]
    others = [Use((), (PlanBuffer(MB),)) for _ in range(3)]
    ends = [Use((other.writes[0], large[-1]), (PlanBuffer(64),)) for other in others]
    uses = [*others, *chain, *ends]
    found = compact_order(uses, set())
    assert contents(uses, found) == contents(uses, list(range(len(uses))))
    assert peak(uses, found, set()) == 2 * MB + 64


def arena_bytes(executor: Executor) -> int:
    (plan,) = [executor.program.plans[graph] for graph in executor.program.netlists.executed.graphs]
    assert isinstance(plan, NativePlan)
    return plan.prepared.layout.arena.size_bytes


@pytest.mark.parametrize("again", [False, True])
def test_what_is_computed_again_is_not_kept(again: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch):
    """Six products of 1 MB and six gradients that read them; the odd ones are computed again, which stands before all gradients.

    Tiles of AMX would need more memory for what they multiply.
    """
    monkeypatch.setenv(VARIABLE, "avx512")
    type_, plain = tensor(512, 512), {"transpose_a": False, "transpose_b": False}
    steps = [Step(f"y{i + 1}", "tile.matmul", (f"y{i}", "w"), type_, plain) for i in range(6)]
    kept = {i: f"y{i}" for i in range(1, 7)}
    if again:
        kept |= {i: f"z{i}" for i in (1, 3, 5)}
        steps += [Step(kept[i], "tile.matmul", (f"y{i - 1}", "w"), type_, plain, sources=(RECOMPUTED,)) for i in (1, 3, 5)]
    for i in range(6, 0, -1):
        steps += [Step(f"p{i}", "tile.softmax", (kept[i],), type_, {"axis": -1})]
        steps += [Step(f"d{i}", "tile.matmul", (f"p{i}", f"d{i + 1}" if i < 6 else "w"), type_, plain)]
    given = {"y0": type_}
    own, reference = executors(given, {"w": (rng.standard_normal((512, 512)).astype(np.float32) / 32, "Float32")}, steps, {"out": "d1"})
    x = {"y0": rng.standard_normal((512, 512)).astype(np.float32)}
    np.testing.assert_allclose(own.run(x)["out"], reference.run(x)["out"], rtol=1e-4, atol=1e-6)
    assert arena_bytes(own) <= (5 if again else 8) * MB
    assert again or arena_bytes(own) > 6 * MB
