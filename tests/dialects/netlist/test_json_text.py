"""The JSON of netlists: exact round trips, and clear errors for whatever else arrives."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.checks import check
from ttc.dialects.netlist.json_text import MAX_BYTES, dumps, loads
from ttc.dialects.netlist.model import Netlist


def with_work(netlist: Netlist, work: Work) -> Netlist:
    """The only op of graph `count` computes that work instead."""
    graph = netlist.graphs["count"]
    op = replace(graph.ops[0], work=Function(graph.ops[0].work.inputs, (work,), (1,)))
    return replace(netlist, graphs={**netlist.graphs, "count": replace(graph, ops=(op,))})


def nested(depth: int) -> Any:
    """A list of a list of ... 1."""
    return 1 if depth == 0 else [nested(depth - 1)]


def error_of(data: bytes) -> Error:
    with pytest.raises(Error) as found:
        loads(data)
    assert found.value.code == "E0609"
    return found.value


def test_round_trip(netlist: Netlist, host_netlist: Netlist) -> None:
    for example in (netlist, host_netlist):
        data = dumps(example)
        assert loads(data) == example
        assert dumps(loads(data)) == data
        assert list(loads(data).graphs) == list(example.graphs)


def test_attributes_round_trip_with_their_types(netlist: Netlist) -> None:
    attrs = {
        "a_int": 1, "b_float": 1.0, "c_bool": True, "d_none": None, "e_text": "é\n\"", "f_ints": (1, 2), "g_nested": (((1.5,), ()), "x"),
        "h_inf": float("inf"), "i_ninf": float("-inf"), "j_tiny": 5e-324, "k_zero": -0.0, "l_big": -(1 << 62),
    }  # fmt: skip
    example = with_work(netlist, Work("tile.neg", (0, None), attrs, (TensorType((1, 64, 128), "Float32", "tiles(32, 32)"),)))
    found = loads(dumps(example)).graphs["count"].ops[0].work.works[0]
    assert repr(found.attrs) == repr(attrs)
    assert found.operands == (0, None)


def test_nan_round_trips(netlist: Netlist) -> None:
    work = Work("tile.neg", (0,), {"value": float("nan")}, ())
    value = loads(dumps(with_work(netlist, work))).graphs["count"].ops[0].work.works[0].attrs["value"]
    assert isinstance(value, float)
    assert value != value


def test_equal_netlists_give_equal_bytes(netlist: Netlist) -> None:
    one = with_work(netlist, Work("tile.neg", (0,), {"a": 1, "b": 2}, ()))
    two = with_work(netlist, Work("tile.neg", (0,), {"b": 2, "a": 1}, ()))
    assert dumps(one) == dumps(two)


EDITS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a missing field": (lambda n: n["queues"]["x"].pop("kind"), "$.queues['x']"),
    "an unknown field": (lambda n: n["queues"]["x"].update(size=3), "$.queues['x']"),
    "a string for an integer": (lambda n: n["queues"]["x"].update(entries="2"), "$.queues['x'].entries"),
    "a float for an integer": (lambda n: n["queues"]["x"].update(entries=2.0), "$.queues['x'].entries"),
    "a bool for an integer": (lambda n: n["queues"]["x"].update(entries=True), "$.queues['x'].entries"),
    "an integer for a bool": (
        lambda n: n["programs"]["forward"]["arguments"][0].update(streamed=1),
        "$.programs['forward'].arguments[0].streamed",
    ),
    "a float among addresses": (lambda n: n["queues"]["x"]["buffers"][2].append(0.5), "$.queues['x'].buffers[2]"),
    "a huge address": (lambda n: n["queues"]["x"].update(buffers=[[0, 1], [0, 1 << 70]]), "$.queues['x'].buffers[1]"),
    "a huge integer": (lambda n: n["queues"]["x"].update(entries=1 << 70), "$.queues['x'].entries"),
    "another word": (lambda n: n["queues"]["x"].update(kind="inputs"), "$.queues['x'].kind"),
    "a pair of three": (lambda n: n["queues"]["x"].update(grid=[1, 2, 3]), "$.queues['x'].grid"),
    "a place of no kind": (lambda n: n["graphs"]["count"]["ops"][0].update(place={"core": 1}), "$.graphs['count'].ops[0].place"),
    "a place that is a list": (lambda n: n["graphs"]["count"]["ops"][0].update(place=[0, 0]), "$.graphs['count'].ops[0].place"),
    "null": (lambda n: n["graphs"]["count"].update(ops=None), "$.graphs['count'].ops"),
    "a list for an object": (lambda n: n.update(queues=[]), "$.queues"),
    "an attribute that is an object": (
        lambda n: n["graphs"]["count"]["ops"][0]["work"]["works"][0].update(attrs={"a": {"b": 1}}),
        "$.graphs['count'].ops[0].work.works[0].attrs['a']",
    ),
    "lists seventeen deep": (
        lambda n: n["graphs"]["count"]["ops"][0]["work"]["works"][0].update(attrs={"a": nested(17)}),
        "$.graphs['count'].ops[0].work.works[0].attrs['a']",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_paths_of_errors(netlist: Netlist, edit: str) -> None:
    raw = json.loads(dumps(netlist))
    change, path = EDITS[edit]
    change(raw)
    assert error_of(json.dumps(raw).encode()).where == path


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b'{"chip":NaN}', b'{"a":1,"a":2}', b"[" * 100_000, b'{"chip":' * 100_000,
        b"1" * 5000, b'{"chip":' + b"9" * 6000 + b"}", '{"é":1}'.encode("utf-16"),
    ],
    ids=range(13),
)  # fmt: skip
def test_what_is_no_netlist(data: bytes) -> None:
    error_of(data)


def test_floats_out_of_range(netlist: Netlist) -> None:
    data = dumps(with_work(netlist, Work("tile.neg", (0,), {"value": 0.5}, ()))).replace(b'"value":0.5', b'"value":1e999')
    assert error_of(data).where == "$.graphs['count'].ops[0].work.works[0].attrs['value']"


def test_half_a_surrogate_pair(netlist: Netlist) -> None:
    data = dumps(netlist).replace(b'"fused"', b'"\\ud800"', 1)
    assert "surrogate" in error_of(data).message


def test_too_many_bytes() -> None:
    assert str(MAX_BYTES) in error_of(b" " * (MAX_BYTES + 1)).message


def test_bodies_nest_at_most_sixteen_deep(netlist: Netlist) -> None:
    def nested(bodies: int) -> Work:
        tiled = TensorType((1, 64, 128), "Float32", "tiles(32, 32)")
        return Work("tile.fused", (0,), {}, (tiled,), Function((tiled,), (nested(bodies - 1),), (1,)) if bodies else None)

    assert loads(dumps(with_work(netlist, nested(16)))) == with_work(netlist, nested(16))
    assert "16 deep" in error_of(dumps(with_work(netlist, nested(17)))).message


def survives(data: bytes) -> None:
    """Whatever the bytes: a netlist that can be checked, or E0609."""
    try:
        codes = {v.code for v in check(loads(data))}
    except Error as error:
        codes = {error.code}
    assert all(code.startswith("E06") for code in codes)


def test_flipped_and_lost_bytes(netlist: Netlist) -> None:
    data, draw = dumps(netlist), random.Random(7)
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(draw.randint(1, 3)):
            damaged[draw.randrange(len(data))] = draw.randrange(256)
        survives(bytes(damaged))
    for length in range(0, len(data), 97):
        error_of(data[:length])


SPICE = (None, True, 0, -1, 7, 1 << 61, 1e300, "", "x", "$n", "tiles(32, 32)", [], {}, [0], [[0, 0]], [-1], {"t": 1}, "Float64", "HOST")


def places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) inside raw JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from places_of(item)


@pytest.mark.parametrize("seed", range(4))
def test_swapped_values(netlist: Netlist, seed: int) -> None:
    draw = random.Random(seed)
    text = dumps(netlist)
    for _ in range(200):
        raw = json.loads(text)
        container, key = draw.choice(list(places_of(raw)))
        container[key] = draw.choice(SPICE)
        survives(json.dumps(raw).encode())


def test_integers_that_stay_in_range_never_crash_the_checks(netlist: Netlist) -> None:
    text = dumps(netlist)
    raw = json.loads(text)
    for number, (container, key) in enumerate(list(places_of(raw))):
        old = container[key]
        if type(old) is not int:
            continue
        for value in (0, -1, 1, (1 << 62) - number):
            container[key] = value
            survives(json.dumps(raw).encode())
        container[key] = old


def test_a_large_netlist_round_trips(netlist: Netlist) -> None:
    op, queue = netlist.graphs["first"].ops[0], netlist.queues["x"]
    ops = tuple(replace(op, name=f"op{i}") for i in range(200))
    queues = {f"q{i}": replace(queue, name=f"q{i}", grid=(8, 8), buffers=((3, 1 << 30),) * 64) for i in range(400)}
    graphs = {"first": replace(netlist.graphs["first"], ops=ops)}
    large = replace(netlist, queues=queues, graphs=graphs)
    assert loads(dumps(large)) == large
