"""What can be told of a model without importing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ttc.dialects.core.records import record
from ttc.importers.common.open_input import OpenInput


@record
class Facts:
    """A model as its file has it.

    Args:
        kind: of model: `ONNX`.
        opsets: versions of the sets of ops it uses, by name; empty where the kind has none.
        ops: how often each op occurs, bodies of functions and subgraphs included once.
        weights: tensors that the file holds, constants among its nodes included.
        weight_elements, weight_bytes: of them all.
        inputs: in order; None where they cannot be told.
    """

    kind: str
    opsets: Mapping[str, int] = field(default_factory=dict)
    ops: Mapping[str, int] = field(default_factory=dict)
    weights: int = 0
    weight_elements: int = 0
    weight_bytes: int = 0
    inputs: tuple[OpenInput, ...] | None = None
