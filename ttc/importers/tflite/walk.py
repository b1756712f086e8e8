"""From operators to dialect nn: each by its row, on real numbers or on the integers that stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue, VerifyException
from ttc.dialects.core.records import record
from ttc.importers.common.complexes import Complex
from ttc.importers.common.unsupported import REFUSED, Refused, Unsupported
from ttc.importers.tflite.building import TfliteBuilder
from ttc.importers.tflite.control import CONTROL, ControlOperator
from ttc.importers.tflite.model import ABSENT, Graph, Model, Operator, Tensor
from ttc.importers.tflite.tables import MAX_OPERANDS, TfliteRow, complex_rows, rows
from ttc.importers.tflite.values import Value
from ttc.importers.tflite.variables import Variables
from ttc.importers.tflite.weights import declared_dtype, weight_of

MAX_DEPTH = 32
"""The most graphs that call each other in a row."""
MAX_REPEATED = 1 << 15
"""The most operators, each counted as often as its graph is called, beyond twice those of the file."""
MAX_NAME_CHARACTERS = 1 << 26
"""The most characters of the names of all operators, which hold those of the calls around them."""
Values: TypeAlias = dict[int, Value]


@record(frozen=False)
class SubgraphScope:
    """The values of one graph, by index of their tensors.

    Args:
        prefix: names of the calling nodes, before the graph's own.
        calls: numbers of the graphs around it, and its own.
    """

    graph: Graph
    values: Values
    prefix: str = ""
    calls: tuple[int, ...] = ()


class TfliteWalker:
    """Maps operators in order; refused ones go to the misses of the builder."""

    def __init__(self, model: Model, builder: TfliteBuilder) -> None:
        self.model = model
        self.builder = builder
        self.variables = Variables(builder)
        self._left = MAX_REPEATED + 2 * sum(len(graph.operators) for graph in model.graphs)
        self._characters = MAX_NAME_CHARACTERS
        self._constants: dict[tuple[int, int], Value] = {}

    def walk(self, number: int, inputs: Sequence[Value], calls: tuple[int, ...] = (), prefix: str = "") -> list[Value]:
        """Return the outputs of a graph of the model.  Raises E0203 for a graph that calls itself or does not exist, E04xx at the node."""
        if not 0 <= number < len(self.model.graphs):
            raise Error("E0203", f"there is no graph {number}")
        if number in calls or len(calls) > MAX_DEPTH:
            raise Error("E0203", f"graph {number} calls itself, or graphs are nested more than {MAX_DEPTH} deep")
        graph = self.model.graphs[number]
        if len(inputs) != len(graph.inputs):
            raise Error("E0203", f"graph {number} takes {len(graph.inputs)} inputs, not {len(inputs)}")
        scope = SubgraphScope(graph, dict(zip(graph.inputs, inputs, strict=True)), prefix, (*calls, number))
        for operator in graph.operators:
            self._left -= 1
            if self._left < 0:
                raise Error("E0203", f"more than {MAX_REPEATED} operators once calls, branches and loops are written out")
            self._operator(operator, scope)
        return [self.value(i, scope) for i in graph.outputs]

    def value(self, index: int, scope: SubgraphScope) -> Value:
        """Return the value of a tensor: defined by now, a constant, or a variable.  Raises E0203."""
        if index not in scope.values:
            scope.values[index] = self._leaf(index, scope)
        return scope.values[index]

    def _leaf(self, index: int, scope: SubgraphScope) -> Value:
        tensor = scope.graph.tensors[index]
        key = scope.calls[-1], index
        if tensor.variable and tensor.data is None:
            return self.variables.tensor(key, tensor)
        if tensor.data is None and not tensor.is_empty and not tensor.external:
            raise Error("E0203", f"nothing defines tensor '{tensor.name}'")
        if key not in self._constants:
            self._constants[key] = self._constant(tensor, scope)
        return self._constants[key]

    def _constant(self, tensor: Tensor, scope: SubgraphScope) -> Value:
        try:
            weight = weight_of(self.model.data, tensor)
        except Unsupported as reason:
            self.builder.misses.add("constant", "tflite", str(reason), tensor.name)
            return REFUSED
        return self.builder.initializer(self.builder.free_name(scope.prefix + tensor.name), weight)

    # ---- one operator -----------------------------------------------------------------------------------------------------------

    def _operator(self, operator: Operator, scope: SubgraphScope) -> None:
        tensors = scope.graph.tensors
        name = scope.prefix + (tensors[operator.outputs[0]].name if operator.outputs else operator.op)
        self._characters -= len(name)
        if self._characters < 0:
            raise Error("E0203", f"names of operators take more than {MAX_NAME_CHARACTERS} characters once calls are written out")
        try:
            results = self._results(operator, scope, name)
        except Unsupported as reason:
            results = self._miss(operator, str(reason), name)
        except Error as error:
            raise error.at(name) from None
        except (VerifyException, OverflowError) as error:
            raise Error("E0203", f"a number of {operator.op} is out of range: {error}", where=name) from error
        if len(results) < len(operator.outputs):
            raise Error("E0203", f"{operator.op} has {len(results)} results, not {len(operator.outputs)}", where=name)
        for index, result in zip(operator.outputs, results, strict=False):
            if index in scope.values or tensors[index].data is not None:
                raise Error("E0203", f"tensor '{tensors[index].name}' is defined twice", where=name)
            scope.values[index] = result

    def _miss(self, operator: Operator, why: str, name: str) -> Sequence[Value]:
        self.builder.misses.add(operator.kind, f"tflite {operator.version}", why, name)
        return (REFUSED,) * len(operator.outputs)

    def _results(self, operator: Operator, scope: SubgraphScope, name: str) -> Sequence[Value]:
        row, control = rows().get(operator.kind), CONTROL.get(operator.op)
        operands = [None if i == ABSENT else self.value(i, scope) for i in operator.inputs]
        if any(isinstance(x, Refused) for x in operands):
            return (REFUSED,) * len(operator.outputs)
        outputs = [scope.graph.tensors[i] for i in operator.outputs]
        self.builder.enter(name, tuple(t.name for t in outputs), operator.version)
        if control is not None:
            return control(ControlOperator(self, operator, operands, scope.calls, name))
        if any(isinstance(x, Complex) for x in operands):
            row = complex_rows().get(operator.op)
        if row is None:
            raise Unsupported("takes complex numbers" if operator.op in rows() else "no mapping")
        inputs = [None if i == ABSENT else scope.graph.tensors[i] for i in operator.inputs]
        results = self._mapped(row, operator, operands, inputs, outputs)
        for place, value in zip(row.variables, results[len(outputs) :], strict=False):
            self._set(operator.inputs[place], value, scope)
        return results

    def _set(self, index: int, value: SSAValue | Complex, scope: SubgraphScope) -> None:
        """A variable tensor gets a new value; one that is not declared so does not keep it."""
        name = self.variables.name((scope.calls[-1], index))
        if name is None or isinstance(value, Complex):
            raise Unsupported("a state that is no variable of real numbers")
        self.variables.assign(name, value)
        scope.values[index] = value

    def _mapped(
        self, row: TfliteRow, operator: Operator, operands: Sequence[Value], inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]
    ) -> list[SSAValue | Complex]:
        """Return the results, and the new values of the variables that the op sets."""
        b = self.builder
        if not outputs:
            raise Error("E0203", f"{operator.op} has no results")
        values = [x for x in operands if isinstance(x, SSAValue | Complex) or x is None]
        resources = len(values) < len(operands)
        while values and values[-1] is None:
            values.pop()
        if resources or not row.least <= len(values) <= row.most or None in (values[: row.least] if row.gaps else values):
            raise Error("E0203", f"{operator.op} takes {_count(row)} operands, not {len(values) - values.count(None)}")
        b.declared = tuple(declared_dtype(t) for t in outputs)
        plain = operator.options.get("fused_activation_function", "NONE") == "NONE"
        on_codes = row.on_codes and plain and _one_step([t for t in (*inputs, *outputs) if t is not None])
        b.zero = next((t.quantization.zeros[0] for t in inputs if on_codes and t is not None and t.quantization is not None), 0)
        if not on_codes:
            values = [self._real(x, t) for x, t in zip(values, inputs, strict=False)]
        results = row.function(b, *values, **operator.options)
        results = results if isinstance(results, tuple) else (results,)
        b.forget_unused([x for x in values if isinstance(x, SSAValue)], results)
        if row.variables and len(results) != len(outputs) + len(row.variables):
            raise Error("E0203", f"{operator.op} has {len(results) - len(row.variables)} results, not {len(outputs)}")
        variables = [t for t in (inputs[i] for i in row.variables if i < len(inputs)) if t is not None]
        return [self._declared(r, t, declared_dtype(t), coded=on_codes) for r, t in zip(results, (*outputs, *variables), strict=False)]

    def _real(self, value: SSAValue | Complex | None, tensor: Tensor | None) -> SSAValue | Complex | None:
        if value is None or isinstance(value, Complex) or tensor is None or tensor.quantization is None:
            return value
        return self.builder.real(value, tensor.quantization)

    def _declared(self, value: SSAValue | Complex, tensor: Tensor, dtype: np.dtype, *, coded: bool) -> SSAValue | Complex:
        """Return the result in its tensor's type: quantized, and indices as wide as the model has them.  Raises E0403."""
        b = self.builder
        if isinstance(value, Complex):
            if dtype.kind != "c" or tensor.quantization is not None:
                raise Error("E0403", f"tensor '{tensor.name}' is declared as {dtype}, but its op gives complex numbers")
            return value
        if b.dtype(value) == dtype and (coded or tensor.quantization is None):
            return value
        if tensor.quantization is not None and not coded:
            if b.dtype(value).kind in "iu":
                value = b.cast(value, np.dtype(np.float32))
            return b.codes(value, tensor.quantization, dtype)
        if b.dtype(value).kind in "iu" and dtype.kind in "iu" and min(b.dtype(value).itemsize, dtype.itemsize) >= 4:
            return b.cast(value, dtype)
        raise Error("E0403", f"tensor '{tensor.name}' is declared as {dtype}, but its op gives {b.dtype(value)}")


def _count(row: TfliteRow) -> str:
    if row.most == MAX_OPERANDS:
        return f"at least {row.least}"
    return str(row.least) if row.least == row.most else f"{row.least} to {row.most}"


def _one_step(tensors: Sequence[Tensor]) -> bool:
    """Return whether all quantized tensors share one type, scale and zero."""
    coded = [t for t in tensors if t.quantization is not None]
    first = coded[0].quantization if coded else None
    return all(t.kind == coded[0].kind and t.quantization is not None and t.quantization.same_step(first) for t in coded)
