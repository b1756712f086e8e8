"""All rules together, on real netlists: the valid ones pass, the bad ones are named by the rules that they break."""

from __future__ import annotations

from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.buda.form import BudaNetlist
from ttc.dialects.netlist.buda.reader import read_form, read_netlist
from ttc.dialects.netlist.buda.rules.check import check_form

NETLISTS = Path(__file__).resolve().parents[4] / "data" / "netlists"
VALID = sorted((NETLISTS / "valid").rglob("*.yaml"))
INVALID = {
    "invalid/default_invalid_netlist": {"E0612"},
    "invalid/netlist_ublock_cannot_fit_into_dest": {"E0624"},
    "invalid/fused_op/netlist_fused_op_ublock_cannot_fit_into_dest": {"E0624"},
    "invalid/fused_op/netlist_fused_op_invalid_intermed_buffer_usage": {"E0644"},
    "invalid/fused_op/netlist_fused_op_missing_pop_on_intermed": {"E0644", "E0615"},  # and a type of sub-op that does not exist
    "invalid/fused_op/netlist_fused_op_matmul_invalid_m_k_u_kt": {"E0645", "E0605"},  # and an address behind Grayskull's channels
    "invalid/fused_op/netlist_fused_op_with_bcast_invalid_input": {"E0643"},
    "invalid/fused_op/netlist_fused_op_with_bcast_invalid_mblock_c": {"E0643"},
    "invalid/fused_op/netlist_fused_op_with_dest_input_1_gs": {"E0641"},
    "invalid/fused_op/netlist_fused_op_with_matmul_invalid_output": {"E0642"},
    "invalid/fused_op/netlist_fused_op_with_invalid_dimensions": {"E0645"},
    "defects/fused_op/netlist_fused_op_with_rc_broadcast_issue_1134": {"E0643"},
}


@pytest.mark.parametrize("part", range(4))
def test_valid_netlists_pass(part: int) -> None:
    """On all architectures that each lists together, and on each alone."""
    assert len(VALID) == 159
    for path in VALID[part::4]:
        form, found = read_form(path)
        assert found == [], path
        for arch in (None, *form.archs):
            assert check_form(form, arch) == [], (path, arch)


def test_invalid_netlists_are_named_by_the_rules_they_break() -> None:
    codes = {}
    for path in sorted((NETLISTS / "invalid").rglob("*.yaml")):
        form, found = read_form(path)
        codes[str(path.relative_to(NETLISTS / "invalid").with_suffix(""))] = {v.code for v in [*found, *check_form(form, None, found)]}
    assert codes == INVALID


def test_what_holds_on_some_architectures_says_so() -> None:
    form = read_netlist(NETLISTS / "invalid" / "invalid" / "netlist_ublock_cannot_fit_into_dest.yaml")
    assert [v.message for v in check_form(form)] == [
        "ublock 4x3 is 12 tiles, but the destination register holds 8 when accumulating in Float16 (on grayskull, wormhole_b0)"
    ]
    assert check_form(form, "wormhole") == []
    assert [v.message.endswith("Float16") for v in check_form(form, "grayskull")] == [True]


def test_architectures_that_the_netlist_is_not_for() -> None:
    form = read_netlist(NETLISTS / "small" / "base.yaml", "base")
    assert [(v.code, v.where, v.message) for v in check_form(form, "grayskull")] == [
        ("E0612", "base:2: devices", "it is for wormhole_b0, not for grayskull")
    ]
    with pytest.raises(Error, match="E0101"):
        check_form(form, "greyskull")


def test_a_form_that_no_text_wrote() -> None:
    """Violations name owners without lines."""
    from dataclasses import replace

    form = read_netlist(NETLISTS / "small" / "base.yaml")
    bare = {name: replace(queue, lines={}) for name, queue in form.queues.items()}
    form = replace(form, sections=())
    assert check_form(replace(form, queues=bare)) == []
    bare["x"] = replace(bare["x"], entries=None)
    assert [(v.code, v.where, v.message) for v in check_form(replace(form, queues=bare))] == [("E0614", "queue 'x'", "entries is missing")]
    assert check_form(BudaNetlist()) == []
