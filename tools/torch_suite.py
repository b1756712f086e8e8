"""Run samples of PyTorch's own operator database through ttc: torch.export, import, nn, tile, netlist, archive, run.

    python tools/torch_suite.py [-k PATTERN] [--samples 20] [--jobs 1] [--json] [--bar 0.85] [--verbose]

`op_db` of torch.testing gives float32 samples of every operator; each is exported as a module of its own, whose tensors are inputs and
whose other arguments are fixed, and compared with eager PyTorch: shape, dtype, and a difference of at most 1e-4 max(1, largest).  Every
operator's samples run in a forked child with limits on time and memory.  Printed are, of the samples that torch.export itself exports,
those imported and right, by operator, with reasons for the others.  Operators that draw random numbers are
listed as not comparable, by no shapes or dtypes either.  Exit status 1 if a smaller share than `--bar` is right, or none were chosen.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import os
import re
import selectors
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import checkout  # noqa: F401
import ttc.runtime.loader
from suite import Outcome, by_op, category_rows, died, host_ops, limit_memory, outcome_of, reasons
from ttc.compiler.driver import compile_source
from ttc.compiler.source import Source
from ttc.dialects.core.errors import Error
from ttc.importers.torch.dtypes import DTYPES, dtype_of
from ttc.importers.torch.exported import import_exported
from ttc.importers.torch.weights import array_of
from ttc.options import CompileOptions, resolve
from ttc.runtime.arguments import inputs_of
from ttc.runtime.program import Program

SAMPLES = 20
TIME_LIMIT_SECONDS = 60
"""The seconds that a sample may take."""
STATUSES = ("pass", "fail", "unsupported", "not exported", "not comparable")
REFUSALS = ("E0202", "E0205")
"""Codes with which the importer says that it does not take a program."""
UNINITIALIZED = frozenset(("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"))
"""Operators whose result has arbitrary content."""
RELATIVE = 1e-4
"""The difference that is allowed beside an operator's own tolerances, as a share of the largest element."""


class Call(torch.nn.Module):
    """An operator on one sample: the tensors among its arguments are inputs, the other arguments are fixed."""

    def __init__(self, function: Callable[..., Any], leaves: Sequence[Any], tree: pytree.TreeSpec) -> None:
        super().__init__()
        self._function, self._leaves, self._tree = function, leaves, tree

    def forward(self, *tensors: torch.Tensor) -> Any:
        given = iter(tensors)
        leaves = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in self._leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self._tree)
        return self._function(*args, **kwargs)


@dataclass(frozen=True)
class Case:
    """A sample of an operator, made when it is run."""

    op: Any
    index: int

    @property
    def outcome(self) -> Outcome:
        """Return an outcome under the name of the case."""
        return Outcome(f"{name_of(self.op)}:{self.index}", "op_db", name_of(self.op), ordinary=True)


def name_of(op: Any) -> str:
    """Return the operator's name and that of the variant of its tests: `linalg.norm.subgradients_at_zero`."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def operators(pattern: str) -> list[Any]:
    """Return operators of float32 whose name matches a regular expression, in the database's order."""
    return [op for op in op_db if torch.float32 in op.dtypes and re.search(pattern, name_of(op))]


def samples_of(op: Any, count: int, dtype: torch.dtype = torch.float32, *, requires_grad: bool = False) -> list[Any]:
    """Return the first samples, the same in every run."""
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - some samples are made by it
    return list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=requires_grad), count))


@dataclass(frozen=True)
class Suite:
    """What is done with samples of operators, here and in `gradient_suite.py`.

    Args:
        samples: the first so many of an operator, the same in every run.
        run: gives the outcome of one, in its own process.
    """

    samples: Callable[[Any, int], list[Any]]
    run: Callable[[Case, Any], Outcome]


def run_case(case: Case, sample: Any) -> Outcome:
    """Return the outcome of one sample, in this process."""
    started = time.perf_counter()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        found = _tried(case, sample)
    return replace(found, seconds=round(time.perf_counter() - started, 3))


