"""What processes tell each other before they run a batch, so that what is wrong in one is an error of all."""

from __future__ import annotations

import torch
import torch.distributed as dist

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record


@record(eq=False)
class BatchOffer:
    """What a process knows of its part of a batch before it runs.

    Args:
        shapes: a number of the shapes of its microbatches, and of the modes of its stages.
        refusal: why it cannot run them.
        rows: that it gives to the first stage; None: it has another one.
        weighs_rows: whether its loss is the mean over replicas only if all have as many rows.
    """

    shapes: int
    refusal: Error | None
    rows: int | None
    weighs_rows: bool


def agree(offer: BatchOffer) -> int:
    """Return a number of the shapes that all processes have.

    Raises: E0801 in all of them where one cannot run the batch, or replicas have numbers of rows that their loss cannot have.
    """
    rows, squares = offer.rows or 0, (offer.rows or 0) ** 2
    sums = torch.tensor([offer.shapes, offer.refusal is not None, rows, squares, offer.rows is not None, offer.weighs_rows])
    dist.all_reduce(sums)
    shapes, refused, total, squares, firsts, weighs = sums.tolist()
    if offer.refusal is not None:
        raise offer.refusal
    if refused:
        raise Error("E0801", "another process cannot run its rows in such microbatches", hint="its own error says why")
    if weighs and squares * firsts != total * total:
        what = "replicas have different numbers of rows, and the loss does not say what each of its means counts"
        raise Error("E0801", what, hint="give all the same number; cross_entropy and nll_loss count their targets")
    return shapes
