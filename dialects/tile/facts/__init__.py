"""What each tile op is: result shapes, role, arithmetic, attributes.  Plain Python, so that the runtime asks it without xDSL.

The files have the stems of those in `ttc.dialects.tile`, which define the ops in IR.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Work
from ttc.dialects.tile.facts.base import FACTS, Fact, Role

SCATTERED_AS_IS = "none"
"""The `reduction` of a scatter that replaces elements instead of combining them."""


_MODULES: Mapping[str, str] = {
    name: module
    for module, names in {
        "attention": "attention",
        "conv": "conv2d conv_transpose2d",
        "coupling": "couple_probabilities",
        "eltwise": "map cast eltwise yield",
        "encoded": "encoded_matmul tile_depthwise",
        "host": "to_host from_host",
        "index": "gather gather_elements gather_nd embedding lookup",
        "linear": "matmul det",
        "manipulation": "repeat tile_broadcast retile adjust",
        "norm": "layer_norm rms_norm",
        "pool": "max_pool2d avg_pool2d",
        "recurrent": "rnn gru lstm",
        "reduce": "reduce argmax argmin cumsum cumprod",
        "resize": "resize resize_by",
        "sampling": "grid_sample roi_align deform_conv",
        "scatter": "scatter_elements scatter_nd",
        "sfpu": "sfpu binary relu rescale",
        "shape": "reshape transpose hslice hstack broadcast slice relayout pad concat",
        "softmax": "softmax log_softmax",
        "sort": "order reverse_sequence",
        "sparse": "sparse_matmul depthwise",
        "spectral": "fft irfft",
        "splice": "splice",
        "topk": "topk",
        "tree": "tree_ensemble",
    }.items()
    for name in names.split()
}
"""The module of each fact: an engine loads those of the ops that it meets."""


@cache
def _load() -> None:
    for info in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{info.name}")


def facts() -> Mapping[str, Fact]:
    """Return the facts of all tile ops by mnemonic."""
    _load()
    return FACTS


def find(op: str) -> Fact | None:
    """The fact of an op by its full name; None for one that is no tile op."""
    name = op.removeprefix("tile.")
    if name not in FACTS and name in _MODULES:
        importlib.import_module(f"{__name__}.{_MODULES[name]}")
    return FACTS.get(name) if name != op else None


def fact_of(op: str) -> Fact:
    """The fact of a tile op, by mnemonic or full name.  Raises E0901 for an op without one."""
    found = find(f"tile.{op.removeprefix('tile.')}")
    if found is None:
        raise Error("E0901", f"nothing is stated about the op '{op}'", hint="`dialects/tile/facts` says what tile ops are")
    return found


def is_fact(op: str) -> bool:
    """Whether something is stated about an op, by its full name."""
    return find(op) is not None


def moves(work: Work) -> bool:
    """Whether a tile op moves elements and computes none: a scatter that combines what it meets computes."""
    return is_fact(work.op) and fact_of(work.op).moves and work.attrs.get("reduction", SCATTERED_AS_IS) == SCATTERED_AS_IS


def has_role(op: str, *roles: Role) -> bool:
    """Whether an op, by its full name, is a tile op of one of the roles."""
    return is_fact(op) and fact_of(op).role in roles


def rearranges(op: str) -> bool:
    """Whether an op, by its full name, is a tile op after which tiles stand in another order."""
    return is_fact(op) and fact_of(op).rearranges


def is_bijective(op: str) -> bool:
    """Whether an op, by its full name, is a tile op that keeps every element of its operand once."""
    return is_fact(op) and fact_of(op).bijective


def in_transit(op: str) -> bool:
    """Whether an op, by its full name, is a tile op that cores do as they read an operand or pack a result."""
    return is_fact(op) and fact_of(op).in_transit
