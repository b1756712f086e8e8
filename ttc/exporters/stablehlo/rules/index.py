"""Elements and slices at computed places."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.exporters.stablehlo.literals import HloValue, flag, integers, listed
from ttc.exporters.stablehlo.regions import combining
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.stablehlo.writer import HloWriter

REDUCTIONS = {"none": None, "add": "add", "mul": "multiply", "min": "minimum", "max": "maximum"}


def from_front(step: HloWriter, indices: HloValue, sizes: Sequence[int]) -> HloValue:
    """Write indices counted from the front: those below 0 count from the end of a dimension.

    Args:
        sizes: of the dimensions that the last dimension of the indices is for; one, if all are for the same.
    """
    known = step.array(indices)
    if known is not None and (known.size == 0 or known.min() >= 0):
        return indices
    moved = step.elementwise("add", indices, step.constant(sizes if len(sizes) > 1 else sizes[0], indices.dtype))
    return step.select(step.compare("LT", indices, step.filled(0, indices)), moved, indices)


def taken(step: HloWriter, x: HloValue, indices: HloValue, axis: int) -> HloValue:
    """Write the slices at indices along an axis."""
    rank = len(indices.shape)
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    dims = listed(
        offset_dims=[*range(axis), *range(axis + rank, len(shape))],
        collapsed_slice_dims=[axis],
        start_index_map=[axis],
        index_vector_dim=rank,
    )
    return _gathered(step, x, indices, shape, dims, [1 if place == axis else size for place, size in enumerate(x.shape)])


def at_tuples(step: HloWriter, x: HloValue, indices: HloValue) -> HloValue:
    """Write the slices of x at index tuples, which the last dimension of the indices holds."""
    depth, places = indices.shape[-1], indices.shape[:-1]
    shape = (*places, *x.shape[depth:])
    dims = listed(
        offset_dims=range(len(places), len(shape)),
        collapsed_slice_dims=range(depth),
        start_index_map=range(depth),
        index_vector_dim=len(places),
    )
    return _gathered(step, x, indices, shape, dims, [*[1] * depth, *x.shape[depth:]])


def _gathered(step: HloWriter, x: HloValue, indices: HloValue, shape: Sequence[int], dims: str, sizes: Sequence[int]) -> HloValue:
    attrs = {"dimension_numbers": f"#stablehlo.gather<{dims}>", "slice_sizes": integers(sizes), "indices_are_sorted": flag(False)}
    return step.make("gather", x, indices, shape=shape, attrs=attrs)


def along(step: HloWriter, indices: HloValue, axis: int) -> HloValue:
    """Write the index tuples of all dimensions: along one axis the indices, along all others an element's own place."""
    shape = indices.shape
    parts = [indices if place == axis else step.count(shape, place, indices.dtype) for place in range(len(shape))]
    return step.join([step.reshape(part, (*shape, 1)) for part in parts], len(shape))


@HLO_RULES.rule("gather")
def gather(step: HloWriter) -> HloValue:
    """Write slices at indices along an axis."""
    x, axis = step.x(0), step.attr("axis") % len(step.x(0).shape)
    return taken(step, x, from_front(step, step.x(1), [x.shape[axis]]), axis)


@HLO_RULES.rule("gather_elements")
def gather_elements(step: HloWriter) -> HloValue:
    """Write elements, each at an index along an axis."""
    x, axis = step.x(0), step.attr("axis") % len(step.x(0).shape)
    return at_tuples(step, x, along(step, from_front(step, step.x(1), [x.shape[axis]]), axis))


@HLO_RULES.rule("gather_nd")
def gather_nd(step: HloWriter) -> HloValue:
    """Write slices at index tuples; before each stand the places of its batch."""
    x, indices, batch = step.x(0), step.x(1), step.attr("batch_dims")
    indices = from_front(step, indices, x.shape[batch : batch + indices.shape[-1]])
    ahead = [step.count((*indices.shape[:-1], 1), place, indices.dtype) for place in range(batch)]
    return at_tuples(step, x, step.join([*ahead, indices], len(indices.shape) - 1))


@HLO_RULES.rule("scatter_elements")
def scatter_elements(step: HloWriter) -> HloValue:
    """Write elements replaced at places along one axis."""
    x, axis = step.x(0), step.attr("axis") % len(step.out)
    return _scattered(step, along(step, from_front(step, step.x(1), [x.shape[axis]]), axis))


@HLO_RULES.rule("scatter_nd")
def scatter_nd(step: HloWriter) -> HloValue:
    """Write slices replaced at index tuples."""
    return _scattered(step, from_front(step, step.x(1), step.out[: step.x(1).shape[-1]]))


def _scattered(step: HloWriter, indices: HloValue) -> HloValue:
    """Write the updates at index tuples, one after the other."""
    x, updates, depth = step.x(0), step.x(2), indices.shape[-1]
    places = len(indices.shape) - 1
    dims = listed(
        update_window_dims=range(places, len(updates.shape)),
        inserted_window_dims=range(depth),
        scatter_dims_to_operand_dims=range(depth),
        index_vector_dim=places,
    )
    attrs = {
        "scatter_dimension_numbers": f"#stablehlo.scatter<{dims}>",
        "indices_are_sorted": flag(False),
        "unique_indices": flag(False),
    }
    region = combining(REDUCTIONS[step.attr("reduction")], x.dtype)
    return step.make("scatter", x, indices, updates, attrs=attrs, region=region)


@HLO_RULES.rule("reverse_sequence")
def reverse_sequence(step: HloWriter) -> HloValue:
    """Write the beginnings of sequences in reverse order, by the place that each element is taken from."""
    lengths, time, batch = step.x(1), step.attr("time_axis"), step.attr("batch_axis")
    lengths = step.spread(lengths, step.out, [batch])
    place = step.count(step.out, time, lengths.dtype)
    turned = step.make("subtract", step.with_number("subtract", lengths, 1), place)
    return at_tuples(step, step.x(0), along(step, step.select(step.compare("LT", place, lengths), turned, place), time))
