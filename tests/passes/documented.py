"""The IR before and after that the docstring of a pass shows."""

from __future__ import annotations

import inspect
import re

from ttc.passes.base import Pass, kebab

PAIR = re.compile(r"^Before:\n(.*?)^After:\n(.*?)^Missed:(.*)", re.DOTALL | re.MULTILINE)


def pair(kind: type[Pass]) -> tuple[str, str]:
    """IR before and after; the pass's name is its class's, and it says what it misses."""
    found = PAIR.search(inspect.cleandoc(kind.__doc__ or ""))
    assert found is not None, f"{kind.__name__} lacks Before, After or Missed"
    assert all(part.strip() for part in found.groups()), f"a part of the documentation of {kind.__name__} is empty"
    assert kind.name == kebab(kind.__name__)
    return found[1], found[2]
