"""PyBuda's own example and API on ttc: every name, and numbers of PyTorch."""

from __future__ import annotations

import queue
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import ttc  # noqa: E402
from tests.ttc.compat.pybuda_chain import chain  # noqa: E402
from ttc.compat import names, pybuda_query  # noqa: E402
from ttc.dialects.core.rules.placement import PlacementRule, rule_of_text  # noqa: E402

DATA = Path(__file__).parents[2] / "data" / "pybuda"
NAMES = [tuple(line.split()) for line in (DATA / "names.txt").read_text().splitlines() if not line.startswith("#")]
REFUSED = "E0105"


def linear(pybuda: Any, weight: Any) -> Any:
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


def test_what_goes_wrong_is_an_error_of_ours(pybuda: Any) -> None:
    for run in (pybuda.run_training, pybuda.run_inference, pybuda.run_forward):
        with pytest.raises(ttc.Error) as caught:
            run()
        assert caught.value.code == "E0101"


def test_the_page_lists_every_option_and_override(pybuda: Any) -> None:
    page = (Path(__file__).parents[3] / "docs" / "coming_from_pybuda.md").read_text()
    config = sys.modules["ttc.compat.pybuda_config"]
    for name, row in config.OPTIONS.items():
        assert f"| `{name}` | {row.ours} | {'taken' if row.apply else 'refused'}" in page
    for name, reason in config.REFUSED.items():
        assert f"| `{name}` | refused: {reason} |" in page
    assert all(f"| `{name}` |" in page for name in config.OVERRIDES if name != "set_configuration_options")
    tables = {
        "ttc.compat.pybuda_devices": "IGNORED_OF_DEVICES",
        "ttc.compat.pybuda_verify": "EFFECTLESS",
        "ttc.compat.pybuda_compiler": "EFFECTLESS",
        "ttc.compat.pybuda_op": "REFUSED",
    }
    rows = [row for module, table in tables.items() for row in getattr(sys.modules[module], table).items()]
    assert [name for name, reason in [*rows, *pybuda.REFUSED.items()] if f"{name}`" not in page or reason not in page] == []


def test_a_schedule_by_hand_is_that_of_pytorch(pybuda: Any, rng: np.random.Generator) -> None:
    weight, x, target = (torch.tensor(rng.standard_normal(s), dtype=torch.float32) for s in ((4, 3), (2, 4), (2, 3)))

    class ByRate(pybuda.schedulers.LearningRateScheduler):
        def get_lr(self) -> float:
            return self.optimizer.learning_rate * 0.5

    class OfTorch(pybuda.schedulers.LearningRateScheduler):
        def get_pytorch_scheduler(self, optimizer: Any) -> Any:
            return torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

    for kind in (ByRate, OfTorch):
        optimizer = pybuda.optimizers.SGD(learning_rate=0.2, device_params=True)
        device = pybuda.TTDevice("tt0", module=linear(pybuda, weight), optimizer=optimizer, scheduler=kind(optimizer))
        device.place_loss_module(pybuda.op.loss.L1Loss("loss"))
        for _ in range(3):
            device.push_to_inputs(x)
            device.push_to_target_inputs(target)
        found = pybuda.run_training(epochs=3, _sequential=True).get()[0]["weights"].value()
        wanted = torch.nn.Parameter(weight.clone())
        for rate in (0.2, 0.1, 0.05):
            (grad,) = torch.autograd.grad(torch.nn.functional.l1_loss(x @ wanted, target), wanted)
            wanted.data -= rate * grad
        torch.testing.assert_close(found, wanted.detach(), rtol=1e-5, atol=1e-5)
        pybuda.shutdown()
    with pytest.raises(ttc.Error, match="get_lr"):
        pybuda.schedulers.LearningRateScheduler(optimizer).rate(1, 0.1, 3)


@pytest.mark.parametrize("kind", ["INFERENCE", "TRAINING"])
def test_modules_are_verified(pybuda: Any, kind: str, rng: np.random.Generator) -> None:
    verify, config = pybuda.verify.verify_module, pybuda.VerifyConfig(test_kind=getattr(pybuda.TestKind, kind), pcc=0.999)
    verify(pybuda.PyTorchModule("m", torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())), [(2, 4)], config)
    verify(linear(pybuda, torch.tensor(rng.standard_normal((4, 3)), dtype=torch.float32)), [(2, 4)], config)


def test_verification_finds_a_stage_out_of_its_bounds(pybuda: Any) -> None:
    config = pybuda.VerifyConfig(pcc=0.9, atol=1e-9)
    pybuda.set_configuration_options(default_df_override=pybuda.DataFormat.Bfp2_b)
    with pytest.raises(ttc.Error) as caught:
        pybuda.verify.verify_module(pybuda.PyTorchModule("m", torch.nn.Linear(32, 32)), [(4, 32)], config)
    assert caught.value.code == "E0812"
    with pytest.raises(ttc.Error, match="verify_al"):
        pybuda.VerifyConfig(verify_al=True)
    compare = pybuda.verify.compare_tensor_to_golden
    ones = torch.ones(3, 3)
    assert compare("x", ones, ones)
    assert not compare("x", ones, 2 * ones)


