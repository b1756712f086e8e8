"""Lowerings of tile ops to native jobs, by family; see `ttc.runtime.engines.native.jobs.lowering`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ttc.dialects.core.plain.interpret import kernels
from ttc.dialects.core.rule_tables import RuleTable

if TYPE_CHECKING:
    from ttc.runtime.engines.native.jobs.lowering import Lower

_LowerT = TypeVar("_LowerT", bound="Lower")
_TAKE_REGIONS: set[Lower] = set()
LOWERINGS: RuleTable[Lower] = RuleTable(
    "native lowering",
    __name__,
    {
        "attention": "attention_training",
        "conv": "conv2d conv_transpose2d",
        "coupling": "couple_probabilities",
        "eltwise": "map cast",
        "formats": "adjust",
        "index": "embedding gather gather_nd gather_elements",
        "linear": "matmul",
        "movement": "concat pad repeat tile_broadcast retile splice",
        "norm": "layer_norm rms_norm",
        "pool": "max_pool2d avg_pool2d",
        "recurrent": "rnn gru lstm lstm_training",
        "reduce": "argmax argmin cumsum cumprod",
        "sampling": "grid_sample",
        "scatter": "scatter_nd scatter_elements",
        "sfpu": "binary relu rescale",
        "softmax": "log_softmax",
        "sort": "order",
        "tree": "tree_ensemble",
        "views": "reshape transpose hslice hstack slice broadcast relayout to_host from_host",
    },
)
LOWERINGS.refuse("no lowering", "deform_conv", "det", "fft", "irfft", "resize_by", "reverse_sequence", "roi_align", "topk")
LOWERINGS.refuse("no lowering", "depthwise", "encoded_matmul", "lookup", "sparse_matmul", "tile_depthwise")


def lowering_of(op: str) -> Lower | None:
    """Return the lowering of an op by its full name; None if it has none on purpose, or is no tile op. Raises E0901 for a forgotten one."""
    dialect, _, mnemonic = op.partition(".")
    found = LOWERINGS.get(mnemonic) if dialect == "tile" else None
    is_forgotten = found is None and dialect == "tile" and LOWERINGS.refusal(mnemonic) is None and kernels("tile").get(mnemonic)
    return LOWERINGS.of(mnemonic) if is_forgotten else found


def takes_region(lower: _LowerT) -> _LowerT:
    """Mark a lowering whose kernels compute `Lowering.region` of each element of the result before they store it."""
    _TAKE_REGIONS.add(lower)
    return lower


def can_take_region(op: str) -> bool:
    """Return whether the lowering of an op, by its full name, takes regions."""
    return lowering_of(op) in _TAKE_REGIONS
