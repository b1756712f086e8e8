"""The check that ops give results of the shapes that they announce: native code trusts shapes, and archives may be made by others."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.tile.facts import fact_of, is_fact

_IN_REGIONS = ("tile.map", "tile.cast", "ttc.constant")


def is_sound(work: Work, operands: Sequence[TensorType | None]) -> bool:
    """Return whether the results of an op are of the shapes that follow from its operands and attributes, by the facts of tile ops.

    True for other ops, and for those with a size that depends on data: these run in Python, which finds out.
    """
    types = [*work.results, *(type_ for type_ in operands if type_ is not None)]
    if not is_fact(work.op) or any(-1 in type_.shape for type_ in types):
        return True
    fact = fact_of(work.op)
    if not all(name in fact.attrs and fact.attrs[name].accepts(value) for name, value in work.attrs.items()):
        return False
    try:
        found = fact.shapes([None if type_ is None else type_.shape for type_ in operands], work.attrs)
    except (Error, ArithmeticError, LookupError, TypeError, ValueError):
        return False
    return found == [type_.shape for type_ in work.results] and _has_sound_body(work)


def _has_sound_body(work: Work) -> bool:
    """Return whether a region is made of elementwise ops of sound shapes."""
    if work.body is None:
        return not work.bodies
    types = list(work.body.inputs)
    for inner in work.body.works:
        if inner.op not in _IN_REGIONS or inner.body is not None:
            return False
        if not is_sound(inner, [None if i is None else types[i] for i in inner.operands]):
            return False
        types.extend(inner.results)
    return [types[i].shape for i in work.body.outputs] == [type_.shape for type_ in work.results]
