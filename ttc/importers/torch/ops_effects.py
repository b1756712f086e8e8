"""Ops that graphs keep in order by passing a token on: checks of what tracing assumed, which compute nothing."""

from __future__ import annotations

from typing import Any

from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows

TOKEN = 0


def with_effects(b: TorchBuilder, token: Any, op: Any, *_arguments: Any, **_options: Any) -> tuple[int]:
    """Return the token alone, as the op is a check."""
    if not str(op).startswith(("aten._assert_", "aten.sym_constrain_", "aten._linalg_check_errors.")):
        raise Unsupported(f"effects of {str(op)[:60]}")
    return (TOKEN,)


ROWS: Rows = {"higher_order.with_effects": with_effects}
