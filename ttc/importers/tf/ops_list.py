"""Lists of tensors, as loops keep what their iterations take and give: their lengths must be known at import."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import element, part
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tf import lists
from ttc.importers.tf.tables import Rows
from ttc.importers.tf.values import TensorList

INT64 = np.dtype(np.int64)
MAX_LENGTH = 1 << 16


def reserve(b: Builder, element_shape: SSAValue, num_elements: SSAValue, *, element_dtype: np.dtype) -> TensorList:
    count = int(b.number(num_elements, "num_elements"))
    if not 0 <= count <= MAX_LENGTH:
        raise Unsupported(f"a list of {count} tensors")
    return TensorList((None,) * count, element_dtype, _shape(b, element_shape))


def empty(b: Builder, element_shape: SSAValue, max_num_elements: SSAValue, *, element_dtype: np.dtype) -> TensorList:
    return TensorList((), element_dtype, _shape(b, element_shape))


def _shape(b: Builder, element_shape: SSAValue) -> tuple[int, ...] | None:
    """Return the shape of a list's elements; None while it is open."""
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
    shape = _shape(b, element_shape)
    if input_handle.stack is not None or _is_computed(b, index):
        place = b.cast(b.reshape(index), INT64)
        return b.nn("gather", lists.dense(b, input_handle, shape), place, axis=0)
    found = input_handle.items[_index(b, index, input_handle)]
    return lists.zeros(b, input_handle, shape) if found is None else found


def _is_computed(b: Builder, index: SSAValue) -> bool:
    try:
        b.number(index, "index")
    except Unsupported:
        return True
    return False


def set_item(
    b: Builder, input_handle: TensorList, index: SSAValue, item: SSAValue, *, resize_if_index_out_of_bounds: bool = False
) -> TensorList:
    if input_handle.stack is not None or _is_computed(b, index):
        if resize_if_index_out_of_bounds:
            raise Unsupported("a list that grows to a place that is computed")
        place = b.reshape(b.cast(index, INT64), 1, 1)
        item = b.reshape(item, 1, *b.shape(item))
        stack = b.nn("scatter_nd", lists.dense(b, input_handle, b.shape(item)[1:]), place, item, reduction="none")
        return replace(input_handle, items=(), stack=stack)
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
    if input_handle.stack is not None:
        return replace(input_handle, stack=b.nn("concat", input_handle.stack, b.reshape(tensor, 1, *b.shape(tensor)), axis=0))
    if len(input_handle.items) >= MAX_LENGTH:
        raise Unsupported(f"a list of more than {MAX_LENGTH} tensors")
    return replace(input_handle, items=(*input_handle.items, tensor))


def pop_back(b: Builder, input_handle: TensorList, element_shape: SSAValue, *, element_dtype: np.dtype) -> tuple[TensorList, SSAValue]:
    if input_handle.stack is not None:
        raise Unsupported("takes the last tensor of a list whose length is computed")
    if not input_handle.items:
        raise Error("E0402", "an empty list has no last tensor")
    *rest, last = input_handle.items
    return replace(input_handle, items=tuple(rest)), lists.zeros(b, input_handle, _shape(b, element_shape)) if last is None else last


def stack(b: Builder, input_handle: TensorList, element_shape: SSAValue, *, element_dtype: np.dtype, num_elements: int = -1) -> SSAValue:
    if input_handle.stack is None and num_elements not in (-1, len(input_handle.items)):
        raise Error("E0402", f"the list has {len(input_handle.items)} tensors, not {num_elements}")
    return lists.dense(b, input_handle, _shape(b, element_shape))


def gather(b: Builder, input_handle: TensorList, indices: SSAValue, element_shape: SSAValue, *, element_dtype: np.dtype) -> SSAValue:
    """Return some of the tensors of a list as one tensor."""
    return b.nn("gather", lists.dense(b, input_handle, _shape(b, element_shape)), b.cast(indices, INT64), axis=0)


def concat(
    b: Builder,
    input_handle: TensorList,
    element_shape: SSAValue,
    leading_dims: SSAValue,
    *,
    element_dtype: np.dtype,
) -> tuple[SSAValue, SSAValue]:
    """Return the tensors joined along their first dimension, and how large it is in each."""
    shape, items = _shape(b, element_shape), input_handle.items
    if input_handle.stack is not None:
        whole = input_handle.stack
        if b.rank(whole) < 2:
            raise Error("E0401", "joins tensors without a dimension")
        count, size, *rest = b.shape(whole)
        return b.reshape(whole, count * size, *rest), b.constant(np.full(count, size, np.int64))
    if not items:
        raise Unsupported("an empty list, whose tensors are joined")
    found = [lists.zeros(b, input_handle, shape) if x is None else x for x in items]
    if any(not b.shape(x) for x in found):
        raise Error("E0401", "joins tensors without a dimension")
    sizes = b.constant(np.array([b.shape(x)[0] for x in found], np.int64))
    return b.nn("concat", *found, axis=0) if len(found) > 1 else found[0], sizes


def length(b: Builder, input_handle: TensorList) -> SSAValue:
    if input_handle.stack is None:
        return b.constant(np.array(len(input_handle.items), np.int32))
    return b.cast(b.reshape(part(b, b.nn("shape", input_handle.stack), 0, 0, 1)), np.dtype(np.int32))


ROWS: Rows = {
    "TensorListReserve": reserve,
    "EmptyTensorList": empty,
    "TensorListFromTensor": from_tensor,
    "TensorListGetItem": get_item,
    "TensorListSetItem": set_item,
    "TensorListPushBack": push_back,
    "TensorListPopBack": pop_back,
    "TensorListStack": stack,
    "TensorListGather": gather,
    "TensorListConcatV2": concat,
    "TensorListLength": length,
}
