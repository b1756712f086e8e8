"""What the fields of a target may be."""

from __future__ import annotations

from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import described, load_target, target_of

GOOD = described(load_target("n150"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "a b"),
        ("name", ""),
        ("name", 3),
        ("name", "x" * 65),
        ("arch", None),
        ("chips", 0),
        ("chips", True),
        ("chips", "2"),
        ("grid", [9]),
        ("grid", [9, -8]),
        ("grid", [9, 65]),
        ("grid", [9.0, 8]),
        ("grid", "9x8"),
        ("tile", [16, 16]),
        ("tile", None),
        ("kernels", "fast"),
        ("formats", []),
        ("formats", ["Float33"]),
        ("formats", ["Float32", "Float32"]),
        ("formats", ["Int64"]),
        ("formats", "Float32"),
        ("rows", [1, 2, 3]),
        ("rows", [1, 1, 2, 3, 4, 5, 7, 8, 9]),
        ("clock_hz", float("nan")),
        ("clock_hz", -1.0),
        ("l1_bytes", -5),
        ("l1_bytes", 10**30),
        ("l1_usable_bytes", 0),
        ("l1_usable_bytes", 1 << 30),
        ("dst_tiles", 0),
        ("wide_accumulation", 1),
        ("dram_channels", 0),
        ("dram_channel_bytes", 1.5),
        ("dram_reserved_bytes", 1 << 40),
        ("alignment_bytes", 48),
        ("alignment_bytes", 0),
        ("noc_packets", [[128]]),
        ("noc_packets", [[256, 1.0], [128, 2.0]]),
        ("eth_links", -1),
        ("columns", [1, 1]),
        ("columns", "1-8"),
        ("dram_nodes", [[[0, 0], [0, 0]]]),
        ("dram_nodes", [[[0]]]),
        ("dram_nodes", [[]]),
        ("noc_size", [10]),
        ("host_channels", -1),
        ("host_reserved_bytes", [1, 2]),
        ("host_reserved_bytes", [1 << 40, 0, 0, 0]),
        ("host_reserved_bytes", 7),
        ("links", [[0, 1, 2]]),
        ("links", [[1, 0, 2]]),
        ("links", [[0, 0, 2]]),
        ("links", [[0, 1]]),
        ("links", [[0, 1, 0]]),
        ("max_input_queues", 0),
    ],
)
def test_bad_values(field: str, value: Any) -> None:
    with pytest.raises(Error, match=f"E0101.*'{field}'") as caught:
        target_of({**GOOD, field: value}, "chip.yaml")
    assert caught.value.where == "chip.yaml"


def test_links_of_a_card() -> None:
    assert target_of({**GOOD, "chips": 3, "links": [[0, 1, 2], [1, 2, 4]]}, "card.yaml").links == ((0, 1, 2), (1, 2, 4))
    with pytest.raises(Error, match="E0101.*'links'"):
        target_of({**GOOD, "chips": 3, "links": [[0, 1, 2], [0, 1, 4]]}, "card.yaml")


@pytest.mark.parametrize("field", ["name", "arch", "chips", "grid", "tile", "kernels", "formats"])
def test_missing_fields(field: str) -> None:
    rest = {key: value for key, value in GOOD.items() if key != field}
    with pytest.raises(Error, match=f"E0101.*'{field}' is missing"):
        target_of(rest, "chip.yaml")


def test_unknown_fields_have_a_hint() -> None:
    with pytest.raises(Error, match="E0101.*no field 'gird'") as caught:
        target_of({**GOOD, "gird": [1, 1]}, "chip.yaml")
    assert caught.value.hint == "did you mean 'grid'?"
