"""A script for two processes: a pipeline as users of TorchDistPackage write it, over a small ResNet, against one process."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from tests.ttc.dist.started import end
from ttc import compat
from ttc.dialects.core.errors import Error


class ResNet(nn.Module):
    """Layers by the names of the usual network of that kind, small."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv1, self.bn1, self.relu = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
        self.maxpool, self.avgpool, self.fc = nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Linear(4, 5)
        self.layer1, self.layer2, self.layer3, self.layer4 = (nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU()) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.avgpool(self.layer4(self.layer3(self.layer2(self.layer1(x))))), 1))


def cut(model: ResNet) -> nn.Module:
    """The stage of this process, as a user of the package cuts a model."""
    from torchdistpackage.parallel import flatten_model, partition_uniform  # pyright: ignore[reportMissingImports]

    order = [
        *("conv1", "bn1", "relu", "maxpool"),
        *(f"layer{number}" for number in range(1, 5)),
        "avgpool",
        lambda x: torch.flatten(x, 1),
        "fc",
    ]
    return nn.Sequential(*partition_uniform(flatten_model(model, order, return_list=True)))


def main() -> None:
    compat.install("torchdistpackage")
    from torchdistpackage import tpc  # pyright: ignore[reportMissingImports]
    from torchdistpackage.parallel.clip_grad_parallel import clip_grad_norm_  # pyright: ignore[reportMissingImports]
    from torchdistpackage.parallel.pipeline_sched import forward_backward  # pyright: ignore[reportMissingImports]

    tpc.setup_process_groups([("data", 1), ("pipe", 2)])
    is_first, is_last = tpc.is_first_in_pipeline_group(), tpc.is_last_in_pipeline_group()
    alone, whole = ResNet(), ResNet()
    x, target = torch.randn(8, 3, 10, 10, generator=torch.Generator().manual_seed(1)), torch.arange(8) % 5
    for tensor in (x, target):
        dist.broadcast(tensor, tpc.get_ranks_in_group("pipe")[0], tpc.get_group("pipe"))
    stage = cut(whole)
    optimizer = torch.optim.SGD(stage.parameters(), 0.0)

    def forward(inputs: Any) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
            return stage(inputs) if is_first else nn.functional.cross_entropy(stage(inputs[0]), inputs[1])

    def inferred(image: torch.Tensor) -> torch.Tensor:
        return stage(image)

    given = [x] if is_first else [target]
    forward_backward(optimizer, forward, None, given, num_microbatches=4, forward_only=False, scatter_gather_tensors=False)
    norm = clip_grad_norm_(stage.parameters(), 1e9)
    for piece, wanted in zip(x.chunk(4), target.chunk(4), strict=True):
        nn.functional.cross_entropy(alone(piece), wanted).backward()
    for parameter, (name, other) in zip(whole.parameters(), alone.named_parameters(), strict=True):
        if parameter.grad is not None:  # of this process's stage
            torch.testing.assert_close(parameter.grad, other.grad, rtol=1e-5, atol=1e-6, msg=lambda text, name=name: f"{name}: {text}")
    assert any(parameter.grad is not None for parameter in whole.parameters())
    torch.testing.assert_close(norm, nn.utils.get_total_norm([p.grad for p in alone.parameters() if p.grad is not None]))
    stage.eval()
    alone.eval()
    images = x if is_first else []
    output = forward_backward(None, inferred, None, images, num_microbatches=1, forward_only=True, scatter_gather_tensors=False)
    last = forward_backward(None, inferred, None, [x] if is_first else [], num_microbatches=4, forward_only=True)
    if is_last:
        torch.testing.assert_close(output, alone(x).detach())
        torch.testing.assert_close(last, alone(x[6:]).detach())  # of the last microbatch
    calls: list[bool] = []

    def backward(output: torch.Tensor, gradient: torch.Tensor | None) -> None:
        calls.append(gradient is None)
        output.backward(gradient)

    forward_backward(optimizer, forward, backward, given, num_microbatches=2)
    assert calls == [is_last] * 2
    with pytest.raises(Error, match="E0801"):
        forward_backward(None, inferred, None, [x] if is_first else None, 3, True)
    print(f"process {dist.get_rank()} is equal", flush=True)


if __name__ == "__main__":
    main()
    end()
