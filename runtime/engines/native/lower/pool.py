"""Lowering of pools over channels-last images."""

from __future__ import annotations

from ttc.runtime.engines.native.jobs.depthwise import block_for, lanes_for, moves_of, results_of, rows_of, submit, window_words
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.kernels.pool import AveragePool, MaxPool
from ttc.runtime.engines.native.kernels.windows import WindowKernel
from ttc.runtime.engines.native.lower import LOWERINGS, takes_region

_FLOATS = ("f32", "bf16", "f16", "f64")


@LOWERINGS.rule("max_pool2d")
@takes_region
def max_pool2d(n: Lowering) -> None:
    """Lower tile.max_pool2d: the largest element of each window."""
    n.only("kernel", "strides", "pads", "dilations", "ceil_mode")
    if n.operand(0).storage == "bool":
        raise NotTaken("truth values")
    _pool(n, MaxPool)


@LOWERINGS.rule("avg_pool2d")
@takes_region
def avg_pool2d(n: Lowering) -> None:
    """Lower tile.avg_pool2d: the mean of each window."""
    n.only("kernel", "strides", "pads", "dilations", "ceil_mode", "count_include_pad")
    if n.operand(0).storage not in _FLOATS:
        raise NotTaken(f"means of {n.operand(0).storage}")
    _pool(n, AveragePool)


def _pool(n: Lowering, kind: type[WindowKernel]) -> None:
    kernel, shape = n.attr("kernel"), n.result_shape()
    if not isinstance(kernel, tuple):
        raise NotTaken("a window of another kind")
    moves = moves_of(n, [int(size) for size in kernel if isinstance(size, int)])
    x = rows_of(n, n.operand(0))
    lanes = lanes_for(n, x.shape[3])
    pixels, words = results_of(n, n.region, n.extras, lanes)
    words |= window_words(x, moves, shape)
    if kind is AveragePool:
        padded = bool(n.attr("count_include_pad", False))
        for axis, move, size in zip("yx", moves, x.shape[1:3], strict=True):
            before, after = (move.before, move.after) if padded else (0, 0)
            words |= {f"{axis}_first": -before, f"{axis}_last": size + after}
    submit(n, kind(block_for(n, moves, lanes, shape[2]), x.storage, pixels), words, moves[0].kernel * moves[1].kernel)
