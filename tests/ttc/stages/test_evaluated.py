"""Graphs of training become those of evaluation."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")


def test_every_op_that_has_modes_is_as_in_evaluation(rng: Any) -> None:
    from ttc.stages.evaluated import in_evaluation

    attention = torch.nn.functional.scaled_dot_product_attention
    functional = torch.nn.functional

    class Modes(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(4)
            self.plain = torch.nn.InstanceNorm1d(4, track_running_stats=True)

        def forward(self, x: Any) -> Any:
            y = functional.dropout(self.norm(x), 0.5, self.training) + functional.rrelu(x, training=self.training)
            y = self.plain(y[..., None].expand(-1, -1, 3))
            return attention(y, y, y, dropout_p=0.5 if self.training else 0.0)

    x = torch.from_numpy(rng.standard_normal((5, 4)).astype("float32"))
    model = Modes().train()
    program = torch.export.export(model, (x,), strict=False).module(check_guards=False)
    graph = in_evaluation(program.graph)
    found = torch.fx.GraphModule(program, graph)(x)
    torch.testing.assert_close(found[0], model.eval()(x))
    assert int(model.norm.num_batches_tracked) == 0
