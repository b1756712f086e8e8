"""One execution of an epoch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.runtime.golden.netlists import execute, flat, found, graph, netlist, op, program, queue, session, streamed
from ttc.runtime.golden.session import GoldenSession
from ttc.stimulus.host import HostSource


def test_a_ram_is_read_before_the_ops_of_a_microbatch_write_it():
    text = netlist(
        queue("x", "HOST") + queue("c", "n", type="ram", entries=1, at=1) + queue("y", "last", at=2),
        graph("g", op("n", "nop", ["x"]) + op("last", "add", ["n", "c"], at=1), input_count=3),
        program("p", "var: {$l: 0, $g: 0, $z: 0}", execute("g", x=streamed(), c="rd_ptr_global: $z, wr_ptr_global: $z")),
    )
    x = np.arange(3, dtype=np.float32)[:, None, None, None] * np.ones((3, 1, 32, 32), np.float32)
    run = session(text, {"x": x, "c": flat(100)[None]})
    run.run("p")
    assert found(run, "output")["y"][:, 0, 0, 0].tolist() == [100, 1, 3]


def test_a_ram_steps_on_where_its_pointers_do():
    text = netlist(
        queue("w", "HOST", type="ram", entries=4) + queue("y", "n", type="ram", entries=4, at=1),
        graph("g", op("n", "nop", ["w"]), input_count=3),
        program(
            "p",
            "var: {$from: 2, $to: 1, $z: 0}",
            execute(
                "g",
                w="rd_ptr_global: $from, wr_ptr_global: $z, global_rdptr_autoinc: 1",
                y="rd_ptr_global: $z, wr_ptr_global: $to, global_wrptr_autoinc: 3",
            ),
        ),
    )
    run = session(text, {"w": np.stack([flat(i) for i in range(4)]), "y": np.stack([flat(9)] * 4)})
    run.run("p")
    written = {r.queue.name: dict(zip(r.numbers, r.array()[:, 0, 0, 0].tolist(), strict=True)) for r in run.records() if r.role == "ram"}
    assert written == {"y": {1: 2, 0: 3, 3: 0}}


def test_without_settings_the_oldest_entry_is_read_and_given_up():
    text = netlist(
        queue("x", "HOST") + queue("e", "n", entries=2, at=1) + queue("r", "HOST", type="ram", entries=2, at=2) + queue("y", "m", at=3),
        graph("put", op("n", "nop", ["x"]), input_count=2) + graph("get", op("m", "add", ["e", "r"]), input_count=2),
        program("p", "var: {$l: 0, $g: 0}", "loop: 2", execute("put", x=streamed()), "execute: {graph_name: get}", "endloop"),
    )
    run = session(text, {"x": np.stack([flat(1), flat(2)]), "r": np.stack([flat(10), flat(20)])})
    run.run("p")
    assert found(run, "output")["y"][:, 0, 0, 0].tolist() == [11, 12, 11, 12]


def test_sums_of_gradients_are_rounded_where_results_are():
    text = netlist(
        queue("x", "HOST", df="Float16_b") + queue("acc", "m", type="ram", entries=1, df="Float16_b", at=1),
        graph("g", op("m", "multiply", ["x", "x"], df="Float16_b", gradient_op="true"), input_count=2),
        program(
            "p",
            "var: {$l: 0, $g: 0, $z: 0}",
            execute("g", x=streamed(), acc="rd_ptr_global: $z, wr_ptr_global: $z").replace("acc: {prologue: false", "acc: {prologue: true"),
        ),
    )
    for rounding, expected in (("none", 1 + 2.0**-10), ("rne", 1.0)):
        plain = session(text).netlist
        graphs = {n: replace(g, ops=tuple(replace(o, rounding=rounding) for o in g.ops)) for n, g in plain.graphs.items()}
        run = GoldenSession(replace(plain, graphs=graphs), HostSource(given={"x": np.stack([flat(1), flat(2.0**-5)])}), keep=True)
        run.run("p")
        assert (found(run, "ram")["acc"] == expected).all()


def test_gradients_go_on_without_a_prologue_and_from_zero_when_told():
    text = netlist(
        queue("x", "HOST") + queue("acc", "m", type="ram", entries=2, at=1),
        graph("g", op("m", "nop", ["x"], gradient_op="true"), input_count=2),
        program(
            "p",
            *("param: [$p_first]", "staticvar: {$l: 0, $g: 0}", "var: {$z: 0}"),
            execute("g", x=streamed(), acc="rd_ptr_global: $z, wr_ptr_global: $z").replace(
                "acc: {prologue: false", "acc: {prologue: $p_first"
            ),
            *("varinst: [$l, incwrap, 2, 8]", "varinst: [$g, incwrap, 2, 8]"),
        ),
    ).replace("epilogue: false, zero: false, rd_ptr_global: $z", "epilogue: true, zero: $p_first, rd_ptr_global: $z")
    run = session(text, {"x": np.stack([flat(i + 1) for i in range(6)])})
    sums = []
    for first in (0, 0, 1):
        run.run("p", {"p_first": first})
        sums.append(float(found(run, "ram")["acc"][0, 0, 0, 0]))
    assert sums == [3, 10, 11]


def test_sums_of_gradients_go_through_relu():
    text = netlist(
        queue("x", "HOST") + queue("acc", "m", type="ram", entries=1, at=1),
        graph(
            "g", op("m", "nop", ["x"], gradient_op="true", attributes="{relu_en: true, relu_threshold: 0.0, relu_mode: min}"), input_count=4
        ),
        program(
            "p",
            "var: {$l: 0, $g: 0, $z: 0}",
            execute("g", x=streamed(), acc="rd_ptr_global: $z, wr_ptr_global: $z").replace("acc: {prologue: false", "acc: {prologue: true"),
        ),
    )
    run = session(text, {"x": np.stack([flat(value) for value in (-3, 5, -2, -1)])})
    run.run("p")
    assert (found(run, "ram")["acc"] == 2).all()


def test_zero_clears_all_entries_of_a_ram():
    text = netlist(
        queue("x", "HOST") + queue("acc", "m", type="ram", entries=2, at=1),
        graph("g", op("m", "nop", ["x"])),
        program(
            "p",
            *("param: [$p_zero, $p_at]", "staticvar: {$l: 0, $g: 0}", "var: {$z: 0}"),
            execute("g", x=streamed(), acc="rd_ptr_global: $z, wr_ptr_global: $p_at"),
            *("varinst: [$l, incwrap, 1, 8]", "varinst: [$g, incwrap, 1, 8]"),
        ),
    ).replace(
        "prologue: false, epilogue: false, zero: false, rd_ptr_global: $z",
        "prologue: true, epilogue: true, zero: $p_zero, rd_ptr_global: $z",
    )
    run = session(text, {"x": np.stack([flat(5), flat(7)])})
    run.run("p", {"p_zero": 0, "p_at": 0})
    run.run("p", {"p_zero": 1, "p_at": 1})
    assert found(run, "ram")["acc"][:, 0, 0, 0].tolist() == [0, 7]


def test_a_ram_without_settings_goes_on_where_it_was():
    text = netlist(
        queue("w", "HOST", type="ram", entries=4) + queue("y", "n", at=1) + queue("z", "m", at=2),
        graph("g", op("n", "nop", ["w"]), input_count=2) + graph("h", op("m", "nop", ["w"])),
        program(
            "p",
            "var: {$one: 1, $z: 0}",
            execute("g", w="rd_ptr_global: $one, wr_ptr_global: $z, global_rdptr_autoinc: 1"),
            "execute: {graph_name: h}",
        ),
    )
    run = session(text, {"w": np.stack([flat(i) for i in range(4)])})
    run.run("p")
    outputs = found(run, "output")
    assert outputs["y"][:, 0, 0, 0].tolist() == [1, 2]
    assert outputs["z"][:, 0, 0, 0].tolist() == [3]