def _tried(case: Case, sample: Any) -> Outcome:
    leaves, tree = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
    tensors = tuple(leaf.detach().clone() for leaf in leaves if isinstance(leaf, torch.Tensor))
    module = Call(case.op.op, leaves, tree)
    try:
        program = torch.export.export(module, tensors)
        torch.manual_seed(0)
        expected = module(*(x.clone() for x in tensors))
    except Exception as error:  # noqa: BLE001 - whatever it raises is why it is not exported
        return because(case.outcome, "not exported", f"{type(error).__name__}: {error}")
    torch.manual_seed(1)
    if case.op.name in UNINITIALIZED:
        return because(case.outcome, "not comparable", "uninitialized memory")
    if is_random(module(*(x.clone() for x in tensors)), expected):
        return because(case.outcome, "not comparable", "two runs of PyTorch differ: random")
    try:
        found, ops = through(program, tensors)
        worst = _difference(found, expected, sample.output_process_fn_grad)
    except Error as error:
        table = (error.excerpt or "").splitlines()[1:]
        rows = "; ".join(re.sub(r"  +", " ", line) for line in table) or error.message
        if "random numbers" in rows:
            return because(case.outcome, "not comparable", "draws random numbers")
        return because(case.outcome, "unsupported" if error.code in REFUSALS else "fail", f"{error.code} {rows}")
    except Exception as error:  # noqa: BLE001 - whatever a case raises is its outcome
        return because(case.outcome, "fail", f"{type(error).__name__}: {error}")
    return replace(because(case.outcome, "fail", worst) if worst else case.outcome, host_ops=ops)


def because(outcome: Outcome, status: str, reason: str) -> Outcome:
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    return replace(outcome, status=status, reason=" | ".join(lines)[:400])


def is_random(again: Any, expected: Any) -> bool:
    """Return whether two runs of PyTorch with different seeds differ."""
    pairs = zip(_tensors(again), _tensors(expected), strict=False)
    plain = [(a, b) for a, b in pairs if a.shape == b.shape and a.dtype in DTYPES and a.layout == torch.strided]
    return any(not torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) for a, b in plain)


def compiled(program: torch.export.ExportedProgram, tensors: Sequence[torch.Tensor]) -> Program:
    """Return the program for this machine."""
    module, weights = import_exported(program, examples=(tensors, {}))
    return compile_source(Source(module, weights, "import"), resolve(CompileOptions, {"target": "host"})).program()


