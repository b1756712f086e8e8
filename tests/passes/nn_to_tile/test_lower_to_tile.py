"""From nn to tile: structure by op, folds, host segments, ports; and the same numbers on both targets."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.tiles import Outcome, apply, check_numbers, docstring, parse, same
from ttc.dialects.core.batch_axis import OUTERMOST
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port, entry_functions, ports
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.base import dialect as nn_dialect
from ttc.dialects.tile.base import TileType, tile_of
from ttc.dialects.tile.base import dialect as tile_dialect
from ttc.passes.base import Unit
from ttc.passes.manager import run_pass
from ttc.passes.nn_to_tile.lower_to_tile import LowerToTile

TARGETS = pytest.mark.parametrize("target", ["n150", "host"])


def test_docstring() -> None:
    docstring(LowerToTile())


# ---- ops: fragment, and the names of the tile ops it becomes -----------------------------------------------------------------------

ONE_OP = {
    "binary": ("(%x: f32[2, 3], %z: f32[3])\n%0 = nn.mul(%x, %z) : (f32[2, 3], f32[3]) -> f32[2, 3]\nreturn %0 : f32[2, 3]", ["map"]),
    "identity": ("(%x: f32[2, 3])\n%0 = nn.identity(%x) : (f32[2, 3]) -> f32[2, 3]\nreturn %0 : f32[2, 3]", []),
    "cast": ("(%x: f32[2, 3])\n%0 = nn.cast(%x) {dtype = i32} : (f32[2, 3]) -> i32[2, 3]\nreturn %0 : i32[2, 3]", ["cast"]),
    "truth": ("(%x: i64[2, 3])\n%0 = nn.cast(%x) {dtype = i1} : (i64[2, 3]) -> i1[2, 3]\nreturn %0 : i1[2, 3]", ["cast"]),
    "softmax": ("(%x: f32[2, 3])\n%0 = nn.softmax(%x) {axis = 1} : (f32[2, 3]) -> f32[2, 3]\nreturn %0 : f32[2, 3]", ["softmax"]),
    "softmax of columns": (
        "(%x: f32[2, 3])\n%0 = nn.log_softmax(%x) {axis = 0} : (f32[2, 3]) -> f32[2, 3]\nreturn %0 : f32[2, 3]",
        ["transpose", "log_softmax", "transpose"],
    ),
    "reduce": (
        "(%x: f32[2, 3])\n%0 = nn.reduce_max(%x) {axes = [0], keepdims = false} : (f32[2, 3]) -> f32[3]\nreturn %0 : f32[3]",
        ["reduce"],
    ),
    "rms norm": (
        """(%x: f32[2, 3], %w: f32[3])
        %0 = nn.rms_norm(%x, %w) {axis = -1, eps = 0.5} : (f32[2, 3], f32[3]) -> f32[2, 3]
        return %0 : f32[2, 3]""",
        ["rms_norm"],
    ),
    "rotary embedding": (
        """(%x: f32[2, 3, 4], %c: f32[3, 4], %s: f32[3, 4])
        %0 = nn.rotary_embedding(%x, %c, %s) {interleaved = false} : (f32[2, 3, 4], f32[3, 4], f32[3, 4]) -> f32[2, 3, 4]
        return %0 : f32[2, 3, 4]""",
        ["slice", "slice", "map", "concat", "map", "map", "map"],
    ),
    "rotary embedding of neighbours": (
        """(%x: f32[2, 3, 4], %c: f32[3, 4], %s: f32[3, 4])
        %0 = nn.rotary_embedding(%x, %c, %s) {interleaved = true} : (f32[2, 3, 4], f32[3, 4], f32[3, 4]) -> f32[2, 3, 4]
        return %0 : f32[2, 3, 4]""",
        ["reshape", "slice", "slice", "map", "concat", "reshape", "map", "map", "map"],
    ),
    "layer norm of two dimensions": (
        """(%x: f32[2, 3, 4], %w: f32[3, 4])
        %0 = nn.layer_norm(%x, %w, _) {axis = 1, eps = 0.5} : (f32[2, 3, 4], f32[3, 4]) -> f32[2, 3, 4]
        return %0 : f32[2, 3, 4]""",
        ["reshape", "reshape", "layer_norm", "reshape"],
    ),
    "attention": (
        """(%q: f32[2, 3, 4], %k: f32[2, 5, 4], %v: f32[2, 5, 6], %m: f32[3, 5])
        %0 = nn.attention(%q, %k, %v, %m) {scale = 0.5, zero_masked = true} : (f32[2, 3, 4], f32[2, 5, 4], f32[2, 5, 6], f32[3, 5])
          -> f32[2, 3, 6]
        return %0 : f32[2, 3, 6]""",
        ["attention"],
    ),
    "conv": (
        """(%x: f32[1, 5, 5, 2], %w: f32[3, 3, 2, 4])
        %0 = nn.conv2d(%x, %w, _) {strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, layout = "nhwc"}
          : (f32[1, 5, 5, 2], f32[3, 3, 2, 4]) -> f32[1, 5, 5, 4]
        return %0 : f32[1, 5, 5, 4]""",
        ["conv2d"],
    ),
    "conv, channels first": (
        """(%x: f32[1, 2, 5, 5], %w: f32[4, 2, 3, 3], %b: f32[4])
        %0 = nn.conv2d(%x, %w, %b) {strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, layout = "nchw",
          activation = "relu"} : (f32[1, 2, 5, 5], f32[4, 2, 3, 3], f32[4]) -> f32[1, 4, 5, 5]
        return %0 : f32[1, 4, 5, 5]""",
        ["transpose", "transpose", "conv2d", "transpose"],
    ),
    "transposed conv, channels first": (
        """(%x: f32[1, 2, 5, 5], %w: f32[2, 4, 2, 2])
        %0 = nn.conv_transpose2d(%x, %w, _) {strides = [2, 2], pads = [0, 0, 0, 0], output_padding = [0, 0], dilations = [1, 1],
          groups = 1, layout = "nchw"} : (f32[1, 2, 5, 5], f32[2, 4, 2, 2]) -> f32[1, 4, 10, 10]
        return %0 : f32[1, 4, 10, 10]""",
        ["transpose", "transpose", "conv_transpose2d", "transpose"],
    ),
    "max pool": (
        """(%x: f32[1, 4, 4, 2])
        %0 = nn.max_pool2d(%x) {kernel = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], layout = "nhwc",
          ceil_mode = false} : (f32[1, 4, 4, 2]) -> f32[1, 2, 2, 2]
        return %0 : f32[1, 2, 2, 2]""",
        ["max_pool2d"],
    ),
    "average pool, channels first": (
        """(%x: f32[1, 2, 4, 4])
        %0 = nn.avg_pool2d(%x) {kernel = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], layout = "nchw",
          ceil_mode = false, count_include_pad = true} : (f32[1, 2, 4, 4]) -> f32[1, 2, 2, 2]
        return %0 : f32[1, 2, 2, 2]""",
        ["transpose", "avg_pool2d", "transpose"],
    ),
    "reshape": ("(%x: f32[2, 6])\n%0 = nn.reshape(%x) {shape = [3, 4]} : (f32[2, 6]) -> f32[3, 4]\nreturn %0 : f32[3, 4]", ["reshape"]),
    "transpose": (
        "(%x: f32[2, 6])\n%0 = nn.transpose(%x) {perm = [1, 0]} : (f32[2, 6]) -> f32[6, 2]\nreturn %0 : f32[6, 2]",
        ["transpose"],
    ),
    "expand": ("(%x: f32[2, 1])\n%0 = nn.expand(%x) {shape = [2, 6]} : (f32[2, 1]) -> f32[2, 6]\nreturn %0 : f32[2, 6]", ["broadcast"]),
    "repeat": (
        "(%x: f32[2, 3])\n%0 = nn.repeat(%x) {repeats = [2, 3]} : (f32[2, 3]) -> f32[4, 9]\nreturn %0 : f32[4, 9]",
        ["concat", "concat"],
    ),
    "repeat of one": (
        "(%x: f32[1, 3])\n%0 = nn.repeat(%x) {repeats = [40, 1]} : (f32[1, 3]) -> f32[40, 3]\nreturn %0 : f32[40, 3]",
        ["broadcast"],
    ),
    "repeat often": (
        "(%x: f32[4, 3])\n%0 = nn.repeat(%x) {repeats = [1, 50]} : (f32[4, 3]) -> f32[4, 150]\nreturn %0 : f32[4, 150]",
        ["reshape", "broadcast", "reshape"],
    ),
    "slice": (
        """(%x: f32[4, 6])
        %0 = nn.slice(%x) {starts = [1, 0], sizes = [2, 3], steps = [1, 2]} : (f32[4, 6]) -> f32[2, 3]
        return %0 : f32[2, 3]""",
        ["slice"],
    ),
    "split": (
        """(%x: f32[2, 6])
        %0, %1 = nn.split(%x) {axis = -1, sizes = [2, 4]} : (f32[2, 6]) -> (f32[2, 2], f32[2, 4])
        return %1, %0 : f32[2, 4], f32[2, 2]""",
        ["slice", "slice"],
    ),
    "concat": (
        "(%x: f32[2, 6], %z: f32[2, 1])\n%0 = nn.concat(%x, %z) {axis = 1} : (f32[2, 6], f32[2, 1]) -> f32[2, 7]\nreturn %0 : f32[2, 7]",
        ["concat"],
    ),
    "pad": (
        """(%x: f32[2, 6])
        %0 = nn.pad(%x) {before = [1, 0], after = [0, 2], value = 1.5, mode = "constant"} : (f32[2, 6]) -> f32[3, 8]
        return %0 : f32[3, 8]""",
        ["pad"],
    ),
    "pad with the border": (
        """(%x: f32[2, 6])
        %0 = nn.pad(%x) {before = [1, 0], after = [0, 2], value = 0.0, mode = "edge"} : (f32[2, 6]) -> f32[3, 8]
        return %0 : f32[3, 8]""",
        ["slice", "broadcast", "concat", "slice", "broadcast", "concat"],
    ),
    "pad with the other end": (
        """(%x: f32[2, 6])
        %0 = nn.pad(%x) {before = [0, 4], after = [0, 2], value = 0.0, mode = "wrap"} : (f32[2, 6]) -> f32[2, 12]
        return %0 : f32[2, 12]""",
        ["slice", "slice", "concat"],
    ),
    "shape": ("(%x: f32[2, 6])\n%0 = nn.shape(%x) : (f32[2, 6]) -> i64[2]\nreturn %0 : i64[2]", []),
    "gather rows": (
        """(%i: i64[2, 3])
        %w = ttc.constant() {value = #ttc.weight<"w", f32[9, 8]>} : () -> f32[9, 8]
        %0 = nn.gather(%w, %i) {axis = 0} : (f32[9, 8], i64[2, 3]) -> f32[2, 3, 8]
        return %0 : f32[2, 3, 8]""",
        ["embedding"],
    ),
    "gather matrices": (
        """(%i: i64[2])
        %w = ttc.constant() {value = #ttc.weight<"w", f32[9, 4, 2]>} : () -> f32[9, 4, 2]
        %0 = nn.gather(%w, %i) {axis = 0} : (f32[9, 4, 2], i64[2]) -> f32[2, 4, 2]
        return %0 : f32[2, 4, 2]""",
        ["reshape", "embedding", "reshape"],
    ),
    "gather one": (
        """(%x: f32[2, 5, 3])
        %i = ttc.constant() {value = #ttc.literal<[-2], i64[]>} : () -> i64[]
        %0 = nn.gather(%x, %i) {axis = 1} : (f32[2, 5, 3], i64[]) -> f32[2, 3]
        return %0 : f32[2, 3]""",
        ["slice", "reshape"],
    ),
}


@TARGETS
@pytest.mark.parametrize("case", ONE_OP)
def test_op(case: str, target: str) -> None:
    fragment, expected = ONE_OP[case]
    outcome = apply(LowerToTile(), fragment, target)
    assert outcome.names() == [f"tile.{name}" for name in expected]
    assert outcome.missed() == []


# ---- folds -------------------------------------------------------------------------------------------------------------------------

NETWORK = """
(%x: f32[2, 50, 64], %r: f32[2, 50, 64])
%w = ttc.param() {sym = "w", value = #ttc.weight<"w", f32[64, 64]>} : () -> f32[64, 64]
%0 = nn.matmul(%x, %w, _) {transpose_a = false, transpose_b = false} : (f32[2, 50, 64], f32[64, 64]) -> f32[2, 50, 64]
%1 = nn.add(%0, %r) : (f32[2, 50, 64], f32[2, 50, 64]) -> f32[2, 50, 64]
%2 = nn.relu(%1) : (f32[2, 50, 64]) -> f32[2, 50, 64]
%3 = nn.matmul(%2, %2, _) {transpose_a = false, transpose_b = true} : (f32[2, 50, 64], f32[2, 50, 64]) -> f32[2, 50, 50]
return %3 : f32[2, 50, 50]
"""


def folds(outcome: Outcome) -> list[tuple[str, int]]:
    (function,) = entry_functions(outcome.unit.module)
    return [(op.name.split(".")[1], tile_of(op.results[0]).fold) for op in function.body.block.ops if op.name.startswith("tile.")]


def test_samples_share_tiles_where_that_takes_fewer() -> None:
    fragment = NETWORK.replace("2, 50", "4, 20").replace("50]", "20]")
    found = folds(apply(LowerToTile(), fragment))
    assert found == [("matmul", 2), ("map", 2), ("map", 2), ("relayout", 1), ("matmul", 1)]


def test_samples_keep_their_tiles_where_nothing_is_gained() -> None:
    assert {fold for _, fold in folds(apply(LowerToTile(), NETWORK))} == {1}


def test_row_layout_has_no_folds() -> None:
    fragment = NETWORK.replace("2, 50", "4, 20").replace("50]", "20]")
    assert folds(apply(LowerToTile(), fragment, "host")) == [("matmul", 1), ("map", 1), ("map", 1), ("matmul", 1)]


def test_images_have_all_but_channels_in_rows() -> None:
    outcome = same(
        LowerToTile(),
        """
        (%x: f32[2, 5, 5, 3])
        %w = ttc.constant() {value = #ttc.weight<"w", f32[3, 3, 3, 8]>} : () -> f32[3, 3, 3, 8]
        %0 = nn.relu(%x) : (f32[2, 5, 5, 3]) -> f32[2, 5, 5, 3]
        %1 = nn.conv2d(%0, %w, _) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, layout = "nhwc"}
          : (f32[2, 5, 5, 3], f32[3, 3, 3, 8]) -> f32[2, 3, 3, 8]
        %2 = nn.reshape(%1) {shape = [2, 9, 8]} : (f32[2, 3, 3, 8]) -> f32[2, 9, 8]
        return %2 : f32[2, 9, 8]
        """,
        """
        (%x: Float32[2, 5, 5, 3; 3])
        %0 = tile.map(%x) {fn = "relu"} : (Float32[2, 5, 5, 3; 3]) -> Float32[2, 5, 5, 3; 3]
        %w = ttc.constant() {value = #ttc.weight<"w", f32[3, 3, 3, 8]>} : () -> Float32[3, 3, 3, 8; 3]
        %1 = tile.conv2d(%0, %w, _) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1}
          : (Float32[2, 5, 5, 3; 3], Float32[3, 3, 3, 8; 3]) -> Float32[2, 3, 3, 8; 3]
        %2 = tile.reshape(%1) {shape = [2, 9, 8]} : (Float32[2, 3, 3, 8; 3]) -> Float32[2, 9, 8; 2]
        return %2 : Float32[2, 9, 8; 2]
        """,
    )
    assert outcome.missed() == []


# ---- host segments -----------------------------------------------------------------------------------------------------------------


def test_an_op_without_a_tile_op_runs_on_the_host() -> None:
    outcome = same(
        LowerToTile(),
        """
        (%x: f32[2, 6])
        %0 = nn.relu(%x) : (f32[2, 6]) -> f32[2, 6]
        %1 = nn.cumsum(%0) {axis = 1, exclusive = false, reverse = false} : (f32[2, 6]) -> f32[2, 6]
        %2 = nn.add(%1, %0) : (f32[2, 6], f32[2, 6]) -> f32[2, 6]
        return %2 : f32[2, 6]
        """,
        """
        (%x: Float32[2, 6])
        %0 = tile.map(%x) {fn = "relu"} : (Float32[2, 6]) -> Float32[2, 6]
        %h = tile.to_host(%0) : (Float32[2, 6]) -> f32[2, 6]
        %1 = nn.cumsum(%h) {axis = 1, exclusive = false, reverse = false} : (f32[2, 6]) -> f32[2, 6]
        %t = tile.from_host(%1) : (f32[2, 6]) -> Float32[2, 6]
        %2 = tile.map(%t, %0) {fn = "add"} : (Float32[2, 6], Float32[2, 6]) -> Float32[2, 6]
        return %2 : Float32[2, 6]
        """,
    )
    assert outcome.missed() == ["nn.cumsum runs on the host: n150 has no kernel for it"]
    (remark,) = outcome.report.remarks
    assert remark.location == ("nn.cumsum",)


DECLINED = {
    "n150 does not hold float64[2, 3]": "(%x: f64[2, 3])\n%0 = nn.relu(%x) : (f64[2, 3]) -> f64[2, 3]\nreturn %0 : f64[2, 3]",
    "has no elements: it takes no tiles": "(%x: f32[2, 0])\n%0 = nn.relu(%x) : (f32[2, 0]) -> f32[2, 0]\nreturn %0 : f32[2, 0]",
    "it runs backward": """(%x: f32[4])
        %0 = nn.slice(%x) {starts = [3], sizes = [4], steps = [-1]} : (f32[4]) -> f32[4]
        return %0 : f32[4]""",
    "it mirrors 20 elements": """(%x: f32[40])
        %0 = nn.pad(%x) {before = [0], after = [20], value = 0.0, mode = "reflect"} : (f32[40]) -> f32[60]
        return %0 : f32[60]""",
    "n150 has no kernel for it": """(%x: f32[4, 3], %i: i64[2])
        %0 = nn.gather(%x, %i) {axis = 0} : (f32[4, 3], i64[2]) -> f32[2, 3]
        return %0 : f32[2, 3]""",
    "scale or bias does not have the shape of what is normalized": """(%x: f32[2, 3, 4], %w: f32[3, 1])
        %0 = nn.layer_norm(%x, %w, _) {axis = 1, eps = 0.5} : (f32[2, 3, 4], f32[3, 1]) -> f32[2, 3, 4]
        return %0 : f32[2, 3, 4]""",
    "a constant exceeds Int32": """(%i: i64[2])
        %c = ttc.constant() {value = #ttc.literal<[4294967296], i64[]>} : () -> i64[]
        %0 = nn.add(%i, %c) : (i64[2], i64[]) -> i64[2]
        return %0 : i64[2]""",
}


@pytest.mark.parametrize("reason", DECLINED)
def test_what_the_target_cannot_do_runs_on_the_host(reason: str) -> None:
    outcome = apply(LowerToTile(), DECLINED[reason])
    (message,) = outcome.missed()
    assert message.endswith(reason)
    assert all(name.startswith("nn.") for name in outcome.names())  # nothing crosses the border in vain
    (function,) = entry_functions(outcome.unit.module)
    assert not any(isinstance(a.type, TileType) for a in function.body.block.args)


def test_the_host_holds_wide_types() -> None:
    outcome = apply(LowerToTile(), DECLINED["n150 does not hold float64[2, 3]"], "host")
    assert outcome.names() == ["tile.map"]
    assert outcome.missed() == []


# ---- ports, leaves, locations ------------------------------------------------------------------------------------------------------


@TARGETS
def test_ports_keep_the_dtypes_of_the_source(target: str) -> None:
    outcome = apply(LowerToTile(), "(%i: i64[2])\n%0 = nn.equal(%i, %i) : (i64[2], i64[2]) -> i1[2]\nreturn %0 : i1[2]", target)
    (function,) = entry_functions(outcome.unit.module)
    assert ports(function) == ([Port("i", dtype=np.dtype(np.int64))], [Port("y0", dtype=np.dtype(np.bool_))])
    formats = [tile_of(v).format for v in (function.body.block.args[0], outcome.ops("tile.map")[0].results[0])]
    assert formats == (["Int64", "Bool"] if target == "host" else ["Int32", "UInt8"])


STATEFUL = """
func.func @step(%x: tensor<2xf32> {ttc.name = "x", ttc.streamed}) -> (tensor<2xf32> {ttc.name = "n", ttc.updates = "count"})
    attributes {ttc.input_count = 2 : i64} {
  %s = ttc.state() {sym = "count", value = #ttc.literal<[0.0, 0.0], tensor<2xf32>>} : () -> tensor<2xf32>
  %n = nn.add(%s, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %n : tensor<2xf32>
}
func.func private @derived() -> tensor<2xf32> attributes {ttc.derived = "d"} {
  %p = ttc.param() {sym = "p", value = #ttc.weight<"p", tensor<2xf32>>} : () -> tensor<2xf32>
  %y = nn.neg(%p) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""


def test_states_stay_states_and_derived_tensors_stay_nn() -> None:
    module = parse_module(STATEFUL, "stateful", [nn_dialect, tile_dialect])
    run_pass(LowerToTile(), Unit(module, WeightStore(), load_target("n150")))
    step, derived = module.ops
    assert [op.name for op in step.walk()] == ["func.func", "ttc.state", "tile.map", "func.return"]
    assert [op.name for op in derived.walk()] == ["func.func", "ttc.param", "nn.neg", "func.return"]
    (function,), dtype = entry_functions(module), np.dtype(np.float32)
    assert ports(function) == ([Port("x", None, dtype, OUTERMOST)], [Port("n", "count", dtype)])
    assert "ttc.input_count" in function.attributes


def test_every_op_is_located_at_what_it_came_from() -> None:
    outcome = apply(LowerToTile(), ONE_OP["softmax of columns"][0].replace("%0", "%probability"))
    (function,) = entry_functions(outcome.unit.module)
    places = [source_names(op.location) for op in function.body.block.ops if op.name.startswith("tile.")]
    assert places == [("probability",)] * 3


def test_a_weight_read_in_two_folds_is_one_leaf() -> None:
    outcome = apply(
        LowerToTile(),
        """
        (%x: f32[4, 20, 64], %z: f32[4, 64, 20])
        %w = ttc.param() {sym = "w", value = #ttc.weight<"w", f32[4, 20, 64]>} : () -> f32[4, 20, 64]
        %0 = nn.matmul(%w, %z, _) {transpose_a = false, transpose_b = false} : (f32[4, 20, 64], f32[4, 64, 20]) -> f32[4, 20, 20]
        %r = nn.relu(%x) : (f32[4, 20, 64]) -> f32[4, 20, 64]
        %1 = nn.add(%r, %w) : (f32[4, 20, 64], f32[4, 20, 64]) -> f32[4, 20, 64]
        return %0, %1 : f32[4, 20, 20], f32[4, 20, 64]
        """,
    )
    assert len(outcome.ops("ttc.param")) == 1
    assert outcome.names() == ["tile.matmul", "tile.map", "tile.relayout", "tile.map"]


def test_only_stage_nn_is_lowered() -> None:
    with pytest.raises(Error) as error:
        apply(LowerToTile(), '(%x: Float32[2])\n%0 = tile.map(%x) {fn = "relu"} : (Float32[2]) -> Float32[2]\nreturn %0 : Float32[2]')
    assert error.value.code in ("E0302", "E0305")


@TARGETS
def test_numbers_of_a_network(target: str) -> None:
    before, outcome = parse(NETWORK, target), apply(LowerToTile(), NETWORK, target)
    check_numbers(before, outcome.unit)


def test_transposed_filters_are_rows_of_one_matrix() -> None:
    """A matrix of 3 x 3 for each pair of channels would take a tile each: 4,096 of them, where 384 hold their rows."""
    text = "(%x: f32[64, 3, 3, 64])\n%0 = nn.transpose(%x) {perm = [3, 0, 1, 2]} : (f32[64, 3, 3, 64]) -> f32[64, 64, 3, 3]\n"
    outcome = apply(LowerToTile(), f"{text}return %0 : f32[64, 64, 3, 3]", target="n150")
    (found,) = [tile_of(op.results[0]) for op in outcome.ops("tile.transpose")]
    assert (found.fold, found.tile_dims()) == (3, (1, 384, 1))
