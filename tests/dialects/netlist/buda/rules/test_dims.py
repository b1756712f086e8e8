"""Shapes: what tile manipulations make of them, and what ops need."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ttc.dialects.netlist.buda.form import Tm
from ttc.dialects.netlist.buda.rules.dims import after_tms


@pytest.mark.parametrize(
    ("name", "changes", "code", "place", "part"),
    [
        ("base", ("m_k: 2, u_kt: 2, bias", "m_k: 3, u_kt: 2, bias"), "E0622", "op 'product'", "input 0 is 1x2x4 tiles"),
        (
            "base",
            ("      t: 1\n      mblock: [2, 1]\n      ublock: [1, 4]", "      t: 2\n      mblock: [2, 1]\n      ublock: [1, 4]"),
            "E0622",
            "op 'product'",
            "need 2x2x4",
        ),
        (
            "base",
            (
                "entries: 1, grid_size: [1, 1], t: 1, mblock: [2, 1], ublock: [2, 4]",
                "entries: 1, grid_size: [1, 1], t: 1, mblock: [2, 1], ublock: [3, 4]",
            ),
            "E0622",
            "op 'product'",
            "input 1 is 1x6x4",
        ),
        ("base", ("input_2_tms: [broadcast: {r: 2}]", "input_2_tms: [broadcast: {r: 3}]"), "E0622", "op 'product'", "input 2 is 1x3x4"),
        (
            "base",
            ("mblock: [2, 1]\n    ublock: [1, 4]\n    df", "mblock: [2, 1]\n    ublock: [1, 3]\n    df"),
            "E0622",
            "op 'sum'",
            "input 1 is 1x2x3 tiles after its tile manipulations, but the op makes 1x2x4",
        ),
        (
            "base",
            (
                "input: out, type: queue, entries: 4, grid_size: [1, 1], t: 1, mblock: [2, 1]",
                "input: out, type: queue, entries: 4, grid_size: [1, 1], t: 1, mblock: [3, 1]",
            ),
            "E0621",
            "queue 'y'",
            "1x3x4 tiles, but op 'out' makes 1x2x4",
        ),
        ("base", ("transpose, hslice: 2]", "transpose, vslice: 3]"), "E0623", "op 'turn'", "vslice 3 does not divide rows 4"),
        ("base", ("[hstack: 2, transpose]", "[hstack: 3, transpose]"), "E0623", "op 'back'", "hstack 3 does not divide t 2"),
        ("base", ("[hslice: 1, transpose, hslice: 2]", "[transpose]"), "E0622", "op 'turn'", "input 0 is 1x4x2"),
        ("base", ("inputs: [back],", "inputs: [back], input_0_unpad: {rt: 2},"), "E0623", "op 'out'", "nothing is left"),
        ("base", ("inputs: [back],", "inputs: [back], input_0_pad: {rt: 1, ct: 0, pad_value: 0.0},"), "E0622", "op 'out'", "1x3x4"),
        (
            "base",
            ("inputs: [back],", "inputs: [back], input_0_tms: [broadcast: {z: 2147483648}, broadcast: {z: 2147483648}],"),
            "E0623",
            "op 'out'",
            "more than",
        ),
        ("ops", ("num_sparse_tiles: 6", "num_sparse_tiles: 5"), "E0622", "op 'identity'", "num_sparse_tiles 5"),
        ("ops", ("num_index_tiles: 1", "num_index_tiles: 2"), "E0622", "op 'identity'", "num_index_tiles 2"),
        ("ops", ("identity: true, m_k: 2", "identity: true, m_k: 3"), "E0622", "op 'identity'", "m_k and u_kt make 6"),
        ("ops", ("act_t: 1", "act_t: 2"), "E0622", "op 'identity'", "act_t is 2"),
        ("ops", ("attributes: {m_k: 2, u_kt: 1}", "attributes: {m_k: 3, u_kt: 1}"), "E0622", "op 'depthwise'", "input 0 is 1x2x4"),
        ("ops", ("input0: [1, 2, 3]", "input0: [1, 2, 2]"), "E0631", "op 'splice'", "4 entries of t, which [1, 2, 2] do not divide"),
        ("ops", ("input0: [1, 2, 3]", "input0: [1, 1, 3]"), "E0631", "op 'splice'", "1 passes of 2 make 2, but the output has 3"),
        ("ops", ("input0: [1, 2, 3]", "input0: [0, 2, 2]"), "E0631", "op 'splice'", "input 1 ends after 1 passes, those before it after 2"),
        ("ops", ("input1: [1, 1, 1]", "input1: [2, 1, 1]"), "E0631", "op 'by_ublock'", "4 ublocks a core"),
        ("ops", ("dim: c, type: max, m_k: 2", "dim: c, type: max, m_k: 3"), "E0622", "op 'largest'", "along c to 1x2x1 needs 1x2x6"),
        ("ops", ("dim: c, type: max", "dim: r, type: max"), "E0622", "op 'largest'", "makes 1 tile in that dimension, not 2"),
        ("ops", ("dim: z, type: max, z: 2", "dim: z, type: max, z: 3"), "E0622", "op 'along_z'", "needs 6x2x2"),
        ("ops", ("k: 32, sort: max, m_k: 1", "k: 32, sort: max, m_k: 2"), "E0622", "op 'topk'", "m_k and u_kt make 8"),
    ],
)
def test_one_broken_rule(only: Callable[..., None], name: str, changes: tuple[str, str], code: str, place: str, part: str) -> None:
    only(name, changes, code, place, part)


def test_tile_manipulations() -> None:
    assert after_tms((2, 4, 6), [Tm("hslice", (3,)), Tm("vstack", (2,)), Tm("transpose"), Tm("broadcast", ("c", 2))]) == (3, 2, 16)
    assert after_tms((4, 1, 2), [Tm("hstack", (0,))]) == (1, 1, 8)
    assert after_tms((4, 1, 2), [Tm("vslice", (1,)), Tm("pad", (1, 2, 0.0))]) == (4, 2, 4)
    with pytest.raises(ValueError, match="vslice 2 does not divide rows 1"):
        after_tms((4, 1, 2), [Tm("vslice", (2,))])
