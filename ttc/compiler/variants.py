"""One model for several shapes: an entry function for each, over weights that they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import WeightAttr
from ttc.dialects.core.ir.entries import entry_functions, module_attr
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.plain.weights import Weight, WeightStore
from ttc.dialects.core.records import record
from ttc.options import CompileOptions
from ttc.settings.option_values import Shape

FIRST = "forward"
"""The name of the program for the first shapes; others are called `forward_8` by their batch, else `forward_8x3x224x224` by what differs.
"""
SAME = ("model", "stage", "fixed_inputs", "item_inputs", "absent_inputs")
"""Attributes of modules that hold for all programs."""
Imported = tuple[ModuleOp, WeightStore]


@record
class Variant:
    """Shapes that a model is compiled for.

    Args:
        name: of the program.
        shapes: full shapes by input name.
        batch: size of open leading dimensions; None: they stay open.
    """

    name: str
    shapes: Mapping[str, Shape]
    batch: int | None


def variants(options: CompileOptions) -> tuple[Variant, ...]:
    """Return the shapes that options ask for, in the order given: one for each of several batches, or of several shapes of an input.

    An input with one shape has it in every program; those with several go together by their order.
    Raises E0101 where they do not, or where there are both several batches and several shapes.
    """
    named: dict[str, list[Shape]] = {}
    for name, shape in options.shape:
        named.setdefault(name, []).append(shape)
    counts = {len(shapes) for shapes in named.values() if len(shapes) > 1}
    batches = options.batch if isinstance(options.batch, tuple) else (options.batch,)
    if len(counts) > 1 or counts and len(batches) > 1:
        told = ", ".join(f"'{name}' {len(shapes)}" for name, shapes in named.items())
        more = f", and there are {len(batches)} batches" if len(batches) > 1 else ""
        raise Error(
            "E0101", f"inputs have different numbers of shapes: {told}{more}", hint="give each input one shape, or as many as the others"
        )
    count = max(counts, default=len(batches))
    each = [{name: shapes[index % len(shapes)] for name, shapes in named.items()} for index in range(count)]
    sizes = [batches[index % len(batches)] for index in range(count)]
    names = [FIRST, *(f"{FIRST}_{_label(each[0], shapes, size)}" for shapes, size in zip(each[1:], sizes[1:], strict=True))]
    if len(set(names)) < count:
        names = [FIRST, *(f"{FIRST}_{index}" for index in range(1, count))]
    return tuple(map(Variant, names, each, sizes))


def _label(first: Mapping[str, Shape], shapes: Mapping[str, Shape], batch: int | None) -> str:
    """Return what tells shapes from the first: the batch, or the shape of the first input that differs."""
    differing = [shape for name, shape in shapes.items() if shape != first[name]]
    return "x".join(map(str, differing[0])) if differing else str(batch)


def imported(options: CompileOptions, importer: Callable[[Mapping[str, Shape], int | None], Imported]) -> Imported:
    """Return a model as a module with an entry function for each of its variants, and their weights.

    importer: makes the module of one variant from shapes by input name and a batch.  Raises what it raises, and E0101.
    """
    return joined([(variant.name, *importer(variant.shapes, variant.batch)) for variant in variants(options)])


def joined(found: Sequence[tuple[str, ModuleOp, WeightStore]]) -> Imported:
    """Return modules of one model as a module with an entry function for each, by the names given, over weights that they share.

    Raises E0206 where they hold for different values of inputs.
    """
    name, module, weights = found[0]
    (first,) = entry_functions(module)
    first.sym_name = StringAttr(name)
    for name, other, store in found[1:]:
        _rename_weights(other, _shared(weights, store))
        (function,) = entry_functions(other)
        function.sym_name = StringAttr(name)
        function.detach()
        module.body.block.add_op(function)
    _check_alike(module, [other for _, other, _ in found[1:]])
    return module, weights


def _shared(weights: WeightStore, store: WeightStore) -> dict[str, str]:
    """Add to weights what they lack of a store; returns the keys under which that is held which they have otherwise."""
    renamed: dict[str, str] = {}
    for key in store:
        weight = store[key]
        if key in weights and not _is_same(weights[key], weight):
            renamed[key] = weights.fresh(key)
        if key in renamed or key not in weights:
            weights.add(renamed.get(key, key), weight)
    return renamed


def _is_same(one: Weight, other: Weight) -> bool:
    """Return whether two weights hold the same bytes, which NaNs compare by, too."""
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    if one.dtype.hasobject:
        return bool((one.value() == other.value()).all())
    same = one.value().tobytes() == other.value().tobytes() if one.value() is not other.value() else True
    one.release()
    other.release()
    return same


def _rename_weights(module: ModuleOp, renamed: Mapping[str, str]) -> None:
    for op in module.walk():
        key = op.key if isinstance(op, LeafOp) else None
        if isinstance(op, LeafOp) and key is not None and key in renamed:
            op.properties["value"] = WeightAttr(StringAttr(renamed[key]), op.result.type)


def _check_alike(module: ModuleOp, others: Sequence[ModuleOp]) -> None:
    """What a module says of its inputs holds for all programs.  Raises E0206 where programs were made for other values."""
    for other in others:
        if any(module_attr(module, name) != module_attr(other, name) for name in SAME):
            raise Error("E0206", "the programs would hold for different values of inputs", hint="compile an archive for each")
