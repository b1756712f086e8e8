"""Weights that several products read: packed once, and what the products compute."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.programs import Step, program, tensor
from ttc.dialects.core.plain.functions import Plain
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.graph.nodes import Node
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.planning.steps import buffers_of
from ttc.runtime.engines.native.prepare.build import lower_graph, prepared_of
from ttc.runtime.engines.native.prepare.draft import Draft
from ttc.runtime.engines.native.prepare.shared_constants import share_constants
from ttc.runtime.engines.native.prepare.split_constant import split_constant
from ttc.runtime.executor import Executor
from ttc.runtime.program import Program

PLAIN: dict[str, Plain] = {"transpose_a": False, "transpose_b": False}
FLIPPED: dict[str, Plain] = {"transpose_a": False, "transpose_b": True}


def unrolled(rng: np.random.Generator, steps: int, attrs: dict[str, Plain] = PLAIN, engine: str = "native") -> Program:
    """x w w w ...: a recurrent layer whose steps are written out."""
    held = {"w": (rng.standard_normal((40, 40)).astype(np.float32) / 8, "Float32")}
    names = ["x", *(f"h{i}" for i in range(steps))]
    made = [Step(names[i + 1], "tile.matmul", (names[i], "w"), tensor(3, 40), attrs) for i in range(steps)]
    return program({"x": tensor(3, 40)}, held, made, {"y": names[-1]}, engine)


def drafted(made: Program) -> Draft:
    draft = lower_graph(made.netlist.graphs["g"], made.netlist, made.constants, host_cpu())
    prepared_of(draft, 2)
    return draft


def packings(draft: Draft) -> list[str]:
    return [type(job.kernel).__name__ for job in draft.first if type(job.kernel).__name__.startswith("Pack")]


@pytest.mark.parametrize(("attrs", "kernel"), [(PLAIN, "PackRows"), (FLIPPED, "PackColumns")])
def test_weights_that_all_steps_read_are_packed_once(rng: np.random.Generator, attrs: dict[str, Plain], kernel: str) -> None:
    state = rng.bit_generator.state
    draft = drafted(unrolled(rng, 5, attrs))
    assert packings(draft) == [kernel]
    (packed,) = draft.first[0].written
    assert sum(packed.buffer in buffers_of(job)[0] for job in draft.jobs) == 5
    found = []
    for engine in ("native", "reference"):
        rng.bit_generator.state = state
        made = unrolled(rng, 5, attrs, engine)
        found.append(Executor(made).run({"x": np.ones((3, 40), np.float32)})["y"])
    assert np.abs(found[0] - found[1]).max() <= 1e-5 * np.abs(found[1]).max()


def test_weights_that_are_read_in_two_ways_are_packed_twice(rng: np.random.Generator) -> None:
    held = {"w": (rng.standard_normal((40, 40)).astype(np.float32), "Float32")}
    made = [Step("a", "tile.matmul", ("x", "w"), tensor(3, 40), PLAIN), Step("b", "tile.matmul", ("a", "w"), tensor(3, 40), FLIPPED)]
    draft = drafted(program({"x": tensor(3, 40)}, held, made, {"y": "b"}, "native"))
    assert sorted(packings(draft)) == ["PackColumns", "PackRows"]


def test_other_weights_of_the_same_shape_are_packed_apart(rng: np.random.Generator) -> None:
    held = {name: (rng.standard_normal((40, 40)).astype(np.float32), "Float32") for name in ("v", "w")}
    made = [Step("a", "tile.matmul", ("x", "v"), tensor(3, 40), PLAIN), Step("b", "tile.matmul", ("a", "w"), tensor(3, 40), PLAIN)]
    assert packings(drafted(program({"x": tensor(3, 40)}, held, made, {"y": "b"}, "native"))) == ["PackRows", "PackRows"]


def split(rng: np.random.Generator) -> tuple[Draft, list[Job]]:
    """A draft after `split-constant`, and its jobs on constants: three packings of the same weights."""
    made = unrolled(rng, 3)
    draft = lower_graph(made.netlist.graphs["g"], made.netlist, made.constants, host_cpu())
    draft.first, draft.steps = split_constant(draft.steps)
    return draft, draft.first


def test_a_refused_rewrite_leaves_jobs_apart(rng: np.random.Generator) -> None:
    draft, first = split(rng)
    asked: list[tuple[str, str]] = []

    def refuse(name: str, node: Node) -> bool:
        asked.append((name, node.op.name))
        return False

    kept, steps = share_constants(first, draft.steps, (), refuse)
    assert (kept, steps) == (first, draft.steps)
    assert asked == [("share", "h1"), ("share", "h2")]


def test_values_that_the_plan_names_stay(rng: np.random.Generator) -> None:
    draft, first = split(rng)
    named = [view.buffer for view in first[1].written]
    kept, _ = share_constants(first, draft.steps, named)
    assert kept == first[:2]
