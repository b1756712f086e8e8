"""Ops of ONNX's domain for classical machine learning on rows of features: scaled, filled in and joined."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.tables import MAPPINGS

Floats: TypeAlias = tuple[float, ...]
FLOAT32 = np.dtype(np.float32)


@MAPPINGS.rule("ai.onnx.ml.Scaler-1")
def scaler_1(b: Builder, x: SSAValue, *, offset: Floats = (), scale: Floats = ()) -> SSAValue:
    """Return (x - offset) scale, one of each for a feature or for all."""
    x = b.cast(x, FLOAT32)
    y = b.nn("sub", x, b.constant(_by_feature(b, x, offset or (0.0,), "offset")))
    return b.nn("mul", y, b.constant(_by_feature(b, x, scale or (1.0,), "scale")))


@MAPPINGS.rule("ai.onnx.ml.Imputer-1")
def imputer_1(
    b: Builder,
    x: SSAValue,
    *,
    imputed_value_floats: Floats = (),
    imputed_value_int64s: tuple[int, ...] = (),
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> SSAValue:
    """Return x with values of its feature in place of those that stand for what is missing; a NaN stands for all of them."""
    whole = b.dtype(x).kind in "iu"
    values = imputed_value_int64s if whole else imputed_value_floats
    if not values:
        raise Error("E0402", f"there are no values to put into {b.spec(x)}")
    missing = b.nn("is_nan", x) if not whole and math.isnan(replaced_value_float) else None
    if missing is None:
        missing = b.nn("equal", x, b.scalar(replaced_value_int64 if whole else replaced_value_float, x))
    return b.nn("where", missing, b.constant(_by_feature(b, x, values, "value").astype(b.dtype(x))), x)


@MAPPINGS.rule("ai.onnx.ml.Normalizer-1")
def normalizer_1(b: Builder, x: SSAValue, *, norm: str = "MAX") -> SSAValue:
    """Divide rows by the sum of their absolute values (L1), the root of that of their squares (L2), or their largest value, with its sign.

    Rows where that is zero stay.
    """
    if norm not in ("MAX", "L1", "L2"):
        raise Error("E0402", f"norm '{norm[:20]}' is not one of MAX, L1, L2")
    x = b.cast(x, FLOAT32)
    if b.rank(x) not in (1, 2):
        raise Error("E0401", f"takes rows of features, not {b.spec(x)}")
    along = {"axes": (b.rank(x) - 1,), "keepdims": True}
    if norm == "MAX":
        size = b.nn("reduce_max", x, **along)
    elif norm == "L1":
        size = b.nn("reduce_sum", b.nn("abs", x), **along)
    else:
        size = b.nn("sqrt", b.nn("reduce_sum", b.nn("mul", x, x), **along))
    return b.nn("div", x, b.nn("where", b.nn("equal", size, b.scalar(0, size)), b.scalar(1, size), size))


@MAPPINGS.rule("ai.onnx.ml.FeatureVectorizer-1")
def feature_vectorizer_1(b: Builder, *rows: SSAValue, inputdimensions: tuple[int, ...] = ()) -> SSAValue:
    """Join features of several tensors, each [n] or [n, features], side by side. Raises E0402 where a tensor has another number of them."""
    if any(b.rank(x) not in (1, 2) for x in rows) or len(rows) != len(inputdimensions):
        raise Error("E0402", f"inputdimensions {list(inputdimensions)[:8]} do not fit {len(rows)} tensors of rows")
    found = [b.reshape(b.cast(x, FLOAT32), *b.shape(x)[:1], *(b.shape(x)[1:] or (1,))) for x in rows]
    if tuple(b.shape(x)[1] for x in found) != inputdimensions:
        raise Error("E0402", f"inputdimensions {list(inputdimensions)[:8]} do not fit {', '.join(str(b.spec(x)) for x in rows[:8])}")
    return b.nn("concat", *found, axis=1) if len(found) > 1 else found[0]


def _by_feature(b: Builder, x: SSAValue, values: tuple[float, ...], what: str) -> NDArray:
    """Return one value for all features of x, or one for each.  Raises E0402."""
    features = b.shape(x)[-1] if b.rank(x) else 1
    if len(values) not in (1, features):
        raise Error("E0402", f"{len(values)} of '{what}' do not fit {features} features")
    return np.array(values, np.int64 if all(type(v) is int for v in values) else np.float32)
