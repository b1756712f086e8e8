"""PyBuda's own example and API on ttc: every name, and numbers of PyTorch."""

from __future__ import annotations

import queue
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import ttc  # noqa: E402
from ttc import compat  # noqa: E402

DATA = Path(__file__).parents[2] / "data" / "pybuda"
NAMES = [tuple(line.split()) for line in (DATA / "names.txt").read_text().splitlines() if not line.startswith("#")]
REFUSED = "E0105"


@pytest.fixture
def pybuda() -> Iterator[Any]:
    module = compat.install("pybuda")
    yield module
    module.shutdown()
    config = sys.modules["ttc.compat.pybuda_config"].CONFIG
    for part in (config.options, config.placement, config.precision):
        part.clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "pybuda"]:
        del sys.modules[name]


def linear(pybuda: Any, weight: torch.Tensor) -> Any:
    class Linear(pybuda.PyBudaModule):
        def __init__(self, name: str) -> None:
            super().__init__(name)
            self.weights = pybuda.Parameter(weight)

        def forward(self, x: Any) -> Any:
            return pybuda.op.Matmul("matmul", x, self.weights)

    return Linear("linear")


def is_known(pybuda: Any, kind: str, name: str) -> bool:
    """Whether a name is there, or refused with a reason."""
    if kind == "option":
        return name in sys.modules["ttc.compat.pybuda_config"].OPTIONS
    owner, _, attribute = name.rpartition(".")
    holder = pybuda.op if kind == "op" else pybuda.config if kind == "override" else getattr(pybuda, owner) if owner else pybuda
    if hasattr(holder, attribute) if kind == "method" else False:
        return True
    try:
        if kind == "method":
            holder.__getattr__(holder.__new__(holder), attribute)
        return getattr(holder, attribute) is not None
    except ttc.Error as error:
        return error.code == REFUSED and len(error.message) > len(name) + 25


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_every_name_is_there_or_refused_with_its_reason(pybuda: Any, kind: str, name: str) -> None:
    assert is_known(pybuda, kind, name)


def test_the_example_of_its_documentation_runs_as_it_is(pybuda: Any, recwarn: pytest.WarningsRecorder) -> None:
    names = ("TTDevice", "CPUDevice", "PyTorchModule")
    scope: dict[str, Any] = {"torch": torch, "devtype": pybuda.BackendType.Golden, **{name: getattr(pybuda, name) for name in names}}
    exec((DATA / "training.txt").read_text(), scope)  # noqa: S102 - the example, as a script would run it
    (weights,) = pybuda.get_parameter_checkpoint(scope["tt0"])[0].values()
    assert weights.value().dtype == torch.float16
    np.testing.assert_array_equal(weights.value(), scope["weight"][0, 0])


def test_training_has_the_numbers_of_pytorch(pybuda: Any, rng: np.random.Generator) -> None:
    weight, xs, targets = (torch.tensor(rng.standard_normal(s), dtype=torch.float32) for s in ((4, 3), (4, 2, 4), (4, 2, 3)))
    device = pybuda.TTDevice("tt0", optimizer=pybuda.optimizers.SGD(learning_rate=0.1))
    module = linear(pybuda, weight)
    device.place_module(module)
    cpu = pybuda.CPUDevice("cpu0")
    cpu.place_module(pybuda.PyTorchModule("identity", torch.nn.Identity()))
    cpu.place_loss_module(pybuda.PyTorchModule("loss", torch.nn.L1Loss()))
    for x, target in zip(xs, targets, strict=True):
        device.push_to_inputs(x)
        cpu.push_to_target_inputs(target)
    losses: queue.Queue[Any] = queue.Queue()
    checkpoints = pybuda.run_training(1, 2, 1, 2, loss_queue=losses, checkpoint_interval=1)
    wanted = torch.nn.Parameter(weight.clone())
    for step in range(2):
        rows = slice(2 * step, 2 * step + 2)
        loss = torch.nn.functional.l1_loss(xs[rows] @ wanted, targets[rows])
        (grad,) = torch.autograd.grad(loss, wanted)
        wanted.data -= 0.1 * grad
        np.testing.assert_allclose(losses.get().value(), loss.detach(), rtol=1e-5)
        np.testing.assert_allclose(checkpoints.get()[0]["weights"].value(), wanted.detach(), rtol=1e-5, atol=1e-5)
    assert checkpoints.empty()


