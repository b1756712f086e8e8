"""Recurrent layers in traced programs: results look as PyTorch's own, whose steps are not gone through."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="programs are exported")

from ttc.importers.torch.exported import decomposed  # noqa: E402
from ttc.importers.torch.exporting import export_module  # noqa: E402

LAYERS: list[Any] = [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("layer", LAYERS)
def test_results_look_as_those_of_a_run(layer: Any, batch_first: bool) -> None:
    model = layer(5, 6, 2, batch_first=batch_first, bidirectional=True)
    x = torch.zeros(3, 4, 5)
    (node,) = [n for n in export_module(model, (x,)).graph.nodes if str(n.target).endswith(".input")]
    result, ends = model(x)
    wanted = [result, *(ends if isinstance(ends, tuple) else (ends,))]
    found = [(tuple(y.shape), y.dtype, y.stride()) for y in node.meta["val"]]
    assert found == [(tuple(y.shape), y.dtype, y.stride()) for y in wanted]


def test_projections_have_their_own_width() -> None:
    model = torch.nn.LSTM(5, 6, proj_size=2)
    (node,) = [n for n in export_module(model, (torch.zeros(3, 4, 5),)).graph.nodes if str(n.target) == "aten.lstm.input"]
    assert [tuple(y.shape) for y in node.meta["val"]] == [(3, 4, 2), (1, 4, 2), (1, 4, 6)]


@pytest.mark.parametrize("layer", LAYERS)
def test_no_step_is_gone_through_where_a_program_is_taken_apart(layer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer(5, 6, 2)

        def forward(self, x: Any) -> Any:
            return torch.nn.functional.hardshrink(self.layer(x)[0])  # which is taken apart

    def refuse(*_: Any) -> Any:
        raise AssertionError("all steps are gone through")

    monkeypatch.setattr(torch._decomp.decompositions, "_rnn_helper", refuse)
    program = decomposed(export_module(Net(), (torch.zeros(3, 4, 5),)))
    targets = [str(node.target) for node in program.graph.nodes]
    assert sum(target.endswith(".input") for target in targets) == 1
    assert "aten.hardshrink.default" not in targets


def test_outside_it_pytorch_goes_through_all_steps() -> None:
    model = torch.nn.LSTM(5, 6)
    x = torch.zeros(3, 4, 5)
    export_module(model, (x,))
    program = torch.export.export(model, (x,), strict=False).run_decompositions()
    assert sum(str(node.target) == "aten.tanh.default" for node in program.graph.nodes) == 2 * 3
