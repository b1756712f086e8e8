"""Makes IR smaller while a pass fails on it in the same way: fewer ops (ddmin), and smaller dimensions.

An op that is taken away leaves its results as new arguments.  A trial is kept if the IR still verifies and the pass still raises the
same error, figures in its message aside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ttc.compiler.source import dialects
from ttc.debug.crash import INPUT, Crash, ErrorSignature
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import Port, entry_functions, finish_function
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.records import record
from ttc.dialects.tile.base import TileType, tile_of

MAX_TRIALS = 4000
_SHAPE = re.compile(r'(?<=tensor<)[0-9]+(?:x[0-9]+)*(?=x[a-z])|(?<=")[0-9]+(?:x[0-9]+)*(?=x[A-Z])')
_LIST = re.compile(r"\[[0-9]+(?:, [0-9]+)*\]")


@record(frozen=False)
class Reduction:
    """A search; `text` is the smallest IR so far.

    Args:
        crash: what must stay.
        show: told how far it is, in a few words.
    """

    crash: Crash
    show: Callable[[str], None]
    text: str = ""
    trials: int = 0
    _tried: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.crash = self.crash.reducible
        self.text = self.crash.text

    def run(self) -> str:
        """Return the smallest IR found.  Raises E0301 if the crash does not happen at all."""
        if not self._fails(self.text):
            raise Error("E0301", "the pass does not fail in the way that was recorded", hint="ttc repro says what it does")
        before = None
        while before != self.text and self.trials < MAX_TRIALS:
            before = self.text
            self._end_early()
            self._fewer_ops()
            self._smaller_dims()
        return self.text

    def ops(self) -> int:
        """Return ops that compute something in the entry functions."""
        return len(_ops(_parsed(self.text)))

    def _fails(self, text: str) -> bool:
        self.trials += 1
        error = self.crash.error(text)
        return error is not None and ErrorSignature.of(error) == self.crash.signature

    def _try(self, text: str | None) -> bool:
        """Keep a smaller text if it still fails."""
        if text is None or text in self._tried or self.trials >= MAX_TRIALS:
            return False
        self._tried.add(text)
        if not self._fails(text):
            return False
        self.text = text
        self.show(f"reducing: {self.ops()} ops")
        return True

    def _end_early(self) -> None:
        """End a function at the first op that is enough, and give its results alone."""
        low, high = 0, self.ops()
        while low < high:
            middle = (low + high) // 2
            if self._try(_cut(self.text, middle)):
                high = middle
            else:
                low = middle + 1

    def _fewer_ops(self) -> None:
        """Take away runs of ops, long ones first."""
        size = max(self.ops() // 2, 1)
        while True:
            start = 0
            while start < self.ops():
                if not self._try(_without(self.text, range(start, start + size))):
                    start += size
            if size == 1:
                return
            size //= 2

    def _smaller_dims(self) -> None:
        """Replace a size by a smaller one wherever it stands, in types and in lists of attributes."""
        for size in sorted({int(n) for shape in _SHAPE.findall(self.text) for n in shape.split("x")} - {0, 1}, reverse=True):
            for smaller in dict.fromkeys((1, 2, 32, size // 2)):
                if 0 < smaller < size and self._try(resized(self.text, size, smaller)):
                    break


def resized(text: str, old: int, new: int) -> str:
    """Return the text with a size replaced in the shapes of types and in lists of whole numbers."""
    number = re.compile(rf"(?<![0-9]){old}(?![0-9])")

    def change(match: re.Match[str]) -> str:
        return number.sub(str(new), match[0])

    return _LIST.sub(change, _SHAPE.sub(change, text))


def _parsed(text: str) -> ModuleOp:
    return parse_module(text, INPUT, dialects())


def _ops(module: ModuleOp) -> list[Operation]:
    blocks = [function.body.block for function in entry_functions(module)]
    return [op for block in blocks for op in block.ops if not isinstance(op, LeafOp | func.ReturnOp)]


def _cut(text: str, last: int) -> str | None:
    """Return the module whose function ends after the op of that number, and gives its results."""
    module = _parsed(text)
    ops = _ops(module)
    function = ops[last].parent_op() if last < len(ops) - 1 else None
    if not isinstance(function, func.FuncOp) or not ops[last].results:
        return None
    _close(function, list(ops[last].results))
    for op in reversed(ops[last + 1 :]):
        if op.parent_op() is function:
            _remove(op, function)
    _tidy(function)
    return _printed(module)


def _without(text: str, numbers: range) -> str:
    """Return the module without the ops of these numbers; their results become arguments, which are results only if nothing else is."""
    module = _parsed(text)
    for op in [op for number, op in enumerate(_ops(module)) if number in numbers]:
        function = op.parent_op()
        if isinstance(function, func.FuncOp):
            _remove(op, function)
    for function in entry_functions(module):
        last = function.body.block.last_op
        values = list(last.operands) if last is not None else []
        made = [value for value in values if isinstance(value.owner, Operation)]
        _close(function, made or values[:1])
        _tidy(function)
    return _printed(module)


def _remove(op: Operation, function: func.FuncOp) -> None:
    for result in op.results:
        if result.uses:
            argument = function.body.block.insert_arg(result.type, len(function.body.block.args))
            result.replace_all_uses_with(argument)
    op.detach()
    op.erase()


def _close(function: func.FuncOp, results: Sequence[SSAValue]) -> None:
    """Let a function give these results, named by number."""
    last = function.body.block.last_op
    if isinstance(last, func.ReturnOp):
        last.detach()
        last.erase()
    finish_function(function, [(Port(f"y{i}", dtype=_dtype(value)), value) for i, value in enumerate(results)])


def _dtype(value: SSAValue) -> np.dtype | None:
    """Return what a user gives or gets for a value; None if its type says so."""
    return format_named(tile_of(value).format).compute if isinstance(value.type, TileType) else None


def _tidy(function: func.FuncOp) -> None:
    """Take away leaves and arguments without use, and name the arguments by number."""
    block = function.body.block
    for op in [op for op in block.ops if isinstance(op, LeafOp) and not op.result.uses]:
        op.detach()
        op.erase()
    known = [Port.of(entry) for entry in function.arg_attrs.data] if function.arg_attrs is not None else []
    for index in reversed(range(len(block.args))):
        if not block.args[index].uses:
            block.erase_arg(block.args[index])
            del known[index : index + 1]
    given = [*known, *(Port("") for _ in block.args[len(known) :])]
    named = [
        Port(f"x{i}", dtype=port.dtype or _dtype(value), streamed=port.streamed)
        for i, (port, value) in enumerate(zip(given, block.args, strict=True))
    ]
    function.arg_attrs = builtin.ArrayAttr([port.attribute() for port in named])
    results = function.function_type.outputs.data
    function.function_type = builtin.FunctionType.from_lists([a.type for a in block.args], list(results))


def _printed(module: ModuleOp) -> str:
    """Return the text, without the functions of derived tensors that nothing names any more."""
    used = {op.key for function in entry_functions(module) for op in function.walk() if isinstance(op, LeafOp)}
    for op in list(module.ops):
        derived = op.attributes.get("ttc.derived")
        if isinstance(derived, builtin.StringAttr) and derived.data not in used:
            op.detach()
            op.erase()
    return print_op(module) + "\n"
