"""Base of the nn ops, and the dialect made of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import base, traits_def
from xdsl.utils.exceptions import VerifyException

import ttc.dialects.nn as package
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.effects import DeclaredEffects
from ttc.dialects.core.ir.op_classes import collect_ops
from ttc.dialects.core.ir.spec import STORED_ONLY, Spec, are_lasting, spec_of, tensor_type
from ttc.dialects.core.plain.interpret import kernel

TENSOR = base(TensorType)


class NNOp(TtcOp):
    """An op of dialect nn: tensors in, tensors out, no hardware word in it.

    A subclass gives fields, `infer` and documentation; its numpy kernel is registered in `nn/kernels/`.
    """

    STRINGS: ClassVar[bool] = False
    """Whether ops of the class take tensors of text, too."""
    KEPT: ClassVar[int] = 0
    """The number of last results that are for the gradient of the op alone, and have no cotangents."""
    traits = traits_def(DeclaredEffects())

    def check(self) -> None:
        try:
            found = self._infer([v.type if v is not None else None for v in self.named_operands()], self.plain_attrs())
        except Error as error:
            raise VerifyException(error.message) from error
        if len(found) != len(self.results):
            raise VerifyException(f"{self.name} has {len(found)} results, not {len(self.results)}")
        for wanted, result in zip(found, self.results, strict=True):
            if spec_of(result.type) != wanted:
                raise VerifyException(f"{self.name} gives {wanted}, but its result is {spec_of(result.type)}")

    @classmethod
    def infer(cls, *operands: Any, **attrs: Any) -> Spec | tuple[Spec, ...]:
        """Result specs from operand specs (None: absent) and plain attributes.  Raises E04xx."""
        raise Error("E0901", f"{cls.name} has no infer")

    @classmethod
    def evaluate(cls, *operands: NDArray | None, **attrs: Any) -> Any:
        """Reference semantics on numpy arrays: an array, or a tuple of them."""
        return kernel(cls.name)(*operands, **attrs)

    @classmethod
    def _infer(cls, types: Sequence[Attribute | None], attrs: dict[str, Any]) -> tuple[Spec, ...]:
        specs = [None if t is None else spec_of(t) for t in types]
        if not cls.STRINGS and any(s is not None and s.dtype == STRING for s in specs):
            raise Error("E0403", "the op does not take text")
        found = cls.infer(*specs, **attrs)
        return (found,) if isinstance(found, Spec) else found

    @classmethod
    def build(cls, *operands: SSAValue | None, location: Attribute, **attrs: Any) -> Self:
        """Create the op with inferred result types.  Attributes that are None are absent.  Raises E04xx at the location."""
        given = {k: v for k, v in attrs.items() if v is not None}
        return cls.make(operands, given, cls._result_types([None if x is None else x.type for x in operands], given, location), location)

    @classmethod
    def _result_types(cls, types: Sequence[Attribute | None], attrs: dict[str, Any], location: Attribute) -> tuple[Attribute, ...]:
        """Return types of results, as they were inferred when the op was made of the same operands and attributes before."""
        key: tuple[Any, ...] | None = (cls, *map(id, types), *attrs.items())
        try:
            known = _INFERRED.get(key)
        except TypeError:  # an attribute has no hash: a list, or a weight
            key = known = None
        if known is not None:
            return known
        found = tuple([tensor_type(s) for s in cls.inferred(cls._infer, types, attrs, location)])
        if key is not None and are_lasting(types):
            if len(_INFERRED) >= MAX_INFERRED:
                _INFERRED.clear()
            _INFERRED[key] = found
        return found


MAX_INFERRED = 1 << 14
_INFERRED: dict[tuple[Any, ...], tuple[Attribute, ...]] = {}
"""Types of results by the op's class, identities of its operands' types, which stay for good, and its attributes."""


@cache
def ops() -> dict[str, type[NNOp]]:
    """Return all nn ops by mnemonic."""
    return collect_ops(package, "nn", NNOp)


@cache
def dialect() -> Dialect:
    """Return the nn dialect for xDSL."""
    return Dialect("nn", list(collect_ops(package, "nn", TtcOp).values()), [])


# ---- rules that many infer functions share -----------------------------------------------------------------------------------------


def same_dtype(*specs: Spec | None) -> np.dtype:
    """Return the dtype that all present operands share.  Raises E0403."""
    dtypes = {s.dtype for s in specs if s is not None}
    if len(dtypes) != 1:
        raise Error("E0403", f"operands of different types: {', '.join(sorted(map(str, dtypes)))}")
    return dtypes.pop()


def require_float(spec: Spec) -> Spec:
    """Raises E0403 unless the tensor is of floating point."""
    if spec.dtype.kind not in "fV" or spec.dtype in STORED_ONLY:
        raise Error("E0403", f"the op needs floating point, not {spec.dtype}")
    return spec


def require_rank(spec: Spec, *ranks: int) -> Spec:
    """Raises E0401 unless the rank is one of those given."""
    if spec.rank not in ranks:
        raise Error("E0401", f"needs rank {' or '.join(map(str, ranks))}, not {spec}")
    return spec
