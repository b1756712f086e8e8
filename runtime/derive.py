"""Computing derived tensors anew from new values of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.evaluate import evaluate
from ttc.dialects.core.plain.functions import Function, Work
from ttc.runtime.arguments import check_array, require_in_range
from ttc.runtime.manifest import Description, ManifestVariable
from ttc.runtime.tensors import Constants, TensorSource

_MAX_DEPTH = 64


def check_parameters(description: Description, values: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Return the values as arrays of the parameters' shapes and dtypes, private copies.  Raises E0801."""
    return _checked("parameter", description.parameters, values)


def check_states(description: Description, values: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Return the values as arrays of the states' shapes and dtypes, private copies.  Raises E0801."""
    return _checked("state", description.states, values)


def _checked(what: str, known: Mapping[str, ManifestVariable], values: Mapping[str, NDArray]) -> dict[str, NDArray]:
    for name in values:
        if name not in known:
            raise Error("E0801", f"the model has no {what} '{name}'", hint=nearest(name, known))
    return {name: check_array(name, value, known[name].shape, known[name].dtype).copy() for name, value in values.items()}


class Derivation:
    """Derived tensors as functions of parameters.

    Args:
        given: values of parameters, by name; others are taken from the stored tensors.
    """

    def __init__(self, description: Description, constants: Constants, given: Mapping[str, NDArray]) -> None:
        self._functions = {d.key: d.function for d in description.derived}
        self._constants = constants
        self._given = given
        self._given_keys = {variable.key: sym for sym, variable in description.parameters.items() if sym in given}
        self._computed: dict[str, NDArray] = {}
        self._affected: dict[str, bool] = {}

    def changes(self) -> dict[str, TensorSource]:
        """Return the stored tensors whose values change, with their new values.  Raises E0801 naming parameters that are lacking, E0802."""
        keys = [key for key in self._constants.sources if self._is_affected(key, ())]
        missing = self._missing(keys)
        if missing:
            message = f"tensors computed from the new values also need {', '.join(list(missing)[:8])}, which the archive does not hold"
            raise Error("E0801", message, hint="give new values for these too")
        return {key: self._source(key) for key in keys}

    def _source(self, key: str) -> TensorSource:
        old = self._constants.sources[key]
        value = _shaped(self._value(key), old.shape, key)
        require_in_range(f"tensor '{key}'", value, old.format)
        return TensorSource.of_array(value, old.format)

    def _is_affected(self, key: str, path: tuple[str, ...]) -> bool:
        """Return whether a given parameter is this tensor or goes into it.  Raises E0703 for a tensor derived from itself."""
        if key in path or len(path) >= _MAX_DEPTH:
            raise Error("E0703", f"tensor '{key}' is derived from itself, or through more than {_MAX_DEPTH} others")
        if key not in self._affected:
            leaves = self._leaves(key)
            self._affected[key] = key in self._given_keys or any(
                work.attrs.get("sym") in self._given or self._is_affected(leaf, (*path, key)) for work, leaf in leaves
            )
        return self._affected[key]

    def _missing(self, keys: list[str]) -> dict[str, None]:
        """Names of what the new values of these tensors need and nobody has."""
        missing: dict[str, None] = {}
        seen = set(keys)
        waiting = [key for key in keys if key not in self._given_keys]
        while waiting:
            for work, leaf in self._leaves(waiting.pop()):
                if work.attrs.get("sym") in self._given or leaf in self._given_keys or "values" in work.attrs or leaf in seen:
                    continue
                seen.add(leaf)
                if leaf in self._functions and (leaf not in self._constants or self._is_affected(leaf, ())):
                    waiting.append(leaf)
                elif leaf not in self._constants:
                    missing[str(work.attrs.get("sym", leaf))] = None
        return missing

    def _leaves(self, key: str) -> list[tuple[Work, str]]:
        """Return the leaves of the tensor's expression and their keys (empty for a literal)."""
        function = self._functions.get(key)
        works = () if function is None else function.works
        return [(work, str(work.attrs.get("key", ""))) for work in works if work.op.startswith("ttc.")]

    def _value(self, key: str) -> NDArray:
        if key in self._given_keys:
            return self._given[self._given_keys[key]]
        if key not in self._computed:
            function = _without_literals(self._functions[key], self._given)
            self._computed[key] = evaluate(function, [], self._leaf, f"derived tensor '{key}'")[0]
        return self._computed[key]

    def _leaf(self, work: Work) -> NDArray:
        """The value of a leaf, in the compute dtype of its format."""
        format_ = format_named(work.results[0].format)
        sym, key = work.attrs.get("sym"), str(work.attrs.get("key", ""))
        if isinstance(sym, str) and sym in self._given:
            value = self._given[sym]
        elif key in self._constants and not self._is_affected(key, ()):
            value = self._constants[key]
        else:
            value = self._value(key)
        return format_.round(_shaped(np.asarray(value).astype(format_.compute, copy=False), work.results[0].shape, key or str(sym)))


def _shaped(value: NDArray, shape: tuple[int, ...], name: str) -> NDArray:
    if value.size != prod(shape):
        raise Error("E0703", f"tensor '{name}' of shape {list(shape)} cannot take a value of shape {list(value.shape)}")
    return value.reshape(shape)


def _without_literals(function: Function, given: Mapping[str, NDArray]) -> Function:
    """Return the function with the literal values of given parameters taken out, so that the new ones are asked for."""

    def changed(work: Work) -> Work:
        if work.op != "ttc.param" or work.attrs.get("sym") not in given or "values" not in work.attrs:
            return work
        return replace(work, attrs={k: v for k, v in work.attrs.items() if k != "values"})

    return Function(function.inputs, tuple(map(changed, function.works)), function.outputs)
