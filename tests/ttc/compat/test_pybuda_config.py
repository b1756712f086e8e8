"""PyBuda's options, overrides and rules as options and rules of ttc."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import ttc  # noqa: E402
from tests.ttc.compat.pybuda_chain import chain, fields_of  # noqa: E402
from ttc.compat import pybuda_query  # noqa: E402

REFUSED = "E0105"


def test_options_become_options_and_rules_of_ours(pybuda: Any) -> None:
    pybuda.set_configuration_options(
        enable_consteval=True, math_fidelity=pybuda.MathFidelity.HiFi2, default_df_override=pybuda.DataFormat.Float16_b, amp_level=1
    )
    pybuda.set_epoch_break(["a", "b"])
    pybuda.config.override_op_size("a", (1, 2))
    fields = sys.modules["ttc.compat.pybuda_config"].CONFIG.fields()
    assert {key: fields[key] for key in ("fidelity", "format", "amp")} == {"fidelity": "HiFi2", "format": "Float16_b", "amp": 1}
    found = [(rule.matches("map", [name]), rule.settings) for name in ("a", "m.b", "c") for rule in fields["placement_file"]]
    broken, sized = {"epoch_break": True}, {"grid": (1, 2)}
    wanted = [(True, broken), (False, broken), (True, sized), (False, broken), (True, broken), (False, sized)]
    assert found == [*wanted, (False, broken), (False, broken), (False, sized)]
    ttc.CompileOptions(**fields)


@pytest.mark.parametrize(
    ("options", "code"),
    [({"enable_consteval": False}, REFUSED), ({"balancer_policy": "Random"}, REFUSED), ({"enable_constevl": True}, "E0101")],
)
def test_options_that_mean_nothing_here_are_refused(pybuda: Any, options: dict[str, Any], code: str) -> None:
    with pytest.raises(ttc.Error) as caught:
        pybuda.set_configuration_options(**options)
    assert caught.value.code == code


OVERRIDES = {
    "set_epoch_break": (lambda p: p.set_epoch_break("m1"), lambda n: len(n.graphs) == 2),
    "set_epoch_break, regex": (lambda p: p.set_epoch_break(p.query.name_regex(r"m[12]")), lambda n: len(n.graphs) == 2),
    "set_epoch_break, list": (lambda p: p.set_epoch_break(["m1", "m0"]), lambda n: len(n.graphs) == 2),
    "override_op_placement, epoch": (lambda p: p.override_op_placement("m1", temporal_epoch_break=True), lambda n: len(n.graphs) == 2),
    "override_op_placement, start": (lambda p: p.override_op_placement("m1", start=(3, 2)), lambda n: m1(n).place.row == 3),
    "set_chip_break": (lambda p: p.set_chip_break("m1"), lambda n: {graph.chip for graph in n.graphs.values()} == {0, 1}),
    "override_op_size": (lambda p: p.override_op_size("m1", (1, 2)), lambda n: m1(n).place.cols == 2),
    "override_u_kt": (lambda p: p.config.override_u_kt("m1", 1), lambda n: m1(n).inner == (2, 1)),
    "override_input_buffer_multiplier": (
        lambda p: p.config.override_input_buffer_multiplier("m1", 0, multiplier=3),
        lambda n: m1(n).buffers[0].copies == 3,
    ),
    "override_dram_queue_placement": (
        lambda p: p.config.override_dram_queue_placement("x", channel=3),
        lambda n: {channel for channel, _ in n.queues["x"].buffers} == {3},
    ),
    "configure_mixed_precision": (
        lambda p: p.config.configure_mixed_precision(name_regex="m[1]", math_fidelity=p.MathFidelity.LoFi),
        lambda n: m1(n).fidelity == "LoFi",
    ),
    "input_queues_on_host": (lambda p: p.set_configuration_options(input_queues_on_host=True), lambda n: n.queues["x"].location == "host"),
    "output_queues_on_host": (
        lambda p: p.set_configuration_options(output_queues_on_host=True),
        lambda n: n.queues["output"].location == "host",
    ),
    "amp_level": (lambda p: p.set_configuration_options(amp_level=2), lambda n: m1(n).fidelity == "LoFi"),
    "math_fidelity": (lambda p: p.set_configuration_options(math_fidelity=p.MathFidelity.HiFi2), lambda n: m1(n).fidelity == "HiFi2"),
    "default_df_override": (
        lambda p: p.set_configuration_options(default_df_override=p.DataFormat.Float16_b),
        lambda n: m1(n).buffers[0].tile_bytes < 4128,
    ),
    "device_config": (lambda p: p.set_configuration_options(device_config="gs_e150"), lambda n: n.chip.target == "e150"),
    "harvested_rows": (lambda p: p.set_configuration_options(harvested_rows=[[1]]), lambda n: n.chip.grid[0] < 9),
}


@pytest.mark.parametrize("case", OVERRIDES)
def test_overrides_are_seen_in_the_netlist(pybuda: Any, case: str) -> None:
    def compiled(chips: int) -> Any:
        fields = {"target": "n300" if chips == 2 else "n150", "chips": chips, **fields_of()}
        return ttc.compile(chain(pybuda), (np.zeros((1, 64), np.float32),), **fields).netlist

    override, seen = OVERRIDES[case]
    chips = 2 if case == "set_chip_break" else 1
    before = compiled(1)
    override(pybuda)
    assert seen(compiled(chips))
    assert not seen(before)


def test_the_compiler_configuration_sets_options(pybuda: Any) -> None:
    config = pybuda.config._get_global_compiler_config()
    config.default_math_fidelity = pybuda.MathFidelity.LoFi
    config.cpu_fallback_ops.add("embedding")
    config.balancer_op_override("m1", "grid_shape", (1, 1))
    config.place_on_new_epoch("m1")
    assert fields_of()["fidelity"] == "LoFi"
    assert [rule.settings for rule in fields_of()["placement_file"]] == [{"grid": (1, 1)}, {"epoch_break": True}]
    for bad, code in (
        (lambda: setattr(config, "balancer_polic", "NLP"), "E0101"),
        (lambda: setattr(config, "performance_trace", pybuda.PerfTraceLevel.LIGHT), REFUSED),
        (lambda: config.balancer_op_override("m1", "shape", 1), REFUSED),
    ):
        with pytest.raises(ttc.Error) as caught:
            bad()
        assert caught.value.code == code
    pybuda.pybuda_reset()
    assert fields_of() == {}


def m1(netlist: Any) -> Any:
    """The second product of a netlist."""
    return next(op for graph in netlist.graphs.values() for op in graph.ops if op.name == "m1")


@pytest.mark.parametrize(
    ("kind", "ours"), [("multiply", "mul"), ("layernorm", "layer_norm"), ("reduce_avg", "reduce_mean"), ("matmul", "matmul")]
)
def test_types_of_ops_have_names_of_ours(pybuda: Any, kind: str, ours: str) -> None:
    pybuda.config.configure_mixed_precision(op_type=kind, output_df=pybuda.DataFormat.Bfp8_b)
    assert [rule.op for rule in fields_of()["precision_file"]] == [ours]
    assert pybuda_query.op_type(kind).selectors == (pybuda_query.Selector(op=ours),)
