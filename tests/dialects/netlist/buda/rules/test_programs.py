"""Programs: variables, loops, executes and settings; one rule broken at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

X = "x: {prologue: false, epilogue: false, zero: false, rd_ptr_local: $lptr, rd_ptr_global: $gptr},\n"
CACHE = "cache: {prologue: true, epilogue: false, zero: false, rd_ptr_global: $c_zero, wr_ptr_global: $c_zero}"
MID = "mid: {prologue: false, epilogue: false, zero: false, rd_ptr_local: $eptr, rd_ptr_global: $eptr},\n"
BIG = "big: {prologue: false, epilogue: false, zero: false, rd_ptr_global: $zero, wr_ptr_global: $zero, global_wrptr_autoinc: 1}"


@pytest.mark.parametrize(
    ("name", "changes", "code", "place", "part"),
    [
        ("base", ("[$lptr, $gptr, $eptr]", "[$lptr, $gptr]"), "E0651", "program 'run': settings of queue 'mid'", "$eptr is not declared"),
        ("base", ("- loop: $p_loops", "- loop: $p_lops"), "E0651", "program 'run'", "$p_lops is not declared"),
        ("base", ("[$eptr, incwrap, $c_count, 8]", "[$eptr, incwrap, $c_cuont, 8]"), "E0651", "program 'run'", "$c_cuont is not declared"),
        ("base", ("[$lptr, $gptr, $eptr]", "[$lptr, $gptr, $eptr, $c_zero]"), "E0651", "program 'run'", "declared already, by var"),
        (
            "base",
            ("      - endloop", "      - varinst: [$c_count, mul, $c_count, 2]\n      - endloop"),
            "E0651",
            "program 'run'",
            "a constant by its name",
        ),
        ("base", ("$c_count, 8]\n      - endloop", "$c_count, 0]\n      - endloop"), "E0615", "program 'run'", "wraps at 0"),
        (
            "base",
            (
                "      - param: [$p_loops]\n      - var: {$c_zero: 0, $c_count: 2}\n",
                "      - var: {$c_zero: 0, $c_count: 2}\n      - param: [$p_loops]\n",
            ),
            "E0655",
            "program 'run'",
            "the first instruction",
        ),
        ("base", ("      - endloop", ""), "E0652", "program 'run'", "not ended"),
        ("base", ("      - endloop", "      - endloop\n      - endloop"), "E0652", "program 'run'", "without a loop"),
        ("base", ("- loop: $p_loops", "- loop: 0"), "E0652", "program 'run'", "not 0 times"),
        ("fused", ("$c_loops: 2", "$c_loops: 0"), "E0652", "program 'run'", "not $c_loops = 0 times"),
        (
            "base",
            (CACHE, CACHE.replace("wr_ptr_global: $c_zero", "wr_ptr_global: $c_count")),
            "E0653",
            "program 'run': settings of queue 'cache'",
            "wr_ptr_global is 2: pointers into 1 entries of a ram are 0 to 0",
        ),
        ("base", (X, X.replace("$gptr", "8")), "E0653", "program 'run': settings of queue 'x'", "0 to 7"),
        ("base", ("graph_name: second", "graph_name: secnod"), "E0601", "program 'run'", "no graph 'secnod'"),
        ("base", (MID, MID.replace("mid:", "mdi:")), "E0601", "program 'run'", "settings of 'mdi'"),
        (
            "base",
            (MID, MID + "          w: {prologue: true, epilogue: false, zero: false, rd_ptr_global: $c_zero, wr_ptr_global: $c_zero},\n"),
            "E0653",
            "program 'run'",
            "neither reads nor fills",
        ),
        ("base", (X, ""), "E0653", "program 'run'", "settings of queue 'x' are missing"),
        (
            "base",
            (X, X.replace(", rd_ptr_global: $gptr", "")),
            "E0653",
            "program 'run': settings of queue 'x'",
            "rd_ptr_global is missing: a queue needs it",
        ),
        ("base", (X, X.replace("rd_ptr_local: $lptr, ", "")), "E0653", "program 'run': settings of queue 'x'", "rd_ptr_local is missing"),
        (
            "base",
            (X, X.replace("$gptr", "$gptr, wr_ptr_global: $gptr")),
            "E0653",
            "program 'run': settings of queue 'x'",
            "a queue has no wr_ptr_global",
        ),
        (
            "base",
            (CACHE, CACHE.replace(", wr_ptr_global: $c_zero", "")),
            "E0653",
            "program 'run': settings of queue 'cache'",
            "wr_ptr_global is missing",
        ),
        (
            "base",
            (CACHE, CACHE.replace("zero: false", "zero: false, rd_ptr_local: 0")),
            "E0653",
            "program 'run': settings of queue 'cache'",
            "no rd_ptr_local",
        ),
        (
            "base",
            (MID, MID.replace("epilogue: false", "epilogue: true")),
            "E0653",
            "program 'run': settings of queue 'mid'",
            "has no epilogue",
        ),
        (
            "base",
            (CACHE, CACHE.replace("prologue: true, epilogue: false, zero: false", "prologue: false, epilogue: false, zero: true")),
            "E0653",
            "program 'run': settings of queue 'cache'",
            "zero needs a prologue",
        ),
        (
            "base",
            (CACHE, CACHE.replace("prologue: true", "prologue: $p_loops")),
            "E0653",
            "program 'run': settings of queue 'cache'",
            "cannot depend on a parameter",
        ),
        (
            "base",
            (CACHE, CACHE.replace("prologue: true", "prologue: 7")),
            "E0653",
            "program 'run': settings of queue 'cache'",
            "true or false, not 7",
        ),
        (
            "base",
            (X, X.replace("$gptr}", "$gptr, rd_ptr_autoinc: 1, global_rdptr_autoinc: 2}")),
            "E0653",
            "program 'run': settings of queue 'x'",
            "global_rdptr_autoinc 2 differs from rd_ptr_autoinc, which is 1",
        ),
        (
            "chips",
            (BIG, BIG.replace("prologue: false", "prologue: true")),
            "E0653",
            "program 'run': settings of queue 'big'",
            "has no prologue",
        ),
        (
            "base",
            ("  x:    {input: HOST, type: queue, entries: 4", "  x:    {input: HOST, type: queue, entries: 1"),
            "E0620",
            "queue 'x'",
            "1 entries do not hold the 2 inputs of a run of graph 'first'",
        ),
        (
            "base",
            ("  x:    {input: HOST, type: queue, entries: 4", "  x:    {input: HOST, type: queue, entries: 3"),
            "E0620",
            "queue 'x'",
            "a whole number of times",
        ),
        (
            "base",
            ("  y:    {input: out, type: queue, entries: 4", "  y:    {input: out, type: queue, entries: 1"),
            "E0620",
            "queue 'y'",
            "graph 'second'",
        ),
        ("base", ("    input_count: 2\n    sum", "    input_count: 3\n    sum"), "E0620", "queue 'mid'", "3 inputs"),
    ],
)
def test_one_broken_rule(only: Callable[..., None], name: str, changes: tuple[str, str], code: str, place: str, part: str) -> None:
    only(name, changes, code, place, part)


@pytest.mark.parametrize(
    "changes",
    [
        (
            (X, X.replace("rd_ptr_local: $lptr, rd_ptr_global: $gptr", "rd_ptr_local: $c_zero, rd_ptr_global: $c_zero")),
            ("queue, entries: 4, grid_size: [1, 1], t: 1, mblock: [2, 2]", "queue, entries: 1, grid_size: [1, 1], t: 1, mblock: [2, 2]"),
        ),
        (
            (X, X.replace("prologue: false", "prologue: true")),
            ("queue, entries: 4, grid_size: [1, 1], t: 1, mblock: [2, 2]", "queue, entries: 1, grid_size: [1, 1], t: 1, mblock: [2, 2]"),
        ),
        (("      - loop: $p_loops\n", "      - varinst: [$new, set, 3]\n      - loop: $new\n"),),
    ],
)
def test_what_programs_can_do(broken: Callable[..., list[object]], changes: tuple[tuple[str, str], ...]) -> None:
    """Entries that are read again need not last for a run; `set` declares a variable."""
    assert broken("base", *changes) == []


def test_readers_of_one_queue_take_as_many_inputs(broken: Callable[..., list[object]]) -> None:
    found = broken("chips", ("  g0:\n    target_device: 0\n    input_count: 1", "  g0:\n    target_device: 0\n    input_count: 2"))
    assert "graphs that read it have different input_counts: 1 ('here'), 2 ('g0')" in str(found)


def test_instances_go_by_name_and_device(broken: Callable[..., list[object]]) -> None:
    assert broken("chips", ("inputs: [both]", "inputs: [both.1]"), ("          both: {prologue", "          both.0: {prologue")) == []


def test_a_ram_that_an_op_fills_needs_no_settings(broken: Callable[..., list[object]]) -> None:
    """Gradients need them; other rams are written from their first entry on."""
    assert broken("chips", (f",\n          {BIG}", "")) == []
