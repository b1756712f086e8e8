"""Probabilities of classes from those of pairs of them."""

from __future__ import annotations

from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS
from ttc.runtime.engines.native.kernels.coupling import CoupleProbabilities
from ttc.runtime.engines.native.lower import LOWERINGS

_ROUNDS = 8
"""How many rounds the search takes: a guess for reports."""


@LOWERINGS.rule("couple_probabilities")
def couple_probabilities(n: Lowering) -> None:
    """Lower tile.couple_probabilities to a job that goes row by row."""
    n.only("classes")
    r, classes = n.dense(0), n.attr("classes")
    if not isinstance(classes, int) or r.storage not in FLOATS or n.result_storage() not in FLOATS:
        raise NotTaken(f"pairs of {classes} classes in {r.storage}")
    p = n.result()
    kernel = CoupleProbabilities(r.storage, p.storage)
    n.job(
        kernel,
        {"r": r, "p": p, "pairs": r.shape[1], "classes": classes},
        tasks=r.shape[0],
        written=[p],
        scratch=kernel.scratch_bytes(classes),
        flops=r.shape[0] * _ROUNDS * 6 * classes * classes,
        moved_bytes=sum(view.elements * view.item_bytes for view in (r, p)),
    )
