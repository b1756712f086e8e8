"""Whether ops give results of the shapes that they announce.  Native code trusts shapes, and archives may be made by others.

Rules are the public functions of the modules in `ttc.runtime.engines.native.shapes`, named by the mnemonic of the tile op (a trailing
underscore is dropped).  A rule takes the shapes of the operands, None for one that is absent, and the attributes by name, and gives the
shape of the result, or a list of several; it raises `Unsound` where they do not fit.  The annotations of its parameters say what kinds of
attributes there are.  Every op that has a lowering has a rule.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain, TensorType, Work

Shape: TypeAlias = tuple[int, ...]
Ints: TypeAlias = tuple[int, ...]
Floats: TypeAlias = tuple[float, ...]
Rule: TypeAlias = "Callable[..., Shape | list[Shape]]"

_MAX_NUMBER = 1 << 48
"""The largest value of an integer attribute: no size of a tensor is larger."""
_IN_REGIONS = ("tile.map", "tile.cast", "ttc.constant")


class Unsound(Exception):
    """Operands or attributes that an op cannot have."""


@cache
def rules() -> dict[str, Rule]:
    """Return all shape rules, by the op's mnemonic."""
    package = importlib.import_module("ttc.runtime.engines.native.shapes")
    found: dict[str, Rule] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for name, function in vars(module).items():
            if not name.startswith("_") and inspect.isfunction(function) and function.__module__ == module.__name__:
                found[name.rstrip("_")] = function
    return found


def has_rule(op: str) -> bool:
    """Whether there is one for an op, by its full name."""
    dialect, _, mnemonic = op.partition(".")
    return dialect == "tile" and mnemonic in rules()


def is_sound(work: Work, operands: Sequence[TensorType | None]) -> bool:
    """Whether the results of an op are of the shapes that follow from its operands and attributes.

    True for ops without a rule, and for those with a size that depends on data: these run in Python, which finds out.
    """
    types = [*work.results, *(type_ for type_ in operands if type_ is not None)]
    if not has_rule(work.op) or any(-1 in type_.shape for type_ in types):
        return True
    shapes = tuple(None if type_ is None else type_.shape for type_ in operands)
    try:
        found = _shapes(work, shapes)
    except (Unsound, Error, ArithmeticError, LookupError, TypeError, ValueError):
        return False
    return found == [type_.shape for type_ in work.results] and _has_sound_body(work)


def _shapes(work: Work, operands: tuple[Shape | None, ...]) -> list[Shape]:
    rule = rules()[work.op.partition(".")[2]]
    kinds = _kinds(rule)
    for name, value in work.attrs.items():
        if name not in kinds or not _is_of_kind(value, kinds[name]):
            raise Unsound(name)
    found = rule(*operands, **work.attrs)
    return found if isinstance(found, list) else [found]


def _has_sound_body(work: Work) -> bool:
    """Whether a region is made of elementwise ops of sound shapes."""
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


@cache
def _kinds(rule: Rule) -> dict[str, str]:
    """Annotations of a rule's attributes, as text."""
    parameters = inspect.signature(rule).parameters.values()
    return {p.name: str(p.annotation) for p in parameters if p.kind is p.KEYWORD_ONLY}


def _is_of_kind(value: Plain, kind: str) -> bool:
    if kind.endswith(" | None"):
        return value is None or _is_of_kind(value, kind.removesuffix(" | None"))
    if kind.startswith("tuple["):
        return isinstance(value, tuple) and all(_is_of_kind(x, kind.removeprefix("tuple[").removesuffix(", ...]")) for x in value)
    if kind in ("Ints", "Floats"):
        return isinstance(value, tuple) and all(_is_of_kind(x, kind[:-1].lower()) for x in value)
    if kind == "int":
        return type(value) is int and abs(value) <= _MAX_NUMBER
    if kind == "float":
        return type(value) is float or (type(value) is int and abs(value) <= _MAX_NUMBER)
    return type(value).__name__ == kind or kind == "Plain"


# ---- what rules share ------------------------------------------------------------------------------------------------------------------


def require(holds: object, why: str) -> None:
    """Raises Unsound unless it holds."""
    if not holds:
        raise Unsound(why)


def axis_in(axis: int, rank: int) -> int:
    """The axis counted from the front.  Raises Unsound."""
    require(-rank <= axis < rank, f"axis {axis} of {rank}")
    return axis % rank


def broadcast(*shapes: Shape) -> Shape:
    """The numpy broadcast of shapes.  Raises Unsound."""
    found: list[int] = []
    for axis in range(-max(map(len, shapes), default=0), 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        require(len(sizes) <= 1, "shapes that do not broadcast")
        found.append(sizes.pop() if sizes else 1)
    return tuple(found)


def require_fits(operand: Shape | None, shape: Shape) -> None:
    """Raises Unsound unless an operand, where present, broadcasts to a shape without enlarging it."""
    require(operand is None or broadcast(operand, shape) == shape, "an operand that does not broadcast to the result")
