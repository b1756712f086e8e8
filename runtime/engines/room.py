"""The memory that runs may take: what a plan needs is compared with what this process can have, before anything runs."""

from __future__ import annotations

import resource
from math import prod
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import Function, TensorType, all_works
from ttc.dialects.netlist.model import Graph, Op

SMALL_BYTES = 1 << 24
"""The most bytes for which the system is not asked first: asking takes longer than most loads may, and allocation tells."""
MOST_COMPUTED = 1 << 40
"""The most bytes of a value that is never in memory as a whole; to compute that many takes minutes."""
_MEMORY = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup/memory.max")


def memory_bytes(memory_file: Path = _MEMORY, group_file: Path = _GROUP) -> int:
    """Return the most bytes that this process can have: of memory and swap, within the limits of its address space and its control
    group.
    """
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    found = [limit for limit in limits if limit != resource.RLIM_INFINITY]
    try:
        lines = [line.split() for line in memory_file.read_text(encoding="ascii").splitlines()]
        found.append(sum(int(words[1]) << 10 for words in lines if words[0] in ("MemTotal:", "SwapTotal:")))
    except (OSError, ValueError, IndexError):
        found.append(1 << 47)  # the addresses that a process has
    try:
        found.append(int(group_file.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no group, or `max`
        pass
    return min(found)


def require_memory(size_bytes: int, what: str, where: str | None = None) -> None:
    """Raises E0104 for more bytes than this process can have.  what: needs the bytes, for the message."""
    if size_bytes <= SMALL_BYTES:
        return
    most = memory_bytes()
    if size_bytes > most:
        message = f"there is not enough memory: {what} takes {size_bytes:,} bytes, and this process can have {most:,}"
        raise Error("E0104", message, where, hint="take a smaller model, smaller inputs, or a machine with more memory")


def require_results(graph: Graph, *, held: bool) -> None:
    """Raises E0104 for an op of which the result, or a value on the way to it, is too large.

    held: whether such a value lies in memory as a whole, so that it may take what this process can have; kernels that compute one piece by
        piece are held to MOST_COMPUTED bytes.
    """
    sizes = [largest_bytes(op.work) for op in graph.ops]
    largest = max(sizes, default=0)
    if not largest:
        return
    op = graph.ops[sizes.index(largest)]
    where = " + ".join(op.location) or op.name
    if held:
        require_memory(largest, "a value in it", where)
    elif largest > MOST_COMPUTED:
        message = f"a value in it takes {largest:,} bytes, and values are computed up to {MOST_COMPUTED:,}"
        raise Error("E0104", message, where, hint="take a smaller model, or smaller inputs")


def largest_bytes(function: Function) -> int:
    """Return bytes of the largest value that a function computes; dimensions that depend on data count as one."""
    return max((type_bytes(result) for work in all_works(function) for result in work.results), default=0)


def result_bytes(op: Op) -> int:
    """Return bytes of an op's result; dimensions that depend on data count as one."""
    types = op.work.value_types
    return sum(type_bytes(types[number]) for number in op.work.outputs)


def type_bytes(type_: TensorType) -> int:
    """Return bytes of a tensor while it is computed with; dimensions that depend on data count as one."""
    return prod(max(size, 1) for size in type_.shape) * format_named(type_.format).compute.itemsize
