"""Kinds of option values: each function turns a raw value (text, TOML value or Python value) into an option's, or raises ValueError."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttc.dialects.core.errors import nearest
from ttc.runtime.cpu import THREADS_A_CPU, most_threads

if TYPE_CHECKING:
    from ttc.dialects.core.machines.clusters import Cluster
    from ttc.inputs.input_values import InputValue

Shape = tuple[int, ...]
ENGINES = ("native", "reference")
"""Names of the engines that execute netlists; the first is the default."""


def word(choices: tuple[str, ...]) -> Callable[[Any], str]:
    """Return one of a few words."""

    def read(raw: Any) -> str:
        if raw not in choices:
            raise ValueError(nearest(str(raw), choices) or f"known: {', '.join(choices)}")
        return raw

    return read


def stop(stages: tuple[str, ...]) -> Callable[[Any], str]:
    """Return a stage, or `STAGE:PASS`, `STAGE:PASS@2`."""
    stage_of = word(stages)

    def read(raw: Any) -> str:
        stage, colon, name = str(raw).partition(":")
        if colon and (not name or stage_of(stage) in (stages[0], stages[-1])):
            raise ValueError(f"it takes a pass of a stage: {':PASS, '.join(stages[1:-1])}:PASS")
        return f"{stage_of(stage)}:{name}" if name else stage_of(stage)

    return read


def truth(raw: Any) -> bool:
    """Read a value that is true or false."""
    found = {"1": True, "true": True, "0": False, "false": False}.get(str(raw).lower())
    if found is None:
        raise ValueError("it takes true or false")
    return found


def text(raw: Any) -> str:
    """Return text that is not empty."""
    if not isinstance(raw, str) or not raw:
        raise ValueError("it takes a name")
    return raw


def machine(raw: Any) -> str:
    """Return the name of a machine, or the path of its descriptor."""
    return text(str(raw) if isinstance(raw, Path) else raw)


def path(raw: Any) -> Path:
    """Read a path, which is not checked for a file."""
    if not isinstance(raw, str | Path) or not str(raw):
        raise ValueError("it takes a path")
    return Path(raw)


def integer(low: int) -> Callable[[Any], int]:
    """Return a reader of whole numbers from `low` on."""

    def read(raw: Any) -> int:
        number = int(raw) if isinstance(raw, str) and re.fullmatch(r"-?\d{1,18}", raw) else raw
        if isinstance(number, bool) or not isinstance(number, int) or number < low:
            raise ValueError(f"it takes a whole number of at least {low}")
        return number

    return read


def threads(raw: Any) -> int:
    """Return a number of threads that the CPUs of this process can have use for."""
    number = integer(1)(raw)
    if number > most_threads():
        raise ValueError(f"it takes at most {most_threads()} here: {THREADS_A_CPU} for each CPU that this process may use")
    return number


def correlation(raw: Any) -> float:
    """Return a number from 0 to 1."""
    number = float(raw) if isinstance(raw, str | int | float) and not isinstance(raw, bool) else -1.0
    if not 0 <= number <= 1:
        raise ValueError("it takes a number from 0 to 1")
    return number


def rate(raw: Any) -> float:
    """Return a learning rate: a finite number of at least 0."""
    number = float(raw) if isinstance(raw, str | int | float) and not isinstance(raw, bool) else -1.0
    if not 0 <= number < float("inf"):
        raise ValueError("it takes a finite number of at least 0")
    return number


def seconds(raw: Any) -> float:
    """Return a number above 0, of at most a day."""
    number = float(raw) if isinstance(raw, str | int | float) and not isinstance(raw, bool) else 0.0
    if not 0 < number <= 86400:
        raise ValueError("it takes a number of seconds, above 0 and at most 86400")
    return number


def words(raw: Any) -> tuple[str, ...]:
    """Return names, each once, from a text with commas between them, or a list."""
    items = raw.split(",") if isinstance(raw, str) else list(raw)
    if not all(isinstance(item, str) and item for item in items):
        raise ValueError("it takes names with commas between them")
    return tuple(dict.fromkeys(items))


def texts(raw: Any) -> tuple[str, ...]:
    """Return texts, each as it stands."""
    found = (raw,) if isinstance(raw, str) else tuple(raw)
    if not all(isinstance(item, str) and item for item in found):
        raise ValueError("it takes texts that are not empty")
    return found


def patterns(raw: Any) -> tuple[str, ...]:
    """Return patterns, each once, from texts with commas between them, a list, or both."""
    return words([part for item in ([raw] if isinstance(raw, str) else raw) for part in words(item if isinstance(item, str) else [item])])


def rows(raw: Any) -> str:
    """Return the canonical text of a number of rows, or of a list of them."""
    from ttc.dialects.core.machines.targets import parse_rows

    if isinstance(raw, bool) or not isinstance(raw, int | str | list | tuple):
        raise ValueError("it takes a number of rows, or a list of them: 1, [3, 7]")
    found = parse_rows(str(list(raw) if isinstance(raw, tuple) else raw))
    return str(found if isinstance(found, int) else list(found))


_SHAPE = re.compile(r"\d{1,15}(x\d{1,15})*")


def batches(raw: Any) -> int | tuple[int, ...]:
    """Return a size, or several with commas between them or in a list, each once."""
    one = integer(1)
    items: list[Any] = raw.split(",") if isinstance(raw, str) else list(raw) if isinstance(raw, list | tuple) else [raw]
    found = tuple(one(item) for item in items)
    if not found or len(set(found)) != len(found):
        raise ValueError("it takes a size, or several: 1,8,32")
    first, *rest = found
    return found if rest else first


def read_shapes(raw: Any, *, several: bool = False) -> tuple[tuple[str, Shape], ...]:
    """Return (name, shape) pairs from `NAME=1x3x224x224` texts, or from a mapping of names to such texts or sequences. Raises ValueError.

    several: whether a name may stand there more than once, with other shapes, and in a mapping have a list of shapes.
    """
    if isinstance(raw, str):
        raw = raw.split(",")
    if isinstance(raw, Mapping):
        pairs = [(name, one) for name, shape in raw.items() for one in (shape if several and _is_many(shape) else [shape])]
    else:
        pairs = [item if isinstance(item, tuple) else str(item).rpartition("=")[::2] for item in raw]
    found = tuple((name, _shape(shape)) for name, shape in pairs)
    names = [name for name, _ in found]
    if "" in names or len(set(found if several else names)) != len(names):
        raise ValueError("it takes NAME=1x3x224x224, each " + ("name with a shape once" if several else "name once"))
    return tuple(sorted(found, key=lambda pair: pair[0]))


def shapes_of_programs(raw: Any) -> tuple[tuple[str, Shape], ...]:
    """Return shapes of inputs, of which one may have several, each for a program of its own."""
    return read_shapes(raw, several=True)


def _is_many(raw: Any) -> bool:
    return isinstance(raw, list) and any(isinstance(item, str | list | tuple) for item in raw)


def _shape(raw: Any) -> Shape:
    if isinstance(raw, str) and (raw == "" or _SHAPE.fullmatch(raw)):
        return tuple(int(size) for size in raw.split("x")) if raw else ()
    if isinstance(raw, list | tuple) and all(isinstance(size, int) and size >= 0 for size in raw):
        return tuple(raw)
    raise ValueError("it takes NAME=1x3x224x224")


def shapes_text(shapes: tuple[tuple[str, Shape], ...]) -> str:
    """Return the pairs as one text that `read_shapes` reads."""
    return ",".join(f"{name}={'x'.join(map(str, shape))}" for name, shape in shapes)


def level(last: int) -> Callable[[Any], int]:
    """Return a reader of whole numbers from 0 to `last`."""
    known = range(last + 1)

    def read(raw: Any) -> int:
        if isinstance(raw, bool) or raw not in (*known, *map(str, known)):
            raise ValueError(f"it takes {', '.join(map(str, known[:-1]))} or {last}")
        return int(raw)

    return read


def input_values(raw: Any) -> tuple[InputValue, ...]:
    """Return values of inputs, from `NAME=FILE.npy` texts or a mapping of names to arrays or files.  Raises ValueError, E0102, E0801."""
    from ttc.inputs.input_values import read_values

    return read_values(raw)


def cluster(raw: Any) -> tuple[Cluster, ...]:
    """Return a cluster from rows x columns, the path of its file, or the text that IR and archives record.  Raises E0101, E0102."""
    from ttc.dialects.core.machines.clusters import Cluster, mesh, read_cluster

    if isinstance(raw, str | Path):
        return (mesh(str(raw)) or read_cluster(path(raw)),)
    if not isinstance(raw, list | tuple) or len(raw) > 1:
        raise ValueError("it takes rows x columns of chips, or a file")
    return tuple(item if isinstance(item, Cluster) else Cluster.of_text(text(item)) for item in raw)