def through(program: torch.export.ExportedProgram, tensors: Sequence[torch.Tensor]) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Return the results of an exported program that was compiled and run, and the nn ops that ran in host segments."""
    made = compiled(program, tensors)
    with tempfile.TemporaryDirectory(prefix="torch-suite-") as folder:
        path = Path(folder) / "model.tti"
        made.save(path)
        with ttc.runtime.loader.load(path) as executor:
            names = [s.arg.name for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
            feeds = {name: array_of(x, dtype_of(x.dtype)) for name, x in zip(names, tensors, strict=True)}
            wanted = {a.name for a in inputs_of(executor.netlist.programs["forward"])}
            found = executor.run({name: x for name, x in feeds.items() if name in wanted})
            found = {name: x for name, x in found.items() if not name.endswith(".mutated")}
            return [np.array(x) for x in found.values()], host_ops(executor.netlist)


def _tensors(value: Any) -> list[torch.Tensor]:
    """Return the tensors of a result, and its numbers as such."""
    return [_tensor(x) for x in pytree.tree_leaves(value) if isinstance(x, _COMPARED)]


def _in_parts(value: Any) -> Any:
    """Complex tensors as ttc gives them: real and imaginary parts along a last dimension."""
    return torch.view_as_real(value.resolve_conj()) if isinstance(value, torch.Tensor) and value.is_complex() else value


def _like(theirs: Any, ours: np.ndarray) -> torch.Tensor:
    """Our result as PyTorch gives it."""
    found = torch.from_numpy(ours)
    return torch.view_as_complex(found) if isinstance(theirs, torch.Tensor) and theirs.is_complex() else found


def _tensor(value: Any, dtype: np.dtype | None = None) -> torch.Tensor:
    """Return a tensor, or a number as one: of the dtype that stands for it."""
    if isinstance(value, torch.Tensor):
        return value.detach()
    return torch.as_tensor(value) if dtype is None else torch.from_numpy(np.array(value, dtype))


_COMPARED = (torch.Tensor, bool, int, float)
_OF_TYPE = "type: "


def _difference(found: Sequence[np.ndarray], expected: Any, comparable: Callable[[Any], Any] = lambda result: result) -> str:
    """Return what is wrong with the results; empty if they are right.

    comparable: what the database makes of a result that is not unique (signs of eigenvectors) before it is compared.
    """
    leaves, tree = pytree.tree_flatten(expected)
    wanted = [_in_parts(x) for x in leaves if isinstance(x, _COMPARED)]
    if len(found) != len(wanted):
        return f"{len(found)} results, not {len(wanted)}"
    plain = (_wrong(ours, _tensor(theirs, ours.dtype)) for ours, theirs in zip(found, wanted, strict=True))
    worst = next(filter(None, plain), "")
    if not worst or worst.startswith(_OF_TYPE):
        return worst
    ours = iter(found)
    again = pytree.tree_unflatten([_like(x, next(ours)) if isinstance(x, _COMPARED) else x for x in leaves], tree)
    pairs = zip(_tensors(comparable(again)), _tensors(comparable(expected)), strict=True)
    return next(filter(None, (_wrong(_in_parts(mine).numpy(), _in_parts(theirs)) for mine, theirs in pairs)), "")


def _wrong(ours: np.ndarray, theirs: torch.Tensor) -> str:
    reference = array_of(theirs, dtype_of(theirs.dtype))
    if ours.shape != reference.shape or ours.dtype != reference.dtype:
        return f"{_OF_TYPE}{ours.dtype}{list(ours.shape)}, not {reference.dtype}{list(reference.shape)}"
    if reference.dtype.kind == "V":
        ours, reference = ours.astype(np.float32), reference.astype(np.float32)
    if reference.dtype.kind != "f":
        return "" if np.array_equal(ours, reference) else f"{int((ours != reference).sum())} of {reference.size} elements differ"
    finite = np.isfinite(reference)
    same = (ours == reference) | (np.isnan(ours) & np.isnan(reference))
    if not bool((same | finite).all()):
        return f"{int((~same & ~finite).sum())} of {reference.size} elements that are no numbers differ"
    largest = float(np.abs(reference[finite]).max(initial=0.0))
    error = float(np.nan_to_num(np.abs(ours[finite] - reference[finite]), nan=np.inf, posinf=np.inf).max(initial=0.0))
    return "" if error <= RELATIVE * max(1.0, largest) else f"differs by {error:.2g} where the largest is {largest:.2g}"


# ---- children ------------------------------------------------------------------------------------------------------------------------


class Batch:
    """A child that runs the samples of one operator from one on, and writes an outcome a line."""

    def __init__(self, suite: Suite, op: Any, first: int, count: int, seconds: int) -> None:
        self.op, self.first, self._seconds = op, first, seconds
        reader, writer = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            os.close(reader)
            _run_batch(suite, op, first, count, writer, seconds)
        os.close(writer)
        self.pipe = os.fdopen(reader, "rb")
        self.outcomes: list[Outcome] = []
        self.done = False

    def read(self) -> bool:
        """Take one line; False at the end."""
        line = self.pipe.readline()
        if not line:
            return False
        if line == b"end\n":
            self.done = True
        else:
            self.outcomes.append(outcome_of(line))
        return True

    def end(self) -> Outcome | None:
        """Reap the child: the outcome of the sample that it died of, if it did."""
        self.pipe.close()
        _, status = os.waitpid(self.child, 0)
        if self.done:
            return None
        case = Case(self.op, self.first + len(self.outcomes))
        return replace(case.outcome, status="fail", reason=died(status, self._seconds))


def _run_batch(suite: Suite, op: Any, first: int, count: int, writer: int, seconds: int) -> None:
    try:
        limit_memory()
        signal.alarm(seconds)
        for index, sample in enumerate(suite.samples(op, count)):
            if index >= first:
                signal.alarm(seconds)
                os.write(writer, json.dumps(asdict(suite.run(Case(op, index), sample))).encode() + b"\n")
        os.write(writer, b"end\n")
    except Exception as error:  # noqa: BLE001 - samples that cannot be made
        outcome = replace(Case(op, first).outcome, status="not exported", reason=f"no samples: {type(error).__name__}: {error}"[:400])
        os.write(writer, json.dumps(asdict(outcome)).encode() + b"\nend\n")
    finally:
        os._exit(0)


def run_all(suite: Suite, ops: Sequence[Any], count: int, seconds: int, jobs: int) -> list[Outcome]:
    """Return the outcomes of all samples, in order."""
    waiting = [(op, 0) for op in reversed(ops)]
    running = selectors.DefaultSelector()
    found: dict[str, list[Outcome]] = {name_of(op): [] for op in ops}
    while waiting or running.get_map():
        while waiting and len(running.get_map()) < jobs:
            batch = Batch(suite, *waiting.pop(), count, seconds)
            running.register(batch.pipe, selectors.EVENT_READ, batch)
        for key, _ in running.select():
            batch = key.data
            if batch.read():
                continue
            running.unregister(batch.pipe)
            last = batch.end()
            found[name_of(batch.op)] += [*batch.outcomes, *([last] if last else [])]
            if last:
                waiting.append((batch.op, batch.first + len(batch.outcomes) + 1))
    return [outcome for outcomes in found.values() for outcome in outcomes]


def warm_up() -> None:
    """Load what compiling needs, so that children have it."""
    x = torch.ones(2, 3)
    compiled(torch.export.export(Call(torch.nn.functional.relu, *pytree.tree_flatten(((x,), {}))), (x,)), (x,))


def tables(outcomes: list[Outcome], *, verbose: bool) -> Iterator[str]:
    """Yield lines of the report."""
    yield from category_rows(outcomes, STATUSES)
    exported, right = _counts(outcomes)
    yield f"{right} of the {exported} that torch.export exports are right: {100 * right / max(exported, 1):.1f} %"
    host = sum(item.status == "pass" and bool(item.host_ops) for item in outcomes)
    yield f"{host} of the right ones ran in part in host segments"
    yield ""
    yield from by_op(outcomes, STATUSES, frozenset(["pass", "not exported", "not comparable"]))
    yield ""
    yield "reasons"
    yield from reasons(item for item in outcomes if item.status != "pass")
    if verbose:
        yield ""
        yield from (
            f"{i.status:15}{i.name}  {i.reason}  {' '.join(i.host_ops)}".rstrip() for i in outcomes if i.status != "pass" or i.host_ops
        )


def _counts(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """Samples that torch.export exports, and those that are right."""
    return sum(o.status != "not exported" for o in outcomes), sum(o.status == "pass" for o in outcomes)


def parser(doc: str | None, *, share: str, listed: str) -> argparse.ArgumentParser:
    """Return the flags of a suite over samples of operators.

    doc: of the script.  share: what the bar is a share of.  listed: which samples --verbose lists.
    """
    found = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    found.add_argument("-k", dest="pattern", default="", help="regular expression for names of operators")
    found.add_argument("--every", type=int, default=1, help="take one operator of so many")
    found.add_argument("--samples", type=int, default=SAMPLES, help="most samples an operator")
    found.add_argument("--jobs", type=int, default=1, help="children at a time")
    found.add_argument("--bar", type=float, default=0.0, help=f"least share {share} that must be right")
    found.add_argument("--time-limit", type=int, default=TIME_LIMIT_SECONDS, help="seconds a sample")
    found.add_argument("--json", action="store_true", help="print the outcomes as JSON")
    found.add_argument("--verbose", action="store_true", help=f"also list every sample that {listed}")
    return found


def main() -> int:
    options = parser(__doc__, share="of the exported samples", listed="is not right or ran on the host").parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    warm_up()
    outcomes = run_all(
        Suite(samples_of, run_case), operators(options.pattern)[:: options.every], options.samples, options.time_limit, options.jobs
    )
    exported, right = _counts(outcomes)
    if options.json:
        print(json.dumps([asdict(item) for item in outcomes], indent=1))
    else:
        print("\n".join(tables(outcomes, verbose=options.verbose)))
    return 1 if not exported or right / exported < options.bar else 0


if __name__ == "__main__":
    sys.exit(main())
