"""Keeps the text of the module at the end of one stage, for archives whose models can be exported."""

from __future__ import annotations

from typing import cast

from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.watching import Subject
from ttc.passes.base import Unit, Watcher

LEFT_OUT = ("ttc.options", "ttc.target")
"""Attributes for a compilation's options and machine, which the text leaves out: it is compiled anew, for others."""


class StageText(Watcher):
    """Keeps the module at the end of a stage as text without the options and the machine of its compilation."""

    def __init__(self, stage: str) -> None:
        self.stage, self.text = stage, ""

    def on_stage(self, stage: str, unit: Subject) -> None:
        if stage != self.stage:
            return
        module = cast("Unit", unit).module
        attributes = dict(module.attributes)
        module.attributes = {name: value for name, value in attributes.items() if name not in LEFT_OUT}
        self.text = print_op(module) + "\n"
        module.attributes = attributes
