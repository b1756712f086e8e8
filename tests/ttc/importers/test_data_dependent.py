"""Branches and loops that data decides: from ONNX through the text of every stage and an archive to a run, against ONNX Runtime."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import parser
from onnxruntime import InferenceSession

from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Host
from ttc.dialects.nn.kernels import control
from ttc.options import CompileOptions, resolve
from ttc.runtime.executor import Executor
from ttc.runtime.loader import load

COLLATZ = """
<ir_version: 8, opset_import: ["" : 18]>
collatz (int64 n, float[2,3] x) => (int64 steps, int64[k] path, float[2,3] y, float[m,2,3] all) {
   zero = Constant<value_int: int = 0>()
   one = Constant<value_int: int = 1>()
   two = Constant<value_int: int = 2>()
   three = Constant<value_int: int = 3>()
   first = Greater(n, one)
   start = Relu(x)
   last, steps, sum, path, all = Loop("", first, n, zero, start)<body: graph = body
     (int64 i, bool go, int64 a, int64 count, float[2,3] s)
     => (bool more, int64 b, int64 count2, float[2,3] s2, int64 seen, float[2,3] each) {
       half = Div(a, two)
       whole = Mul(half, two)
       odd = Greater(a, whole)
       b = If(odd)<then_branch: graph = up () => (int64 u) { t = Mul(a, three) u = Add(t, one) },
                   else_branch: graph = down () => (int64 d) { d = Div(a, two) }>
       count2 = Add(count, one)
       s2 = Add(s, x)
       more = Greater(b, one)
       seen = Identity(a)
       each = Neg(s2)
     }>
   y = Exp(sum)
}
"""
BACKWARD = """
<ir_version: 8, opset_import: ["" : 18]>
backward (float[5,2] x, float start, float step) => (float[n,2] y) {
   axis = Constant<value_ints: ints = [0]>()
   end = Constant<value_ints: ints = [-99]>()
   first = Cast<to: int = 7>(start)
   by = Cast<to: int = 7>(step)
   starts = Unsqueeze(first, axis)
   steps = Unsqueeze(by, axis)
   y = Slice(x, starts, end, axis, steps)
}
"""
GROWING = """
<ir_version: 8, opset_import: ["" : 18]>
growing (float[2] x, float limit) => (float[k] y, float[k] z, float[j] w) {
   empty = Constant<value = float[0] {}>()
   yes = Constant<value = bool {1}>()
   y, w = Loop("", yes, empty)<body: graph = body
     (int64 i, bool go, float[n] a) => (bool more, float[m] b, float t) {
       b = Concat<axis: int = 0>(a, x)
       t = ReduceSum<keepdims: int = 0>(b)
       more = Less(t, limit)
     }>
   z = Sqrt(y)
}
"""
CHOSEN = """
<ir_version: 8, opset_import: ["" : 18]>
chosen (float[4,3] x, bool c) => (float[k] y) {
   w = Constant<value = float[3] {0.5, -1.0, 2.0}>()
   zero = Constant<value_ints: ints = [0]>()
   y = If(c)<then_branch: graph = a () => (float[4] p) { p = MatMul(x, w) },
             else_branch: graph = b () => (float[3] q) { q = ReduceMax<keepdims: int = 0>(x, zero) }>
}
"""


def compiled(model: onnx.ModelProto, folder: Path, target: str) -> Executor:
    """A session on the archive of the model, whose IR was text at the end of each stage."""
    path = source = folder / "model.onnx"
    onnx.save(model, path)
    for stage in ("import", "nn", "tile", "netlist"):
        given: dict[str, Any] = {"to": stage, "target": target} if stage == "import" else {"to": stage, "weights": source}
        result = compile_path(path, resolve(CompileOptions, given))
        path = folder / f"{stage}.mlir"
        path.write_text(result.text())
    archive = folder / "model.tti"
    compile_path(path, resolve(CompileOptions, {"weights": source})).program().save(archive)
    return load(archive)


def check(model: onnx.ModelProto, feeds: dict[str, NDArray], session: Executor) -> None:
    wanted: Any = InferenceSession(model.SerializeToString()).run(None, feeds)
    found = session.run(feeds)
    for name, value in zip([o.name for o in model.graph.output], wanted, strict=True):
        assert found[name].shape == value.shape
        assert found[name].dtype == value.dtype
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ["host", "n150"])
def test_a_loop_of_as_many_iterations_as_data_decides(target: str, tmp_path: Path) -> None:
    model = parser.parse_model(COLLATZ)
    session = compiled(model, tmp_path, target)
    x = np.linspace(-0.2, 0.3, 6, dtype=np.float32).reshape(2, 3)
    for n in (6, 1, 7):
        check(model, {"n": np.array(n), "x": x}, session)
    on_device = [op.type for graph in session.netlist.graphs.values() for op in graph.ops if not isinstance(op.place, Host)]
    assert (target == "host") == (not on_device)


@pytest.mark.parametrize("target", ["host", "n150"])
def test_a_carried_value_that_grows(target: str, tmp_path: Path) -> None:
    model = parser.parse_model(GROWING)
    session = compiled(model, tmp_path, target)
    for limit in (1.0, 9.0, 100.0):
        check(model, {"x": np.array([1, 2], np.float32), "limit": np.array(limit, np.float32)}, session)


@pytest.mark.parametrize("target", ["host", "n150"])
def test_a_slice_that_runs_backward_from_before_the_first_element(target: str, tmp_path: Path) -> None:
    model = parser.parse_model(BACKWARD)
    session = compiled(model, tmp_path, target)
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    for start, step in ((-9, -1), (-9, 1), (-5, -2), (9, -3), (2, -1), (-2, -1)):
        check(model, {"x": x, "start": np.array(start, np.float32), "step": np.array(step, np.float32)}, session)


def test_branches_of_different_shapes(tmp_path: Path) -> None:
    model = parser.parse_model(CHOSEN)
    session = compiled(model, tmp_path, "n150")
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    for c in (True, False):
        check(model, {"x": x, "c": np.array(c)}, session)


def test_a_loop_that_would_hold_too_much_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = compiled(parser.parse_model(GROWING), tmp_path, "host")
    feeds = {"x": np.array([0, 0], np.float32), "limit": np.array(1, np.float32)}
    for name, limit in (("_MAX_BYTES", 1000), ("_MAX_ITERATIONS", 50)):
        with monkeypatch.context() as patch:
            patch.setattr(control, name, limit)
            with pytest.raises(Error) as caught:
                session.run(feeds)
            assert (caught.value.code, caught.value.where) == ("E0805", "Loop_y")


@pytest.mark.usefixtures("interruptible")
def test_a_loop_can_be_interrupted(tmp_path: Path) -> None:
    session = compiled(parser.parse_model(GROWING), tmp_path, "host")
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.run({"x": np.array([0, 0], np.float32), "limit": np.array(1, np.float32)})


PEAKS = """
<ir_version: 8, opset_import: ["" : 18]>
peaks (float[4,6] x, float limit) => (float[k,1] y, float[a,b] part, int64[n,2] places, float[m,3] spread, int64 count) {
   over = Greater(x, limit)
   found = NonZero(over)
   places = Transpose(found)
   values = GatherND(x, places)
   zero = Constant<value_ints: ints = [0]>()
   axes = Constant<value_ints: ints = [1]>()
   three = Constant<value_ints: ints = [3]>()
   y = Unsqueeze(values, axes)
   size = Shape(values)
   count = Size(values)
   two = Constant<value_ints: ints = [2]>()
   half = Div(size, two)
   part = Slice(x, zero, half, axes)
   target = Concat<axis: int = 0>(size, three)
   spread = Expand(y, target)
}
"""


@pytest.mark.parametrize("target", ["host", "n150"])
def test_shapes_that_are_computed(target: str, tmp_path: Path) -> None:
    model = parser.parse_model(PEAKS)
    session = compiled(model, tmp_path, target)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    for limit in (15.0, 22.0, 30.0):
        check(model, {"x": x, "limit": np.array(limit, np.float32)}, session)


FILLED = """
<ir_version: 8, opset_import: ["" : 18]>
filled (float[2,3] x, int64[2,3] mask) => (float[2,3] y) {
   flat = Constant<value_ints: ints = [-1]>()
   zero = Constant<value = float {0.0}>()
   hidden = Cast<to: int = 9>(mask)
   ones = Reshape(mask, flat)
   axes = Constant<value_ints: ints = [0]>()
   count = ReduceSum(ones, axes)
   zeros = Expand(zero, count)
   found = NonZero(hidden)
   places = Transpose(found)
   y = ScatterND(x, places, zeros)
}
"""


def test_a_mask_among_the_inputs_is_data(tmp_path: Path) -> None:
    model = parser.parse_model(FILLED)
    session = compiled(model, tmp_path, "host")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for mask in ([[1, 0, 0], [0, 1, 1]], [[0, 0, 0], [0, 1, 0]]):
        check(model, {"x": x, "mask": np.array(mask)}, session)


LISTS = """
<ir_version: 8, opset_import: ["" : 18]>
lists (float[6] x, float limit) => (float[a] joined, float[b,2] rows, int64 count, float[c] first, seq(float[2]) parts) {
   empty = SequenceEmpty<dtype: int = 1>()
   yes = Constant<value = bool {1}>()
   one = Constant<value_int: int = 1>()
   zero = Constant<value_int: int = 0>()
   start = Constant<value_ints: ints = [0]>()
   two = Constant<value_ints: ints = [2]>()
   top = Constant<value = float {0.0}>()
   made, pairs, last = Loop("", yes, empty, empty, top)<body: graph = body
     (int64 i, bool go, seq(float[n]) s, seq(float[2]) p, float t) => (bool more, seq(float[m]) s2, seq(float[2]) p2, float u) {
       next = Add(i, one)
       end = Unsqueeze(next, start)
       part = Slice(x, start, end)
       s2 = SequenceInsert(s, part)
       pair = Slice(x, start, two)
       p2 = SequenceInsert(p, pair, zero)
       each = SequenceAt(s2, i)
       total = ReduceSum<keepdims: int = 0>(each)
       u = Add(t, total)
       more = Less(u, limit)
     }>
   joined = ConcatFromSequence<axis: int = 0>(made)
   rows = ConcatFromSequence<axis: int = 0, new_axis: int = 1>(pairs)
   count = SequenceLength(made)
   first = SequenceAt(made, zero)
   parts = SequenceErase(pairs, zero)
}
"""


@pytest.mark.parametrize("target", ["host", "n150"])
def test_sequences_that_grow_as_data_decides(target: str, tmp_path: Path) -> None:
    model = parser.parse_model(LISTS)
    session = compiled(model, tmp_path, target)
    x = np.arange(1, 7, dtype=np.float32)
    for limit in (0.5, 4.0, 15.0):
        feeds = {"x": x, "limit": np.array(limit, np.float32)}
        results: Any = InferenceSession(model.SerializeToString()).run(None, feeds)
        *tensors, parts = results
        found = session.run(feeds)
        for name, want in zip(("joined", "rows", "count", "first"), tensors, strict=True):
            assert (found[name].shape, found[name].dtype) == (want.shape, want.dtype)
            np.testing.assert_array_equal(found[name], want)
        assert found["parts.sizes"].tolist() == [list(part.shape) for part in parts]
        assert found["parts.flat"].tolist() == [v for part in parts for v in part]
