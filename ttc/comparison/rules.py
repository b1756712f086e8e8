"""The search for the gradient rule that is wrong, where gradients of an archive are, and the model that it was compiled from is there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from ttc.compiler.driver import compile_source, with_recorded
from ttc.compiler.source import open_source
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import set_module_attr
from ttc.instruments.gradients import GradientCheck
from ttc.options import CompileOptions
from ttc.passes.nn.training_notes import BACKWARD
from ttc.runtime.arguments import inputs_of
from ttc.runtime.program import Program

STOP = "nn:differentiate"
"""The stage at which compilation stops: no later one is needed to check rules."""


def wrong_rule(model: Path, program: Program, inputs: Mapping[str, NDArray]) -> str:
    """Return what a check of each gradient rule by itself says, at the values that come to the op; empty if no rule is wrong by itself.

    Args:
        model: that the archive was compiled from; it is compiled again, as the archive records it, until gradients are taken.
        program: of training.
        inputs: by name, of `backward` or of `step`, of which the first microbatch counts.
    Raises: what compilations of the model do.
    """
    shapes = [(argument.name, argument.shape) for argument in inputs_of(program.entry(BACKWARD))]
    recorded = ModuleOp([])
    set_module_attr(recorded, "options", dict(program.description.options))
    options = with_recorded(recorded, CompileOptions(to=STOP))
    source = open_source(model, options)
    given = {name: np.resize(inputs[name], shape) for name, shape in shapes}
    try:
        compile_source(source, options, [GradientCheck(given)])
    except Error as error:
        if error.code != "E0507":
            raise
        return f"{error.message}, at {error.where}"
    return ""
