"""Lifetimes of queues by executes and loops."""

from __future__ import annotations

from tests.passes.module_pairs import parse_unit
from tests.passes.netlist.three_graphs import GRAPHS, QUEUES, RUN, execute, graph, program, queue
from ttc.dialects.netlist.ops import programs_of
from ttc.passes.netlist.lifetimes import epochs_of, horizon, lifetimes, timeline


def spans(*steps: str, **options: bool) -> dict[str, tuple[int, int] | None]:
    return lifetimes(parse_unit("\n".join([*QUEUES, *GRAPHS, program(*steps)])).module, **options)


def test_straight() -> None:
    assert spans(*RUN) == {"x": (0, 0), "w": None, "a": (0, 1), "b": (1, 2), "y": (2, 2)}


def test_static_ports() -> None:
    assert spans(*RUN, static_ports=True) == {"x": None, "w": None, "a": (0, 1), "b": (1, 2), "y": None}


def test_inputs_wait_from_the_start_and_outputs_to_the_end() -> None:
    found = spans(execute("g2"), execute("g1"), execute("g0"))
    assert (found["x"], found["y"]) == ((0, 2), (0, 2))


def test_a_loop_around_all_uses_of_an_edge_leaves_it_as_it_is() -> None:
    found = spans("netlist.loop() {count = 3} : () -> () {", *RUN, "}")
    assert found == {"x": (0, 2), "w": None, "a": (0, 1), "b": (1, 2), "y": (0, 2)}


def test_a_loop_that_reads_again_keeps_what_was_written_before_it() -> None:
    found = spans(RUN[0], "netlist.loop() {count = 3} : () -> () {", *RUN[1:], "}")
    assert (found["a"], found["b"]) == ((0, 2), (1, 2))


def test_timeline() -> None:
    unit = parse_unit("\n".join([*QUEUES, *GRAPHS, program(RUN[0], "netlist.loop() {count = 3} : () -> () {", *RUN[1:], "}", RUN[0])]))
    line = timeline(programs_of(unit.module)["p"])
    assert (line.graphs, line.loops) == (("g0", "g1", "g2", "g0"), ((1, 2),))
    assert epochs_of(unit.module) == {"g0": [0, 3], "g1": [1], "g2": [2]}


def test_queues_between_chips_live_always() -> None:
    queues = [queue("x", "input"), queue("a", "edge", 1), queue("b", "edge", 1), queue("y", "output", 1), queue("w", "constant")]
    graphs = [graph("g0", ["x"], ["a"]), graph("g1", ["a"], ["b"], 1), graph("g2", ["b"], ["y"], 1)]
    found = lifetimes(parse_unit("\n".join([*queues, *graphs, program(*RUN)])).module)
    assert (found["a"], found["b"]) == (None, (1, 2))


def test_stashes_live_always() -> None:
    queues = [*(q for q in QUEUES if '"b"' not in q), queue("b", "stash")]
    programs = [program(*RUN[:2]), program(RUN[2]).replace('sym = "p"', 'sym = "back"')]
    found = lifetimes(parse_unit("\n".join([*queues, *GRAPHS, *programs])).module)
    assert (found["a"], found["b"]) == ((0, 1), None)


def test_horizon() -> None:
    assert horizon([None, (0, 4), (2, 3)]) == 5
    assert horizon([]) == 1