def test_predicates_select_ops(pybuda: Any) -> None:
    query = pybuda.query
    predicate = (query.name_regex(r"m\d+") & query.op_type("matmul").negate()) | query.name_regex("last")
    rules = [PlacementRule(**fields, epoch_break=True) for fields in pybuda_query.selectors_of(predicate)]

    def meant(kind: str, name: str) -> bool:
        return any(rule_of_text(rule.text).matches(kind, [name]) for rule in rules)  # pyright: ignore[reportCallIssue]

    assert [meant("map", "m1"), meant("matmul", "m1"), meant("matmul", "net.last"), meant("map", "m"), meant("map", "xm1")] == [
        *(True, False, True, False, False)
    ]
    again = query.NodePredicateBuilder.from_json(predicate.to_json())
    assert again.selectors == predicate.selectors
    everything_else = predicate.negate()
    assert not any(set(everything_else.selectors) & set(predicate.selectors))
    for bad in (lambda: query.name_regex("("), lambda: pybuda.set_epoch_break(3), lambda: query.NodePredicateBuilder.from_json("3")):
        with pytest.raises(ttc.Error) as caught:
            bad()
        assert caught.value.code == "E0101"


"""Overrides and options, and what is seen of them in the netlist of three products."""


def test_arguments_without_effect_say_so_once(pybuda: Any) -> None:
    names._TOLD.clear()  # noqa: SLF001 - what other tests were told
    with pytest.warns(ttc.TtcWarning, match="devtype of TTDevice has no effect: "):
        pybuda.TTDevice("a", devtype=pybuda.BackendType.Golden)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pybuda.TTDevice("b", devtype=pybuda.BackendType.Silicon)
    with pytest.raises(ttc.Error, match="optimiser"):
        pybuda.TTDevice("c", optimiser=None)


def test_an_image_for_training_has_its_optimizer(pybuda: Any, rng: np.random.Generator, tmp_path: Path) -> None:
    weight, x, target = (torch.tensor(rng.standard_normal(s), dtype=torch.float32) for s in ((4, 3), (2, 4), (2, 3)))
    device = pybuda.TTDevice("tt0", module=linear(pybuda, weight), optimizer=pybuda.optimizers.SGD(learning_rate=0.5))
    image = device.compile_to_image(img_path=str(tmp_path / "m.tti"), training=True, sample_inputs=(x,))
    image.save_to_disk(tmp_path / "copy.tti")
    pybuda.shutdown()
    loaded = pybuda.TTDevice.load_image(img=pybuda.TTDeviceImage.load_from_disk(tmp_path / "copy.tti"))
    loaded.place_loss_module(pybuda.PyTorchModule("loss", torch.nn.MSELoss()))
    loaded.push_to_inputs(x)
    loaded.push_to_target_inputs(target)
    (found,) = pybuda.run_training(_sequential=True).get()[0].values()
    grad = 2 * x.T @ (x @ weight - target) / 6
    np.testing.assert_allclose(found.value(), weight - 0.5 * grad, rtol=1e-4, atol=1e-5)


def test_gradients_are_forgotten_where_it_is_asked_for(pybuda: Any, rng: np.random.Generator) -> None:
    weight, *xs = (torch.tensor(rng.standard_normal(s), dtype=torch.float32) for s in ((4, 3), (2, 4), (2, 4), (2, 4)))
    target = torch.zeros(2, 3)
    device = pybuda.TTDevice("tt0", module=linear(pybuda, weight), optimizer=pybuda.optimizers.SGD(learning_rate=0.5))
    device.place_loss_module(pybuda.PyTorchModule("loss", torch.nn.MSELoss()))
    pybuda.initialize_pipeline(training=True, sample_inputs=(xs[0],), sample_targets=(target,))
    for x in xs:
        device.push_to_inputs(x)
        device.push_to_target_inputs(target)
    pybuda.run_forward(3)
    for zero_grad, over in ((False, xs[:1]), (True, xs[1:2]), (False, xs[1:])):
        pybuda.run_backward(zero_grad=zero_grad)
        rows = torch.cat(over)
        (found,) = pybuda.get_parameter_gradients(device)[0].values()
        np.testing.assert_allclose(found.value(), 2 * rows.T @ (rows @ weight) / (3 * len(rows)), rtol=1e-4, atol=1e-5)


def test_values_of_ops_come_in_the_order_of_their_names(pybuda: Any) -> None:
    pybuda.set_configuration_options(op_intermediates_to_save=["m1", "m0"])
    device = pybuda.TTDevice("tt0", module=chain(pybuda))
    for factor in (1.0, 2.0):
        device.push_to_inputs(torch.full((1, 64), factor))
    pybuda.run_inference(input_count=2, _sequential=True)
    found = pybuda.get_intermediates_queue()
    assert found.qsize() == 2
    for factor in (1.0, 2.0):
        assert [float(value.value().mean()) for value in found.get()] == [factor] * 2
    assert found.empty()
    pybuda.TTDevice("tt1", module=chain(pybuda))
    with pytest.raises(ttc.Error, match="op_intermediates_to_save of 2 modules") as caught:
        pybuda.run_inference(inputs=[(torch.ones(1, 64),)], _sequential=True)
    assert caught.value.code == REFUSED


def test_recomputation_is_an_option_of_devices_in_training(pybuda: Any) -> None:
    pybuda.set_configuration_options(enable_recompute=True)
    device = pybuda.TTDevice("tt0", module=chain(pybuda))
    assert device.place().training == {"recompute": "all"}
    assert "recompute" not in device.fields()
