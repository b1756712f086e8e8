"""Queues that programs allocate and free."""

from __future__ import annotations

from collections.abc import Callable

import pytest

GET, PUT = "      - allocate_queue: [later]\n", "      - deallocate_queue: [later]\n"


@pytest.mark.parametrize(
    ("changes", "code", "part"),
    [
        ((GET, "      - allocate_queue: [later, lager]\n"), "E0601", "there is no queue 'lager'"),
        ((GET, GET + GET), "E0656", "queue 'later' is allocated already"),
        ((PUT, PUT + PUT), "E0656", "queue 'later' is freed, but not allocated before"),
        (
            ((GET, ""), ("      - execute: {graph_name: g3", GET + PUT + "      - execute: {graph_name: g3")),
            "E0656",
            "execute uses queue 'later'",
        ),
    ],
)
def test_one_broken_rule(broken: Callable[..., list[object]], changes: tuple[str, str], code: str, part: str) -> None:
    pairs = (changes,) if isinstance(changes[0], str) else changes
    found = broken("chips", *pairs)
    assert code in str(found)
    assert part in str(found)
