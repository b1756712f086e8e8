"""Calls of TT-NN as text that is the same for equal calls, and the file of calls that the real TT-NN has answered.

A tensor is told by its format, shape and layout; where it lies is left to the exporter.  Other objects are told as `object`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ANSWERS = Path(__file__).resolve().parents[3] / "data" / "ttnn" / "answers.txt"
"""What TT-NN answered, a line a call: `call -> result`."""
ARROW = " -> "


class Named:
    """A name of TT-NN: a module, a function, or a constant.  path: from `ttnn` on."""

    path: str


class Opaque:
    """An object of TT-NN.  facts: of a tensor its shape, dtype and layout; empty for all others."""

    facts: Mapping[str, Any]


def call_text(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """Return a call as text; keywords in the order of their names, memory left out."""
    shown = [described(value) for value in arguments]
    shown += [f"{key}={described(value)}" for key, value in sorted(keywords.items()) if key != "memory_config"]
    return f"{name.removeprefix('ttnn.')}({', '.join(shown)})"


def result_text(result: Any) -> str:
    """Return a result as text; of several the first: the others are weights as the device lays them out."""
    return described(result[0] if isinstance(result, list | tuple) else result)


def described(value: Any) -> str:
    """Return an argument or a result as text."""
    match value:
        case Named():
            return value.path.removeprefix("ttnn.")
        case Opaque():
            facts = value.facts
            return f"{facts['dtype']}{list(facts['shape'])} {facts['layout']}" if "shape" in facts else "object"
        case list() | tuple():
            return f"[{', '.join(map(described, value))}]"
        case _:
            return repr(value)


def read_answers(path: Path = ANSWERS) -> dict[str, str]:
    """Return the results by call."""
    return dict(line.split(ARROW) for line in path.read_text().splitlines())


def write_answers(answers: Iterable[tuple[str, str]], path: Path = ANSWERS) -> None:
    """Write calls and results, sorted, each once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{call}{ARROW}{result}\n" for call, result in sorted(set(answers))))
