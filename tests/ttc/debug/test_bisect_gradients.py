"""`ttc bisect` on a program of a single op whose gradient rule is planted wrong: every rule in turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, StringAttr

from ttc.cli import main
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.entries import Port, finish_function, make_function, set_module_attr
from ttc.dialects.core.ir.leaves import ParamOp
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.nn.base import ops
from ttc.dialects.nn.gradients.base import GRADIENTS

pytest.importorskip("torch", reason="cases stand beside PyTorch's functions")
from tests.dialects.nn.gradients.planted_cases import CASES
from tests.dialects.nn.gradients.test_against_torch import drawn
from tests.dialects.nn.gradients.test_check import wrong_by

ABSENT = {
    "nn.host_call": "no file holds what calls a function of the process",
    "nn.identity": "it is dropped before gradients are taken",
    "nn.lstm": "it is `nn.lstm_training` before gradients are taken, or written out",
}
"""Ops that no program of a file differentiates, and why."""
MADE_OF = {"nn.lstm_training": "nn.lstm"}
"""Ops that a pass makes of others before gradients are taken."""
TRAINED = ["--target", "host", "--loss", "mse", "--optimizer", "sgd", "--loss-output", "y0", "--json"]


def written(folder: Path, name: str, arrays: list[NDArray | None], trained: int, shape: tuple[int, ...] = ()) -> list[str]:
    """A file of IR of one op, whose operands are inputs, and a file with them; to one of them a parameter is added, which is 0.

    shape: of the parameter.
    """
    given = [x for x in arrays if x is not None]
    function = make_function("forward", [(Port(f"x{i}"), tensor_type(Spec(x.shape, x.dtype))) for i, x in enumerate(given)])
    block = function.body.block
    operands = iter(block.args)
    values: list[Any] = [None if x is None else next(operands) for x in arrays]
    zero = np.zeros(shape, np.float64)
    leaf = {"sym": StringAttr("p"), "value": LiteralAttr.of(zero)}
    parameter = ParamOp.create(properties=leaf, result_types=[tensor_type(Spec(zero.shape, zero.dtype))])
    moved = ops()["add"].build(values[trained], parameter.results[0], location=named_location("moved"))
    values[trained] = moved.results[0]
    op = ops()[name.removeprefix("nn.")].build(*values, location=named_location("planted"), **CASES[name][1])
    block.add_ops([parameter, moved, op])
    finish_function(function, [(Port(f"y{i}"), y) for i, y in enumerate(op.results)])
    module = ModuleOp([function])
    set_module_attr(module, "stage", "import")
    set_module_attr(module, "model", "planted")
    (folder / "planted.mlir").write_text(print_op(module) + "\n")
    np.savez(folder / "inputs.npz", **{f"x{i}": x for i, x in enumerate(given)})
    return [str(folder / "planted.mlir"), "--inputs", str(folder / "inputs.npz")]


@pytest.mark.parametrize("name", sorted(GRADIENTS.rules().keys() - ABSENT.keys()))
def test_a_wrong_rule_is_found(
    name: str, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays = [drawn(value, rng) for value in CASES[name][0]]
    index = next(i for i, x in enumerate(arrays) if x is not None and x.dtype.kind == "f")
    files = written(tmp_path, MADE_OF.get(name, name), arrays, index)
    monkeypatch.setitem(GRADIENTS.rules(), name, wrong_by(GRADIENTS.rules()[name], index, 1.01))
    assert main(["bisect", *files, *TRAINED]) == 1
    culprit = json.loads(capsys.readouterr().out)["culprit"]
    assert (culprit["stage"], culprit["run"]) == ("nn", "differentiate@1")
    assert culprit["problem"].startswith(f"the gradient rule of {name} is wrong: the cotangent of operand {index + 1} is off by ")
    assert culprit["problem"].endswith("at moved" if name == "nn.add" else "at planted")
