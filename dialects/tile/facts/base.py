"""How facts of tile ops are stated: one record an op, registered by a decorator of its shape rule.

    @fact(Role.NORMALIZATION, {"axis": INT}, as_nn=True, passes=3)
    def softmax(x: Shape, *, axis: int) -> Shape: ...

A shape rule takes the shapes of the operands, None for one that is absent, and the attributes by name.  It gives the shape of the result,
or a list of shapes, and raises E0401, E0402 or E0412 where operands or attributes do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.core.shapes import Shape
from ttc.dialects.nn.counts import COUNTS, Count, nothing, one_each
from ttc.dialects.tile.facts.steps import CompositeStep

ShapeRule: TypeAlias = "Callable[..., Shape | list[Shape]]"
_RuleT = TypeVar("_RuleT", bound=ShapeRule)
Ints: TypeAlias = tuple[int, ...]
Floats: TypeAlias = tuple[float, ...]

_MAX_NUMBER = 1 << 48
"""Bound on integer attributes: no size of a tensor is larger."""


class Role(Enum):
    """What kind of work an op does."""

    VIEW = "rearranges, selects or repeats elements of one operand, by position alone"
    MOVEMENT = "moves elements by position, of several operands or beside added ones"
    GATHER = "reads elements where another operand says"
    SCATTER = "writes elements where another operand says"
    CONVERSION = "rounds elements to another format"
    ELEMENTWISE = "computes each element from those in its place"
    CONTRACTION = "multiplies elements and sums over an inner dimension"
    WINDOW = "combines the pixels under a window"
    NORMALIZATION = "scales rows by statistics of themselves"
    REDUCTION = "combines the elements along dimensions"
    SCAN = "combines the elements before each one along a dimension"
    SORT = "orders the elements along a dimension"
    RECURRENT = "computes each step of a sequence from the step before"
    SAMPLING = "interpolates images at computed positions"
    TRANSFORM = "transforms rows or matrices as a whole"
    TREE = "leads rows through decision trees"
    TERMINATOR = "ends a region"


MOVING = frozenset({Role.VIEW, Role.MOVEMENT, Role.GATHER, Role.SCATTER})
"""Roles of ops whose results hold elements of operands, and numbers of attributes, each as it is."""

_COUNTS: Mapping[Role, Count] = {
    **dict.fromkeys((*MOVING, Role.CONVERSION, Role.TERMINATOR), nothing),
    **dict.fromkeys((Role.ELEMENTWISE, Role.NORMALIZATION, Role.REDUCTION, Role.SCAN, Role.SORT, Role.TRANSFORM, Role.TREE), one_each),
}
"""How arithmetic is counted by role; ops of other roles say it themselves."""


class Attr(NamedTuple):
    """The kind of an attribute: its name here and in IR, and whether the op can lack it."""

    kind: str
    optional: bool = False

    def accepts(self, value: Plain) -> bool:
        """Return whether a value that comes out of a file is of this kind."""
        if value is None:
            return self.optional
        return _ACCEPTS[self.kind](value)


def _is_int(value: Plain) -> bool:
    return type(value) is int and abs(value) <= _MAX_NUMBER


def _is_float(value: Plain) -> bool:
    return type(value) is float or _is_int(value)


def _all(test: Callable[[Plain], bool]) -> Callable[[Plain], bool]:
    return lambda value: isinstance(value, tuple) and all(map(test, value))


_ACCEPTS: Mapping[str, Callable[[Plain], bool]] = {
    "int": _is_int,
    "bool": lambda value: type(value) is bool,
    "float": _is_float,
    "str": lambda value: type(value) is str,
    "ints": _all(_is_int),
    "floats": _all(_is_float),
    "strs": _all(lambda value: type(value) is str),
    "values": lambda value: isinstance(value, tuple),
}
INT, BOOL, FLOAT, STR, INTS, FLOATS, STRS, VALUES = map(Attr, _ACCEPTS)


def optional(attr: Attr) -> Attr:
    """Return the kind of an attribute that an op can lack."""
    return attr._replace(optional=True)


class Fact(NamedTuple):
    """What is known of a tile op without its IR.

    Args:
        role: kind of its work.
        shape: rule of its results' shapes.
        attrs: its attributes by name.
        flops: operations of arithmetic, from the shapes of operands and results and the attributes.
        in_transit: whether cores do it to data on their way, as they read an operand or pack a result: it is no op of its own there.
        bijective: whether every element of its operand stands in its result once.
        rearranges: whether tiles leave their order, so that a core's part of the result comes from all over an operand.
        rows_only: whether only targets in row layout have a kernel for it.
        as_nn: whether it means what the nn op of its name does, and so has its numpy kernel, and its operands unless it has a class.
        passes: times that the rows of the first operand are read: once for each statistic, and once for the result.
        steps: what it computes on each row, for a composite that runs along one; its attribute `axis` says which elements make a row.
        trailing: whether a row is all dimensions from `axis` on, not the dimension `axis` alone.
    """

    role: Role
    shape: ShapeRule
    attrs: Mapping[str, Attr]
    flops: Count
    in_transit: bool = False
    bijective: bool = False
    rearranges: bool = False
    rows_only: bool = False
    as_nn: bool = False
    passes: int = 1
    steps: tuple[CompositeStep, ...] = ()
    trailing: bool = False

    @property
    def operands(self) -> tuple[str, ...]:
        """Names of the operands, in order."""
        code = self.shape.__code__  # pyright: ignore[reportFunctionMemberAccess]: shape rules are functions
        return code.co_varnames[: code.co_argcount]

    @property
    def moves(self) -> bool:
        """Whether the op computes nothing: its results hold elements as they are. A scatter that combines elements computes."""
        return self.role in MOVING

    def shapes(self, operands: Sequence[Shape | None], attrs: Mapping[str, Any]) -> list[Shape]:
        """Return the shapes of all results.  Raises E04xx."""
        found = self.shape(*operands, **attrs)
        return found if isinstance(found, list) else [found]


FACTS: RuleTable[Fact] = RuleTable(
    "fact",
    "ttc.dialects.tile.facts",
    {
        "attention": "attention_training attention_gradient",
        "conv": "conv2d conv_transpose2d",
        "coupling": "couple_probabilities",
        "eltwise": "map cast yield",
        "encoded": "encoded_matmul tile_depthwise",
        "host": "to_host from_host",
        "index": "gather gather_elements gather_nd embedding lookup",
        "linear": "matmul det",
        "manipulation": "repeat tile_broadcast retile adjust",
        "norm": "layer_norm rms_norm",
        "pool": "max_pool2d avg_pool2d",
        "recurrent": "rnn gru lstm lstm_training recurrent_gradient",
        "reduce": "argmax argmin cumsum cumprod",
        "resize": "resize_by",
        "sampling": "grid_sample roi_align deform_conv",
        "scatter": "scatter_elements scatter_nd",
        "sfpu": "binary relu rescale",
        "shape": "reshape transpose hslice hstack broadcast slice relayout pad concat",
        "softmax": "log_softmax",
        "sort": "order reverse_sequence",
        "sparse": "sparse_matmul depthwise",
        "spectral": "fft irfft",
        "tree": "tree_ensemble",
    },
)
"""Facts by mnemonic: an engine loads the modules of those that it meets."""


def fact(role: Role, attrs: Mapping[str, Attr] | None = None, *, flops: Count | None = None, **flags: Any) -> Callable[[_RuleT], _RuleT]:
    """Register the decorated shape rule, and what else is known, as the fact of the tile op of its name without trailing underscores.

    Args:    role, attrs, flops, flags: fields of `Fact`.
        flops: absent where the nn op of its name has a count, or the role says how arithmetic is counted.
    Raises:  E0901 for a role that does not, and for an op that has a fact already.
    """

    def registered(rule: _RuleT) -> _RuleT:
        name = rule.__name__.rstrip("_")
        counted = flops or COUNTS.get(name) or _COUNTS.get(role)
        if counted is None:
            raise Error("E0901", f"tile.{name} does not say how its arithmetic is counted")
        FACTS.add(name, Fact(role, rule, attrs or {}, counted, **flags))
        return rule

    return registered


def rows_fact(role: Role, attrs: Mapping[str, Attr] | None = None) -> Callable[[_RuleT], _RuleT]:
    """Register a fact, like `fact`, for an op that means what the nn op of its name does, and that only row layout has a kernel for."""
    return fact(role, attrs, rows_only=True, as_nn=True)
