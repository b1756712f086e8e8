"""Rules of queues: patterns, later ones over earlier ones."""

from ttc.dialects.core.rules.queues import QueueRule, settle


def test_patterns_match_any_name() -> None:
    rule = QueueRule("/layer1/*")
    assert rule.matches(["w3", "/layer1/conv"])
    assert not rule.matches(["layer1"])


def test_a_later_rule_overrides_setting_by_setting() -> None:
    rules = (QueueRule("*", "host", 1), QueueRule("x", channel=2), QueueRule("y", "dram"))
    assert settle(rules, ("x", "input")) == QueueRule("x", "host", 2)
    assert settle(rules, ("z",)) == QueueRule("z", "host", 1)
    assert settle((), ("z",)) == QueueRule("z")
