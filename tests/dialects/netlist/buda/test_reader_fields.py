"""Fields of netlists, and the words that they take."""

from __future__ import annotations

from dataclasses import fields

import pytest

from ttc.dialects.core.formats import FORMATS as ALL_FORMATS
from ttc.dialects.netlist.buda.document import Items
from ttc.dialects.netlist.buda.form import BudaGraph, BudaOp, BudaQueue, BudaQueueSetting, FusedOp, SubOp
from ttc.dialects.netlist.buda.reader_fields import FORMATS, FUSED, GRAPH, OP, OP_TYPES, QUEUE, SETTING, SUB_OP, setting, tile_dim


@pytest.mark.parametrize(
    ("spec", "form", "rest"),
    [
        (QUEUE, BudaQueue, {"name", "lines"}),
        (OP, BudaOp, {"name", "lines", "input_tms", "pads", "unpads"}),
        (GRAPH, BudaGraph, {"name", "lines", "ops"}),
        (SETTING, BudaQueueSetting, {"queue", "lines"}),
        (SUB_OP, SubOp, {"name", "lines", "input_tms"}),
        (FUSED, FusedOp, {"name", "lines", "schedules"}),
    ],
)
def test_every_field_of_the_form_is_read(spec: dict[str, tuple[str, object]], form: type, rest: set[str]) -> None:
    targets = {"addresses" if name in ("dram", "host") else name for name, _ in spec.values()}
    assert targets | rest == {field.name for field in fields(form)}


def test_formats_are_those_of_devices_but_for_the_one_inside_the_multiplier() -> None:
    assert set(FORMATS) == {name for name, format in ALL_FORMATS.items() if format.device} - {"Tf32"}


def test_types_of_ops_stand_once() -> None:
    assert len(set(OP_TYPES)) == len(OP_TYPES)


@pytest.mark.parametrize(("written", "value"), [("$a", "$a"), ("True", "true"), ("no", "false"), ("0x10", "16"), ("-1", "-1")])
def test_settings(written: str, value: str) -> None:
    assert setting(written) == value


def test_what_is_no_setting() -> None:
    for wrong in ("$", "x", "1.5", None):
        with pytest.raises(ValueError, match="true, false, an integer or a"):
            setting(wrong)


def test_tiles() -> None:
    assert tile_dim(Items(1, ["16", "32"], [1, 1])) == (16, 32)
    with pytest.raises(ValueError, match="is one of 32x32, 16x32, .*, not 16x16"):
        tile_dim(Items(1, ["16", "16"], [1, 1]))
