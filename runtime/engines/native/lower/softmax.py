"""Lowering of softmax and its logarithm from tile to jobs."""

from __future__ import annotations

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lines import along, submit_lines
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.kernels.softmax import Softmax
from ttc.runtime.engines.native.lower import LOWERINGS

_FLOATS: tuple[Storage, ...] = ("f32", "bf16", "f16")
_SCRATCH_BYTES = 16 << 20
"""The most bytes of scratch memory of a thread: exponentials of lines that wait for their sum."""
_EXP_FLOPS = 20
"""FLOPs that are counted for an element: an exponential, and what is around it."""


LOWERINGS.add("softmax", lambda n: softmax(n, logarithm=False))
LOWERINGS.add("log_softmax", lambda n: softmax(n, logarithm=True))


def softmax(n: Lowering, *, logarithm: bool) -> None:
    """Lower softmax, or its logarithm, along one axis."""
    n.only("axis")
    x, axis = n.operand(0), n.attr("axis")
    if x.storage not in _FLOATS or n.result_storage() not in _FLOATS:
        raise NotTaken(f"softmax of {x.storage}")
    if not isinstance(axis, int) or not x.shape:
        raise NotTaken("no axis")
    y = n.result(strided=True)
    x, lines = along(n, x, y, axis % len(x.shape))
    kernel = Softmax(x.storage, y.storage, len(lines.lead), lines.columns > 0, logarithm)
    lanes = max(n.cpu.vector_bytes // 4, 4)
    scratch = kernel.scratch_bytes(lines.length, lanes)
    if scratch > _SCRATCH_BYTES:
        raise NotTaken("a longer axis")
    submit_lines(n, kernel, lines, (x, y), _EXP_FLOPS * x.elements, scratch)
