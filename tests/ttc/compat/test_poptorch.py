"""Programs written for PopTorch, with the numbers of PyTorch."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from tests.draws import rng_of_test
from ttc.compat import names
from ttc.dialects.core.errors import Error, TtcWarning

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")

from ttc.compat import poptorch_options  # noqa: E402
from ttc.marks.stages import stages_begun  # noqa: E402


def drawn(*shape: int) -> Any:
    return torch.from_numpy(rng_of_test().standard_normal(shape).astype(np.float32))


def test_output_modes_of_inference(poptorch: Any) -> None:
    torch.manual_seed(0)
    model, x = torch.nn.Linear(6, 20), drawn(10, 1, 5, 6)
    native, mode = model(x), poptorch.OutputMode
    cases = [
        ((mode.All,), native),
        ((mode.EveryN, 5), native[[4, 9]]),
        ((mode.Final,), native[-1:]),
        ((mode.Sum,), native.sum(0, keepdim=True)),
    ]
    for arguments, expected in cases:
        options = poptorch.Options().deviceIterations(10).outputMode(*arguments)
        torch.testing.assert_close(poptorch.inferenceModel(model, options)(x), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(poptorch.inferenceModel(model, device_iterations=10)(x), native, rtol=1e-5, atol=1e-5)


class WithLoss(torch.nn.Module):
    """A model whose forward gives its output and its loss, in two blocks."""

    def __init__(self, poptorch: Any) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first = poptorch.BeginBlock(torch.nn.Linear(6, 8), ipu_id=0)
        self.second = poptorch.IPU(1, torch.nn.Linear(8, 6))
        self.loss = torch.nn.CrossEntropyLoss()

    def forward(self, x: Any, labels: Any = None) -> Any:
        y = self.second(torch.relu(self.first(x)))
        return y if labels is None else (y, self.loss(y, labels))


def test_the_later_form_trains_and_the_model_has_the_weights(poptorch: Any) -> None:
    import poptorch.optim as optim  # pyright: ignore[reportMissingImports] - made by install

    model, reference = WithLoss(poptorch), WithLoss(poptorch)
    options = poptorch.Options().deviceIterations(2).setExecutionStrategy(poptorch.ShardedExecution())
    options.Training.gradientAccumulation(2)
    trained = poptorch.trainingModel(model, options=options, optimizer=optim.SGD(model.parameters(), lr=0.1))
    expected = torch.optim.SGD(reference.parameters(), lr=0.1)
    loader = poptorch.DataLoader(options, torch.utils.data.TensorDataset(drawn(16, 6), torch.arange(16) % 6), batch_size=2)
    for x, labels in loader:
        out, loss = trained(x, labels)
        assert (tuple(out.shape), tuple(loss.shape)) == ((2, 6), ())
        for a, b in zip(x.chunk(2), labels.chunk(2), strict=True):
            expected.zero_grad()
            reference(a, b)[1].backward()
            expected.step()
    for found, wanted in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    inference = poptorch.inferenceModel(model)
    x = drawn(4, 6)
    torch.testing.assert_close(inference(x), reference(x), rtol=1e-5, atol=1e-5)


def test_shapes_of_losses_follow_the_output_mode(poptorch: Any) -> None:
    x, labels, mode = drawn(12, 6), torch.arange(12) % 6, poptorch.OutputMode
    for arguments, rows, losses in (((mode.All,), 12, (6,)), ((mode.EveryN, 2), 6, (3,)), ((mode.Sum,), 2, ()), ((mode.Final,), 2, ())):
        options = poptorch.Options().deviceIterations(3).outputMode(*arguments).setExecutionStrategy(poptorch.ShardedExecution())
        options.Training.gradientAccumulation(2)
        out, loss = poptorch.trainingModel(WithLoss(poptorch), options)(x, labels)
        assert (len(out), tuple(loss.shape)) == (rows, losses)


class OwnLoss(torch.nn.Module):
    """A loss that marks itself."""

    def __init__(self, poptorch: Any) -> None:
        super().__init__()
        self.poptorch = poptorch

    def forward(self, x: Any, target: Any) -> Any:
        each = self.poptorch.identity_loss((x - target).abs(), reduction="none")
        return self.poptorch.identity_loss(each, reduction="mean")


def test_the_first_form_with_a_loss_of_its_own_and_new_rates(poptorch: Any, capfd: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    model, x, target = torch.nn.Linear(10, 10), drawn(1, 10), drawn(1, 10)
    trained = poptorch.trainingModel(model, 10, loss=OwnLoss(poptorch), optimizer=torch.optim.SGD(model.parameters(), lr=0.02))
    rows, targets = x.expand(10, 10).contiguous(), target.expand(10, 10).contiguous()
    _, first = trained(rows, targets)
    for _ in range(60):
        out, loss = trained(rows, targets)
    trained.setOptimizer(torch.optim.SGD(model.parameters(), lr=0.0))
    out, loss = trained(rows, targets)
    assert first.item() > 0.1 > loss.item()
    torch.testing.assert_close(model(x), out, rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        model.bias += 1
    trained.copyWeightsToDevice()
    moved, _ = trained(rows, targets)
    torch.testing.assert_close(moved, out + 1, rtol=1e-4, atol=1e-4)


def test_accumulation_and_replicas(poptorch: Any) -> None:
    x, target = drawn(8, 10), drawn(8, 10)
    found = []
    for accumulate, replicas, rate, reduction in ((1, 1, 0.02, "Mean"), (2, 1, 0.01, "Sum"), (1, 2, 0.01, "Sum"), (2, 2, 0.02, "Mean")):
        torch.manual_seed(0)
        model = torch.nn.Linear(10, 10)
        options = poptorch.Options().replicationFactor(replicas)
        options.Training.gradientAccumulation(accumulate).accumulationAndReplicationReductionType(
            getattr(poptorch.ReductionType, reduction)
        )
        trained = poptorch.trainingModel(
            model, loss=torch.nn.L1Loss(), optimizer=torch.optim.SGD(model.parameters(), lr=rate), options=options
        )
        trained(x, target)
        found.append(model.weight.detach().clone())
    for other in found[1:]:
        torch.testing.assert_close(found[0], other, rtol=1e-4, atol=1e-5)


def test_printing(poptorch: Any, capfd: pytest.CaptureFixture[str]) -> None:
    class Printing(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return poptorch.ipu_print_tensor(x, "seen") * 2

    poptorch.inferenceModel(Printing())(torch.tensor([[1.4962566, 1.7682219]]))
    assert "seen: float32[1, 2]" in (err := capfd.readouterr().err)
    assert all(number in err for number in ("1.4962566", "1.7682219"))


class FourBlocks(torch.nn.Module):
    """Four products of layers, each on an IPU of its own, and a loss."""

    def __init__(self, poptorch: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList(poptorch.BeginBlock(torch.nn.Linear(4, 4), f"b{i}", ipu_id=i) for i in range(4))

    def forward(self, x: Any, target: Any = None) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x if target is None else (x, torch.nn.functional.l1_loss(x, target))


@pytest.mark.parametrize(("accumulate", "message"), [(4, "\\(7\\)"), (5, "\\(7\\)"), (7, None)])
def test_a_pipeline_of_training_needs_microbatches_for_all_its_stages(poptorch: Any, accumulate: int, message: str | None) -> None:
    options = poptorch.Options()
    options.Training.gradientAccumulation(accumulate)
    trained = poptorch.trainingModel(FourBlocks(poptorch), options)
    rows = drawn(accumulate, 4), drawn(accumulate, 4)
    if message is None:
        assert tuple(trained(*rows)[0].shape) == (1, 4)
        return
    with pytest.raises(Error, match=message):
        trained(*rows)


@pytest.mark.parametrize(("iterations", "sharded", "works"), [(2, False, False), (4, False, True), (2, True, True)])
def test_a_pipeline_of_inference_needs_an_iteration_a_stage(poptorch: Any, iterations: int, sharded: bool, works: bool) -> None:
    options = poptorch.Options().deviceIterations(iterations)
    if sharded:
        options.setExecutionStrategy(poptorch.ShardedExecution())
    model, rows = FourBlocks(poptorch), drawn(iterations, 4)
    wanted = model(rows)
    if works:
        torch.testing.assert_close(poptorch.inferenceModel(model, options)(rows), wanted, rtol=1e-5, atol=1e-5)
        return
    with pytest.raises(Error, match="deviceIterations must be greater"):
        poptorch.inferenceModel(model, options)(rows)


@pytest.mark.parametrize("strategy", ["PipelinedExecution", "ShardedExecution"])
def test_a_model_in_stages_has_the_numbers_of_the_whole(poptorch: Any, strategy: str) -> None:
    class Product(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            for ipu, factor in zip((0, 1, 2, 1), (2, 3, 4, 5), strict=True):
                with poptorch.Block(f"factor {factor}", ipu_id=ipu):
                    x = x * factor
            return x

    kind = getattr(poptorch, strategy)
    options = poptorch.Options().deviceIterations(4).setExecutionStrategy(kind(poptorch.AutoStage.AutoIncrement))
    x = drawn(4, 3, 7)
    torch.testing.assert_close(poptorch.inferenceModel(Product(), options)(x), x * 120)
    assert stages_begun() == (0, 1, 2, 1)


@pytest.mark.parametrize("staged", [False, True])
def test_gradients_are_clipped_as_pytorch_clips_them(poptorch: Any, staged: bool) -> None:
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    reference = copy.deepcopy(model)
    if staged:
        poptorch.BeginBlock(model[1], ipu_id=1)
    optimizer = poptorch.optim.SGD(model.parameters(), lr=0.1, max_grad_norm=0.001, accum_type=torch.float32)
    trained = poptorch.trainingModel(model, 1, loss=torch.nn.MSELoss(), optimizer=optimizer)
    expected = torch.optim.SGD(reference.parameters(), lr=0.1)
    x, target = drawn(6, 4), drawn(6, 4)
    for _ in range(10):
        trained(x, target)
        expected.zero_grad()
        torch.nn.functional.mse_loss(reference(x), target).backward()
        torch.nn.utils.clip_grad_norm_(reference.parameters(), 0.001)
        expected.step()
    for found, wanted in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)
    with pytest.raises(Error, match="max_grad_norm"):
        trained.setOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))


def test_arguments_go_by_name_where_others_are_left_out(poptorch: Any) -> None:
    class Named(torch.nn.Module):
        def forward(self, a: Any, b: Any = None, c: Any = None) -> Any:
            return a * 2 + (b if b is not None else 0) - c

    a, c = drawn(2, 3), drawn(2, 3)
    found = poptorch.inferenceModel(Named())
    torch.testing.assert_close(found(c=c, a=a), a * 2 - c)
    torch.testing.assert_close(found(a, None, c), a * 2 - c)


def test_functions_of_models(poptorch: Any, capfd: pytest.CaptureFixture[str]) -> None:
    class Functions(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = poptorch.for_loop(3, lambda v: v * 2, [poptorch.set_available_memory(x, 0.5)])[0]
            y = poptorch.ipu_print_tensor(y, "y", float_format="scientific", digits=2, separator="; ", open_char="<", close_char=">")
            return poptorch.nop(y) + (1 if poptorch.isRunningOnIpu() else 0)

    found = poptorch.inferenceModel(Functions())(torch.tensor([[1.0, 2.5]]))
    torch.testing.assert_close(found, torch.tensor([[9.0, 21.0]]))
    assert "<<8.00e+00; 2.00e+01>>" in capfd.readouterr().err
    assert not poptorch.ipuHardwareIsAvailable()
    with pytest.raises(Error, match="float_format"):
        poptorch.ipu_print_tensor(torch.zeros(1), float_format="roman")


def test_options_without_effect_say_so_once_and_taken_options_are_frozen(poptorch: Any) -> None:
    options = poptorch.Options()
    names._TOLD.clear()  # noqa: SLF001 - what other tests were told
    with pytest.warns(TtcWarning, match=r"Precision.setPartialsType has no effect: ") as told:
        assert options.Precision.setPartialsType(torch.float32).setPartialsType(torch.float16) is options.Precision
    assert len(told) == 1
    executor = poptorch.inferenceModel(torch.nn.Linear(2, 2), options)
    with pytest.raises(Error, match="clone"):
        options.deviceIterations(2)
    assert options.clone().deviceIterations(2).iterations == 2
    assert executor.weight.shape == (2, 2)
    with pytest.raises(Error, match="perf"):
        executor.getLatency()
    for section, table in poptorch_options.SECTIONS.items():
        assert all(getattr(getattr(options, section), name)() is getattr(options, section) for name in table)


def test_loaders_give_the_rows_of_a_call(poptorch: Any) -> None:
    options = poptorch.Options().deviceIterations(2).replicationFactor(2)
    data = torch.utils.data.TensorDataset(torch.arange(25))
    loader = poptorch.DataLoader(options, data, 3, mode=poptorch.DataLoaderMode.Async, async_options={"early_preload": True})
    assert [rows.tolist() for (rows,) in poptorch.AsynchronousDataAccessor(loader)] == [list(range(12)), list(range(12, 24))]
    assert (loader.combinedBatchSize, len(loader)) == (12, 2)


def test_what_is_refused(poptorch: Any) -> None:
    model = torch.nn.Linear(2, 2)
    options = poptorch.Options()
    options.Training.gradientAccumulation(2)
    calls = [
        (lambda: poptorch.inferenceModel(model, options), "E0101", "Use deviceIterations"),
        (lambda: poptorch.Options().outputMode(poptorch.OutputMode.EveryN), "E0101", "period"),
        (lambda: poptorch.Options().Distributed, "E0105", "one process"),
        (lambda: poptorch.custom_op, "E0105", "write the op in PyTorch"),
        (lambda: poptorch.ipuHardwareVersion(), "E0105", "no IPU"),
        (lambda: poptorch.identity_loss(torch.zeros(2), "max"), "E0101", "no reduction 'max'"),
        (lambda: poptorch.inferenceModel(model, 3)(torch.zeros(4, 2)), "E0801", "no multiple of 3"),
        (lambda: poptorch.BeginBlock(poptorch.BeginBlock(model, ipu_id=0), ipu_id=1), "E0101", "already"),
    ]
    for call, code, message in calls:
        with pytest.raises(Error, match=message) as raised:
            call()
        assert raised.value.code == code
    with pytest.raises(AttributeError):
        poptorch.no_such_name  # noqa: B018


def test_a_call_of_a_thousand_iterations_in_every_output_mode(poptorch: Any) -> None:
    x, labels, mode = drawn(1, 10).repeat(1000, 1), torch.full((1000,), 3), poptorch.OutputMode
    found = {}
    for name, arguments in {
        "all": (mode.All,),
        "every": (mode.EveryN, 20),
        "last": (mode.Final,),
        "sum": (mode.Sum,),
        "default": (),
    }.items():
        torch.manual_seed(0)
        model = torch.nn.Linear(10, 10)
        options = poptorch.Options().deviceIterations(1000)
        options = options.outputMode(*arguments) if arguments else options
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        found[name] = poptorch.trainingModel(model, options=options, loss=torch.nn.CrossEntropyLoss(), optimizer=optimizer)(x, labels)
        assert int(model(x[:1]).argmax()) == 3
    out, losses = found["all"]
    assert (tuple(out.shape), tuple(losses.shape)) == ((1000, 10), (1000,))
    windows = losses.reshape(10, 100).mean(1)
    assert bool((windows[1:] < windows[:-1]).all())
    for name, rows, wanted in (("every", out[19::20], losses[19::20]), ("last", out[-1:], losses[-1]), ("default", out[-1:], losses[-1])):
        torch.testing.assert_close(found[name], (rows, wanted))
    torch.testing.assert_close(found["sum"], (out.sum(0, keepdim=True), losses.sum()), rtol=1e-4, atol=1e-3)


def test_weights_go_where_they_are_asked_to(poptorch: Any, tmp_path: Any) -> None:
    torch.manual_seed(0)
    model, x, target = torch.nn.Linear(4, 4), drawn(2, 4), drawn(2, 4)
    inference = poptorch.inferenceModel(model)
    torch.testing.assert_close(inference(x), model(x))  # the first call takes the model's
    with torch.no_grad():
        model.bias += 1
    torch.testing.assert_close(inference(x), model(x) - 1)  # later changes wait
    inference.copyWeightsToDevice()
    torch.testing.assert_close(inference(x), model(x))
    trained = poptorch.trainingModel(model, 1, loss=torch.nn.MSELoss(), optimizer=torch.optim.SGD(model.parameters(), lr=0.5))
    before = inference(x)
    trained(x, target)
    torch.testing.assert_close(inference(x), model(x))  # what training has made of them
    assert not torch.allclose(inference(x), before)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    other = torch.nn.Linear(4, 4)
    other.load_state_dict(torch.load(tmp_path / "model.pt"))
    torch.testing.assert_close(other(x), inference(x))


def test_outputs_of_replicas_follow_each_other_and_their_gradients_are_one_mean(poptorch: Any) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(6, 6)
    reference = copy.deepcopy(model)
    x, target = drawn(4, 6), torch.ones(4, 6)
    options = poptorch.Options().replicationFactor(2).outputMode(poptorch.OutputMode.All)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    out, loss = poptorch.trainingModel(model, options=options, loss=torch.nn.L1Loss(), optimizer=optimizer)(x, target)
    native = reference(x)
    wanted = (native - target).abs()
    wanted.mean().backward()
    torch.testing.assert_close(out, native.detach())
    torch.testing.assert_close(loss, torch.stack([half.mean() for half in wanted.detach().chunk(2)]))
    torch.testing.assert_close(model.weight, reference.weight - 0.01 * reference.weight.grad)


def test_more_replicas_than_devices_are_refused_before_anything_is_compiled(poptorch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTC_VISIBLE_DEVICES", "0,1")
    monkeypatch.setenv("TTC_TARGET", "n150")
    options = poptorch.Options().replicationFactor(128)
    for wrap in (poptorch.trainingModel, poptorch.inferenceModel):
        with pytest.raises(Error, match="128 replicas take 128 devices, and there are 2: 0, 1") as caught:
            wrap(torch.nn.Linear(2, 2), options)
        assert caught.value.code == "E0104"


def test_a_bias_goes_to_one_as_in_the_documents(poptorch: Any) -> None:
    class Custom(torch.nn.Module):
        def forward(self, x: Any, target: Any) -> Any:
            return poptorch.identity_loss(torch.pow(x - target, 2) * 5, reduction="mean")

    model = torch.nn.Linear(1, 1)
    with torch.no_grad():
        model.weight.zero_()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    trained = poptorch.trainingModel(model, 100, loss=Custom(), optimizer=optimizer)
    trained(torch.zeros(100, 1), torch.ones(100, 1))
    assert abs(model.bias.item() - 1) < 1e-4


@pytest.mark.parametrize("bound", [None, 5.0])
def test_lamb_bounds_the_norm_of_weights_where_it_is_asked_to(poptorch: Any, bound: float | None) -> None:
    torch.manual_seed(0)
    model, x, target = torch.nn.Linear(4, 4, bias=False), drawn(2, 4), drawn(2, 4)
    model.weight.data *= 50
    weight = model.weight.detach().clone()
    (gradient,) = torch.autograd.grad(torch.nn.functional.mse_loss(model(x), target), model.weight)
    optimizer = poptorch.optim.LAMB(model.parameters(), lr=0.01, max_weight_norm=bound)
    poptorch.trainingModel(model, 1, loss=torch.nn.MSELoss(), optimizer=optimizer)(x, target)
    step = gradient / (gradient.abs() + 1e-8) + 0.01 * weight
    assert weight.norm() > 10
    wanted = weight - 0.01 * min(float(weight.norm()), bound or 1e9) / step.norm() * step
    torch.testing.assert_close(model.weight.detach(), wanted, rtol=1e-5, atol=1e-5)
