"""Compare gradients of samples of PyTorch's own operator database with PyTorch's: float64 on the reference engine, or float32 natively.

    python tools/gradient_suite.py [-k PATTERN] [--engine reference|native] [--samples 20] [--jobs 1] [--json] [--bar 0.93] [--verbose]
                                   [--record FILE]

A run of all takes an hour or more: with `--record` one that was ended goes on where it was.

Each sample of `op_db` that PyTorch differentiates is exported as in `torch_suite.py`, differentiated by the pass `differentiate`, taken
through all stages and run: its outputs' cotangents are random, the gradients of its inputs are compared by their largest difference,
relative to the largest of all.  Of the samples whose program the importer takes, printed are those that are right, wrong, refused by the
name of the op that has no gradient (E0506), and failed in any other way.  Exit status 1 if any is wrong or failed, if a smaller share than
`--bar` is right, or if none were chosen.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import checkout  # noqa: F401
from suite import Outcome, by_op, category_rows, reasons, recorded
from torch_suite import (
    REFUSALS,
    UNINITIALIZED,
    Call,
    Case,
    Suite,
    because,
    is_random,
    name_of,
    parser,
    run_all,
    samples_of,
)
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.netlist.to_model import to_model
from ttc.importers.torch.dtypes import dtype_of
from ttc.importers.torch.exported import import_exported
from ttc.importers.torch.weights import array_of
from ttc.passes.base import Unit
from ttc.passes.emit import package_of
from ttc.passes.manager import run_passes
from ttc.passes.nn.differentiate import JOINT, Differentiate
from ttc.passes.pipeline import PipelineSettings, stages
from ttc.runtime.engines.table import engine_named
from ttc.runtime.executor import Executor
from ttc.runtime.netlists import Netlists
from ttc.runtime.program import Plans, Program
from ttc.runtime.tensors import Constants

TYPES = {"reference": torch.float64, "native": torch.float32}
"""The type that is computed in, by engine."""
BOUNDS = {"reference": 1e-6, "native": 2e-3}
"""The largest difference of gradients, relative to the largest of all, or to 1."""
COUNTED = ("pass", "wrong", "refused", "fail")
RANDOM = ("nn.dropout", "nn.random_uniform", "nn.random_normal")
MISTAKEN = {"as_strided_scatter": "PyTorch gives what is written over the gradient of what is written"}
"""Operators whose gradient in PyTorch is not that of what they compute."""
DRAWS = 8
"""The runs of PyTorch with seeds of their own that show whether a sample is random: few elements are seldom dropped."""
STATUSES = (*COUNTED, "not taken", "not exported", "not comparable")


@dataclass(frozen=True)
class Wanted:
    """The results and gradients that PyTorch gives for a sample.

    Args:
        cotangents: of the results, in order; None for those that have none.
        gradients: of the tensors that go in, in order; None where PyTorch gives none.
        results: those that have cotangents, in order; None for the others.
        ambiguous: whether the database compares what it makes of the results, as other results are right, too (signs of eigenvectors).
    """

    cotangents: list[torch.Tensor | None]
    gradients: list[torch.Tensor | None]
    results: list[torch.Tensor | None]
    ambiguous: bool


class Gradients:
    """The suite on one engine."""

    def __init__(self, engine: str) -> None:
        self._engine, self._dtype, self._bound = engine, TYPES[engine], BOUNDS[engine]

    def operators(self, pattern: str) -> list[Any]:
        """Return operators that PyTorch differentiates, and whose name matches a regular expression."""
        known = [op for op in op_db if op.supports_autograd and self._dtype in op.supported_backward_dtypes("cpu")]
        return [op for op in known if re.search(pattern, name_of(op))]

    def samples(self, op: Any, count: int) -> list[Any]:
        """Return the first samples that PyTorch makes to be differentiated."""
        return samples_of(op, count, self._dtype, requires_grad=True)

    def run(self, case: Case, sample: Any) -> Outcome:
        """Return the outcome of one sample, in this process."""
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._tried(case, sample)
        return replace(found, seconds=round(time.perf_counter() - started, 3))

    def _tried(self, case: Case, sample: Any) -> Outcome:
        if case.op.name in MISTAKEN:
            return because(case.outcome, "not comparable", MISTAKEN[case.op.name])
        leaves, tree = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
        tensors = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
        module = Call(partial(case.op.gradcheck_wrapper, case.op.op), leaves, tree)  # makes matrices symmetric of which half is read
        try:
            with torch.no_grad():
                plain = tuple(x.detach().clone() for x in tensors)
                program = torch.export.export(module, plain)
                torch.manual_seed(0)
                expected = module(*(x.clone() for x in plain))
                if case.op.name in UNINITIALIZED or any(_differs(module, plain, expected, seed) for seed in range(1, DRAWS + 1)):
                    return because(case.outcome, "not comparable", "two runs of PyTorch differ: random")
        except Exception as error:  # noqa: BLE001 - whatever it raises is why it is not exported
            return because(case.outcome, "not exported", f"{type(error).__name__}: {error}")
        try:
            wanted = wanted_of(module, tensors, sample.output_process_fn_grad)
        except Exception as error:  # noqa: BLE001 - PyTorch cannot differentiate it
            return because(case.outcome, "not comparable", f"PyTorch: {type(error).__name__}: {error}")
        if all(g is None for g in wanted.gradients):
            return because(case.outcome, "not comparable", "PyTorch has no gradient")
        return self._compared(case, program, plain, wanted)

    def _compared(self, case: Case, program: torch.export.ExportedProgram, plain: Sequence[torch.Tensor], wanted: Wanted) -> Outcome:
        try:
            unit = Unit(*import_exported(program, examples=(plain, {})), load_target("host"))
        except Error as error:
            status = "not taken" if error.code in REFUSALS else "fail"
            return because(case.outcome, status, f"{error.code} {error.message}")
        except Exception as error:  # noqa: BLE001 - whatever a case raises is its outcome
            return because(case.outcome, "fail", f"{type(error).__name__}: {error}")
        if any(op.name in RANDOM for op in unit.module.walk()):
            return because(case.outcome, "not comparable", "draws random numbers: PyTorch draws others")
        try:
            found = self._gradients(unit, program, plain, wanted)
        except Error as error:
            return because(case.outcome, "refused" if error.code == "E0506" else "fail", f"{error.code} {error.message}")
        except Exception as error:  # noqa: BLE001 - whatever a case raises is its outcome
            return because(case.outcome, "fail", f"{type(error).__name__}: {error}")
        if found is None:
            return because(case.outcome, "not comparable", "the result is not unique, and PyTorch's is another")
        worst = difference(found, [g for g in wanted.gradients if g is not None], self._bound)
        return because(case.outcome, "wrong", worst) if worst else case.outcome

    def _gradients(
        self, unit: Unit, program: torch.export.ExportedProgram, plain: Sequence[torch.Tensor], wanted: Wanted
    ) -> list[np.ndarray] | None:
        """Return what our program gives for the tensors of which PyTorch has gradients, in order; None where its results are others."""
        names = [s.arg.name for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
        (function,) = entry_functions(unit.module)
        arguments, results = ports(function)
        outputs = [port.name for port in results if port.updates is None and not port.name.endswith(".mutated")]
        seeds = {name: u for name, u in zip(outputs, wanted.cotangents, strict=False) if u is not None}
        asked = [name for name, g in zip(names, wanted.gradients, strict=True) if g is not None]
        given = {port.name for port in arguments}
        gradients = Differentiate(outputs=tuple(seeds), inputs=tuple(name for name in asked if name in given))
        for passes in stages(unit.target, PipelineSettings(gradients=gradients)).values():
            run_passes(passes, unit)
        feeds = {name: as_array(x) for name, x in zip(names, plain, strict=True) if name in given}
        feeds |= {f"grad.{name}": as_array(u) for name, u in seeds.items()}
        package = package_of(unit, to_model(unit.module), "suite")
        constants, netlists = Constants(package.tensors), Netlists(lambda: package.netlist, package.description)
        made = Program(netlists, package.description, constants, Plans(engine_named(self._engine, 1), netlists, constants))
        with Executor(made) as executor:
            found = executor.run(feeds, JOINT)
        for name, value in zip(outputs, wanted.results, strict=False):
            if wanted.ambiguous and value is not None and difference([np.array(found[name])], [value], self._bound):
                return None
        return [np.array(found[f"grad.{name}"]) if name in given else np.zeros(()) for name in asked]


def _differs(module: torch.nn.Module, tensors: Sequence[torch.Tensor], expected: Any, seed: int) -> bool:
    """Return whether a run of PyTorch with another seed gives something else."""
    torch.manual_seed(seed)
    return is_random(module(*(x.clone() for x in tensors)), expected)


def wanted_of(module: torch.nn.Module, tensors: Sequence[torch.Tensor], comparable: Any) -> Wanted:
    """Return random cotangents of a sample's results, and the gradients that PyTorch makes of them.

    comparable: what the database makes of a result that is not unique before it is compared: its cotangents are random instead.
    """
    given = [x.detach().clone().requires_grad_(x.requires_grad) for x in tensors]
    results = [y for y in pytree.tree_leaves(module(*given)) if isinstance(y, torch.Tensor)]
    held = [y.detach().requires_grad_(y.is_floating_point() or y.is_complex()) for y in results]
    tree = pytree.tree_structure(module(*given))
    final = comparable(pytree.tree_unflatten(held, tree)) if len(held) == tree.num_leaves else held
    last = [y for y in pytree.tree_leaves(final) if isinstance(y, torch.Tensor) and y.requires_grad]
    torch.manual_seed(2)
    pulled = torch.autograd.grad(last, [y for y in held if y.requires_grad], [torch.randn_like(y) for y in last], allow_unused=True)
    each = iter(pulled)
    cotangents = [next(each) if y.requires_grad else None for y in held]
    rows = [(y, u) for y, u in zip(results, cotangents, strict=True) if u is not None and y.requires_grad]
    asked = [x for x in given if x.requires_grad]
    own = iter(torch.autograd.grad([y for y, _ in rows], asked, [u for _, u in rows], allow_unused=True) if rows and asked else ())
    kept = {id(y) for y, _ in rows}
    cotangents = [u if id(y) in kept else None for y, u in zip(results, cotangents, strict=True)]
    shown = [y.detach() if u is not None else None for y, u in zip(results, cotangents, strict=True)]
    ambiguous = len(last) != len(rows) or any(a is not b for a, b in zip(last, held, strict=False))
    return Wanted(cotangents, [next(own, None) if x.requires_grad else None for x in given], shown, ambiguous)


def as_array(value: torch.Tensor) -> np.ndarray:
    """Return a tensor as an input of ours: complex numbers as real and imaginary parts along a last dimension."""
    parts = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    return array_of(parts.detach().contiguous(), dtype_of(parts.dtype))


def difference(found: Sequence[np.ndarray], wanted: Sequence[torch.Tensor], bound: float) -> str:
    """Return what is wrong with gradients; empty if they are right."""
    reference = [as_array(g) for g in wanted]
    largest = max([1.0, *(float(np.abs(g[np.isfinite(g)]).max(initial=0.0)) for g in reference)])
    for index, (mine, theirs) in enumerate(zip(found, reference, strict=True)):
        if mine.shape != theirs.shape:
            return f"gradient {index + 1} is {list(mine.shape)}, not {list(theirs.shape)}"
        finite = np.isfinite(theirs)
        same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
        if not bool((same | finite).all()):
            return f"gradient {index + 1}: {int((~same & ~finite).sum())} of {theirs.size} elements that are no numbers differ"
        error = float(np.nan_to_num(np.abs(mine[finite] - theirs[finite]), nan=np.inf, posinf=np.inf).max(initial=0.0))
        if error > bound * largest:
            return f"gradient {index + 1} differs by {error:.2g} where the largest is {largest:.2g}"
    return ""


def tables(outcomes: list[Outcome], *, verbose: bool) -> Iterator[str]:
    """Yield lines of the report."""
    yield from category_rows(outcomes, STATUSES)
    taken, right = counts(outcomes)
    yield f"{right} of the {taken} whose program the importer takes are right: {100 * right / max(taken, 1):.1f} %"
    yield ""
    yield from by_op(outcomes, STATUSES, frozenset(["pass", "not taken", "not exported", "not comparable"]))
    yield ""
    yield "reasons"
    yield from reasons(item for item in outcomes if item.status in COUNTED[1:])
    if verbose:
        yield ""
        yield from (f"{i.status:15}{i.name}  {i.reason}".rstrip() for i in outcomes if i.status != "pass")


def counts(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """Return how many samples' programs the importer takes, and how many of those are right."""
    found = Counter(o.status for o in outcomes)
    return sum(found[status] for status in COUNTED), found["pass"]


