"""What an export is asked for, beside the model and the format."""

from __future__ import annotations

from ttc.dialects.core.numerics import BATCH
from ttc.dialects.core.records import record
from ttc.options import CompileOptions


@record
class ExportRequest:
    """What `ttc export` is asked for.

    Args:
        options: how the model is compiled: target, format, shapes, chips.
        program: which of its programs; None: the only one, or all where the format holds several.
        trace: write what records the device's work, so that it is started at once.
        parallel: what the chips divide.
    """

    options: CompileOptions
    program: str | None = None
    trace: bool = False
    parallel: str = BATCH