def test_steps_by_hand_and_parameters_both_ways(pybuda: Any, rng: np.random.Generator) -> None:
    weight, x, target = (torch.tensor(rng.standard_normal(s), dtype=torch.float32) for s in ((4, 3), (2, 4), (2, 3)))
    device = pybuda.TTDevice("tt0", module=linear(pybuda, weight), optimizer=pybuda.optimizers.SGD(learning_rate=0.5))
    device.place_loss_module(pybuda.PyTorchModule("loss", torch.nn.MSELoss()))
    pybuda.initialize_pipeline(training=True, sample_inputs=(x,), sample_targets=(target,))
    new = weight * 2
    pybuda.update_device_parameters(device, [{"weights": new}])
    device.push_to_inputs(x)
    device.push_to_target_inputs(target)
    pybuda.run_forward()
    pybuda.run_backward(zero_grad=True)
    grad = 2 * x.T @ (x @ new - target) / 6
    np.testing.assert_allclose(pybuda.get_parameter_gradients(device)[0]["weights"].value(), grad, rtol=1e-4, atol=1e-5)
    pybuda.run_optimizer()
    np.testing.assert_allclose(device.get_parameter_checkpoint()["weights"].value(), new - 0.5 * grad, rtol=1e-4, atol=1e-5)


def test_inference_gives_lists_of_tensors(pybuda: Any, rng: np.random.Generator) -> None:
    weight, x = (torch.tensor(rng.standard_normal(s), dtype=torch.float32) for s in ((4, 3), (2, 4)))
    found = pybuda.run_inference(linear(pybuda, weight), inputs=[(x,), (2 * x,)], _sequential=True)
    np.testing.assert_allclose(found.get()[0].value(), x @ weight, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.get()[0].to_framework("tensorflow"), 2 * x @ weight, rtol=1e-5, atol=1e-5)
    pybuda.shutdown()
    (again,) = pybuda.PyTorchModule("m", torch.nn.Linear(4, 3)).run(x)
    assert again.shape == (2, 3)


def test_an_image_is_an_archive(pybuda: Any, rng: np.random.Generator, tmp_path: Path) -> None:
    weight, x = (torch.tensor(rng.standard_normal(s), dtype=torch.float32) for s in ((4, 3), (2, 4)))
    device = pybuda.TTDevice("tt0", module=linear(pybuda, weight))
    device.compile_to_image(img_path=str(tmp_path / "m.tti"), sample_inputs=(x,))
    pybuda.shutdown()
    pybuda.TTDevice.load_image(img_path=str(tmp_path / "m.tti"))
    found = pybuda.run_inference(inputs=[(x,)], _sequential=True)
    np.testing.assert_allclose(found.get()[0].value(), x @ weight, rtol=1e-5, atol=1e-5)


def test_options_become_options_and_rules_of_ours(pybuda: Any) -> None:
    pybuda.set_configuration_options(
        enable_consteval=True, math_fidelity=pybuda.MathFidelity.HiFi2, default_df_override=pybuda.DataFormat.Float16_b, amp_level=1
    )
    pybuda.set_epoch_break(["a", "b"])
    pybuda.config.override_op_size("a", (1, 2))
    fields = sys.modules["ttc.compat.pybuda_config"].CONFIG.fields()
    assert {key: fields[key] for key in ("fidelity", "format", "amp")} == {"fidelity": "HiFi2", "format": "Float16_b", "amp": 1}
    assert [rule.text for rule in fields["placement_file"]][::2] == [
        *("name=a epoch_break=true", "name=b epoch_break=true", "name=a 'grid=[1, 2]'"),
    ]
    ttc.CompileOptions(**fields)


@pytest.mark.parametrize(
    ("options", "code"),
    [({"enable_consteval": False}, REFUSED), ({"balancer_policy": "Random"}, REFUSED), ({"enable_constevl": True}, "E0101")],
)
def test_options_that_mean_nothing_here_are_refused(pybuda: Any, options: dict[str, Any], code: str) -> None:
    with pytest.raises(ttc.Error) as caught:
        pybuda.set_configuration_options(**options)
    assert caught.value.code == code


def test_what_goes_wrong_is_an_error_of_ours(pybuda: Any) -> None:
    for run in (pybuda.run_training, pybuda.run_inference, pybuda.run_forward):
        with pytest.raises(ttc.Error) as caught:
            run()
        assert caught.value.code == "E0101"
    with pytest.raises(ttc.Error, match="text"):
        _ = pybuda.schedulers.LearningRateScheduler


def test_the_page_lists_every_option_and_override(pybuda: Any) -> None:
    page = (Path(__file__).parents[3] / "docs" / "coming_from_pybuda.md").read_text()
    config = sys.modules["ttc.compat.pybuda_config"]
    for name, row in config.OPTIONS.items():
        assert f"| `{name}` | {row.ours} | {'taken' if row.apply else 'refused'}" in page
    for name, reason in config.REFUSED.items():
        assert f"| `{name}` | refused: {reason} |" in page
    assert all(f"| `{name}` |" in page for name in config.OVERRIDES if name != "set_configuration_options")
