"""What programs do to queues, by small netlists whose numbers numpy works out again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.golden.netlists import execute, found, graph, netlist, op, program, queue, session, streamed
from ttc.dialects.core.errors import Error
from ttc.runtime.machine.limits import Limits

RAM = "rd_ptr_global: $z, wr_ptr_global: $z"


def drawn(count: int, t: int = 1, seed: int = 0) -> NDArray:
    """[count, t, 32, 32], small integers: sums of them are exact."""
    return np.random.default_rng(seed).integers(-8, 9, (count, t, 32, 32)).astype(np.float32)


def looped(count: int | str, *steps: str, by: int, wrap: int) -> tuple[str, ...]:
    """A loop that moves $l and $g on."""
    moves = (f"varinst: [$l, incwrap, {by}, {wrap}]", f"varinst: [$g, incwrap, {by}, {wrap}]")
    return (f"loop: {count}", *steps, *moves, "endloop")


def test_a_sum_in_a_ram():
    text = netlist(
        queue("x", "HOST") + queue("c", "add", type="ram", entries=1, at=1) + queue("y", "add", at=2),
        graph("g", op("add", "add", ["x", "c"]), input_count=2),
        program("p", "staticvar: {$l: 0, $g: 0}", "var: {$z: 0}", *looped(3, execute("g", x=streamed(), c=RAM), by=2, wrap=8)),
    )
    x, c = drawn(12), drawn(1, seed=1)
    run = session(text, {"x": x, "c": c})
    run.run("p")
    run.run("p")
    np.testing.assert_array_equal(found(run, "output")["y"], c + np.cumsum(x, axis=0))
    np.testing.assert_array_equal(found(run, "ram")["c"], c + x.sum(axis=0, keepdims=True))
    np.testing.assert_array_equal(found(run, "input")["x"], x)
    np.testing.assert_array_equal(found(run, "input")["c"], c)


def test_static_variables_go_on_and_others_start_again():
    text = netlist(
        queue("x", "HOST", entries=2) + queue("y", "n", entries=2, at=1),
        graph("g", op("n", "nop", ["x"])),
        program("on", "staticvar: {$l: 0, $g: 0}", *looped(1, execute("g", x=streamed()), by=1, wrap=4))
        + program("again", "var: {$l: 0, $g: 0}", execute("g", x=streamed())),
    )
    run = session(text, {"x": drawn(5)}, programs=["on"])
    for _ in range(5):
        run.run("on")
    np.testing.assert_array_equal(found(run, "output")["y"], drawn(5))
    run = session(text, {"x": drawn(5)}, programs=["again"])
    for _ in range(3):
        run.run("again")
    np.testing.assert_array_equal(found(run, "output")["y"], drawn(5)[[0, 0, 0]])


GRADIENT = netlist(
    queue("a", "HOST", entries=8) + queue("b", "HOST", entries=8, at=1) + queue("acc", "m", type="ram", entries=1, at=2),
    graph("g", op("m", "matmul", ["a", "b"], gradient_op="true", attributes="{m_k: 1, u_kt: 1}"), input_count=2),
    program(
        "p",
        *("param: [$p_zero]", "staticvar: {$l: 0, $g: 0}", "var: {$z: 0, $first: 0}", "varinst: [$first, set, $p_zero]", "loop: 2"),
        "execute: {graph_name: g, queue_settings: {a: {prologue: false, epilogue: false, zero: false, rd_ptr_local: $l, rd_ptr_global: $g},"
        " b: {prologue: false, epilogue: false, zero: false, rd_ptr_local: $l, rd_ptr_global: $g},"
        " acc: {prologue: true, epilogue: true, zero: $first, rd_ptr_global: $z, wr_ptr_global: $z}}}",
        *("varinst: [$l, incwrap, 2, 16]", "varinst: [$g, incwrap, 2, 16]", "varinst: [$first, set, 0]", "endloop"),
    ),
)


def test_gradients_add_up_until_they_are_zeroed():
    a, b = drawn(12), drawn(12, seed=1)
    products = np.matmul(a, b)
    run = session(GRADIENT, {"a": a, "b": b})
    run.run("p", {"p_zero": 0})
    np.testing.assert_array_equal(found(run, "ram")["acc"][0], products[:4].sum(axis=0))
    run.run("p", {"p_zero": 0})
    np.testing.assert_array_equal(found(run, "ram")["acc"][0], products[:8].sum(axis=0))
    run.run("p", {"p_zero": 1})
    np.testing.assert_array_equal(found(run, "ram")["acc"][0], products[8:].sum(axis=0))


def test_a_prologue_reads_once():
    text = netlist(
        queue("x", "HOST") + queue("w", "HOST", type="ram", entries=2, at=1) + queue("k", "HOST", entries=1, at=2) + queue("y", "s", at=3),
        graph("g", op("m", "multiply", ["x", "w"]) + op("s", "add", ["m", "k"], at=1), input_count=4),
        program(
            "p",
            "var: {$l: 0, $g: 0, $z: 0, $one: 1}",
            execute("g", x=streamed(), w="rd_ptr_global: $one, wr_ptr_global: $z", k=streamed("$z", "$z")),
        )
        .replace("prologue: false, epilogue: false, zero: false, rd_ptr_global: $one", "prologue: true, rd_ptr_global: $one")
        .replace("k: {prologue: false", "k: {prologue: true"),
    )
    x, w, k = drawn(4), drawn(2, seed=1), drawn(1, seed=2)
    run = session(text, {"x": x, "w": w, "k": k})
    run.run("p")
    np.testing.assert_array_equal(found(run, "output")["y"], x * w[1] + k)
    assert {name: len(entries) for name, entries in found(run, "input").items()} == {"x": 4, "w": 1, "k": 1}


def test_two_graphs_read_one_queue_at_their_own_pace():
    text = netlist(
        queue("x", "HOST") + queue("a", "n", at=1) + queue("b", "e", at=2),
        graph("first", op("n", "nop", ["x"]), input_count=2) + graph("second", op("e", "nop", ["x"]), input_count=1),
        program(
            "p",
            *("staticvar: {$l: 0, $g: 0, $behind: 0, $old: 0}", "loop: 3", "varinst: [$old, set, $behind]"),
            execute("first", x=streamed("$l", "$old")),
            *("varinst: [$l, incwrap, 2, 8]", "loop: 2"),
            execute("second", x=streamed("$g", "$g")),
            *("varinst: [$g, incwrap, 1, 8]", "varinst: [$behind, incwrap, 1, 8]", "endloop", "endloop"),
        ),
    )
    x = drawn(6)
    run = session(text, {"x": x})
    run.run("p")
    outputs = found(run, "output")
    np.testing.assert_array_equal(outputs["a"], x)
    np.testing.assert_array_equal(outputs["b"], x)


def test_views_of_a_ram():
    text = netlist(
        queue("x", "HOST")
        + queue("writer", "n", type="ram", entries=4, at=1)
        + queue("reader", "HOST", type="ram", entries=2, t=2, alias="writer", at=1)
        + queue("y", "m", t=2, at=2),
        graph("put", op("n", "nop", ["x"]), input_count=2) + graph("get", op("m", "nop", ["reader"], t=2), input_count=2),
        program(
            "p",
            "var: {$l: 0, $g: 0, $z: 0, $at: 1}",
            execute("put", x=streamed(), writer="rd_ptr_global: $z, wr_ptr_global: $at, global_wrptr_autoinc: 2"),
            execute("get", reader="read_only: true, wr_ptr_global: $z, rd_ptr_global: $z, global_rdptr_autoinc: 1"),
        ),
    )
    x, before = drawn(2), drawn(2, t=2, seed=1)
    run = session(text, {"x": x, "reader": before})
    run.run("p")
    memory = before.reshape(4, 1, 32, 32).copy()
    memory[1], memory[3] = x
    np.testing.assert_array_equal(found(run, "output")["y"], memory.reshape(2, 2, 32, 32))
    np.testing.assert_array_equal(found(run, "ram")["writer"], memory)


def test_graphs_on_several_chips_run_together():
    text = netlist(
        queue("x", "HOST") + queue("y", "back", at=1) + queue("w", "HOST", target_device=1, at=2),
        graph("left", op("out", "add", ["x", "x"]) + op("back", "subtract", ["far", "x"], at=1), input_count=3)
        + graph("right", op("far", "multiply", ["out", "w"]), input_count=3, device=1),
        program(
            "p",
            "staticvar: {$l: 0, $g: 0}",
            "var: {$h: 0}",
            *looped(2, execute("left", x=streamed()), execute("right", w=streamed("$l", "$g")), by=3, wrap=8),
        ),
    )
    x, w = drawn(6), drawn(6, seed=1)
    run = session(text, {"x": x, "w": w})
    run.run("p")
    np.testing.assert_array_equal(found(run, "output")["y"], 2 * x * w - x)
    alone = session(text.replace("    - execute: {graph_name: right", "    - loop: 1\n    - endloop\n    #"))
    with pytest.raises(Error, match="graph 'left' is executed without graph 'right'") as failure:
        alone.run("p")
    assert failure.value.code == "E0804"


def test_what_is_executed_in_between_runs_with_them():
    text = netlist(
        queue("x", "HOST")
        + queue("y", "far", target_device=1, at=1)
        + queue("e", "near", at=2, entries=1)
        + queue("z", "m", target_device=2, at=3),
        graph("left", op("near", "add", ["x", "x"]), input_count=3)
        + graph("middle", op("m", "nop", ["e"]), input_count=3, device=2)
        + graph("right", op("far", "subtract", ["near", "near"]), input_count=3, device=1),
        program(
            "p",
            "var: {$l: 0, $g: 0, $el: 0, $eg: 0}",
            execute("left", x=streamed()),
            execute("middle", e="rd_ptr_local: $el, rd_ptr_global: $eg, global_rdptr_autoinc: 1"),
            execute("right"),
        ),
    )
    x = drawn(3)
    run = session(text, {"x": x})
    run.run("p")
    outputs = found(run, "output")
    np.testing.assert_array_equal(outputs["z"], 2 * x)
    assert not outputs["y"].any()


def test_untilized_outputs_hold_rows():
    wide: dict[str, Any] = {"mblock": "[1, 2]", "ublock": "[2, 1]"}
    text = netlist(
        queue("x", "HOST", entries=1, **wide) + queue("y", "n", entries=1, at=1, **wide),
        graph("g", op("n", "nop", ["x"], untilize_output="true", **wide)),
        program("p", "var: {$l: 0, $g: 0}", execute("g", x=streamed())),
    )
    x = (np.arange(64 * 64, dtype=np.float32) % 1000).reshape(1, 1, 64, 64)
    run = session(text, {"x": x})
    run.run("p")
    np.testing.assert_array_equal(found(run, "output")["y"], x)
    assert run.netlist.queues["y"].tensor.layout == "rows"


def test_a_queue_passes_entries_between_graphs_of_other_input_counts():
    text = netlist(
        queue("x", "HOST", entries=8) + queue("e", "n", at=1) + queue("y", "m", at=2),
        graph("four", op("n", "nop", ["x"]), input_count=4) + graph("two", op("m", "add", ["e", "e"]), input_count=2),
        program(
            "p",
            *("staticvar: {$l: 0, $g: 0, $el: 0, $eg: 0}", "loop: 2"),
            execute("four", x=streamed()),
            *("varinst: [$l, incwrap, 4, 16]", "varinst: [$g, incwrap, 4, 16]", "loop: 2"),
            execute("two", e=streamed("$el", "$eg")),
            *("varinst: [$el, incwrap, 2, 8]", "varinst: [$eg, incwrap, 2, 8]", "endloop", "endloop"),
        ),
    )
    x = drawn(8)
    run = session(text, {"x": x})
    run.run("p")
    np.testing.assert_array_equal(found(run, "output")["y"], 2 * x)
    stuck = session(text.replace("varinst: [$eg, incwrap, 2, 8]", "varinst: [$eg, incwrap, 0, 8]"), {"x": x})
    with pytest.raises(Error, match="queue 'e' is written while all its 4 entries are taken") as failure:
        stuck.run("p")
    assert failure.value.code == "E0804"


RELAY = netlist(
    queue("x", "HOST", entries=8) + queue("e", "n", entries=2, at=1) + queue("y", "m", at=2),
    graph("g", op("m", "add", ["e", "e"], at=1) + op("n", "nop", ["x"]), input_count=8),
    program(
        "p",
        *("staticvar: {$l: 0, $g: 0}", "var: {$z: 0}", "loop: 2", "allocate_queue: [e]"),
        execute("g", x=streamed(), e="rd_ptr_local: $z, rd_ptr_global: $z, global_rdptr_autoinc: 1"),
        *("deallocate_queue: [e]", "varinst: [$l, incwrap, 8, 16]", "varinst: [$g, incwrap, 8, 16]", "endloop"),
    ),
)


def test_a_relay_queue_inside_one_graph():
    x = drawn(16)
    run = session(RELAY, {"x": x})
    run.run("p")
    np.testing.assert_array_equal(found(run, "output")["y"], 2 * x)
    assert not found(run, "edge")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    - allocate_queue: [e]\n", "", "uses queue 'e' while it is not allocated"),
        ("    - deallocate_queue: [e]\n", "", "queue 'e' is allocated twice"),
        ("    - allocate_queue: [e]\n", "    - deallocate_queue: [e]\n", "it is not allocated"),
        ("0x30010000", "0x30020000", "queue 'e' is allocated over queue 'y', which is alive"),
        (", global_rdptr_autoinc: 1", "", "all its 2 entries are taken"),
    ],
)
def test_dynamic_queues(old: str, new: str, message: str):
    with pytest.raises(Error) as failure:
        session(RELAY.replace(old, new)).run("p")
    assert failure.value.code == "E0804"
    assert message in failure.value.message


def test_dynamic_queues_start_again_in_any_round():
    text = netlist(
        queue("x", "HOST") + queue("e", "n", entries=2, at=1) + queue("y", "m", at=2),
        graph("put", op("n", "nop", ["x"]), input_count=2) + graph("get", op("m", "nop", ["e"]), input_count=2),
        program(
            "p",
            *("staticvar: {$l: 0, $g: 0}", "var: {$el: 0}", "loop: 3", "allocate_queue: [e]"),
            execute("put", x=streamed()),
            execute("get", e=streamed("$el", "$el")),
            *(
                "deallocate_queue: [e]",
                "varinst: [$el, incwrap, 2, 4]",
                "varinst: [$l, incwrap, 2, 8]",
                "varinst: [$g, incwrap, 2, 8]",
                "endloop",
            ),
        ),
    )
    run = session(text, {"x": drawn(6)})
    run.run("p")
    np.testing.assert_array_equal(found(run, "output")["y"], drawn(6))


def test_deallocating_frees_the_memory():
    run = session(RELAY, {"x": drawn(16)})
    run.run("p")
    assert run.meter.size_bytes == 16 * 4096  # the output's


def test_what_stays_between_graphs_is_told():
    text = netlist(
        queue("x", "HOST") + queue("e", "n", at=1) + queue("y", "m", at=2),
        graph("put", op("n", "nop", ["x"]), input_count=2) + graph("get", op("m", "nop", ["e"]), input_count=1),
        program("p", "var: {$l: 0, $g: 0}", execute("put", x=streamed()), execute("get", e=streamed()), "varinst: [$g, inc, 1]"),
    )
    run = session(text, {"x": drawn(2)})
    run.run("p")
    np.testing.assert_array_equal(found(run, "edge")["e"], drawn(2)[1:])


def test_a_queue_may_change_what_it_is_given():
    text = netlist(
        queue("x", "HOST", mblock="[1, 2]") + queue("y", "n", at=1, t=2, input_tms="[hslice: 2]"),
        graph("g", op("n", "nop", ["x"], mblock="[1, 2]")),
        program("p", "var: {$l: 0, $g: 0}", execute("g", x=streamed())),
    )
    x = np.arange(2 * 32 * 32, dtype=np.float32).reshape(1, 1, 32, 64)
    run = session(text, {"x": x})
    run.run("p")
    np.testing.assert_array_equal(found(run, "output")["y"], np.stack([x[:, 0, :, :32], x[:, 0, :, 32:]], axis=1))


def test_a_graph_that_takes_more_than_a_queue_holds():
    text = netlist(
        queue("x", "HOST", entries=2) + queue("e", "n", entries=2, at=1) + queue("y", "m", at=2),
        graph("g", op("n", "nop", ["x"]), input_count=3) + graph("h", op("m", "nop", ["e"]), input_count=3),
        program("p", "var: {$l: 0, $g: 0}", execute("g", x=streamed()), execute("h", e=streamed())),
    )
    with pytest.raises(Error, match="all its 2 entries are taken") as failure:
        session(text).run("p")
    assert failure.value.where == "graph 'g'"
    run = session(text.replace("e: {type: queue, input: n, entries: 2", "e: {type: queue, input: n, entries: 4"), {"x": drawn(2)})
    run.run("p")
    np.testing.assert_array_equal(found(run, "output")["y"], drawn(2)[[0, 1, 0]])


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(steps=20), "do not end within 20 instructions"),
        (Limits(microbatches=20), "more than 20 microbatches"),
        (Limits(work=10**6), "more than 1e+06 multiplications"),
        (Limits(size_bytes=50_000), "do not fit the memory"),
    ],
)
def test_limits(limits: Limits, message: str):
    text = netlist(
        queue("x", "HOST") + queue("y", "n", at=1),
        graph("g", op("n", "nop", ["x"]), input_count=2),
        program("p", "staticvar: {$l: 0, $g: 0}", *looped(30, execute("g", x=streamed()), by=2, wrap=8)),
    )
    with pytest.raises(Error) as failure:
        session(text, limits=limits).run("p")
    assert failure.value.code == "E0805"
    assert message in failure.value.message


def test_settings_of_a_queue_that_does_not_exist():
    text = netlist(
        queue("x", "HOST") + queue("y", "n", at=1),
        graph("g", op("n", "nop", ["x"])),
        program("p", "var: {$l: 0, $g: 0}", execute("g", x=streamed(), xx=streamed())),
    )
    with pytest.raises(Error, match="there is no queue 'xx'") as failure:
        session(text).run("p")
    assert failure.value.code == "E0601"


def test_long_loops_are_refused_at_once():
    text = netlist(queue("x", "HOST"), graph("g", ""), program("p", "loop: 2000000000", "loop: 3", "endloop", "endloop"))
    with pytest.raises(Error) as failure:
        session(text).run("p")
    assert failure.value.code == "E0805"


def test_programs_that_do_not_exist():
    text = netlist(
        queue("x", "HOST") + queue("y", "n", at=1),
        graph("g", op("n", "nop", ["x"])),
        program("forward", "var: {$l: 0, $g: 0}", execute("g", x=streamed())),
    )
    with pytest.raises(Error, match="forward") as failure:
        session(text).run("foward")
    assert failure.value.code == "E0803"
    run = session(text)
    run.run("forward")
    assert len(found(run, "output")["y"]) == 1
