"""Whether an op is as its class declares it: what xDSL verifies of operands, results, properties and regions, in a quarter of its time.

xDSL goes through a definition's constraints anew at each op.  Here they become predicates once a class.  They only accept: an op that
they do not accept is verified by xDSL, which has the last word and the text of the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from xdsl.dialects.builtin import ArrayAttr, ArrayOfConstraint
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    AttrSizedOperandSegments,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OptionalDef,
    OptPropertyDef,
    OptSingleBlockRegionDef,
    ParamAttrConstraint,
    RangeLengthConstraint,
    RangeOf,
    SingleBlockRegionDef,
    VariadicDef,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, OpTrait

from ttc.dialects.core.ir.segments import SEGMENTS, made_segments

Predicate: TypeAlias = Callable[[Any], bool]


class _Values(NamedTuple):
    """How operands or results are declared, in their order."""

    accepted: tuple[Predicate, ...]  # by a value's type
    least: tuple[int, ...]  # values of each name
    most: tuple[int | None, ...]

    def spread(self, count: int) -> Sequence[int] | None:
        """Return how many of so many values each name has; None if that cannot be."""
        sizes = [*self.least]
        extra = count - len(sizes) + sizes.count(0)
        if extra:
            at = sizes.index(0) if 0 in sizes else None
            if at is None or extra < 0 or (self.most[at] is not None and extra > 1):
                return None
            sizes[at] = extra
        return sizes


class _Declared(NamedTuple):
    operands: _Values
    results: _Values
    sized: bool
    properties: dict[str, Predicate]
    required: frozenset[str]
    regions: tuple[int, int]  # at least and at most; each of one block
    ends: bool  # its block


def is_declared(op: Operation) -> bool:
    """Return whether an op has the operands, results, properties and regions that its class declares, and stands last in its block if
    the class says so, and only then.

    What is in a region that is isolated from above is for `check_dominance` to find.  False may also mean that only xDSL can tell: for
    classes with any number of regions, successors, attributes or other traits that check something, for constraints of other kinds than
    these classes have today, and for an op at the end of a block that nothing has to end.
    """
    known = _declared(type(op))
    if known is None or op.successors or (op.next_op is None) != known.ends:
        return False
    least, most = known.regions
    if not least <= len(op.regions) <= most:
        return False
    for region in op.regions:
        if region.first_block is None or region.first_block is not region.last_block:
            return False
    properties = op.properties
    for name, value in properties.items():
        accepts = known.properties.get(name)
        if accepts is None or not accepts(value):
            return False
    if not known.required <= properties.keys():
        return False
    sizes = made_segments(properties[SEGMENTS]) if known.sized else None
    return (sizes is not None or not known.sized) and _fit(op.operands, known.operands, sizes) and _fit(op.results, known.results, None)


def _fit(values: Sequence[SSAValue], declared: _Values, sizes: Sequence[int] | None) -> bool:
    """Return whether values are as declared; sizes: of each name, None where their number tells."""
    accepted = declared.accepted
    if sizes is None:
        sizes = declared.spread(len(values))
        if sizes is None:
            return False
    elif len(sizes) != len(accepted) or sum(sizes) != len(values):
        return False
    at = 0
    for accepts, size, least, most in zip(accepted, sizes, declared.least, declared.most, strict=True):
        if size < least or (most is not None and size > most):
            return False
        for value in values[at : at + size]:
            if not accepts(value.type):
                return False
        at += size
    return True


@cache
def _declared(cls: type[Operation]) -> _Declared | None:
    """Return what a class declares; None where xDSL has to say whether an op is so."""
    if not issubclass(cls, IRDLOperation):
        return None
    definition = cls.get_irdl_definition()
    sized = any(isinstance(option, AttrSizedOperandSegments) for option in definition.options)
    checked = {type(trait) for trait in definition.traits if type(trait).verify is not OpTrait.verify}
    regions = [type(held) if held.entry_args == RangeOf(AnyAttr()) else None for _, held in definition.regions]
    if {*regions} - {SingleBlockRegionDef, OptSingleBlockRegionDef} or regions.count(OptSingleBlockRegionDef) > 1:
        return None
    if definition.successors or definition.attributes or not checked <= {IsTerminator, IsolatedFromAbove}:
        return None
    operands, results = _values(definition.operands), _values(definition.results)
    properties = {name: _predicate(held.constr) for name, held in definition.properties.items()}
    if sized:
        properties[SEGMENTS] = _anything
    known = {name: accepts for name, accepts in properties.items() if accepts is not None}
    if operands is None or results is None or len(known) < len(properties):
        return None
    if (not sized and operands.least.count(0) > 1) or results.least.count(0) > 1:
        return None
    required = frozenset(name for name, held in definition.properties.items() if not isinstance(held, OptPropertyDef))
    required = required | {SEGMENTS} if sized else required
    return _Declared(
        operands, results, sized, known, required, (regions.count(SingleBlockRegionDef), len(regions)), IsTerminator in checked
    )


def _values(declared: Sequence[tuple[str, Any]]) -> _Values | None:
    found: list[Predicate] = []
    for _, held in declared:
        within = held.constr.constraint if isinstance(held.constr, RangeLengthConstraint) else held.constr
        accepts = _predicate(within.constr) if isinstance(within, RangeOf) else None
        if accepts is None:
            return None
        found.append(accepts)
    least = tuple(0 if isinstance(held, VariadicDef) else 1 for _, held in declared)
    most = tuple(None if isinstance(held, VariadicDef) and not isinstance(held, OptionalDef) else 1 for _, held in declared)
    return _Values(tuple(found), least, most)


def _predicate(constraint: object) -> Predicate | None:
    """Return what accepts the attributes that a constraint accepts; None for a constraint of another kind."""
    match constraint:
        case AnyAttr():
            return _anything
        case BaseAttr():
            return _instances(constraint.attr)
        case EqAttrConstraint():
            return _equal(constraint.attr)
        case AnyOf():
            return _any([_predicate(each) for each in constraint.attr_constrs])
        case ArrayOfConstraint() if isinstance(constraint.elem_range_constraint, RangeOf):
            return _all(_predicate(constraint.elem_range_constraint.constr))
        case ParamAttrConstraint():
            names = [name for name, _ in constraint.base_attr.get_irdl_definition().parameters]
            parts = [_predicate(each) for each in constraint.param_constrs]
            return _with_parameters(_instances(constraint.base_attr), dict(zip(names, parts, strict=True)))
        case _:
            return None


def _anything(attribute: Attribute) -> bool:
    del attribute
    return True


def _instances(cls: type[Attribute]) -> Predicate:
    return lambda attribute: isinstance(attribute, cls)


def _equal(wanted: Attribute) -> Predicate:
    return lambda attribute: attribute is wanted or attribute == wanted


def _any(found: Sequence[Predicate | None]) -> Predicate | None:
    known = [accepts for accepts in found if accepts is not None]
    return (lambda attribute: any(accepts(attribute) for accepts in known)) if len(known) == len(found) else None


def _all(accepts: Predicate | None) -> Predicate | None:
    return None if accepts is None else lambda attribute: isinstance(attribute, ArrayAttr) and all(map(accepts, attribute.data))


def _with_parameters(whole: Predicate, parts: dict[str, Predicate | None]) -> Predicate | None:
    known = [(name, accepts) for name, accepts in parts.items() if accepts is not None and accepts is not _anything]
    if None in parts.values():
        return None
    return lambda attribute: whole(attribute) and all(accepts(getattr(attribute, name)) for name, accepts in known)
