"""What goes wrong in a module of PyTorch, as an error that names the stage and the module in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from ttc.dialects.core.errors import Error


@contextmanager
def named_failures(stage: str, module: Any) -> Iterator[None]:
    """Turn what a module of PyTorch raises into an error of the stage that it is.

    Args:   module: of torch.nn, whose submodules have names.
    Raises: E0813 for any exception but an `Error`, with that exception as its cause, and the innermost submodule that raised it.
    """
    try:
        yield
    except Error as error:
        raise error.at(f"stage '{stage}'") from None
    except Exception as error:
        place = _innermost(error.__traceback__, {id(part): name for name, part in module.named_modules() if name})
        where = f"stage '{stage}'" if place is None else f"stage '{stage}', module '{place}'"
        first = str(error).strip().partition("\n")[0]
        raise Error("E0813", f"{type(error).__name__}: {first}" if first else type(error).__name__, where=where) from error


def _innermost(traceback: TracebackType | None, names: dict[int, str]) -> str | None:
    """Return the name of the last module whose method is on the way to where an exception was raised."""
    found = None
    while traceback is not None:
        found = names.get(id(traceback.tb_frame.f_locals.get("self")), found)
        traceback = traceback.tb_next
    return found