def main() -> int:
    flags = parser(__doc__, share="of the samples taken", listed="is not right")
    flags.add_argument("--engine", choices=tuple(TYPES), default="reference", help="what runs the programs")
    flags.add_argument("--record", type=Path, help="file of outcomes, from which a run that was ended goes on")
    options = flags.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    suite = Gradients(options.engine)
    ops = suite.operators(options.pattern)[:: options.every]
    warm_up(suite)
    rows = Suite(suite.samples, suite.run)
    if options.record is None:
        outcomes = run_all(rows, ops, options.samples, options.time_limit, options.jobs)
    else:
        known = {name_of(op): op for op in ops}
        outcomes = recorded(options.record, list(known), lambda name: run_all(rows, [known[name]], options.samples, options.time_limit, 1))
    taken, right = counts(outcomes)
    if options.json:
        print(json.dumps([asdict(item) for item in outcomes], indent=1))
    else:
        print("\n".join(tables(outcomes, verbose=options.verbose)))
    broken = any(item.status in ("wrong", "fail") for item in outcomes)
    return 1 if broken or not taken or right / taken < options.bar else 0


def warm_up(suite: Gradients) -> None:
    """Load what a sample needs, so that children have it."""
    (op,) = suite.operators("^nn.functional.relu$")
    suite.run(Case(op, 0), suite.samples(op, 1)[0])


if __name__ == "__main__":
    sys.exit(main())
