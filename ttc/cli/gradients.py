"""What `ttc run --engine both` prints of gradients: whether they are those of the forward part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ttc.cli.console import Console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ttc.comparison.gradients import GradientAgreement, Slope

NAMED = 6
"""The most names that a line of the text lists."""


def print_gradients(console: Console, found: GradientAgreement) -> None:
    """Print the variables whose gradients were looked at one by one, and the verdict."""
    if found.each:
        rows = [[", ".join(slope.names), *_cells(slope), _judged(slope)] for slope in found.each]
        console.table(["gradient of", "along a direction", "by differences", "off by", ""], rows)
    for line in verdict(found):
        console.say(line)


def verdict(found: GradientAgreement) -> list[str]:
    """Return what was found in a line or two, and if gradients are wrong, where that can come from."""
    rule = [found.rule] if found.rule else []
    if found.reason:
        return [f"gradients are not compared with differences: {found.reason}", *rule]
    if found.whole is None or found.whole.wanted is None:
        return ["gradients are not compared with differences: the loss jumps, or is not finite, in every direction that was tried", *rule]
    if not found.whole.is_wrong:
        return [f"gradients are those of the forward part: off by {found.whole.error:.1g} along a random direction", *rule]
    lines = [f"wrong gradients: of {few(found.wrong)}: differences of the forward part say otherwise" if found.wrong else _unplaced(found)]
    if rule:
        return [*lines, *rule]
    if found.suspects:
        lines.append(f"it can come from the gradient of {few(found.suspects)}; --check MODEL, or ttc bisect MODEL, names the rule")
    return lines


def _unplaced(found: GradientAgreement) -> str:
    error = 0.0 if found.whole is None else found.whole.error
    return f"wrong gradients: off by {error:.1g} along a direction of all variables, though of none of them alone"


def few(names: Sequence[str]) -> str:
    """Return names as text, the first of many."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def plain_gradients(found: GradientAgreement) -> dict[str, Any]:
    """Return what was found as a dictionary for JSON."""
    return {
        "within": found.within,
        "compared": found.whole is not None and found.whole.wanted is not None,
        "reason": found.reason or None,
        "wrong": list(found.wrong),
        "suspects": list(found.suspects),
        "rule": found.rule or None,
        "slopes": [_plain(slope) for slope in (*([] if found.whole is None else [found.whole]), *found.each)],
    }


def _plain(slope: Slope) -> dict[str, Any]:
    error = None if slope.wanted is None else slope.error
    return {"of": list(slope.names), "gradients": slope.found, "differences": slope.wanted, "error": error, "wrong": slope.is_wrong}


def _cells(slope: Slope) -> tuple[str, str, str]:
    if slope.wanted is None:
        return f"{slope.found:.6g}", "-", "-"
    return f"{slope.found:.6g}", f"{slope.wanted:.6g}", f"{slope.error:.2g}"


def _judged(slope: Slope) -> str:
    return "wrong" if slope.is_wrong else "not known" if slope.wanted is None else ""
