from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from ttc.compat import install


@pytest.fixture
def poptorch() -> Iterator[Any]:
    yield install("poptorch")
    for name in ("poptorch", "poptorch.optim"):
        sys.modules.pop(name, None)
