"""The values that tensors of a TensorFlow graph stand for at import, and the model that is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.plain.weights import Weight
from ttc.dialects.core.records import record
from ttc.importers.common.complexes import Complex
from ttc.importers.common.open_input import OpenInput
from ttc.importers.common.unsupported import Refused
from ttc.importers.tf.messages import Graph


@record(frozen=False)
class TfVariable:
    """A variable: frozen to the value it holds, or a state if the model sets it.

    Args:
        leaf: what it holds at first, once it was read.
        current: what it holds at this place of the program.
        is_set: whether the model sets it.
    """

    name: str
    weight: Weight
    leaf: SSAValue | None = field(default=None, compare=False)
    current: SSAValue | None = field(default=None, compare=False)
    is_set: bool = field(default=False, compare=False)


@record
class TensorList:
    """A list of tensors, as items or stacked.

    Args:
        items: where its length and the places that are read and stored at are known; None where nothing was stored yet, which reads as
            zeros of `shape`.
        stack: all of it as one tensor, [length, ...], instead of items, where they are computed.
    """

    items: tuple[SSAValue | None, ...]
    dtype: np.dtype
    shape: tuple[int, ...] | None = None
    stack: SSAValue | None = None


Value: TypeAlias = "SSAValue | TfVariable | TensorList | Complex | Refused | None"
"""A value of a graph at import.  None: a tensor that no op of inference looks at, such as the seed of a generator."""


@record
class Stored:
    """What a node that is not computed stands for: a variable's handle, or a value.  name: of the weight."""

    name: str
    weight: Weight
    is_handle: bool = True


@record
class Model:
    """A TensorFlow model to import: its graph, signature and stored values.

    Args:
        graph: with the functions it calls.
        inputs: of the signature, in order; names as the signature calls them.
        places: the graph's node that each input stands for, by name.
        outputs: names of the signature, and the graph's tensors.
        stored: variables and captured values, by node.
    """

    graph: Graph
    inputs: tuple[OpenInput, ...]
    places: Mapping[str, str]
    outputs: tuple[tuple[str, str], ...]
    stored: Mapping[str, Stored]
