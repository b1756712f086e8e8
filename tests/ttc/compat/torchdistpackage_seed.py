"""A script for two processes: the code of TorchDistPackage's page on pipelines, over a small ResNet, against one process."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from ttc import compat
from ttc.dialects.core.errors import Error

PAGE = Path(__file__).resolve().parents[2] / "data" / "torchdistpackage" / "pipeline.txt"


class ResNet(nn.Module):
    """The layers that the page names, small."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv1, self.bn1, self.relu = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
        self.maxpool, self.avgpool, self.fc = nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Linear(4, 5)
        self.layer1, self.layer2, self.layer3, self.layer4 = (nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU()) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.avgpool(self.layer4(self.layer3(self.layer2(self.layer1(x))))), 1))


def main() -> None:
    torch.Tensor.cuda = lambda self: self  # pyright: ignore[reportAttributeAccessIssue] - the page is for GPUs
    compat.install("torchdistpackage")
    import torchdistpackage.parallel as parallel  # pyright: ignore[reportMissingImports]
    from torchdistpackage import tpc  # pyright: ignore[reportMissingImports]

    tpc.setup_process_groups([("data", 1), ("pipe", 2)])
    cut, trained, evaluated = (textwrap.dedent(code) for code in re.findall(r"```py\n(.*?)```", PAGE.read_text(), re.DOTALL))
    alone, whole = ResNet(), ResNet()
    x, target = torch.randn(8, 3, 10, 10, generator=torch.Generator().manual_seed(1)), torch.arange(8) % 5
    names: dict[str, Any] = {"torch": torch, "dist": dist, "tpc": tpc, "model": whole, "DDP": lambda model: model, **vars(parallel)}
    exec(cut, names)
    names.update(optimizer=torch.optim.SGD(names["model"].parameters(), 0.0), data_loader=[(x, target)], max_norm=1e9, device="cpu")
    names.update(criterion=lambda _, out, wanted: nn.functional.cross_entropy(out, wanted))
    exec(trained.replace("    # adapted from", "if True:\n    # adapted from"), names)  # on the page the loop is indented under nothing
    for piece, wanted in zip(x.chunk(4), target.chunk(4), strict=True):
        loss = nn.functional.cross_entropy(alone(piece), wanted)
        loss.backward()
    for parameter, (name, other) in zip(whole.parameters(), alone.named_parameters(), strict=True):
        if parameter.grad is not None:  # of this process's stage
            torch.testing.assert_close(parameter.grad, other.grad, rtol=1e-5, atol=1e-6, msg=lambda text, name=name: f"{name}: {text}")
    assert any(parameter.grad is not None for parameter in whole.parameters())
    torch.testing.assert_close(names["total_norm"], nn.utils.get_total_norm([p.grad for p in alone.parameters() if p.grad is not None]))
    names["model"].eval()
    alone.eval()
    names.update(accuracy=lambda output, wanted, topk: topk)
    training_loss, names["criterion"] = names["criterion"], nn.functional.cross_entropy
    exec(evaluated, names)
    names["criterion"] = training_loss
    if tpc.is_last_in_pipeline_group():
        torch.testing.assert_close(names["output"], alone(x).detach())
        assert (names["acc1"], names["acc5"]) == (1, 5)
    first = [x] if tpc.is_first_in_pipeline_group() else []
    last = parallel.forward_backward(None, names["eval_fwd"], None, first, num_microbatches=4, forward_only=True)
    if tpc.is_last_in_pipeline_group():
        torch.testing.assert_close(last, alone(x[6:]).detach())  # of the last microbatch
    calls: list[bool] = []

    def backward(output: torch.Tensor, gradient: torch.Tensor | None) -> None:
        calls.append(gradient is None)
        output.backward(gradient)

    given = [x] if tpc.is_first_in_pipeline_group() else [target]
    parallel.forward_backward(names["optimizer"], names["fwd_fn"], backward, given, num_microbatches=2)
    assert calls == [tpc.is_last_in_pipeline_group()] * 2
    with pytest.raises(Error, match="E0801"):
        parallel.forward_backward(None, names["eval_fwd"], None, [x] if tpc.is_first_in_pipeline_group() else None, 3, True)
    print(f"process {dist.get_rank()} is equal", flush=True)


if __name__ == "__main__":
    main()
