"""Variables that a model sets while it runs: they become states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")

import ttc  # noqa: E402
from tests.ttc.importers.tf.files import function, node, save, save_variables  # noqa: E402
from tests.ttc.importers.tf.test_saved_model import VARIABLE  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.dialects.core.ir.entries import entry_functions  # noqa: E402
from ttc.importers.tf import import_object, import_saved_model  # noqa: E402

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Counter(tf.Module):
    """Reads a variable before and after it is set, in a function that another calls."""

    def __init__(self) -> None:
        super().__init__()
        self.total = tf.Variable(tf.ones((2, 3)), name="total")
        self.steps = tf.Variable(0, name="steps")
        self.scale = tf.Variable(2.0, name="scale")

    @tf.function
    def step(self, x: Any) -> Any:
        before = self.total.read_value()
        self.total.assign_add(x * self.scale)
        self.total.assign(self.total / 2)
        self.steps.assign_sub(3)
        return before, self.total.read_value()

    @tf.function(input_signature=[tf.TensorSpec((2, 3), name="x")])
    def serve(self, x: Any) -> Any:
        before, after = self.step(x)
        self.step(x)
        return {"before": before, "after": after, "steps": self.steps + 0}


def saved(folder: Path) -> Path:
    module = Counter()
    tf.saved_model.save(module, str(folder / "m"), signatures=module.serve)
    return folder / "m"


def leaves(module: Any) -> dict[str, str]:
    """Kinds of the model's weights by name."""
    ops: Any = entry_functions(module)[0].body.block.ops
    return {op.properties["sym"].data: op.name for op in ops if "sym" in op.properties}


def test_runs_follow_each_other(tmp_path: Path) -> None:
    path, model = saved(tmp_path), Counter()
    with ttc.Executor(ttc.compile(path, target="host")) as executor:
        for factor in (1, -2, 5):
            x = X * factor
            wanted, found = model.serve(tf.constant(x)), executor.run({"x": x})
            for name, value in wanted.items():
                np.testing.assert_allclose(found[name], value.numpy(), rtol=1e-6, atol=1e-6)


def test_what_is_not_set_is_a_constant(tmp_path: Path) -> None:
    found = leaves(import_saved_model(saved(tmp_path))[0])
    assert found == {"total": "ttc.state", "steps": "ttc.state"}


def test_functions_at_hand(tmp_path: Path) -> None:
    model = Counter()
    program = ttc.compile(model.serve.get_concrete_function(), target="host")
    with ttc.Executor(program) as executor:
        found = [executor.run({"x": X})["after"] for _ in range(2)]
    wanted = [model.serve(tf.constant(X))["after"].numpy() for _ in range(2)]
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_keras_layers_that_keep_their_state() -> None:
    import keras

    model = keras.Sequential([keras.Input((4, 3), batch_size=2, name="x"), keras.layers.LSTM(5, stateful=True), keras.layers.Dense(2)])
    x = np.random.default_rng(0).standard_normal((2, 4, 3)).astype(np.float32)
    with ttc.Executor(ttc.compile(model, target="host")) as executor:
        found = [next(iter(executor.run({"x": x}).values())) for _ in range(3)]
    wanted = [model(x, training=False).numpy() for _ in range(3)]
    assert np.abs(wanted[1] - wanted[0]).max() > 1e-3
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def refusal(body: Any, folder: Path) -> str:
    module = tf.Module()
    module.v = tf.Variable(tf.zeros((2, 3)))
    module.f = tf.function(lambda x: body(module.v, x), input_signature=[tf.TensorSpec((2, 3), name="x")])
    tf.saved_model.save(module, str(folder / "m"), signatures=module.f)
    with pytest.raises(Error) as caught:
        import_saved_model(folder / "m")
    assert caught.value.code == "E0202"
    return str(caught.value.excerpt)


def by_value(v: Any, w: Any, x: Any) -> Any:
    """Both branches are computed, as they are short."""
    return tf.cond(tf.reduce_sum(x) > 0, lambda: v.assign(x) + 0, lambda: x * w.assign_sub(0.5)) + v


