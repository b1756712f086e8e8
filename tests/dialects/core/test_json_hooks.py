"""JSON that Python reads and others do not."""

from __future__ import annotations

import json

import pytest

from ttc.dialects.core.json_hooks import no_constant, unique_keys


def test_keys_are_unique_in_each_object() -> None:
    assert json.loads('{"a": {"a": 1}, "b": 2}', object_pairs_hook=unique_keys) == {"a": {"a": 1}, "b": 2}
    with pytest.raises(ValueError, match="holds a key twice"):
        json.loads('[{"a": 1, "a": 1}]', object_pairs_hook=unique_keys)


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_constants_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is no number of JSON"):
        json.loads(f'{{"a": [{name}]}}', parse_constant=no_constant)
