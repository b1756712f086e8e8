"""Predicates of pybuda.query as patterns of rules: regular expressions of an op's name and of its kind."""

from __future__ import annotations

import json
import re
from fnmatch import translate
from typing import Any, NamedTuple

from ttc.compat.names import submodule
from ttc.dialects.core.errors import Error
from ttc.dialects.core.rules.patterns import REGEX, checked

_ANY = ".*"
KINDS = {
    **{"subtract": "sub", "multiply": "mul", "divide": "div", "power": "pow", "sine": "sin", "cosine": "cos"},
    **{"reduce_avg": "reduce_mean", "layernorm": "layer_norm", "batchnorm": "batch_norm", "concatenate": "concat"},
    **{"logical_and": "and", "conv2d_transpose": "conv_transpose2d", "resize2d": "resize"},
}
"""What rules call the ops whose type has another name in PyBuda."""


class Selector(NamedTuple):
    """The ops that one rule is about: regular expressions that the kind of an op and one of its names match as a whole."""

    op: str = _ANY
    name: str = _ANY

    @property
    def fields(self) -> dict[str, str]:
        """Return the selector as `op` and `name` of a rule."""
        return {key: REGEX + value for key, value in self._asdict().items() if value != _ANY}


def _both(a: str, b: str) -> str:
    return b if a == _ANY else a if b == _ANY else f"(?=(?:{a})$)(?:{b})"


def _not(pattern: str) -> str:
    return f"(?!(?:{pattern})$).*"


class NodePredicateBuilder:
    """Says which ops are meant: those that any of its selectors fits.

    Args:   selectors: each of an op's kind and name.
    """

    def __init__(self, *selectors: Selector) -> None:
        self.selectors = selectors

    def __and__(self, other: NodePredicateBuilder) -> NodePredicateBuilder:
        pairs = [(a, b) for a in self.selectors for b in other.selectors]
        return NodePredicateBuilder(*(Selector(_both(a.op, b.op), _both(a.name, b.name)) for a, b in pairs))

    def __or__(self, other: NodePredicateBuilder) -> NodePredicateBuilder:
        return NodePredicateBuilder(*self.selectors, *other.selectors)

    def negate(self) -> NodePredicateBuilder:
        """Return the predicate of all other ops."""
        made = NodePredicateBuilder(Selector())
        for selector in self.selectors:
            parts = [(key, value) for key, value in selector._asdict().items() if value != _ANY]
            made = made & NodePredicateBuilder(*(Selector(**{key: _not(value)}) for key, value in parts))
        return made

    __invert__ = negate

    def to_json(self) -> str:
        """Return the predicate as text that `from_json` reads."""
        return json.dumps([list(selector) for selector in self.selectors])

    @staticmethod
    def from_json(text: str) -> NodePredicateBuilder:
        """Return the predicate of a text.  Raises E0101 for another text."""
        try:
            return NodePredicateBuilder(*(Selector(*map(str, pair)) for pair in json.loads(text)))
        except (TypeError, ValueError):
            raise Error("E0101", f"'{str(text)[:80]}' is no predicate") from None


def name_regex(*patterns: str) -> NodePredicateBuilder:
    """Return the predicate of ops whose name matches one of the patterns, in whatever module.  Raises E0101 for a bad pattern."""
    for pattern in patterns:
        checked(REGEX + pattern)
    return NodePredicateBuilder(*(Selector(name=rf"(?:.*\.)?(?:{pattern})") for pattern in patterns))


def layer_regex(*patterns: str) -> NodePredicateBuilder:
    """Return the predicate of ops of layers whose path matches one of the patterns.  Raises E0101 for a bad pattern."""
    for pattern in patterns:
        checked(REGEX + pattern)
    return NodePredicateBuilder(*(Selector(name=rf"(?:{pattern})[./].*") for pattern in patterns))


def op_type(*kinds: str) -> NodePredicateBuilder:
    """Return the predicate of ops of one of these kinds."""
    return NodePredicateBuilder(*(Selector(op=re.escape(KINDS.get(kind, kind))) for kind in kinds))


def selectors_of(given: Any) -> list[dict[str, str]]:
    """Return `op` and `name` of rules for names of ops, shell patterns, predicates, and lists of them.  Raises E0101 for anything else."""
    found: list[dict[str, str]] = []
    for one in given if isinstance(given, list | tuple) else [given]:
        if isinstance(one, NodePredicateBuilder):
            found += [selector.fields for selector in one.selectors]
        elif isinstance(one, str):
            found += [selector.fields for selector in name_regex(translate(one)).selectors]
        else:
            raise Error("E0101", f"a {type(one).__name__} names no op", hint="give a name, a pattern, or pybuda.query.name_regex")
    return found


QUERY = submodule(
    "pybuda",
    "query",
    {
        **{"name_regex": name_regex, "name_regexes": name_regex, "op_type": op_type, "op_types": op_type},
        **{"layer_regex": layer_regex, "layer_regexes": layer_regex, "NodePredicateBuilder": NodePredicateBuilder},
    },
)
"""QUERY stands in for pybuda.query."""
