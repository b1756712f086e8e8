"""Ops of a Buda netlist on an engine.  Each is a graph of its own, since a queue may be read and written in the midst of an epoch."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import NDArray

from ttc.dialects.core.plain.functions import Function, TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Graph, Netlist, Op, Queue
from ttc.runtime.engines.base import Engine, Plan
from ttc.runtime.tensors import Constants


@record(eq=False)
class _Prepared:
    plan: Plan
    inputs: tuple[str, ...]


class OpPlans:
    """Plans of single ops and works, each made when it is first computed."""

    def __init__(self, netlist: Netlist, engine: Engine) -> None:
        self._netlist = netlist
        self._engine = engine
        self._prepared: dict[tuple[str, str], _Prepared] = {}

    def run(self, op: Op, inputs: Sequence[NDArray], part: str = "", work: Function | None = None) -> NDArray:
        """Return the result of an op.

        Args:    part, work: a name for a part of the op's work, and the part; the whole work if not given.
        Raises:  E0609, E0104 and what the engine raises.
        """
        found = self._prepared.get((op.name, part))
        if found is None:
            found = self._prepared[op.name, part] = self._made(op, op.work if work is None else work)
        return found.plan.run(dict(zip(found.inputs, inputs, strict=True)))[_RESULT]

    def _made(self, op: Op, work: Function) -> _Prepared:
        names = tuple(f"operand {number}" for number in range(len(work.inputs)))
        queues = {name: _queue(name, "input", type_) for name, type_ in zip(names, work.inputs, strict=True)}
        queues[_RESULT] = _queue(_RESULT, "output", work.value_types[work.outputs[0]])
        alone = Op(op.name, op.type, names, op.place, op.blocking, work, location=op.location or (op.name,), rounding=op.rounding)
        graph = Graph(op.name, 0, 1, (alone,), ((op.name, _RESULT),))
        return _Prepared(self._engine.prepare(graph, Netlist(self._netlist.chip, queues, {op.name: graph}), Constants({})), names)


_RESULT = "result"


def _queue(name: str, kind: str, type_: TensorType) -> Queue:
    return Queue(name, kind, "queue", "HOST", type_, 1, "host", 0, (1, 1), None, (), 0)  # pyright: ignore[reportArgumentType]
