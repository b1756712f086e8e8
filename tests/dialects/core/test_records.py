"""Records do what frozen dataclasses do."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import pytest

from ttc.dialects.core.records import record


@record
class Point:
    """A place."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list, compare=False)
    shade: str = field(default="dark", repr=False, kw_only=True)
    origin: ClassVar[int] = 0


@dataclass(frozen=True)
class Reference:
    """The same as a dataclass."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list, compare=False)
    shade: str = field(default="dark", repr=False, kw_only=True)
    origin: ClassVar[int] = 0


@record(slots=True)
class Slotted:
    """Without a `__dict__`."""

    x: int
    y: tuple[int, ...] = ()


@record
class Above(Point):
    """A subclass with a field more, one that is computed, and a check."""

    z: int = 0
    total: int = field(init=False)
    parts: list[int] = field(init=False, default_factory=list, compare=False)
    kind: str = field(init=False, default="above")

    def __post_init__(self) -> None:
        if self.z < 0:
            raise ValueError("z")
        object.__setattr__(self, "total", self.x + self.y + self.z)

    @cached_property
    def doubled(self) -> int:
        return 2 * self.total


@record(frozen=False)
class Open:
    """With fields that change."""

    x: int
    seen: list[int] = field(default_factory=list)


class Plain(Point):
    """A subclass that is no record itself."""


@record
class Empty:
    """Without fields."""


@record(kw_only=True)
class Named:
    """Fields by name alone."""

    a: int
    b: int = 1


@pytest.mark.parametrize("kind", [Point, Reference])
def test_instances_are_made_shown_compared_and_hashed_as_those_of_dataclasses(kind: Any) -> None:
    a, b, c = kind(1), kind(1, tags=["t"]), kind(1, y=3)
    assert (a.x, a.y, a.tags, a.shade, kind.origin) == (1, 2, [], "dark", 0)
    assert repr(b) == f"{kind.__name__}(x=1, y=2, tags=['t'])"
    assert a == b
    assert hash(a) == hash(b) == hash((1, 2, "dark"))
    assert a != c
    assert a != kind(1, shade="light")
    assert a != (1, 2, "dark")
    assert a.tags is not kind(1).tags
    assert [item.name for item in fields(kind)] == ["x", "y", "tags", "shade"]
    assert asdict(c) == {"x": 1, "y": 3, "tags": [], "shade": "dark"}
    assert replace(c, x=5) == kind(5, 3)
    assert is_dataclass(a)
    assert kind.__match_args__ == ("x", "y", "tags")


@pytest.mark.parametrize("kind", [Point, Reference])
def test_wrong_arguments_are_refused(kind: Any) -> None:
    for arguments, named in (((), {}), ((1, 2, [], "dark"), {}), ((1,), {"z": 2}), ((1,), {"x": 2})):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            kind(*arguments, **named)


@pytest.mark.parametrize("item", [Point(1), Reference(1), Slotted(1), Above(1)])
def test_instances_do_not_change(item: Any) -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        item.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del item.x
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'other'"):
        item.other = 2
    assert item.x == 1


def test_subclasses_have_the_fields_of_their_bases() -> None:
    item = Above(1, z=4)
    assert (item.total, item.doubled, item.kind, item.parts) == (7, 14, "above", [])
    assert item == replace(item)
    assert item != Point(1)
    assert hash(item) == hash(Above(1, z=4))
    with pytest.raises(ValueError, match="z"):
        Above(1, z=-1)
    plain: Any = Plain(1)
    plain.other = 3
    assert plain.other == 3
    assert plain == Plain(1)
    assert plain != Point(1)
    with pytest.raises(FrozenInstanceError):
        plain.x = 3


def test_what_a_class_defines_itself_stays() -> None:
    @record
    class Own:
        """Compared by parity."""

        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.x % 2 == other.x % 2

        def __hash__(self) -> int:
            return self.x % 2

        def __repr__(self) -> str:
            return "own"

    assert Own(1) == Own(3)
    assert hash(Own(3)) == 1
    assert repr(Own(1)) == "own"


def test_records_by_identity() -> None:
    @record(eq=False)
    class Single:
        """Equal to itself alone."""

        x: int

    a, b = Single(1), Single(1)
    assert a != b
    assert len({a, b}) == 2
    assert a == a


def test_fields_that_change() -> None:
    item = Open(1)
    item.x, item.seen = 2, [3]
    assert item == Open(2, [3])
    assert item != Open(2)
    assert repr(copy.copy(item)) == "Open(x=2, seen=[3])"
    with pytest.raises(TypeError, match="unhashable"):
        hash(item)

    @record(frozen=False, slots=True, eq=False)
    class Bare:
        """By identity, without a `__dict__`."""

        x: int

    bare = Bare(1)
    bare.x = 2
    assert copy.copy(bare).x == 2
    assert len({bare, Bare(2)}) == 2


def test_slots_copies_and_pickles() -> None:
    item = Slotted(1, (2,))
    assert not hasattr(item, "__dict__")
    for made in (copy.copy(item), copy.deepcopy(item), pickle.loads(pickle.dumps(item)), pickle.loads(pickle.dumps(Point(1)))):
        assert made == (item if isinstance(made, Slotted) else Point(1))


def test_none_one_and_named_fields() -> None:
    assert Empty() == Empty()
    assert hash(Empty()) == hash(())
    assert repr(Empty()) == "Empty()"
    assert Named(a=1) == Named(a=1, b=1)
    assert repr(Named(a=1)) == "Named(a=1, b=1)"
    with pytest.raises(TypeError, match="positional"):
        Named(1)  # pyright: ignore[reportCallIssue]


def test_init_is_compiled_once_for_the_first_instance() -> None:
    @record
    class Late:
        """Made late."""

        x: int

    before = Late.__init__
    assert Late(1) == Late(1)
    compiled = Late.__init__
    assert compiled is not before
    assert compiled.__code__.co_varnames == ("self", "x")
    assert Late(2).x == 2
    assert Late.__init__ is compiled
