"""All sample netlists through the dialect and back: nothing is lost, and the text of the dialect reads back."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.buda.normal import differences, normalised
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.exporters.buda_round_trip import formatted

ROOT = Path(__file__).parents[2] / "data" / "netlists" / "valid"
LARGE_BYTES = 100_000
"""Files above it are cases of their own, without the text of the dialect, which takes seconds to parse."""
FILES = sorted(ROOT.rglob("*.yaml"))
LARGE = [path for path in FILES if path.stat().st_size > LARGE_BYTES]


def groups() -> dict[str, list[Path]]:
    """The smaller files by the two first folders they are in."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in FILES:
        if path not in LARGE:
            found["/".join(path.relative_to(ROOT).parts[:2][: len(path.relative_to(ROOT).parts) - 1]) or "."].append(path)
    return found


GROUPS = groups()


def test_samples_are_there() -> None:
    assert (len(FILES), len(LARGE)) == (159, 6)


@pytest.mark.parametrize("group", GROUPS)
def test_samples(group: str) -> None:
    """Each comes back as it was; of one of each folder, what was made of it keeps its text, and the dialect's text parses."""
    seen: set[Path] = set()
    for path in GROUPS[group]:
        form = read_netlist(path)
        first = formatted(form)
        again = read_netlist(first.text.encode(), "again")
        assert differences(normalised(form), normalised(again)) == [], path
        if path.parent not in seen:
            seen.add(path.parent)
            assert formatted(again).text == first.text, path
            assert first.ir().startswith("builtin.module attributes {"), path


@pytest.mark.parametrize("path", LARGE, ids=lambda path: path.stem)
def test_large_samples(path: Path) -> None:
    form = read_netlist(path)
    again = read_netlist(formatted(form).text.encode(), "again")
    assert differences(normalised(form), normalised(again)) == []


def test_a_loss_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the writer drops is noticed."""
    from ttc.dialects.netlist.buda import writer

    whole = writer.write_netlist

    def lossy(netlist: Any) -> str:
        return whole(netlist).replace("buf_size_mb: 2", "buf_size_mb: 3")

    monkeypatch.setattr(writer, "write_netlist", lossy)
    with pytest.raises(Error) as error:
        formatted(read_netlist(ROOT / "default_netlist.yaml"))
    assert error.value.code == "E0901"
    assert "graphs 'test_matmul': ops" in error.value.message
