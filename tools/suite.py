"""What the conformance suites share: cases in forked children with limits on time and memory, what became of them, and the report."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ttc.dialects.netlist.model import Netlist

SPARE_BYTES = 6 << 30
"""The bytes that a case may take beside the memory that its process has when it begins."""
STATUSES = ("pass", "fail", "unsupported")


@dataclass(frozen=True)
class Outcome:
    """The outcome of one case.

    Args:
        op: that it tests: the plain test's for an expanded one; empty for whole models.
        ordinary: whether all its tensors are of common types.
        floating: whether any of its tensors is of floating point.
        status: pass, fail or unsupported; suites may have further ones.
        reason: code and message if it did not pass.
        host_ops: nn ops that ran in host segments.
        seconds: that it took.
    """

    name: str
    category: str
    op: str
    ordinary: bool
    status: str = "pass"
    reason: str = ""
    host_ops: tuple[str, ...] = ()
    seconds: float = 0.0
    floating: bool = False


def recorded(path: Path | None, names: Sequence[str], run: Callable[[str], list[Outcome]]) -> list[Outcome]:
    """Run operators one after another, and return the outcomes of all.

    Args:
        path: of a file that gets a line an operator as soon as it is done; one that is in it already is not run again.  None: no file.
        names: of the operators.
        run: gives the outcomes of one.
    """
    known: dict[str, list[Outcome]] = {}
    if path is not None and path.exists():
        for line in path.read_text().splitlines():
            name, rows = json.loads(line)
            known[name] = [Outcome(**{**row, "host_ops": tuple(row["host_ops"])}) for row in rows]
    for name in (name for name in names if name not in known):
        known[name] = run(name)
        if path is not None:
            with path.open("a") as stream:
                stream.write(json.dumps([name, [asdict(item) for item in known[name]]]) + "\n")
    return [item for name in names for item in known[name]]


def in_child(outcome: Outcome, run: Callable[[], Outcome], seconds: int) -> Outcome:
    """Return the outcome of one case in a child process, which may die of its limits.

    Args:
        outcome: the case as it is known before.
        run: gives its outcome, in the child.
        seconds: that it may take.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(run, writer, seconds)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if text:
        return outcome_of(text)
    return replace(outcome, status="fail", reason=died(status, seconds))


def outcome_of(text: bytes | str) -> Outcome:
    """Return an outcome that a child wrote as JSON."""
    fields = json.loads(text)
    return Outcome(**{**fields, "host_ops": tuple(fields["host_ops"])})


def died(status: int, seconds: int) -> str:
    """Return why a child ended without an outcome, from its wait status."""
    number = os.waitstatus_to_exitcode(status)
    return f"took more than {seconds} s" if number == -signal.SIGALRM else f"its process ended with status {number}"


def limit_memory(spare_bytes: int = SPARE_BYTES) -> None:
    """Let this process take so many bytes of addresses more than it has: a process of tests has many, before the first case begins."""
    limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + spare_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _child(run: Callable[[], Outcome], writer: int, seconds: int) -> None:
    limit_memory()
    signal.alarm(seconds)
    try:
        os.write(writer, json.dumps(asdict(run())).encode())
    finally:
        os._exit(0)


# ---- the report ----------------------------------------------------------------------------------------------------------------------


def category_rows(outcomes: list[Outcome], statuses: tuple[str, ...] = STATUSES) -> Iterator[str]:
    """Yield a heading, a row a category, and one of all."""
    yield f"{'category':20}{'cases':>7}" + "".join(f"{s:>{_width(s)}}" for s in statuses) + f"{'pass %':>8}"
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for item in outcomes:
        groups[item.category].append(item)
    yield from (row(name, items, statuses) for name, items in groups.items())
    yield row("all", outcomes, statuses)


def row(name: str, items: list[Outcome], statuses: tuple[str, ...] = STATUSES) -> str:
    """Return cases by status, and the share that passed."""
    counts = Counter(item.status for item in items)
    share = 100 * counts["pass"] / max(len(items), 1)
    return f"{name:20}{len(items):7}" + "".join(f"{counts[s]:{_width(s)}}" for s in statuses) + f"{share:8.1f}"


def _width(status: str) -> int:
    return max(7, len(status) + 2)


def host_ops(netlist: Netlist) -> tuple[str, ...]:
    """Return the nn ops that a program runs in host segments, by their reference semantics."""
    works = [work.op for graph in netlist.graphs.values() for op in graph.ops for work in op.work.works]
    return tuple(sorted({op for op in works if op.startswith("nn.")}))


def by_op(outcomes: Iterable[Outcome], statuses: tuple[str, ...] = STATUSES, fine: frozenset[str] = frozenset(["pass"])) -> Iterator[str]:
    """Yield ops with cases of a status that is not fine, those with the most first."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for item in outcomes:
        counts[item.op or item.category][item.status] += 1
    yield f"{'op':34}" + "".join(f"{s:>{_width(s)}}" for s in statuses)

    def short(found: Counter[str]) -> int:
        return sum(n for status, n in found.items() if status not in fine)

    lacking = {op: found for op, found in counts.items() if short(found)}
    for op, found in sorted(lacking.items(), key=lambda entry: -short(entry[1])):
        yield f"{op:34}" + "".join(f"{found[s]:{_width(s)}}" for s in statuses)
    yield f"{len(counts) - len(lacking)} of {len(counts)} pass wholly"


def reasons(items: Iterable[Outcome]) -> Iterator[str]:
    """Yield reasons, the most frequent first, each with its cases."""
    found: dict[str, list[str]] = defaultdict(list)
    for item in items:
        found[f"{item.status}: {re.sub(r'[0-9]+', 'N', item.reason)[:150]}"].append(item.name)
    for reason, names in sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        yield f"{len(names):5}  {reason}"
        yield f"       {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"
