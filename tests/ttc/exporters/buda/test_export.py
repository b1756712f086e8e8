"""Exported netlists keep the rules of the format, and give the numbers of the program that they came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function
from ttc.dialects.netlist.buda.reader import read_form
from ttc.dialects.netlist.buda.rules.check import check_form
from ttc.dialects.netlist.buda.writer import write_netlist
from ttc.dialects.netlist.model import Blocking, Grid
from ttc.exporters.buda.export import export
from ttc.exporters.buda.replay import replay


@pytest.mark.parametrize("network", ["image", "sentence"])
@pytest.mark.parametrize(("target", "format"), [("n150", "Float16_b"), ("n150", "Bfp8_b"), ("e150", "Float16_b"), ("p150", "Float16_b")])
def test_rules_and_numbers(compiled: Callable, network: str, target: str, format: str) -> None:
    program, inputs = compiled(network, target=target, format=format)
    exported = export(program.netlist)
    form, violations = read_form(write_netlist(exported.form).encode(), "exported")
    assert [str(v) for v in (*violations, *check_form(form, program.netlist.chip.arch))] == []
    found = replay(exported, program, inputs)
    assert program.netlist.programs["forward"].results[0].queue in [r.queue for r in found]
    assert max(r.comparison.relative_l2 for r in found) <= (5e-3 if format == "Float16_b" else 2e-2)


def test_the_same_text_twice(compiled: Callable) -> None:
    first, second = (write_netlist(export(compiled("sentence", target="n150")[0].netlist).form) for _ in range(2))
    assert first == second


def test_work_on_the_host_lies_between_programs(compiled: Callable) -> None:
    program, _ = compiled("sentence", target="n150", format="Float16_b")
    form = export(program.netlist).form
    assert list(form.programs) == ["forward.0", "forward.1"]
    hosted = [q.name for q in form.queues.values() if q.input == "HOST" and q.type == "queue"]
    assert "ids" in hosted
    assert len(hosted) == 2, "the indices, and the mask that the host makes of integers"


def test_a_splice_in_steps_takes_all_parts_of_a_matrix(compiled: Callable) -> None:
    program, inputs = compiled("planes", target="n150", format="Float32")
    ((name, graph),) = program.netlist.graphs.items()
    (splice,) = (op for op in graph.ops if op.type == "concat")
    cut = replace(splice, place=Grid(8, 7, 1, 1), blocking=Blocking(8, (1, 1), (1, 1)))
    ops = tuple(cut if op is splice else op for op in graph.ops)
    exported = export(replace(program.netlist, graphs={name: replace(graph, ops=ops)}))
    (written,) = (op for op in exported.form.graphs[name].ops if op.type == "splice")
    assert (written.attributes["input0"], written.attributes["input1"]) == ((0, 4, 4), (0, 4, 4))
    assert max(r.comparison.max_abs for r in replay(exported, program, inputs)) <= 1e-6


def test_kernels_that_buda_lacks(compiled: Callable) -> None:
    program, _ = compiled("image", target="n150")
    fused = program.netlist
    (name, graph), *_ = fused.graphs.items()
    op = graph.ops[0]
    odd = replace(op.work.works[-1], op="tile.softmax", attrs={"axis": -1}, operands=(0,))
    broken = replace(op, work=Function(op.work.inputs, (*op.work.works[:-1], odd), op.work.outputs))
    with pytest.raises(Error) as error:
        export(replace(fused, graphs={**fused.graphs, name: replace(graph, ops=(broken, *graph.ops[1:]))}))
    assert error.value.code == "E0503"
