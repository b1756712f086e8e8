"""Options of the backend."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.dynamo.settings import read_settings


def test_options_go_where_they_belong() -> None:
    found = read_settings({"target": "n300", "format": "Bfp8_b", "threads": 2, "exact": True, "remarks": "fuse-*", "fallback": "false"})
    assert (found.compile.target, found.compile.format) == ("n300", "Bfp8_b")
    assert (found.run.threads, found.run.exact) == (2, True)
    assert found.debug.remarks == ("fuse-*",)
    assert found.fallback is False


def test_defaults_are_those_of_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTC_TARGET", "host")
    monkeypatch.setenv("TTC_THREADS", "3")
    found = read_settings(None)
    assert (found.compile.target, found.run.threads, found.fallback) == ("host", 3, True)
    assert read_settings({"target": "p150"}).compile.target == "p150"


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"targt": "host"}, "did you mean 'target'?"),
        ({"fall_back": True}, "did you mean 'fallback'?"),
        ({"format": "Bfp9"}, "did you mean 'Bfp8'?"),
        ({"fallback": "perhaps"}, "it takes true or false"),
        ({"threads": 0}, "it takes a whole number of at least 1"),
        ({"stochastic_rounding": 1}, "add --exact; in Python exact=True"),
    ],
)
def test_wrong_options_name_the_right_ones(given: dict[str, object], hint: str) -> None:
    with pytest.raises(Error) as caught:
        read_settings(given)
    assert (caught.value.code, caught.value.hint) == ("E0101", hint)


@pytest.mark.parametrize("name", ["to", "shape", "batch", "weights", "from_", "values", "repeat", "timing"])
def test_options_of_files_and_commands_are_none_of_its_own(name: str) -> None:
    with pytest.raises(Error, match=f"no option '{name}'"):
        read_settings({name: "x"})


def test_there_are_no_modes() -> None:
    with pytest.raises(Error, match="no mode 'max-autotune'"):
        read_settings(None, "max-autotune")
