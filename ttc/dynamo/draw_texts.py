"""Draws of random numbers as JSON, for archives: calls of PyTorch that read no tensor."""

from __future__ import annotations

import json
from typing import Any

import torch

from ttc.dialects.core.errors import Error
from ttc.dynamo.draws import Draw, Like, is_draw

_DTYPE, _LIKE, _LIST, _CPU, _STRIDED = "dtype", "like", "list", "device", "layout"


def text_of(draw: Draw) -> str:
    """Return a draw as JSON.  Raises E0202 for an argument that no text holds."""
    arguments = [_plain(argument) for argument in draw.arguments]
    named = {name: _plain(value) for name, value in draw.keywords.items()}
    return json.dumps([str(draw.op), arguments, named], allow_nan=False)


def draw_of(text: str) -> Draw:
    """Return the draw of a text.  Raises E0703 for anything else."""
    try:
        name, arguments, named = json.loads(text)
        _, packet, overload = str(name).split(".")
        op = getattr(getattr(torch.ops.aten, packet), overload)
        if is_draw(op):
            return Draw(op, tuple(map(_value, arguments)), {str(key): _value(value) for key, value in named.items()})
    except (ValueError, TypeError, AttributeError, KeyError):
        pass
    raise Error("E0703", f"random numbers are drawn by no call of PyTorch: {text[:80]}")


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float):
        return value
    if isinstance(value, torch.dtype):
        return {_DTYPE: str(value).removeprefix("torch.")}
    if isinstance(value, Like):
        return {_LIKE: [list(value.shape), list(value.stride), str(value.dtype).removeprefix("torch.")]}
    if isinstance(value, list | tuple):
        return {_LIST: [_plain(item) for item in value]}
    if isinstance(value, torch.device) and value.type == "cpu":
        return {_CPU: "cpu"}
    if value is torch.strided:
        return {_STRIDED: "strided"}
    raise Error("E0202", f"random numbers are drawn with a {type(value).__name__}, which no archive holds")


def _value(plain: Any) -> Any:
    """Return what `_plain` was given.  Raises ValueError, TypeError, AttributeError, KeyError for other text."""
    if not isinstance(plain, dict):
        return plain
    ((kind, held),) = plain.items()
    if kind == _LIKE:
        shape, stride, dtype = held
        return Like(tuple(map(int, shape)), tuple(map(int, stride)), _dtype(dtype))
    found = {_DTYPE: _dtype, _LIST: lambda items: [_value(item) for item in items], _CPU: torch.device, _STRIDED: lambda _: torch.strided}
    return found[kind](held)


def _dtype(name: Any) -> torch.dtype:
    found = getattr(torch, str(name))
    if not isinstance(found, torch.dtype):
        raise TypeError(name)
    return found
