"""The normal form: what says the same is equal, what does not differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ttc.dialects.netlist.buda.form import BudaGraph, BudaInstruction, BudaNetlist, BudaOp, BudaProgram, BudaQueue, BudaQueueSetting, Tm
from ttc.dialects.netlist.buda.normal import differences, normal_op, normal_queue, normal_setting, normalised

OP = BudaOp("op", "nop")
SAME_OPS: dict[str, BudaOp] = {
    "flags": replace(OP, grid_transpose=False, untilize_output=False, gradient_op=False),
    "order and tiles": replace(OP, ublock_order="r", tile_dim=(32, 32)),
    "sizes of nothing": replace(OP, overlay_size=-1, input_buf_min_size_tiles=(0, 0), input_dram_io_buf_size_tiles=()),
    "manipulations that are none": replace(OP, input_tms={0: ()}, pads={1: (0, 0, 3.0)}, unpads={0: (0, 0)}),
}


@pytest.mark.parametrize("case", SAME_OPS)
def test_ops_that_say_the_same(case: str) -> None:
    assert SAME_OPS[case] != OP
    assert normal_op(SAME_OPS[case]) == normal_op(OP)


def test_ops_that_differ() -> None:
    others = [
        replace(OP, overlay_size=0), replace(OP, input_buf_min_size_tiles=(0, 1)), replace(OP, input_tms={0: (Tm("transpose"),)}),
        replace(OP, pads={0: (1, 0, 0.0)}), replace(OP, attributes={"vector": "r"}), replace(OP, tile_dim=(16, 32)),
    ]  # fmt: skip
    assert len({repr(normal_op(op)) for op in (OP, *others)}) == 7


def test_queues() -> None:
    written = BudaQueue("q", ublock_order="r", tile_dim=(32, 32), target_devices=(0,), layout="tilized", read_ports=())
    assert normal_queue(BudaQueue("q")) == normal_queue(written)
    assert normal_queue(replace(written, layout="flat")) != normal_queue(written)


def test_settings() -> None:
    usual = BudaQueueSetting(
        "q", "false", "0", "false", rd_ptr_autoinc="1", global_rdptr_autoinc="0", global_wrptr_autoinc="1", read_only="0"
    )
    assert normal_setting(usual, "queue") == BudaQueueSetting("q")
    assert normal_setting(usual, "ram") == BudaQueueSetting("q", rd_ptr_autoinc="1", global_wrptr_autoinc="1")
    assert normal_setting(BudaQueueSetting("q", prologue="1", rd_ptr_global="true"), "queue") == BudaQueueSetting(
        "q", prologue="true", rd_ptr_global="1"
    )


def program(*steps: BudaInstruction) -> BudaNetlist:
    return normalised(BudaNetlist(programs={"p": BudaProgram("p", steps)}))


def test_programs() -> None:
    var = BudaInstruction("var", (("$a", 0), ("$b", 2)))
    apart = (BudaInstruction("var", (("$a", 0),)), BudaInstruction("var"), BudaInstruction("var", (("$b", 2),)))
    assert program(*apart, BudaInstruction("endprogram")) == program(var)
    assert program(BudaInstruction("varinst", ("$a", "set", True))) == program(BudaInstruction("varinst", ("$a", "set", 1)))
    assert program(BudaInstruction("loop", (2,)), BudaInstruction("loop", (2,))) != program(BudaInstruction("loop", (2,)))


def test_sections_and_file_do_not_count() -> None:
    assert normalised(BudaNetlist(sections=("queues",), source="a")) == normalised(BudaNetlist(source="b"))


def test_differences_are_named() -> None:
    a = normalised(BudaNetlist(("grayskull",), {"q": BudaQueue("q", entries=1)}, {"g": BudaGraph("g", ops=(OP,))}))
    b = normalised(BudaNetlist(("blackhole",), {"q": BudaQueue("q", entries=2, df="Bfp8")}, {"h": BudaGraph("h")}, extra={"x": 1}))
    assert differences(a, b) == ["queues 'q': entries, df", "names of graphs", "archs", "extra"]
    assert differences(a, a) == []
