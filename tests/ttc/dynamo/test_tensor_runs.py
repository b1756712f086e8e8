"""Runs of programs on tensors."""

from __future__ import annotations

import pytest
import torch

from ttc import Executor, compile
from ttc.dialects.core.errors import Error
from ttc.dynamo.results import ComputedOutput
from ttc.dynamo.tensor_runs import TensorRuns


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
        made = runs.made(executor, [None, x])[result.name]
        torch.testing.assert_close(made, x.relu(), rtol=0, atol=0)
        assert made.stride() == (1, 2)
        for wrong in (x.double(), x.to(torch.complex64), x.half()):
            with pytest.raises(Error, match="E0801.*compiled for torch.float32"):
                runs.made(executor, [None, wrong])