def one_branch(v: Any, w: Any, x: Any) -> Any:
    """A gather may fail, so that only the branch that is chosen runs; one sets a variable twice, the other one another."""

    def first() -> Any:
        v.assign_add(tf.gather(x, [1, 0]))
        return v.assign_add(x) * w

    return tf.cond(tf.reduce_sum(x) > 0, first, lambda: x + w.assign_add(tf.gather(x[0], 1)))


def one_of_three(v: Any, w: Any, x: Any) -> Any:
    branches = [lambda: v.assign(x) + 1, lambda: tf.gather(v.assign_sub(x), [0, 1]), lambda: x * w.assign(3.0)]
    return tf.switch_case(tf.cast(x[0, 1], tf.int32), branches)


def loop_of_data(v: Any, w: Any, x: Any) -> Any:
    """The condition reads what the body sets."""
    tf.while_loop(
        lambda i: tf.reduce_sum(v) + i < 20, lambda i: [i + tf.reduce_sum(v.assign_add(tf.abs(x) + w.assign_add(1.0)))], [x[0, 0]]
    )
    return v + w


def loop_of_known_length(v: Any, w: Any, x: Any) -> Any:
    for _ in tf.range(3):
        v.assign(v * 0.5 + x)
    return v.read_value()


def branches_in_loops(v: Any, w: Any, x: Any) -> Any:
    def body(i: Any) -> Any:
        tf.cond(tf.gather(x[1], 0) > w, lambda: tf.reduce_sum(v.assign_add(tf.gather(x, [1, 1]))), lambda: w.assign_sub(2.0))
        return [i + 1]

    tf.while_loop(lambda i: i < tf.cast(tf.abs(x[0, 2]), tf.int32), body, [0])
    return v * w


@pytest.mark.parametrize(
    ("body", "bodies"),
    [
        (by_value, []),
        (one_branch, ["nn.branch"]),
        (one_of_three, ["nn.branch"]),
        (loop_of_data, ["nn.loop"]),
        (loop_of_known_length, []),
        (branches_in_loops, ["nn.loop", "nn.branch"]),
    ],
)
def test_bodies_that_set_variables(body: Any, bodies: list[str]) -> None:
    """Runs follow each other, whichever way each goes.  bodies: ops with bodies that data decides."""

    class Module(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v, self.w = tf.Variable(tf.zeros((2, 3)), name="v"), tf.Variable(2.0, name="w")

        @tf.function(input_signature=[tf.TensorSpec((2, 3), name="x")])
        def serve(self, x: Any) -> Any:
            return {"y": body(self.v, self.w, x), "v": self.v.read_value(), "w": self.w.read_value()}

    model, other = Module(), Module()
    concrete = other.serve.get_concrete_function()
    assert [op.name for op in import_object(concrete)[0].walk() if op.name in ("nn.branch", "nn.loop")] == bodies
    with ttc.Executor(ttc.compile(concrete, target="host")) as executor:
        for factor in (1, -2, 5, 0):
            x = X * factor
            wanted, found = model.serve(tf.constant(x)), executor.run({"x": x})
            for name, value in wanted.items():
                np.testing.assert_allclose(found[name], value.numpy(), rtol=1e-5, atol=1e-5, err_msg=name)


def test_handles_that_do_not_say_which_variable(tmp_path: Path) -> None:
    """A handle that a function gives: that its variable is set is not known where it is read first, so that it is refused."""
    handle = function("handle", {"v": "resource"}, {"h": "v"}, [])
    nodes = [
        *VARIABLE,
        node("same", "PartitionedCall", "w", f="@handle"),
        node("set", "AssignVariableOp", "same:0", "x"),
        node("y", "Identity", "x", "^set"),
    ]
    save(tmp_path / "m", nodes, "y:0", [handle])
    save_variables(tmp_path / "m", {"w/.ATTRIBUTES/VARIABLE_VALUE": np.zeros((4, 3), np.float32)})
    with pytest.raises(Error) as caught:
        import_saved_model(tmp_path / "m")
    assert caught.value.code == "E0202"
    assert "set by a handle" in str(caught.value.excerpt)


def test_parts_of_variables(tmp_path: Path) -> None:
    assert "ResourceScatterUpdate" in refusal(lambda v, x: v.scatter_update(tf.IndexedSlices(x[0], 1)) + x, tmp_path)
