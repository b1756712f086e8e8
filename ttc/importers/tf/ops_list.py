"""Lists of tensors, as loops keep what their iterations take and give: their lengths must be known at import."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import element, stacked
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tf.tables import Rows
from ttc.importers.tf.values import TensorList

MAX_LENGTH = 1 << 16


def reserve(b: Builder, element_shape: SSAValue, num_elements: SSAValue, *, element_dtype: np.dtype) -> TensorList:
    count = int(b.number(num_elements, "num_elements"))
    if not 0 <= count <= MAX_LENGTH:
        raise Unsupported(f"a list of {count} tensors")
    return TensorList((None,) * count, element_dtype, _shape(b, element_shape))


def empty(b: Builder, element_shape: SSAValue, max_num_elements: SSAValue, *, element_dtype: np.dtype) -> TensorList:
    return TensorList((), element_dtype, _shape(b, element_shape))


def _shape(b: Builder, element_shape: SSAValue) -> tuple[int, ...] | None:
    """Of the elements; None while it is open."""
    known = b.known(element_shape)
    if known is None or known.ndim != 1 or known.dtype.kind not in "iu" or known.size > 32 or min(known, default=0) < 0:
        return None
    return tuple(int(d) for d in known)


def from_tensor(b: Builder, tensor: SSAValue, element_shape: SSAValue) -> TensorList:
    shape = b.shape(tensor)
    if not shape or shape[0] > MAX_LENGTH:
        raise Unsupported("a list of the parts of a scalar, or of too many")
    return TensorList(tuple(element(b, tensor, 0, i) for i in range(shape[0])), b.dtype(tensor), shape[1:])


def get_item(b: Builder, input_handle: TensorList, index: SSAValue, element_shape: SSAValue, *, element_dtype: np.dtype) -> SSAValue:
    found = input_handle.items[_index(b, index, input_handle)]
    return _zeros(b, input_handle, _shape(b, element_shape)) if found is None else found


def set_item(
    b: Builder, input_handle: TensorList, index: SSAValue, item: SSAValue, *, resize_if_index_out_of_bounds: bool = False
) -> TensorList:
    items = list(input_handle.items)
    if resize_if_index_out_of_bounds:
        wanted = int(b.number(index, "index")) + 1
        if wanted > MAX_LENGTH:
            raise Unsupported(f"a list of {wanted} tensors")
        items.extend([None] * (wanted - len(items)))
    items[_index(b, index, replace(input_handle, items=tuple(items)))] = item
    return replace(input_handle, items=tuple(items))


def _index(b: Builder, index: SSAValue, of: TensorList) -> int:
    """Raises E0402 for one outside."""
    found = int(b.number(index, "index"))
    if not 0 <= found < len(of.items):
        raise Error("E0402", f"there is no tensor {found} in a list of {len(of.items)}")
    return found


def push_back(b: Builder, input_handle: TensorList, tensor: SSAValue) -> TensorList:
    if len(input_handle.items) >= MAX_LENGTH:
        raise Unsupported(f"a list of more than {MAX_LENGTH} tensors")
    return replace(input_handle, items=(*input_handle.items, tensor))


def pop_back(b: Builder, input_handle: TensorList, element_shape: SSAValue, *, element_dtype: np.dtype) -> tuple[TensorList, SSAValue]:
    if not input_handle.items:
        raise Error("E0402", "an empty list has no last tensor")
    *rest, last = input_handle.items
    return replace(input_handle, items=tuple(rest)), _zeros(b, input_handle, _shape(b, element_shape)) if last is None else last


def stack(b: Builder, input_handle: TensorList, element_shape: SSAValue, *, element_dtype: np.dtype, num_elements: int = -1) -> SSAValue:
    if num_elements not in (-1, len(input_handle.items)):
        raise Error("E0402", f"a list of {len(input_handle.items)} tensors, not {num_elements}")
    shape = _shape(b, element_shape)
    if not input_handle.items:
        if shape is None and input_handle.shape is None:
            raise Unsupported("an empty list of tensors of open shape")
        return b.constant(np.zeros((0, *(shape or input_handle.shape or ())), input_handle.dtype))
    return stacked(b, [_zeros(b, input_handle, shape) if x is None else x for x in input_handle.items], 0)


def _zeros(b: Builder, of: TensorList, shape: tuple[int, ...] | None) -> SSAValue:
    """What an element that was never stored reads as."""
    present = next((b.shape(x) for x in of.items if x is not None), None)
    found = shape if shape is not None else of.shape if of.shape is not None else present
    if found is None:
        raise Unsupported("an element that was never stored, of open shape")
    zero = b.constant(np.zeros((), of.dtype))
    return b.nn("expand", zero, shape=found) if found else zero


def length(b: Builder, input_handle: TensorList) -> SSAValue:
    return b.constant(np.array(len(input_handle.items), np.int32))


ROWS: Rows = {
    "TensorListReserve": reserve,
    "EmptyTensorList": empty,
    "TensorListFromTensor": from_tensor,
    "TensorListGetItem": get_item,
    "TensorListSetItem": set_item,
    "TensorListPushBack": push_back,
    "TensorListPopBack": pop_back,
    "TensorListStack": stack,
    "TensorListLength": length,
}
