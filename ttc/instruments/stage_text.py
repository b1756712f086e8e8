"""Keeps the text of the module at the end of one stage, for archives whose models can be exported."""

from __future__ import annotations

from typing import cast

from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.watching import Subject
from ttc.passes.base import Unit, Watcher

OPTIONS = "ttc.options"
"""Attributes for options of a compilation, which the text leaves out: it is compiled anew, for another machine and other formats."""


class StageText(Watcher):
    """Keeps the module at the end of a stage as text without the options of its compilation."""

    def __init__(self, stage: str) -> None:
        self.stage, self.text = stage, ""

    def on_stage(self, stage: str, unit: Subject) -> None:
        if stage != self.stage:
            return
        module = cast("Unit", unit).module
        options = module.attributes.pop(OPTIONS, None)
        self.text = print_op(module) + "\n"
        if options is not None:
            module.attributes[OPTIONS] = options
