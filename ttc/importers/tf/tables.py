"""The mappings by TensorFlow op: `ROWS` of the `ops_*` modules.

A row's function takes the builder, the op's inputs in order, and those of its attributes that change the result, as keywords with the
names and defaults of the op's definition.  It gives a value, or a tuple of as many as the op has outputs, of which the last may be missing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.dialects.core.rule_tables import RuleTable
from ttc.importers.common.builder import Builder
from ttc.importers.common.complexes import Complex
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tf.messages import Call, Node, Shape, Tensor, Type
from ttc.importers.tf.tensors import dtype_of
from ttc.importers.tf.values import TensorList, TfVariable, Value

Rows: TypeAlias = Mapping[str, Callable[..., Any]]
IMPLIED = frozenset(["N", "num_split", "num", "use_cudnn_on_gpu", "validate_indices", "validate_shape", "parallel_iterations"])
"""Attributes that repeat what operands say, or say how to compute instead of what."""
_KINDS: dict[str, type] = {"SSAValue": SSAValue, "TfVariable": TfVariable, "TensorList": TensorList, "Complex": Complex}


@record
class TfRow:
    """A mapping and what it takes.

    Args:
        apply: the function.
        kinds: of its operands, as annotated.
        least: operands it needs.
        rest: kind of any further operands, or None.
        attributes: annotations by name; `needed` are those without a default.
    """

    apply: Callable[..., Any]
    kinds: tuple[str, ...]
    least: int
    rest: str | None
    attributes: Mapping[str, str]
    needed: frozenset[str]

    def __call__(self, b: Builder, node: Node, operands: Sequence[Value]) -> tuple[Value, ...]:
        """Return the values of a node's outputs.  Raises E0203 for operands or attributes that the op has not, Unsupported, E04xx."""
        self._check(node, operands)
        results = self.apply(b, *operands, **self._attributes(node))
        return results if type(results) is tuple else (results,)

    def _check(self, node: Node, operands: Sequence[Value]) -> None:
        count = len(operands)
        if count < self.least or (count > len(self.kinds) and self.rest is None):
            raise Error("E0203", f"{node.op} takes {self.least} inputs, not {count}", where=node.name)
        for index, value in enumerate(operands):
            kind = _KINDS.get(self.kinds[index] if index < len(self.kinds) else self.rest or "")
            if kind is not None and isinstance(value, Complex) and not isinstance(value, kind):
                raise Unsupported("takes complex numbers")
            if kind is not None and not isinstance(value, kind):
                raise Error("E0203", f"input {index} of {node.op} is no {kind.__name__.removeprefix('SSA').lower()}", where=node.name)

    def _attributes(self, node: Node) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.attributes.items():
            if key in self.attributes:
                found[key] = _plain(value, self.attributes[key], f"attribute '{key}' of {node.op}", node.name)
            elif not (key in IMPLIED or value is None or isinstance(value, Type) or _types(value)):
                raise Unsupported(f"attribute {key[:40]}")
        missing = self.needed - found.keys()
        if missing:
            raise Error("E0203", f"{node.op} has no attribute '{min(missing)}'", where=node.name)
        return found


def _types(value: Any) -> bool:
    return type(value) is tuple and all(isinstance(v, Type) for v in value)


def _plain(value: Any, kind: str, what: str, node: str) -> Any:
    """Return an attribute as its annotation says.  Raises E0202, E0203."""
    if kind.startswith("np.dtype") and isinstance(value, Type):
        return dtype_of(value, what)
    if kind == "Type" and isinstance(value, Type):
        return value
    if kind == "str" and isinstance(value, bytes):
        return value.decode("ascii", "replace")
    if kind in ("int", "float", "bool") and type(value).__name__ == kind:
        return value
    if kind in ("Ints", "Floats") and type(value) is tuple and all(type(v) in (int, float) for v in value):
        return value
    if kind == "Shape" and isinstance(value, Shape):
        return value
    if kind == "Tensor" and isinstance(value, Tensor):
        return value
    if kind == "Call" and isinstance(value, Call):
        return value
    raise Error("E0203", f"{what} is no {kind.lower()}", where=node)


def row_of(apply: Callable[..., Any]) -> TfRow:
    """Return the mapping of a function, as its signature says it."""
    parameters = list(inspect.signature(apply).parameters.values())[1:]
    operands = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    rest = next((str(p.annotation) for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    return TfRow(
        apply,
        tuple(str(p.annotation).removesuffix(" | None") for p in operands),
        sum(p.default is p.empty for p in operands),
        rest,
        {p.name: str(p.annotation) for p in keywords},
        frozenset(p.name for p in keywords if p.default is p.empty),
    )


ROWS: RuleTable[Callable[..., Any]] = RuleTable("row", "ttc.importers.tf", prefix="ops_", holds="ROWS")
"""The function of each op that is mapped."""
COMPLEX_ROWS: RuleTable[Callable[..., Any]] = RuleTable("row", "ttc.importers.tf", prefix="ops_complex", holds="COMPLEX_ROWS")
"""Functions by op, for nodes that take complex numbers."""


@cache
def rows() -> dict[str, TfRow]:
    """Return the rows by op, with what the signature of each says."""
    return {op: row_of(apply) for op, apply in ROWS.rules().items()}


@cache
def complex_rows() -> dict[str, TfRow]:
    """Return the rows by op for nodes that take complex numbers."""
    return {op: row_of(apply) for op, apply in COMPLEX_ROWS.rules().items()}


OUTPUTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ["FusedBatchNormV3", "FusedBatchNormV2", "FusedBatchNorm"],
        ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"),
    ),
    "TopKV2": ("values", "indices"),
    "TensorListPopBack": ("output_handle", "tensor"),
    "TensorListConcatV2": ("tensor", "lengths"),
    "MaxPoolWithArgmax": ("output", "argmax"),
    **dict.fromkeys(["Unique", "UniqueV2"], ("y", "idx")),
    **dict.fromkeys(["UniqueWithCounts", "UniqueWithCountsV2"], ("y", "idx", "count")),
    "ListDiff": ("out", "idx"),
    "Switch": ("output_false", "output_true"),
    "Merge": ("output", "value_index"),
    "SoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "LogMatrixDeterminant": ("sign", "log_abs_determinant"),
    "Lu": ("lu", "p"),
    "Qr": ("q", "r"),
    "SelfAdjointEigV2": ("e", "v"),
    "Svd": ("s", "u", "v"),
    "NonMaxSuppressionV4": ("selected_indices", "valid_outputs"),
    "NonMaxSuppressionV5": ("selected_indices", "selected_scores", "valid_outputs"),
    "BroadcastGradientArgs": ("r0", "r1"),
}
"""Names of outputs of ops that have several, each a single tensor: functions refer to them by name."""
