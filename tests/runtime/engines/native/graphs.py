"""Small graphs on the native engine and on the reference engine, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tests import sums
from tests.draws import rng_of_test
from tests.runtime.conftest import Builder
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.model import Host, Op
from ttc.runtime.engines.native.codegen.features import EMULATED_TILES, Cpu, host_cpu
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.prepare.build import lower_graph
from ttc.runtime.engines.reference import plan_of
from ttc.runtime.tensors import Constants, TensorSource


@dataclass(frozen=True)
class Given:
    """An operand.

    Args:
        format: of it; a format that is held narrower than it is computed is stored as such by an op before.
        constant: whether the program holds it.
    """

    array: NDArray
    format: str = "Float32"
    constant: bool = False

    @property
    def type(self) -> TensorType:
        return TensorType(self.array.shape, self.format)


@dataclass(frozen=True)
class Ran:
    """What both engines found, and what the native one did.

    Args:
        refusals: (op, reason) of what it left to Python.
        kernels: names of the kernels that ops were lowered to, in order.
        each_run: names of those of each run: some are joined, and what works on constants alone is left out.
        sources: element types of what those of `kernels` read that have one.
        lines: cache lines of panels that those of `kernels` fetch for each channel.
        rows: names of how those of `kernels` find their rows that say so.
        on_magnitudes: what the reference engine finds for the magnitudes of all operands.
    """

    native: NDArray
    reference: NDArray
    refusals: tuple[tuple[str, str], ...]
    kernels: tuple[str, ...]
    on_magnitudes: Callable[[], NDArray]
    each_run: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    rows: tuple[str, ...] = ()

    def close(self, share: float, expected: NDArray | None = None) -> None:
        """Compare sums, and what follows them, with those of the reference engine or with others: relative to the sum of magnitudes."""
        sums.close(self.native, self.reference if expected is None else expected, self.on_magnitudes(), share)


def ran(
    works: Sequence[Work],
    given: Sequence[Given],
    *,
    level: str = "amx",
    threads: int = 2,
    rounding: str = "rne",
    precision: str = "float32",
    tiles: bool = False,
) -> Ran:
    """Run works over given operands, whose numbers come first; the result is that of the last work.  tiles: with AMX, emulated."""
    b = Builder()
    for i, operand in enumerate(given):
        name = f"x{i}"
        b.queue(name, "constant" if operand.constant else "input", operand.type, key=name if operand.constant else None)
    ops = _ops(works, given, rounding, precision)
    (result,) = works[-1].results
    b.queue("y", "output", result, source=ops[-1].name)
    b.graph("g", ops, [(ops[-1].name, "y")])
    netlist = b.netlist()
    arrays, constants = _values(given)
    graph = netlist.graphs["g"]
    cpu = emulated_tiles(level) if tiles else host_cpu().limited_to(level)
    lowered = lower_graph(graph, netlist, constants, cpu)
    refusals = tuple((node.work.op, reason) for node, reason in lowered.refusals if node.work.op != "tile.cast")
    kernels = tuple(type(step.kernel).__name__ for step in lowered.steps if isinstance(step, Job))
    jobs = [step for step in lowered.steps if isinstance(step, Job)]
    sources = tuple(getattr(job.kernel, "source", "") for job in jobs)
    lines = tuple(getattr(job.kernel, "lines", 0) for job in jobs)
    rows = tuple(type(found).__name__ for job in jobs if (found := getattr(job.kernel, "rows", None)) is not None)
    plan = NativeEngine(threads, cpu).prepare(graph, netlist, constants)
    native = plan.run(arrays)["y"]
    each_run = tuple(type(job.kernel).__name__ for job in plan.jobs()) if isinstance(plan, NativePlan) else ()

    def reference(given: Sequence[Given]) -> NDArray:
        arrays, constants = _values(given)
        return plan_of(graph, netlist, constants).run(arrays)["y"]

    magnitudes = partial(reference, [replace(operand, array=np.abs(operand.array)) for operand in given])
    return Ran(native, reference(given), refusals, kernels, magnitudes, each_run, sources, lines, rows)


def _values(given: Sequence[Given]) -> tuple[dict[str, NDArray], Constants]:
    """Arrays that a run is given, and what the program holds."""
    sources = [(f"x{i}", operand.constant, TensorSource.of_array(operand.array, operand.format)) for i, operand in enumerate(given)]
    held = {name: source for name, constant, source in sources if constant}
    return {name: source.value() for name, constant, source in sources if not constant}, Constants(held)


def emulated_tiles(level: str = "avx512") -> Cpu:
    """The CPU of this process with tiles of AMX as loops over memory."""
    cpu = host_cpu().limited_to("avx512").limited_to(level)
    return Cpu(cpu.arch, cpu.features | {EMULATED_TILES})


def _ops(works: Sequence[Work], given: Sequence[Given], rounding: str, precision: str) -> list[Op]:
    """The op of the works, after ops that store operands in narrow formats."""
    ops: list[Op] = []
    names = [f"x{i}" for i in range(len(given))]
    for i, operand in enumerate(given):
        if operand.format in ("Float16_b", "Half") and not operand.constant:
            stored = Function((operand.type,), (Work("tile.cast", (0,), {}, (operand.type,)),), (1,))
            ops.append(Op(f"stored{i}", "cast", (names[i],), Host(), None, stored))
            names[i] = f"stored{i}"
    types = tuple(operand.type for operand in given)
    last = len(given) + sum(len(work.results) for work in works) - 1
    work = Function(types, tuple(works), (last,))
    assert rounding in ("rne", "none")
    return [*ops, Op("op", "op", tuple(names), Host(), None, work, precision=precision, rounding=rounding)]  # pyright: ignore[reportArgumentType]


def normal(*shape: int, dtype: str = "float32") -> NDArray:
    """Numbers around 0."""
    return rng_of_test().standard_normal(shape).astype(dtype)
