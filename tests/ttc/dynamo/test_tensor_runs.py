"""Runs of programs on tensors."""

from __future__ import annotations

import pytest
import torch

from ttc import Executor, compile
from ttc.dialects.core.errors import Error
from ttc.dynamo.results import ComputedOutput, GivenOutput, ViewOutput
from ttc.dynamo.tensor_runs import TensorRuns, shown_whole


def test_tensors_that_are_laid_out_otherwise_are_read_as_they_are() -> None:
    """A compiled graph runs on the memory of its inputs where that is laid out as usual, and on arrays of them where it is not."""
    graph = torch.compile(lambda a, b: a * 2 + b, backend="ttc", options={"target": "host", "fallback": False}, dynamic=False)
    base = torch.arange(24.0).reshape(4, 6)
    other = torch.ones(4, 6)
    bytes_ = bytearray(4 * 24 + 1)
    bytes_[1:] = base.numpy().tobytes()
    misaligned = torch.frombuffer(bytes_, dtype=torch.float32, offset=1, count=24).reshape(4, 6)
    negative = torch.complex(other, -base).conj().imag
    for x in (base, base.reshape(6, 4).T, torch.arange(48.0).reshape(4, 12)[:, ::2], misaligned, negative, base.expand(4, 6)):
        torch.testing.assert_close(graph(x, other), x * 2 + other, rtol=0, atol=0)
        torch.testing.assert_close(graph(other, x), other * 2 + x, rtol=0, atol=0)


def test_a_tensor_of_another_type_is_an_error_and_not_read_as_this_one() -> None:
    program = compile(torch.nn.ReLU(), (torch.zeros(2, 3),), target="host")
    (argument,), (result,) = program.entry("forward").arguments, program.entry("forward").results
    runs = TensorRuns(program.entry("forward"), {argument.name: 1}, [ComputedOutput(result.name, (1, 2))])
    with Executor(program) as executor:
        x = torch.randn(2, 3)
        (made,) = runs(executor, [None, x])
        torch.testing.assert_close(made, x.relu(), rtol=0, atol=0)
        assert made.stride() == (1, 2)
        for wrong in (x.double(), x.to(torch.complex64), x.half()):
            with pytest.raises(Error, match="E0801.*compiled for torch.float32"):
                runs(executor, [None, wrong])


@pytest.mark.parametrize("rows", [3, 300], ids=["small", "large"])
def test_values_are_written_as_the_tensors_that_show_them(rows: int) -> None:
    """What one output shows whole is that tensor from the beginning; several outputs that show a value share its memory."""
    program = compile(torch.nn.ReLU(), (torch.zeros(rows, 200),), target="host")
    (argument,), (result,) = program.entry("forward").arguments, program.entry("forward").results
    value = ComputedOutput(result.name, None)
    turned, part = ViewOutput(value, (200, rows), (1, 200), 0), ViewOutput(value, (rows, 50), (200, 1), 100)
    with Executor(program) as executor:
        x = torch.randn(rows, 200)
        (found,) = TensorRuns(program.entry("forward"), {argument.name: 0}, [turned])(executor, [x])
        assert found.stride() == (1, 200)
        torch.testing.assert_close(found, x.relu().T, rtol=0, atol=0)
        (alone,) = TensorRuns(program.entry("forward"), {argument.name: 0}, [part])(executor, [x])
        torch.testing.assert_close(alone, x.relu()[:, 100:150], rtol=0, atol=0)
        outputs = TensorRuns(program.entry("forward"), {argument.name: 0}, [turned, part, value, GivenOutput(0)])(executor, [x])
        for output, wanted in zip(outputs, (x.relu().T, x.relu()[:, 100:150], x.relu(), x), strict=True):
            torch.testing.assert_close(output, wanted, rtol=0, atol=0)
        assert len({output.untyped_storage().data_ptr() for output in outputs[:3]}) == 1
        again = TensorRuns(program.entry("forward"), {argument.name: 0}, [value])(executor, [x + 1])
        torch.testing.assert_close(outputs[2], x.relu(), rtol=0, atol=0)
        torch.testing.assert_close(again[0], (x + 1).relu(), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("size", "stride", "whole"),
    [((4, 6), (6, 1), True), ((6, 4), (1, 6), True), ((24,), (1,), True), ((2, 1, 12), (12, 7, 1), True), ((4, 6), (1, 1), False)]
    + [((4, 3), (6, 1), False), ((4, 6), (0, 1), False), ((4, 6), (7, 1), False)],
)
def test_tensors_that_show_each_element_once(size: tuple[int, ...], stride: tuple[int, ...], whole: bool) -> None:
    outputs = [ViewOutput(ComputedOutput("y", None), size, stride, 0)]
    assert bool(shown_whole(outputs, {"y": (4, 6)})) == whole
    moved = [output._replace(offset=1) for output in outputs]
    reordered = [output._replace(computed=ComputedOutput("y", (1, 4))) for output in outputs]
    for other in (moved, reordered, outputs * 2, [*outputs, ComputedOutput("y", None)]):
        assert not shown_whole(other, {"y": (4, 6)})
