"""Constant expressions become tensors of their own, computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_of
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.attributes import LiteralAttr, WeightAttr, plain
from ttc.dialects.core.ir.entries import derived_functions, entry_functions, ports
from ttc.dialects.core.ir.leaves import ConstantOp, ParamOp, StateOp
from ttc.dialects.core.ir.spec import Spec, spec_of
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.plain.functions import Function, Work
from ttc.dialects.core.plain.interpret import run
from ttc.dialects.core.plain.weights import Weight, WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.budget import Budget
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import size_bytes, stem_of

GROWTH = 1.05
SLACK_BYTES = 4096
"""A derived tensor may have GROWTH times the bytes of what it is made of, and so many bytes more."""

SYMBOL = "derived_"
"""What names of functions of derived tensors begin with, before their number."""

EXPRESSION_OPS = 512
"""The most ops of an expression that is outlined."""


@record
class Consteval(Pass):
    """Move each maximal expression of constants and parameters into a function of its own, and use its value, a derived tensor.

    The function stays in the module, so that new parameters can be put through it.  Values are computed when first asked for; small
    ones that depend on no parameter become literals at once.

    Before:
        (%x: tensor<4x8xf32>)
        %w = ttc.constant() {value = #ttc.literal<[1.0, 2.0, 3.0, 4.0], tensor<2x2xf32>>} : () -> tensor<2x2xf32>
        %1 = nn.transpose(%w) {perm = [1, 0]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
        %2 = nn.neg(%1) : (tensor<2x2xf32>) -> tensor<2x2xf32>
        return %2 : tensor<2x2xf32>
    After:
        (%x: tensor<4x8xf32>)
        %2 = ttc.constant() {value = #ttc.literal<[-1.0, -3.0, -2.0, -4.0], tensor<2x2xf32>>} : () -> tensor<2x2xf32>
        return %2 : tensor<2x2xf32>
    Missed:
        the result is larger than what it is made of (an expand, a pad), so the op stays; its shape depends on data; evaluation fails, or
        takes more elements or steps than the budget of the model's constants has.
        Parameters that a result of a program updates are no constants.

    Args:
        any_size: values that are larger than what they are made of become constants, too.
    """

    name: ClassVar[str] = "consteval"
    any_size: bool = False

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        outliner = _Outliner(unit, rewriter, self.any_size)
        with rewriter.part("expressions"):
            for function in entry_functions(unit.module):
                for block in function.body.blocks:
                    outliner.evaluate_block(block)
        with rewriter.part("unused"):
            outliner.drop_unused_functions()


@record(frozen=False)
class _Outliner:
    """Finds constant expressions, and gives each distinct one a derived tensor."""

    unit: Unit
    rewriter: Rewriter
    any_size: bool = False
    numbers: dict[Hashable, int] = field(default_factory=dict)
    forms: dict[SSAValue, int] = field(default_factory=dict)
    made: dict[int, WeightAttr | LiteralAttr] = field(default_factory=dict)
    stems: Counter[str] = field(default_factory=Counter)
    ops_left: int = 1024

    def __post_init__(self) -> None:
        self.budget = Budget(sum(weight.elements for weight in map(self.unit.weights.__getitem__, self.unit.weights) if not weight.derived))
        self.derived = derived_functions(self.unit.module)
        numbers = [_number_in(function.sym_name.data) for function in self.derived.values()]
        self.next_function = max(numbers, default=-1) + 1
        results = [port for function in entry_functions(self.unit.module) for port in ports(function)[1]]
        self.updated = {port.updates for port in results if port.updates is not None}

    def evaluate_block(self, block: Block) -> None:
        """Replace the constant values that the rest of the block reads.  A value too large to keep stays; its operands are tried."""
        ops = list(block.ops)
        for op in ops:
            self._number(op)
        self.ops_left += 4 * len(ops)
        wanted: set[SSAValue] = set()
        for op in reversed(ops):
            value = op.results[0] if len(op.results) == 1 else None
            if value is None or value not in self.forms:
                wanted.update(op.operands)
            elif value in wanted and not isinstance(op, ConstantOp | ParamOp) and not self._replace(op):
                wanted.update(op.operands)
        for op in reversed(ops):
            self._drop_dead_constant(op)

    def drop_unused_functions(self) -> None:
        """Erase the functions of derived tensors that nothing names any more: expressions that went into larger ones."""
        used = {op.key for function in entry_functions(self.unit.module) for op in function.walk() if isinstance(op, ConstantOp | StateOp)}
        for key, function in derived_functions(self.unit.module).items():
            if key not in used:
                function.detach()
                function.erase()

    def _number(self, op: Operation) -> None:
        """Give the op's value the number of its expression's form, if it is constant: equal expressions have equal numbers."""
        leaf = isinstance(op, ConstantOp | ParamOp)
        if isinstance(op, ParamOp) and plain(op.sym) in self.updated:
            return
        if len(op.results) != 1 or not (leaf or (isinstance(op, NNOp) and op.operands and not op.EFFECT)):
            return
        if op.regions or not all(x in self.forms for x in op.operands):
            return
        properties = tuple(sorted(op.properties.items(), key=lambda p: p[0]))
        form = (op.name, properties, tuple(self.forms[x] for x in op.operands), op.results[0].type)
        self.forms[op.results[0]] = self.numbers.setdefault(form, len(self.numbers))

    def _replace(self, op: Operation) -> bool:
        """Put a derived tensor in the place of a constant op; False if it has to stay."""
        number = self.forms[op.results[0]]
        value = self.made.get(number)
        if value is None:
            expression = _expression(op.results[0])
            self.ops_left -= EXPRESSION_OPS if expression is None else len(expression)
            if expression is None or self.ops_left < 0:
                self.rewriter.missed(op, "the constant expression is too long")
                return False
            body = self._body(op, expression) if self._is_worthwhile(op, expression) else None
            if body is None or not self._is_affordable(op, body) or not self.rewriter.allow("consteval", op):
                return False
            value = self._derive(op, expression, body)
        if value is None:
            return False
        self.made[number] = value
        constant = ConstantOp.make((), {"value": value}, [op.results[0].type], op.location)
        self.rewriter.insert(op, constant)
        constant.results[0].name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(constant.results[0])
        return True

    def _is_worthwhile(self, op: Operation, expression: list[Operation]) -> bool:
        result = spec_of(op.results[0].type)
        if result.dtype == STRING:
            return False
        if not result.is_static:
            self.rewriter.missed(op, f"the shape of the constant {result} depends on data")
            return False
        leaves = sum(size_bytes(leaf.results[0]) for leaf in expression if isinstance(leaf, ConstantOp | ParamOp))
        size = size_bytes(op.results[0])
        if size > GROWTH * leaves + SLACK_BYTES and not self.any_size:
            self.rewriter.missed(op, f"the value has {size} bytes, what it is made of {leaves}", bytes=size, leaf_bytes=leaves)
            return False
        return True

    def _is_affordable(self, op: Operation, body: Block) -> bool:
        refusal = self.budget.refusal(inner for inner in body.ops if not isinstance(inner, ReturnOp))
        if refusal is not None:
            self.rewriter.missed(op, f"the constant is not evaluated: {refusal}")
        return refusal is None

    def _derive(self, op: Operation, expression: list[Operation], body: Block) -> WeightAttr | LiteralAttr | None:
        spec = spec_of(op.results[0].type)
        function = plain_block(body)
        resolve = _resolver(self.unit.weights)
        has_parameter = any(isinstance(inner, ParamOp) for inner in body.ops)
        if spec.elements <= LiteralAttr.MAX_ELEMENTS and not has_parameter:
            return self._literal(op, function, spec, resolve)
        stem = stem_of(op)
        self.stems[stem] += 1
        count = self.stems[stem]
        key = self.unit.weights.fresh(stem if count == 1 else f"{stem}.{count}")
        self.unit.weights.add(key, Weight(spec.shape, spec.dtype, lambda: _value(function, spec, resolve), derived=True))
        self.derived[key] = _add_function(self.unit.module, key, body, f"{SYMBOL}{self.next_function}")
        self.next_function += 1
        self.rewriter.applied(op, f"'{key}' is derived by {len(expression)} ops", key=key)
        return WeightAttr.of(key, spec)

    def _literal(self, op: Operation, function: Function, spec: Spec, resolve: Callable[[Work], NDArray]) -> LiteralAttr | None:
        try:
            value = _value(function, spec, resolve)
        except Error as error:
            self.rewriter.missed(op, f"evaluation fails: {error.message}")
            return None
        self.rewriter.applied(op, "a small constant evaluated")
        return LiteralAttr.of(value)

    def _body(self, op: Operation, expression: list[Operation]) -> Block:
        """Return the expression as the block of a function; derived leaves are replaced by what derives them."""
        block = Block()
        values: dict[SSAValue, SSAValue] = {}
        for inner in expression:
            key = inner.key if isinstance(inner, ConstantOp) else None
            function = self.derived.get(key) if key is not None else None
            if function is None:
                copy = inner.clone(values)
                block.add_op(copy)
            else:
                values[inner.results[0]] = _inline(function, block)
        block.add_op(ReturnOp(values[op.results[0]]))
        return block

    def _drop_dead_constant(self, op: Operation) -> None:
        if op.results and all(r in self.forms and not r.uses for r in op.results):
            op.detach()
            op.erase()


def _number_in(symbol: str) -> int:
    """Return the number in the name of a derived tensor's function; -1 in a name not given here."""
    digits = symbol.removeprefix(SYMBOL)
    return int(digits) if digits.isdecimal() and len(digits) <= 12 else -1


def _expression(value: SSAValue) -> list[Operation] | None:
    """Return the ops that compute a constant value, leaves included, each once, operands first; None if they are too many."""
    order: list[Operation] = []
    seen: set[Operation] = set()
    stack: list[tuple[Operation, bool]] = [(_op(value), False)]
    while stack:
        op, done = stack.pop()
        if done:
            order.append(op)
        elif op not in seen:
            seen.add(op)
            stack.append((op, True))
            stack.extend((_op(x), False) for x in reversed(op.operands))
        if len(seen) > EXPRESSION_OPS:
            return None
    return order


def _op(value: SSAValue) -> Operation:
    if not isinstance(value.owner, Operation):
        raise Error("E0901", "a constant expression reads an argument")
    return value.owner


def _inline(function: FuncOp, block: Block) -> SSAValue:
    """Copy the body of a derived tensor's function to the end of a block; returns its value there."""
    values: dict[SSAValue, SSAValue] = {}
    *body, last = function.body.block.ops
    for op in body:
        block.add_op(op.clone(values))
    return values[last.operands[0]]


def _add_function(module: ModuleOp, key: str, body: Block, symbol: str) -> FuncOp:
    """A private function at the end of the module, marked as the expression of a derived tensor."""
    *_, last = body.ops
    function = FuncOp(symbol, FunctionType.from_lists([], [v.type for v in last.operands]), Region(body), visibility="private")
    function.attributes["ttc.derived"] = StringAttr(key)
    module.body.block.add_op(function)
    return function


def _resolver(weights: WeightStore) -> Callable[[Work], NDArray]:
    def resolve(work: Work) -> NDArray:
        value = weights[str(work.attrs["key"])].value()
        return format_of(value.dtype).unpack(value)

    return resolve


def _value(function: Function, spec: Spec, resolve: Callable[[Work], NDArray]) -> NDArray:
    """Return the value of a derived tensor in its source dtype."""
    (value,) = run(function, [], resolve)
    return np.ascontiguousarray(format_of(spec.dtype).pack(value)).reshape(spec.shape)
