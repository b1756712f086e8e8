"""From views of images to jobs of convolutions of few channels a group."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.depthwise import (
    are_small,
    block_for,
    filter_of,
    lanes_for,
    moves_of,
    results_of,
    rows_of,
    submit,
    window_words,
)
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS
from ttc.runtime.engines.native.kernels.grouped import Grouped

_WIDEST_GROUP = 16
"""Channels of a group up to which products of matrices are no faster: of 4 channels they take 8 times as long, of 8 two to four times,
of 16 as long."""


def vector_of_groups(n: Lowering, x: View, w: View) -> int:
    """Return lanes of vectors that hold whole groups of channels, or that divide groups; 0 if there are none, or groups or windows are
    wide.

    x: images [n, h, w, c].  w: a filter [kh, kw, channels of a group, results].
    """
    group, results = w.shape[2:]
    if results != x.shape[3] or group > _WIDEST_GROUP or not are_small(w.shape):
        return 0
    fitting = (lanes for lanes in (16, 8, 4) if results % lanes == 0 and (lanes % group == 0 or group % lanes == 0))
    return next((lanes for lanes in fitting if lanes <= lanes_for(n, results)), 0)


def grouped(n: Lowering, x: View, w: View, lanes: int, region: Region, views: Sequence[View]) -> None:
    """Add the jobs of a convolution of x[n, h, w, c] with w[kh, kw, channels of a group, c], in vectors of `vector_of_groups`; see
    `depthwise`.

    Raises NotTaken for operands of other types than floats of up to 32 bits.
    """
    if x.storage not in FLOATS or w.storage not in FLOATS:
        raise NotTaken(f"operands in {x.storage} and {w.storage}")
    moves = moves_of(n, w.shape[:2])
    block = block_for(n, moves, lanes, n.result_shape()[2])
    vectors = w.reshaped((*w.shape[:3], w.shape[3] // lanes, lanes))
    if vectors is None:
        raise NotTaken("no elements")
    x, filter_ = rows_of(n, x), filter_of(n, vectors.permuted((3, 0, 2, 1, 4)))
    pixels, words = results_of(n, region, views, lanes)
    kernel = Grouped(block, x.storage, pixels, w.shape[2])
    words |= {"filter": filter_, **window_words(x, moves, n.result_shape())}
    submit(n, kernel, words, 2 * block.taps[0] * block.taps[1] * w.shape[2])
