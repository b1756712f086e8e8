"""Run ONNX's own backend tests through ttc: import, nn, tile, netlist, archive, run.

    python tools/onnx_suite.py [-k PATTERN] [--target host] [--json] [--bar 0.92] [--device-bar 0.9] [--verbose]

Each case runs in a forked child with limits on time and memory, with the suite's own data, tolerances and comparison.  Printed are
passed, failed and unsupported cases by category, and with reasons those that did not pass, by op.  Exit status 1 if fewer than the share
`--bar` passed, or none were chosen.

The line "without host segments" counts the plain node cases with a tensor of float16, bfloat16, float32 or float64 among their inputs and
outputs: those that passed, and of whose program no op ran in a host segment.  Exit status 1 if they are fewer than the share
`--device-bar`, or if a convolution, product, softmax, normalization or attention of any case did.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
import unittest
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from onnx import ModelProto
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

import checkout  # noqa: F401
import ttc.compiler.driver
import ttc.passes.pipeline
import ttc.runtime.loader  # noqa: F401
from suite import Outcome, by_op, category_rows, host_ops, in_child, reasons, row
from ttc.compat.onnx_backend import Backend, Prepared
from ttc.dialects.core.errors import Error
from ttc.importers.onnx.tables import mappings

TIME_LIMIT_SECONDS = 60
ORDINARY = frozenset(["float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"])
"""Types of the tensors of the tests that every compiler should pass."""
FLOATING = frozenset(["float16", "bfloat16", "float32", "float64"])
"""Types of the tensors of a case of floating point."""
NEVER_ON_HOST = frozenset(
    f"nn.{name}"
    for name in (
        *("conv2d", "conv_transpose2d", "matmul", "softmax", "log_softmax", "attention"),
        *("batch_norm", "layer_norm", "rms_norm"),
    )
)
"""Ops that no program may have in a host segment."""
REFUSALS = ("E0202", "E0205")
"""Codes with which the importer says that it does not take a model."""


@dataclass(frozen=True)
class Case:
    """A test of the suite: what it is, and the suite's own function that runs it."""

    outcome: Outcome
    run: Callable[[Any], None]


class Watched(Backend):
    """The backend, which keeps what it prepared for the report."""

    target = "host"
    prepared: Prepared | None = None

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **options: Any) -> Prepared:
        cls.prepared = super().prepare(model, device, target=cls.target, **options)
        return cls.prepared


