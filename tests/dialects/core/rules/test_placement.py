"""Rules of placement: what they match, how they add up, their text, and what they cannot be."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.rules.placement import PlacementRule, rule_of, rule_of_text, settle
from ttc.dialects.core.rules.queues import QueueRule


def test_matching_by_kind_and_name() -> None:
    rule = PlacementRule("conv*", "/layer1/*", epoch_break=True)
    assert rule.matches("conv2d", ("x", "/layer1/conv"))
    assert not rule.matches("matmul", ("/layer1/conv",))
    assert not rule.matches("conv2d", ("/layer2/conv",))


def test_later_rules_override_setting_by_setting() -> None:
    rules = (PlacementRule(grid=(2, 4), u_kt=2), PlacementRule(name="a", grid=(1, 8)), PlacementRule(name="b", policy="fastest"))
    assert settle(rules, "matmul", ("a",)) == PlacementRule(grid=(1, 8), u_kt=2)
    assert settle(rules, "matmul", ("b",)) == PlacementRule(grid=(2, 4), u_kt=2, policy="fastest")


@pytest.mark.parametrize(
    "table",
    [
        {"name": "/a b/*", "grid": [4, 2], "start": [0, 3], "transpose": True},
        {"op": "matmul", "stream": "r", "u_kt": 4, "buffer": 2, "policy": "smallest"},
        {"name": "*", "epoch_break": True, "chip_break": False},
        {"queue": "w=1", "location": "host", "channel": 3},
    ],
)
def test_the_text_of_a_rule_gives_the_rule(table: dict[str, object]) -> None:
    rule = rule_of(table, "here")
    assert isinstance(rule, QueueRule if "queue" in table else PlacementRule)
    assert rule_of_text(rule.text) == rule


def test_a_rule_for_people() -> None:
    assert PlacementRule(name="/a", grid=(4, 2), transpose=True).shown == 'name = "/a", grid = [4, 2], transpose = true'


@pytest.mark.parametrize(
    ("table", "message", "hint"),
    [
        ({"name": "a"}, "asks for nothing", "epoch_break"),
        ({"name": "a", "gird": [1, 1]}, "no key 'gird'", "grid"),
        ({"name": "a", "grid": [0, 1]}, "'grid' takes", None),
        ({"name": "a", "grid": [1, 2, 3]}, "'grid' takes", None),
        ({"name": "a", "start": [1.0, 2]}, "'start' takes", None),
        ({"name": "a", "u_kt": True}, "'u_kt' takes", None),
        ({"name": "a", "u_kt": 1 << 40}, "'u_kt' takes", None),
        ({"name": "a", "stream": "x"}, "'stream' takes one of r, c, none", None),
        ({"name": "a", "epoch_break": 1}, "'epoch_break' takes true or false", None),
        ({"name": "", "epoch_break": True}, "'name' takes a pattern", None),
        ({"queue": "a", "grid": [1, 1]}, "no key 'grid'", None),
        ({"queue": "a"}, "asks for nothing", "location"),
        ({"queue": "a", "location": "l1"}, "'location' takes dram or host", None),
    ],
)
def test_what_is_no_rule(table: dict[str, object], message: str, hint: str | None) -> None:
    with pytest.raises(Error, match=message) as caught:
        rule_of(table, "rule 1")
    assert (caught.value.code, caught.value.where) == ("E0101", "rule 1")
    assert hint is None or hint in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["grid='[1,", "grid=[1", "name=a grid=" + "[" * 5000, "x"])
def test_text_that_is_no_rule(text: str) -> None:
    with pytest.raises(Error) as caught:
        rule_of_text(text)
    assert caught.value.code == "E0101"
