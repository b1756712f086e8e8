"""What a pass is, what it works on, and the one rewriter through which it changes IR."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import entry_functions, module_attr
from ttc.dialects.core.ir.leaves import is_unread
from ttc.dialects.core.ir.locations import fused_location, source_names, where
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.core.watching import Named, Remark, Report, Subject
from ttc.dialects.netlist.ops import NetlistOp, queues_of
from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile.base import TileOp

OpT = TypeVar("OpT", bound=NNOp)


@record(frozen=False)
class Unit:
    """What is compiled: the module, the values of its weights, and the machine it is for."""

    module: ModuleOp
    weights: WeightStore
    target: Target

    @property
    def passes_done(self) -> int:
        """How many passes of its stage a module has behind it that was stopped inside the stage."""
        return int(module_attr(self.module, "passes_done") or 0)

    def text(self, *, locations: bool = False) -> str:
        """Return the module as text.  locations: with the source names of ops."""
        return print_op(self.module, locations=locations)

    def op_count(self) -> int:
        """Return how many ops compute: those of the netlist if there are any, otherwise those of nn and tile in entry functions."""
        if queues_of(self.module):
            return sum(isinstance(op, NetlistOp) for op in self.module.walk())
        return sum(isinstance(op, NNOp | TileOp) for function in entry_functions(self.module) for op in function.walk())


class Instrument(Protocol):
    """Watches the pipeline.  `rewrite` is asked before every named rewrite and may refuse it.

    compares: whether `after` needs to know if the pass changed anything.
    partial: whether it may refuse rewrites that later passes count on, too; the module is then good for looking at alone.

    Those that take any subject watch the steps of the native engine, too: see `ttc.dialects.core.watching.StepInstrument`.
    """

    compares: ClassVar[bool]
    partial: bool

    def on_stage(self, stage: str, unit: Unit) -> None: ...
    def before(self, pass_: Pass, unit: Unit) -> None: ...
    def after(self, pass_: Pass, unit: Unit, report: Report) -> None: ...
    def failed(self, pass_: Pass, unit: Unit, error: BaseException) -> None: ...
    def finish(self) -> None: ...
    def rewrite(self, name: str, op: Operation) -> bool: ...
    def remark(self, remark: Remark) -> None: ...


class Watcher:
    """An instrument of passes and steps that does nothing; subclass it and override what you need."""

    compares: ClassVar[bool] = False
    partial: bool = False

    def on_stage(self, stage: str, unit: Subject) -> None: ...
    def before(self, pass_: Named, unit: Subject) -> None: ...
    def after(self, pass_: Named, unit: Subject, report: Report) -> None: ...
    def failed(self, pass_: Named, unit: Subject, error: BaseException) -> None: ...
    def finish(self) -> None: ...

    def rewrite(self, name: str, op: object) -> bool:
        return True

    def remark(self, remark: Remark) -> None: ...


class Rewriter:
    """Changes IR on behalf of one pass: asks instruments, keeps locations, counts rewrites, passes remarks on."""

    def __init__(self, pass_name: str, instruments: Sequence[Instrument] = ()) -> None:
        self.pass_name = pass_name
        self.instruments = instruments
        self.report = Report()

    def allow(self, name: str, op: Operation, *, required: bool = False) -> bool:
        """Return whether the rewrite of that name may happen at the op; counts it if so.  Call once it is sure to apply.

        required: later passes count on it.  Refused, it still leaves a module that is legal after this pass, and that can be evaluated.
        """
        for instrument in self.instruments:
            if (instrument.partial or not required) and not instrument.rewrite(name, op):
                return False
        self.report.rewrites[name] += 1
        return True

    def build(self, anchor: Operation, kind: type[OpT], *operands: SSAValue | None, sources: Sequence[Operation] = (), **attrs: Any) -> OpT:
        """Create an nn op before `anchor`, located at the sources (default: the anchor)."""
        op = kind.build(*operands, location=self.location(sources or (anchor,)), **attrs)
        return self.insert(anchor, op)

    def insert(self, anchor: Operation, op: Any) -> Any:
        """Put a new op before `anchor`; returns it."""
        block = anchor.parent
        if block is None:
            raise ValueError(f"{anchor.name} is in no block")
        block.insert_op_before(op, anchor)
        return op

    def location(self, sources: Iterable[Operation]) -> Attribute:
        """Return the fused location of ops that a new one replaces."""
        return fused_location([op.location for op in sources])

    def replace(self, op: Operation, values: SSAValue | Sequence[SSAValue]) -> None:
        """Let the readers of an op read `values`, which keep the name hints of its results, and erase the op."""
        for old, new in zip(op.results, [values] if isinstance(values, SSAValue) else values, strict=True):
            if new.name_hint is None:
                new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()

    def erase_dead(self, op: Operation) -> None:
        """Erase the op if nothing uses it, and then its operands' ops likewise."""
        pending = [op]
        while pending:
            dead = pending.pop()
            if dead.parent is None or not is_unread(dead):
                continue
            pending.extend(v.owner for v in dead.operands if isinstance(v.owner, Operation))
            dead.detach()
            dead.erase()

    def sweep(self, root: Operation, handlers: Mapping[type[Operation], Callable[[Any], None]]) -> None:
        """Call the handler of each op's type, once an op in program order; ops erased on the way are passed over.

        Regions of ops are not entered: weights must not come up in them.
        """
        for op in [op for region in root.regions for block in region.blocks for op in block.ops]:
            handler = handlers.get(type(op))
            if handler is not None and op.parent is not None:
                handler(op)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time what is done inside as a part of the pass."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.report.parts[name] = self.report.parts.get(name, 0.0) + time.perf_counter() - start

    def applied(self, op: Operation, message: str, **data: object) -> None:
        """Report as a remark that something was done."""
        self._remark("applied", op, message, data)

    def missed(self, op: Operation, message: str, **data: object) -> None:
        """Report as a remark that something was not done, and why."""
        self._remark("missed", op, message, data)

    def analysis(self, op: Operation, message: str, **data: object) -> None:
        """Report as a remark what was found."""
        self._remark("analysis", op, message, data)

    def _remark(self, kind: Literal["applied", "missed", "analysis"], op: Operation, message: str, data: Mapping[str, object]) -> None:
        remark = Remark(kind, self.pass_name, source_names(op.location) or (where(op),), message, data)
        self.report.remarks.append(remark)
        for instrument in self.instruments:
            instrument.remark(remark)


class Pass(ABC):
    """One transformation.  A subclass is a record whose fields are its options; its docstring shows IR before and after.

    resigns: whether it changes what entry functions take, give or compute on purpose, so that what they gave before is no measure of what
    they give after it.
    """

    name: ClassVar[str]
    resigns: ClassVar[bool] = False

    @abstractmethod
    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        """Change the unit in place."""


def kebab(name: str) -> str:
    """Return a name in kebab case: `fuse-bias` for `FuseBias`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
