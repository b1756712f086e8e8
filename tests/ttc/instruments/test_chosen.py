"""Instruments by options."""

from __future__ import annotations

from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.instruments.chosen import chosen_instruments
from ttc.options import DebugOptions, resolve


def names(**fields: object) -> list[str]:
    return [type(watcher).__name__ for watcher in chosen_instruments(resolve(DebugOptions, fields), print)]


def test_each_option_has_its_instrument_and_limits_come_first(tmp_path: Path) -> None:
    assert names() == []
    asked = {"dump": tmp_path, "stats": True, "remarks": "fuse-*", "print_after": "tile", "rewrite_limit": 3, "timing": "-"}
    assert names(**asked) == ["RewriteLimit", "Printing", "Remarks", "Statistics", "Dump"]


@pytest.mark.parametrize(
    ("fields", "code"), [({"remarks": "fuze-bias"}, "E0101"), ({"dump": "/dev/null"}, "E0103"), ({"timing": "no/folder/t.json"}, "E0103")]
)
def test_what_cannot_be(fields: dict[str, str], code: str) -> None:
    with pytest.raises(Error) as caught:
        names(**fields)
    assert caught.value.code == code
