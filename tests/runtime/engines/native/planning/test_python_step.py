"""Steps of a native plan that run in Python."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.programs import Step, executors, tensor
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Function, TensorType, Work


def test_labels_of_text_stay_as_they_are():
    """The table is read once; what a caller does to its results changes no later run's."""
    words = ("red", "green", "blue")
    steps = [
        Step("labels", "ttc.constant", (), tensor(3, format="String"), {"values": words}),
        Step("place", "nn.argmax", ("x",), tensor(2, format="Int64"), {"axis": 1, "keepdims": False, "select_last": False}),
        Step("y", "nn.gather", ("labels", "place"), tensor(2, format="String"), {"axis": 0}),
    ]
    own, _ = executors({"x": tensor(2, 3)}, {}, steps, {"y.out": "y", "all": "labels"})
    x = np.array([[0, 1, 0], [0, 0, 1]], np.float32)
    for _ in range(2):
        found = own.run({"x": x})
        assert found["y.out"].tolist() == ["green", "blue"]
        assert found["all"].tolist() == list(words)
        assert found["all"].dtype == STRING
        found["all"][:] = found["y.out"][:] = "gone"


def test_kernels_are_looked_up_once(monkeypatch: pytest.MonkeyPatch):
    """Runs give what they gave before, and errors name the op."""
    looked_up: list[str] = []
    kernel = interpret.kernel
    monkeypatch.setattr(interpret, "kernel", lambda op: looked_up.append(op) or kernel(op))
    steps = [
        Step("labels", "ttc.constant", (), tensor(3, format="String"), {"values": ("a", "b", "c")}),
        Step("y", "nn.gather", ("labels", "place"), tensor(2, format="String"), {"axis": 0}),
        Step("z", "nn.argmax", ("x",), tensor(2, format="Int64"), {"axis": 1, "keepdims": False, "select_last": False}),
    ]
    own, _ = executors({"place": tensor(2, format="Int64"), "x": tensor(2, 3)}, {}, steps, {"y.out": "y", "z.out": "z"})
    looked_up.clear()
    x = np.eye(2, 3, dtype=np.float32)
    for places, wanted in (([0, -1], ["a", "c"]), ([1, 1], ["b", "b"])):
        assert own.run({"place": np.array(places), "x": x})["y.out"].tolist() == wanted
    assert sum(op.endswith(".gather") for op in looked_up) == 1
    with pytest.raises(Error, match="index 3 is outside a dimension of 3") as caught:
        own.run({"place": np.array([0, 3]), "x": x})
    assert caught.value.code == "E0802"


@pytest.mark.parametrize("execute", [interpret.run_work, interpret.run_unrounded])
def test_an_op_that_is_ready_gives_what_it_gives_otherwise(execute: interpret.Execute, rng: np.random.Generator):
    x, number = rng.standard_normal((3, 4)).astype(np.float32), np.array(300, np.int64)
    doubled = Function((TensorType((3, 4), "Float32"),), (Work("nn.add", (0, 0), {}, (TensorType((3, 4), "Float32"),)),), (1,))
    same = Function((TensorType((3, 4), "Float32"),), (), (0,))
    for work, operands in (
        (Work("nn.branch", (0, 1), {}, (TensorType((3, 4), "Float16_b"),), bodies=(same, doubled)), [np.array(1), x]),
        (Work("nn.mul", (0, 1), {}, (TensorType((3, 4), "Float16_b"),)), [x, x[:1]]),
        (
            Work("nn.matmul", (0, 1, None), {"transpose_a": False, "transpose_b": True}, (TensorType((3, 3), "Float32"),)),
            [x, x, None],
        ),
        (Work("nn.add", (0, 1), {}, (TensorType((), "Int8"),)), [number, number]),
        (Work("nn.split", (0,), {"axis": 1, "sizes": (1, 3)}, tuple(TensorType((3, n), "Float16") for n in (1, 3))), [x]),
    ):
        ready = interpret.ready(work, execute, None)
        assert ready is not None
        compute, roundings = ready
        for _ in range(2):
            results = interpret.rounded_results(compute(*operands), roundings)
            for found, wanted in zip(results, execute(work, operands, None), strict=True):
                assert found.dtype == wanted.dtype
                assert np.array_equal(found, wanted)
    leaf = Work("ttc.constant", (), {"values": (1.0,)}, (TensorType((1,), "Float32"),))
    assert interpret.ready(leaf, execute, None) is None
