"""Attributes: one rule broken at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SPARSE = "attributes: {identity: true, m_k: 2, u_kt: 2, num_sparse_tiles: 6, num_index_tiles: 1, act_t: 1, l1_acc: true}"


@pytest.mark.parametrize(
    ("name", "changes", "code", "place", "part"),
    [
        ("base", ("approximate_mode: true", "aproximate_mode: true"), "E0627", "op 'act'", "no attribute 'aproximate_mode'"),
        ("base", ("approximate_mode: true", "granularity: t"), "E0627", "op 'act'", "gelu has no attribute granularity"),
        ("base", ("approximate_mode: true", "approximate_mode: perhaps"), "E0628", "op 'act'", "is true or false, not perhaps"),
        ("base", ("approximate_mode: true", "relu_threshold: -1.0"), "E0628", "op 'act'", "at least 0, not -1.0"),
        ("base", ("approximate_mode: true", "relu_mode: mean"), "E0628", "op 'act'", "min, max or none"),
        ("base", ("approximate_mode: true", "vector: z"), "E0628", "op 'act'", "r, c or rc"),
        ("base", ("approximate_mode: true", "stoch_rnd_mode: some"), "E0628", "op 'act'", "none, fpu, pack or all"),
        ("base", ("approximate_mode: true", "sfpu_execution_thread: unpack"), "E0628", "op 'act'", "math or pack"),
        ("base", ("approximate_mode: true", "single_tile: [1]"), "E0628", "op 'act'", "names inputs [1] of 1"),
        ("base", ("approximate_mode: true", "kernel_broadcast: {input_0: 0}"), "E0628", "op 'act'", "maps inputs to numbers of tiles"),
        ("base", ("kernel_broadcast: {input_2: 4}", "kernel_broadcast: {input_3: 4}"), "E0628", "op 'product'", "names input 3 of 3"),
        ("base", ("kernel_broadcast: {input_2: 4}", "min_buffer_input: 2"), "E0628", "op 'product'", "0 or 1, not 2"),
        ("base", ("m_k: 2, u_kt: 2, bias", "u_kt: 2, bias"), "E0628", "op 'product'", "attribute m_k is missing"),
        ("base", ("kernel_broadcast: {input_2: 4}", "z: 2"), "E0628", "op 'product'", "needs accumulate"),
        ("base", ("kernel_broadcast: {input_2: 4}", "accumulate: true"), "E0628", "op 'product'", "z is missing"),
        ("ops", ("type: max, z: 2", "type: max"), "E0628", "op 'along_z'", "z is missing"),
        ("ops", ("m_k: 2, u_kt: 2}}\n    along_z", "m_k: 2, u_kt: 2, z: 2}}\n    along_z"), "E0628", "op 'largest'", "not c"),
        ("ops", ("dim: c, type: max", "dim: c, type: sum"), "E0628", "op 'largest'", "no other reduction"),
        ("ops", ("sort: max", "sort: min"), "E0628", "op 'topk'", "max or argmax"),
        ("ops", ("attributes: {num_indices: 32}", "attributes: {num_indices: 0}"), "E0628", "op 'embedding'", "at least 1"),
        ("ops", (", input1: [0, 1, 1]", ""), "E0631", "op 'splice'", "input1 is missing"),
        ("ops", ("input1: [0, 1, 1]", "input1: [0, 0, 1]"), "E0631", "op 'splice'", "[index, length, stride]"),
        ("ops", ("input1: [0, 1, 1]", "input1: [0, 1, 1], input2: [0, 1, 1]"), "E0631", "op 'splice'", "input2 is given"),
        (
            "ops",
            ("attributes: {m_k: 2, u_kt: 1}", "attributes: {m_k: 2, u_kt: 1, min_buffer_input: 1}"),
            "E0628",
            "op 'depthwise'",
            "is 0, not 1",
        ),
        ("ops", ("act_t: 1", "act_t: 1, num_nz_strips: [3, 4]"), "E0628", "op 'identity'", "lists 2 numbers for 1 cores"),
        ("base", ("approximate_mode: true", "slope: 0.5"), "E0627", "op 'act'", "gelu has no attribute slope"),
        ("chips", ("dest_device: 1", "dest_device: -1"), "E0628", "op 'wire'", "dest_device is a device, not -1"),
        ("chips", ("ingress_channels: [0]", "ingress_channels: []"), "E0628", "op 'wire'", "lists channels"),
    ],
)
def test_one_broken_rule(only: Callable[..., None], name: str, changes: tuple[str, str], code: str, place: str, part: str) -> None:
    only(name, changes, code, place, part)


@pytest.mark.parametrize(
    "more",
    [
        "relu_en: true, relu_mode: min, relu_threshold: 0.5",
        "sfpu_execution_thread: pack, vector: rc",
        "stoch_rnd_mode: none, srnd_fpu_en: false, zero_point: 1",
        "sfpu_op: invalid",
    ],
)
def test_what_ops_can_have(broken: Callable[..., list[object]], more: str) -> None:
    assert broken("base", ("approximate_mode: true", f"approximate_mode: true, {more}")) == []


@pytest.mark.parametrize("attributes", ["relu_mode: min", "relu_mode: min, relu_en: true", "relu_threshold: 0.5"])
def test_relu_in_any_order(broken: Callable[..., list[object]], attributes: str) -> None:
    assert broken("base", ("attributes: {approximate_mode: true}", f"attributes: {{{attributes}}}")) == []
