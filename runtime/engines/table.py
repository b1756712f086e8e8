"""The table of engines, by the names that users choose."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record
from ttc.runtime.engines.base import Engine
from ttc.runtime.engines.reference import ReferenceEngine

if TYPE_CHECKING:
    from ttc.dialects.core.watching import StepInstrument
    from ttc.runtime.engines.native.codegen.kernel_folders import KernelFolders


@record
class Exact:
    """Asks an engine for the device's own arithmetic.  seed: of stochastic rounding; None rounds to nearest."""

    seed: int | None = None


def _reference(threads: int, kernels: KernelFolders | None, instruments: Sequence[StepInstrument]) -> Engine:
    """Make the reference engine; its threads are those of numpy's BLAS, which take their number from the environment when numpy is
    loaded.
    """
    del threads, kernels, instruments
    return ReferenceEngine()


def _native(threads: int, kernels: KernelFolders | None, instruments: Sequence[StepInstrument]) -> Engine:
    """With the instructions that variable TTC_CPU allows it; raises E0101 if that names none."""
    from ttc.runtime.engines.native.codegen.features import allowed_cpu
    from ttc.runtime.engines.native.codegen.kernel_folders import KernelFolders
    from ttc.runtime.engines.native.engine import NativeEngine

    return NativeEngine(threads, allowed_cpu(os.environ), kernels or KernelFolders(), instruments)


_Make: TypeAlias = "Callable[[int, KernelFolders | None, Sequence[StepInstrument]], Engine]"
ENGINES: Mapping[str, _Make] = {
    "native": _native,
    "reference": _reference,
}


def engine_named(
    name: str | None,
    threads: int,
    exact: Exact | None = None,
    kernels: KernelFolders | None = None,
    instruments: Sequence[StepInstrument] = (),
) -> Engine:
    """Return the engine of that name, with at most so many threads, and the device's arithmetic if asked to. None: the fastest that can do
    it.

    kernels: where machine code is found and kept, for an engine that makes some.
    instruments: what watches an engine make plans in named steps.
    Raises E0803 for an unknown engine, E0101 for one that has no arithmetic but the CPU's.
    """
    if name is None:
        name = "native" if exact is None else ReferenceEngine.name
    make = ENGINES.get(name)
    if make is None:
        raise Error("E0803", f"there is no engine '{name}'", hint=nearest(name, ENGINES))
    if exact is None:
        return make(threads, kernels, instruments)
    if name != ReferenceEngine.name:
        raise Error("E0101", f"engine '{name}' does not compute as the device does", hint="only 'reference' does")
    from ttc.runtime.engines.exact.engine import ExactEngine

    return ExactEngine(exact.seed)
