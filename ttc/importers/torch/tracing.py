"""PyTorch at work on a program: what it raises becomes one error, and its warnings, logs and printouts stay inside."""

from __future__ import annotations

import io
import linecache
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr

from ttc.dialects.core.errors import Error
from ttc.importers.torch.networkx_later import put_off_networkx
from ttc.importers.torch.recurrent_shapes import recurrent_shapes


@contextmanager
def tracing(code: str, failed: str) -> Iterator[None]:
    """Raises Error with the code where PyTorch raises anything inside.

    failed: what could not be done, for the message: `torch.export cannot export Net`.
    """
    put_off_networkx()
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            redirect_stderr(io.StringIO()),
            _lines_forgotten(),
            recurrent_shapes(),
        ):  # torch.export prints the whole graph where it fails
            warnings.simplefilter("ignore")
            yield
    except Error:
        raise
    except Exception as error:
        raise Error(code, f"{failed}: {_reason(error)}") from error
    finally:
        logging.disable(disabled)


@contextmanager
def _lines_forgotten() -> Iterator[None]:
    """Forget the lines of files that were read meanwhile, 4 MB: PyTorch reads whole files for the stack of each op."""
    known = set(linecache.cache)
    try:
        yield
    finally:
        for name in linecache.cache.keys() - known:
            entry = linecache.cache[name]
            if len(entry) > 1 and entry[1] is not None:  # of a file, which can be read again
                del linecache.cache[name]


def _reason(error: Exception) -> str:
    """Return the first line of what an exception says; for PyTorch's own reports of a traceback, the last one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    return f"{type(error).__name__}: {lines[-1] if 'Traceback' in str(error) else lines[0]}"[:400]
