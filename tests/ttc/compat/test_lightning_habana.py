"""Snippets of Lightning-Habana's documentation run, with the corrections that the page lists; what means nothing says so."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
pytest.importorskip("lightning", reason="lightning is installed with the extra `test`, where PyTorch has a wheel")

import torch
from torch import nn

from tests.ttc.lightning.modules import trainer
from ttc import compat
from ttc.compat.names import Refusing
from ttc.dialects.core.errors import Error, TtcWarning

PAGE = Path(__file__).resolve().parents[3] / "docs" / "coming_from_habana.md"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr("ttc.compat.names._TOLD", set())
    monkeypatch.chdir(tmp_path)
    compat.install("lightning_habana")
    compat.install("habana_frameworks")
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("lightning_habana", "habana_frameworks")]:
        del sys.modules[name]
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def named(statement: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(statement, names)
    return names


IMPORTS = """
from lightning_habana.pytorch.accelerator import HPUAccelerator
from lightning_habana.pytorch.profiler.profiler import HPUProfiler
from lightning_habana.pytorch.strategies import HPUDeepSpeedStrategy, HPUFSDPStrategy
from lightning_habana.pytorch.plugins.fsdp_precision import HPUFSDPPrecision, HPUFSDPPrecisionPlugin
from lightning_habana.pytorch.plugins import HPUDeepSpeedPrecisionPlugin
import habana_frameworks.torch.core as htcore
import habana_frameworks.torch as htorch
"""
"""What the snippets import."""


def model() -> Any:
    from lightning.pytorch import LightningModule

    class Boring(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(1)
            self.layer = nn.Linear(32, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)

        def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
            return self(batch).square().mean()

        def predict_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
            return self(batch)

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), 0.1)

    return Boring()


def rows() -> torch.utils.data.DataLoader:
    return torch.utils.data.DataLoader(torch.randn(8, 32, generator=torch.Generator().manual_seed(2)), 4)


def trained(strategy: Any, **options: Any) -> torch.Tensor:
    found = model()
    accelerator = named(IMPORTS)["HPUAccelerator"](fallback=False)
    trainer(accelerator, strategy=strategy, devices=1, max_epochs=1, use_distributed_sampler=False, **options).fit(found, rows())
    return found.layer.weight.detach()


def wanted(bfloat16: bool = False) -> torch.Tensor:
    plain = model()
    optimizer = plain.configure_optimizers()
    for batch in rows():
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            loss = plain.training_step(batch, 0)
        loss.backward()
        optimizer.step()
    return plain.layer.weight.detach()


def test_names_are_told_once_and_load_nothing_before() -> None:
    code = "import sys, ttc.compat as c; c.install('lightning_habana'); c.install('habana_frameworks')\n"
    code += "import lightning_habana.pytorch.strategies\nprint([name for name in ('torch', 'lightning') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    names = named(IMPORTS)
    assert names["htcore"].hpu is names["htorch"].hpu
    with pytest.warns(TtcWarning, match=r"HPUAccelerator is ttc\.lightning\.TTCAccelerator"):
        names["HPUAccelerator"]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names["HPUAccelerator"]()


@pytest.mark.filterwarnings("ignore::ttc.dialects.core.errors.TtcWarning")
def test_snippets_of_deepspeed() -> None:
    names = named(IMPORTS)
    strategy, plugin = names["HPUDeepSpeedStrategy"], names["HPUDeepSpeedPrecisionPlugin"]
    for options in (
        {"stage": 1},
        {"stage": 2, "offload_optimizer": True},
        {"stage": 3, "offload_optimizer": True, "cpu_checkpointing": True},
    ):
        made = strategy(zero_optimization=True, **options)
        assert made.stage == options["stage"]
    torch.testing.assert_close(trained(strategy(zero_optimization=True, stage=1)), wanted(), rtol=1e-4, atol=1e-5)
    mixed = trained(strategy(), plugins=[plugin(precision="bf16-mixed")])
    torch.testing.assert_close(mixed, wanted(bfloat16=True), rtol=1e-2, atol=1e-2)


@pytest.mark.filterwarnings("ignore::ttc.dialects.core.errors.TtcWarning")
def test_snippets_of_inference_and_of_a_config() -> None:
    names = named(IMPORTS)
    config = {"replace_with_kernel_inject": True, "tensor_parallel": {"tp_size": 4}, "dtype": torch.float, "enable_cuda_graph": False}
    policy = {"injection_policy": {nn.Linear: ("l1")}, "replace_method": "auto", **config}
    devices = [torch.device("cpu")] * 8
    for arguments in ({"config": config}, policy):
        made, found = names["HPUDeepSpeedStrategy"](parallel_devices=devices, **arguments), model()
        runs = trainer(names["HPUAccelerator"](fallback=False), strategy=made, devices=1, use_distributed_sampler=False)
        outputs: Any = runs.predict(found, rows())
        torch.testing.assert_close(torch.cat(outputs), torch.cat([found(x).detach() for x in rows()]))
    with pytest.raises(Error, match="E0101") as caught:
        names["HPUDeepSpeedStrategy"](config={**config, "tensor_parallels": 1})
    assert "tensor_parallels" in str(caught.value)


@pytest.mark.filterwarnings("ignore::ttc.dialects.core.errors.TtcWarning")
def test_snippets_of_fsdp() -> None:
    names = named(IMPORTS)
    strategy, plugin = names["HPUFSDPStrategy"], names["HPUFSDPPrecision"]("bf16-mixed")
    assert names["HPUFSDPPrecisionPlugin"] is names["HPUFSDPPrecision"]
    made = strategy(parallel_devices=[torch.device("cpu")] * 8, sharding_strategy="SHARD_GRAD_OP", precision_plugin=plugin)
    assert made.stage == 2
    torch.testing.assert_close(trained(made), wanted(bfloat16=True), rtol=1e-2, atol=1e-2)
    with pytest.raises(Error, match="E0101"):
        strategy(precision_plugin=object())
    with pytest.raises(Error, match="E0105"):
        strategy(state_dict_type="sharded")
    with pytest.raises(Error, match="E0105"):
        strategy(auto_wrap_policy=lambda *_: True)


def test_what_means_nothing_is_refused_and_on_the_page() -> None:
    from ttc.compat.habana_strategies import EFFECTLESS_ARGUMENTS, REFUSED_ARGUMENTS
    from ttc.compat.habana_torch import EFFECTLESS

    text = PAGE.read_text()
    for module in ("lightning_habana", "habana_frameworks"):
        lookup = vars(sys.modules[module])["__getattr__"]
        assert isinstance(lookup, Refusing)
        for name in lookup.refused:
            with pytest.raises(Error, match="E0105"):
                getattr(sys.modules[module], name)
            assert f"`{name}`" in text
    for name in (*EFFECTLESS_ARGUMENTS, *REFUSED_ARGUMENTS, *EFFECTLESS):
        assert f"`{name}`" in text
