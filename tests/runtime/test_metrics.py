"""Counters and gauges, and that every row of their table is counted somewhere."""

from __future__ import annotations

import ast
import os
from collections import Counter as Count
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ttc.runtime.metrics import MAX_LABEL, MAX_SERIES, METRICS, OTHERS, Counter, Gauge, Metric, Ticks, counter, current, gauge, ticks

ROOT = Path(__file__).resolve().parent.parent.parent
PLAIN = Metric("plain", "counter", "events", "Events.")
LABELLED = Metric("labelled", "counter", "events", "Events.", ("kind", "name"))
MAKERS = {"counter": "counter", "ticks": "counter", "gauge": "gauge"}
"""Functions that give the metric of a name, and what kind of metric it must be."""


def test_sums_are_kept_apart_by_labels() -> None:
    found = Counter(LABELLED)
    found.add(2, "a", "x")
    found.add(1, "a", "x")
    found.add(0.5, "b", "x")
    assert found.values() == {("a", "x"): 3, ("b", "x"): 0.5}


def test_labels_are_bounded() -> None:
    found = Counter(LABELLED)
    for number in range(MAX_SERIES + 10):
        found.add(1, str(number), "x" * 500)
    values = found.values()
    assert len(values) == MAX_SERIES + 1
    assert values[OTHERS, OTHERS] == 10
    assert max(len(text) for key in values for text in key) == MAX_LABEL


def test_reading_ticks_does_not_count() -> None:
    found = Ticks(PLAIN)
    for _ in range(5):
        found.tick()
    assert [found.values(), found.values()] == [{(): 5}, {(): 5}]
    found.tick()
    assert found.values() == {(): 6}


def test_no_event_of_several_threads_is_lost() -> None:
    summed, ticked = Counter(PLAIN), Ticks(PLAIN)

    def work(_: int) -> None:
        for _ in range(2000):
            summed.add()
            ticked.tick()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert summed.values() == ticked.values() == {(): 8000}


def test_a_forked_process_counts_on() -> None:
    found = counter("compile_errors")
    before = found.values().get(("E0000",), 0)  # other tests of this process count it, too
    with found._lock:  # as another thread may have held it
        child = os.fork()
        if child == 0:
            found.add(1, "E0000")
            os._exit(0 if found.values()[("E0000",)] == before + 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert found.values().get(("E0000",), 0) == before


def test_a_gauge_says_how_it_is_now() -> None:
    items = [1, 2]
    found = Gauge(Metric("now", "gauge", "items", "Items."), lambda: len(items))
    assert found.values() == {(): 2}
    items.append(3)
    assert found.values() == {(): 3}


@pytest.mark.parametrize("make", [counter, ticks, lambda name: gauge(name, lambda: 0)])
def test_names_are_those_of_the_table(make: object) -> None:
    assert callable(make)
    with pytest.raises(KeyError):
        make("compilatoins")


def test_a_metric_is_counted_in_one_way() -> None:
    counter("compilations")
    with pytest.raises(TypeError, match="two ways"):
        ticks("compilations")


def test_every_row_is_counted_somewhere_and_in_its_kind() -> None:
    made: Count[str] = Count()
    for folder in ("ttc", "runtime", "dialects", "passes"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS and node.args:
                    name = node.args[0]
                    if isinstance(name, ast.Constant) and isinstance(name.value, str):
                        made[name.value] += 1
                        assert METRICS[name.value].kind == MAKERS[node.func.id], path
    assert set(made) == set(METRICS)


def test_rows_are_complete() -> None:
    for name, row in METRICS.items():
        assert row.name == name
        assert row.help.endswith("."), name
    assert list(current()) == list(METRICS)
