"""Which dimension of an op's results carries a batch that dimensions of its operands carry: rules by mnemonic.

A rule says what it takes for the samples of a batch to stay apart: where each operand carries the batch, or that it is the same for all
samples, and where each result then does.  It is the only place that says so: streaming, replicas, padding of smaller batches, and blocks of
rows ask it through `carriage`.  An op without a rule may mix samples, for the reason that is registered.
"""

from collections.abc import Callable
from typing import TypeAlias

from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.nn.batching.op import BatchedOp, Carriage

BatchRule: TypeAlias = "Callable[[BatchedOp], Carriage | None]"
BATCHING: RuleTable[BatchRule] = RuleTable("rule of batching", __name__)
"""How samples stay apart in an op, by mnemonic; None where they may not, as its operands carry them."""


def carriage(name: str, op: BatchedOp) -> Carriage | None:
    """Return how an op of that mnemonic keeps samples apart; None if it may mix them.

    Operands for which the carriage names a place and that carry nothing yet have to be shown to carry the batch there.

    Raises: E0901 for an op that has neither a rule nor a reason.
    """
    rule = BATCHING.of(name)
    found = None if rule is None else rule(op)
    if found is None or not all(have in (None, want) for have, want in zip(op.carried, found.operands, strict=True)):
        return None
    fit = all(at is None or (x is not None and at.fits(x.shape, op.size)) for at, x in zip(found.operands, op.operands, strict=True))
    return found if fit and all(at.fits(y.shape, op.size) for at, y in zip(found.results, op.results, strict=True)) else None
