"""Labels: keys mapped to values, numbers or text, of ONNX's domain for classical machine learning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.tables import MAPPINGS

UNUSED = "_Unused"


@MAPPINGS.rule("ai.onnx.ml.LabelEncoder-1")
def label_encoder_1(
    b: Builder, x: SSAValue, *, classes_strings: tuple[str, ...] = (), default_int64: int = -1, default_string: str = UNUSED
) -> SSAValue:
    """Return text as its place in the list, or a place as the text there."""
    places, names = np.arange(len(classes_strings), dtype=np.int64), np.array(classes_strings, STRING)
    if b.dtype(x) == STRING:
        return _mapped(b, x, names, places, np.array(default_int64, np.int64))
    return _mapped(b, x, places, names, np.array(default_string, STRING))


@MAPPINGS.rule("ai.onnx.ml.CategoryMapper-1")
def category_mapper_1(
    b: Builder,
    x: SSAValue,
    *,
    cats_int64s: tuple[int, ...],
    cats_strings: tuple[str, ...],
    default_int64: int = -1,
    default_string: str = UNUSED,
) -> SSAValue:
    """Return text as the number of its category, or the other way."""
    numbers, names = np.array(cats_int64s, np.int64), np.array(cats_strings, STRING)
    if b.dtype(x) == STRING:
        return _mapped(b, x, names, numbers, np.array(default_int64, np.int64))
    return _mapped(b, x, numbers, names, np.array(default_string, STRING))


@MAPPINGS.rule("ai.onnx.ml.LabelEncoder-2")
def label_encoder_2(
    b: Builder,
    x: SSAValue,
    *,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = UNUSED,
    keys_floats: tuple[float, ...] = (),
    keys_int64s: tuple[int, ...] = (),
    keys_strings: tuple[str, ...] = (),
    values_floats: tuple[float, ...] = (),
    values_int64s: tuple[int, ...] = (),
    values_strings: tuple[str, ...] = (),
) -> SSAValue:
    return label_encoder_4(
        b,
        x,
        default_float=default_float,
        default_int64=default_int64,
        default_string=default_string,
        keys_floats=keys_floats,
        keys_int64s=keys_int64s,
        keys_strings=keys_strings,
        values_floats=values_floats,
        values_int64s=values_int64s,
        values_strings=values_strings,
    )


@MAPPINGS.rule("ai.onnx.ml.LabelEncoder-4")
def label_encoder_4(
    b: Builder,
    x: SSAValue,
    *,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = UNUSED,
    default_tensor: NDArray | None = None,
    keys_floats: tuple[float, ...] = (),
    keys_int64s: tuple[int, ...] = (),
    keys_strings: tuple[str, ...] = (),
    keys_tensor: NDArray | None = None,
    values_floats: tuple[float, ...] = (),
    values_int64s: tuple[int, ...] = (),
    values_strings: tuple[str, ...] = (),
    values_tensor: NDArray | None = None,
) -> SSAValue:
    """Return the value that stands beside each key; a default for what is no key."""
    keys = _one(keys_tensor, keys_floats, keys_int64s, keys_strings)
    values = _one(values_tensor, values_floats, values_int64s, values_strings)
    default = default_tensor
    if default is None:
        kinds = {"f": (default_float, np.float32), "i": (default_int64, np.int64), "O": (default_string, STRING)}
        if values.dtype.kind not in kinds:
            raise Unsupported(f"labels of {values.dtype}")
        default = np.array(kinds[values.dtype.kind][0], kinds[values.dtype.kind][1])
    return _mapped(b, x, keys, values, default)


def _one(tensor: NDArray | None, floats: tuple[float, ...], numbers: tuple[int, ...], words: tuple[str, ...]) -> NDArray:
    if tensor is not None:
        return tensor.ravel()
    if words:
        return np.array(words, STRING)
    return np.array(floats, np.float32) if floats else np.array(numbers, np.int64)


def _mapped(b: Builder, x: SSAValue, keys: NDArray, values: NDArray, default: NDArray) -> SSAValue:
    """values[i] where x is keys[i], the default elsewhere."""
    if len(keys) != len(values) or default.size != 1:
        raise Error(
            "E0402",
            f"{len(keys)} keys, {len(values)} values and {default.size} defaults: each key has a value, and there is one default",
        )
    table = b.constant(np.concatenate([values, default.reshape(1).astype(values.dtype)]))
    return b.nn("gather", table, _place(b, x, keys), axis=0)


def _place(b: Builder, x: SSAValue, keys: NDArray) -> SSAValue:
    """Return which of the keys it is; their number for none of them."""
    if keys.dtype == STRING:
        return b.nn("string_index", x, words=tuple(keys))
    shape = b.shape(x)
    if b.spec(x).elements * len(keys) > MAX_ELEMENTS or not len(keys):
        raise Unsupported(f"{len(keys)} keys for {b.spec(x)}")
    known = keys.astype(b.dtype(x))
    column = b.reshape(x, *shape, 1)
    same = b.nn("equal", column, b.constant(known))
    if known.dtype.kind == "f" and np.isnan(known).any():
        same = b.nn("or", same, b.nn("and", b.nn("is_nan", column), b.constant(np.isnan(known))))
    places = b.nn("where", same, b.constant(np.arange(len(keys), dtype=np.int64)), b.constant(np.array(len(keys), np.int64)))
    return b.nn("reduce_min", places, axes=(len(shape),), keepdims=False)