def cases(pattern: str) -> list[Case]:
    """Return the suite's cases whose name matches a regular expression, in its order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runner = Runner(Watched)
    models = {
        test.name: test
        for kind in ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
        for test in load_model_tests(kind=kind)
    }
    found: list[Case] = []
    for functions in runner._filtered_test_items.values():
        for name, item in functions.items():
            stem = name.removesuffix("_cpu")
            if stem != name and re.search(pattern, stem):
                found.append(Case(_described(stem, models), item.func))
    return found


def _described(name: str, models: dict[str, Any]) -> Outcome:
    test = models[name]
    if test.kind != "node":
        return Outcome(name, test.kind, "", ordinary=True)
    plain = re.sub(r"_expanded(_ver\d+)?$", "", name)
    op = models.get(plain, test).model.graph.node[-1].op_type
    types = set(_types([x for inputs, outputs in test.data_sets for x in (*inputs, *outputs)]))
    category = "node" if plain == name else "node expanded"
    return Outcome(name, category, op, types <= ORDINARY, floating=bool(types & FLOATING))


def _types(values: Iterable[Any]) -> Iterator[str]:
    """Yield names of the types of tensors, also of those in sequences; of what else there is, what it is."""
    for value in values:
        if isinstance(value, list | tuple):
            yield "sequence"
            yield from _types(value)
        else:
            yield value.dtype.name if isinstance(value, np.ndarray | np.generic) else type(value).__name__


def run_case(case: Case) -> Outcome:
    """Return the outcome of one case, in this process."""
    started, Watched.prepared = time.perf_counter(), None
    found = _tried(case)
    prepared = Watched.prepared
    ops = host_ops(prepared.executor.netlist) if prepared is not None and prepared.executor is not None else ()
    return replace(found, host_ops=ops, seconds=round(time.perf_counter() - started, 3))


def _tried(case: Case) -> Outcome:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.run(unittest.TestCase())
    except Error as error:
        status = "unsupported" if error.code in REFUSALS else "fail"
        table = (error.excerpt or "").splitlines()[1:]
        found = "; ".join(re.sub(r"  +", " ", line) for line in table) or error.message
        return replace(case.outcome, status=status, reason=f"{error.code} {found}"[:400])
    except unittest.SkipTest as skipped:
        return replace(case.outcome, status="unsupported", reason=f"skipped: {skipped}")
    except Exception as error:  # noqa: BLE001 - whatever a case raises is its outcome
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return replace(case.outcome, status="fail", reason=f"{type(error).__name__}: {' | '.join(lines)}"[:400])
    return case.outcome


def forked(case: Case, seconds: int) -> Outcome:
    """Return the outcome of one case in a child process, which may die of its limits."""
    return in_child(case.outcome, lambda: run_case(case), seconds)


def tables(outcomes: list[Outcome], *, verbose: bool) -> Iterator[str]:
    """Yield lines of the report."""
    yield from category_rows(outcomes)
    yield row("node, common types", [item for item in outcomes if item.category == "node" and item.ordinary])
    floating, without = on_device(outcomes)
    share = 100 * len(without) / max(len(floating), 1)
    yield f"without host segments: {len(without)} of the {len(floating)} plain node cases of floating point ({share:.1f} %)"
    host = [item for item in outcomes if item.status == "pass" and item.host_ops]
    yield f"{len(host)} of the passed ran in part in host segments"
    yield ""
    yield from by_op(outcomes)
    yield ""
    yield "reasons"
    yield from reasons(item for item in outcomes if item.status != "pass")
    if verbose:
        yield ""
        yield from (
            f"{i.status:12}{i.name}  {i.reason}  {' '.join(i.host_ops)}".rstrip() for i in outcomes if i.status != "pass" or i.host_ops
        )


def on_device(outcomes: Iterable[Outcome]) -> tuple[list[Outcome], list[Outcome]]:
    """Return the plain node cases of floating point, and those of them that passed without a host segment."""
    floating = [item for item in outcomes if item.category == "node" and item.floating]
    return floating, [item for item in floating if item.status == "pass" and not item.host_ops]


def _reaches(outcomes: list[Outcome], bar: float, device_bar: float) -> bool:
    """Return whether enough cases passed, and enough without host segments; what must never run in one and did is told on stderr."""
    floating, without = on_device(outcomes)
    strays = [item for item in outcomes if NEVER_ON_HOST & set(item.host_ops)]
    for item in strays:
        print(f"{item.name}: {', '.join(sorted(NEVER_ON_HOST & set(item.host_ops)))} ran in a host segment", file=sys.stderr)
    passed = sum(item.status == "pass" for item in outcomes)
    return len(without) >= device_bar * len(floating) and passed >= bar * len(outcomes) and bool(outcomes) and not strays


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-k", dest="pattern", default="", help="regular expression for names of cases")
    parser.add_argument("--target", default="host")
    parser.add_argument("--bar", type=float, default=0.0, help="least share of cases that must pass")
    parser.add_argument("--device-bar", type=float, default=0.0, help="least share of floating-point node cases without host segments")
    parser.add_argument("--time-limit", type=int, default=TIME_LIMIT_SECONDS, help="seconds a case")
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON")
    parser.add_argument("--verbose", action="store_true", help="also list every case that failed or ran on the host")
    options = parser.parse_args()
    Watched.target = options.target
    chosen = cases(options.pattern)
    mappings()
    with tempfile.TemporaryDirectory(prefix="onnx-suite-") as folder:
        os.environ["ONNX_MODELS"] = folder
        outcomes = [forked(case, options.time_limit) for case in chosen]
    if options.json:
        print(json.dumps([asdict(item) for item in outcomes], indent=1))
    else:
        print("\n".join(tables(outcomes, verbose=options.verbose)))
    return 0 if _reaches(outcomes, options.bar, options.device_bar) else 1


if __name__ == "__main__":
    sys.exit(main())
