"""Recurrent layers against their numpy kernels in float64."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from tests.runtime.engines.native.guarded import Graph, outcomes
from tests.runtime.engines.native.guarded_graphs import graph_of
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain, TensorType, Work
from ttc.dialects.core.plain.interpret import kernel
from ttc.runtime.engines.native.codegen.features import host_cpu

LEVELS = ("amx", "avx2", "generic")
GATES = {"rnn": 1, "gru": 3, "lstm": 4, "lstm_training": 4}
LSTMS = ("lstm", "lstm_training")
NAMES = {"rnn": ("tanh",), "gru": ("sigmoid", "tanh"), **dict.fromkeys(LSTMS, ("sigmoid", "tanh", "tanh"))}
EVERY = (
    "relu", "tanh", "sigmoid", "affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu", "softsign", "softplus",
)  # fmt: skip


def operands(op: str, sizes: tuple[int, int, int, int], directions: int, lengths: NDArray | None, present: str) -> list[NDArray | None]:
    """x, w, r, bias, lengths, h, c, peepholes; those of the last five whose letter is among b, h, c, p are there."""
    steps, samples, features, hidden = sizes
    gates = GATES[op]
    scale = np.float32(1 / max(hidden, features) ** 0.5)
    found: list[NDArray | None] = [
        normal(steps, samples, features),
        normal(directions, gates * hidden, features) * scale,
        normal(directions, gates * hidden, hidden) * scale,
        normal(directions, 2 * gates * hidden) if "b" in present else None,
        lengths,
        normal(directions, samples, hidden) if "h" in present else None,
    ]
    if op in LSTMS:
        found += [normal(directions, samples, hidden) if "c" in present else None]
        found += [normal(directions, 3 * hidden) if "p" in present else None]
    return found


def layer(
    op: str,
    sizes: tuple[int, int, int, int],
    *,
    direction: str = "forward",
    lengths: NDArray | None = None,
    present: str = "b",
    result: int = 0,
    level: str = "amx",
    format: str = "Float32",
    precision: str = "float32",
    names: tuple[str, ...] = (),
    spread: bool = False,
    tiles: bool = False,
    **attrs: Any,
) -> tuple[Ran, NDArray]:
    """What the engine gives for one of the results, and the same in float64.  spread: the first state is one number for all elements;
    tiles: of AMX, emulated.
    """
    steps, samples, _, hidden = sizes
    directions = 2 if direction == "bidirectional" else 1
    given = operands(op, sizes, directions, lengths, present)
    functions = (names or NAMES[op]) * directions
    attrs = {"direction": direction, "activations": functions, "clip": float("inf"), **attrs}
    attrs |= {"alphas": (0.3,) * len(functions), "betas": (0.7,) * len(functions)}
    attrs |= {"gru": {"linear_before_reset": False}, "rnn": {}}.get(op, {"input_forget": False}) | attrs
    there = [i for i, array in enumerate(given) if array is not None]
    numbers = tuple(there.index(i) if i in there else None for i in range(len(given)))
    state = TensorType((directions, samples, hidden), format)
    y, sums = (TensorType((steps, directions, samples, size), format) for size in (hidden, 4 * hidden))
    results = (y, state, state, sums, y)[: {"lstm": 3, "lstm_training": 5}.get(op, 2)]
    formats = ["Int32" if i == 4 else format for i in there]
    arrays = [given[i] for i in there]
    inputs = [
        Given(array, name, constant=i in (1, 2, 3)) for array, name, i in zip(arrays, formats, there, strict=True) if array is not None
    ]
    works = [Work(f"tile.{op}", numbers, attrs, results)]
    if spread:
        (at,) = [n for n, i in enumerate(there) if i == 5]
        number = given[5] = normal(1, 1, 1)
        inputs[at] = Given(number, format)
        numbers = tuple(len(inputs) if n == at else n for n in numbers)
        works = [Work("tile.broadcast", (at,), {"shape": state.shape}, (state,)), Work(f"tile.{op}", numbers, attrs, results)]
        given[5] = np.broadcast_to(number, state.shape)
    last = len(inputs) + len(works) - 1 + result
    works.append(Work("tile.relayout", (last,), {}, (results[result],)))
    found = ran(works, inputs, level=level, precision=precision, tiles=tiles)
    wide = [array.astype(np.float64) if array is not None and array.dtype.kind == "f" else array for array in given]
    expected = kernel(f"nn.{op}")(*wide, **attrs)
    return found, np.asarray(expected[result])


def close(found: tuple[Ran, NDArray]) -> None:
    ran_, expected = found
    assert not ran_.refusals
    np.testing.assert_allclose(ran_.native, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (7, 1, 33, 17), (5, 15, 3, 31)])
def test_directions(op: str, direction: str, sizes: tuple[int, int, int, int]) -> None:
    close(layer(op, sizes, direction=direction))


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("level", LEVELS)
def test_instruction_sets(op: str, level: str) -> None:
    close(layer(op, (4, 3, 7, 13), level=level, present="bhcp", direction="bidirectional"))


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("result", [0, 1, 2])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_sequences_of_several_lengths(op: str, result: int, direction: str) -> None:
    if result == 2 and op not in LSTMS:
        result = 1
    lengths = np.array([3, 0, 6, 1, 5], np.int32)
    close(layer(op, (6, 5, 4, 17), lengths=lengths, result=result, direction=direction, present="bhc"))


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("present", ["", "h", "hcp", "bp"])
def test_operands_may_be_absent(op: str, present: str) -> None:
    close(layer(op, (3, 2, 5, 9), present=present, result=1))


@pytest.mark.parametrize("op", GATES)
def test_the_first_state_may_be_one_number_for_all(op: str) -> None:
    close(layer(op, (4, 8, 5, 33), present="bh", result=1, spread=True))


@pytest.mark.parametrize("result", [3, 4])
@pytest.mark.parametrize("lengths", [None, [3, 0, 6, 1, 5]], ids=["whole", "lengths"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("hidden", [16, 17])
def test_sums_and_cells_are_kept(hidden: int, direction: str, lengths: list[int] | None, result: int) -> None:
    given = None if lengths is None else np.array(lengths, np.int32)
    close(layer("lstm_training", (6, 5, 4, hidden), lengths=given, result=result, direction=direction, present="bhcp"))
    close(layer("lstm_training", (6, 5, 4, hidden), lengths=given, result=result, direction=direction))


@pytest.mark.parametrize("op", LSTMS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("sizes", [(1, 1, 3, 16), (5, 13, 9, 48), (3, 33, 4, 32), (4, 8, 70, 64)])
def test_steps_of_whole_vectors(op: str, level: str, sizes: tuple[int, int, int, int]) -> None:
    for direction, result in (("forward", 0), ("reverse", 2), ("bidirectional", 1)):
        found = layer(op, sizes, level=level, direction=direction, result=result, present="bhc", input_forget=sizes[1] == 13)
        close(found)
        assert "LstmStep" in found[0].kernels


@pytest.mark.parametrize("precision", ["high", "bfloat16"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("op", GATES)
def test_products_at_lower_precisions(op: str, level: str, precision: str) -> None:
    bound = 1e-2 if precision == "bfloat16" else 1e-4
    cases: list[tuple[tuple[int, int, int, int], dict[str, Any]]] = [
        ((6, 5, 37, 32), {"direction": "bidirectional"}),
        ((5, 3, 8, 17), {"lengths": np.array([5, 2, 0], np.int32)}),
        ((4, 33, 16, 48), {"direction": "reverse", "format": "Float16_b"}),
        ((9, 1, 1, 16), {}),
    ]
    for result in (0, 1):
        for sizes, options in cases:
            found, expected = layer(op, sizes, level=level, precision=precision, result=result, present="bhc", **options)
            assert not found.refusals
            share = 2e-2 if options.get("format") == "Float16_b" else bound
            assert np.linalg.norm(found.native - expected) <= share * np.linalg.norm(expected)


@pytest.mark.parametrize("sizes", [(3, 8, 32, 64), (4, 17, 5, 32), (2, 33, 7, 96), (3, 8, 32, 48)])
def test_steps_in_tiles(sizes: tuple[int, int, int, int]) -> None:
    for result in (0, 2, 3):
        found, expected = layer("lstm_training", sizes, precision="bfloat16", result=result, present="bhc", tiles=True)
        assert "LstmStep" in found.kernels
        assert np.linalg.norm(found.native - expected) <= 1e-2 * np.linalg.norm(expected)


@pytest.mark.parametrize("linear", [False, True])
def test_gru_in_bfloat16(linear: bool) -> None:
    found, expected = layer("gru", (7, 8, 32, 34), precision="bfloat16", linear_before_reset=linear, present="bh")
    assert not found.refusals
    assert np.linalg.norm(found.native - expected) <= 1e-2 * np.linalg.norm(expected)


@pytest.mark.parametrize("result", [3, 4])
def test_sums_and_cells_in_bfloat16(result: int) -> None:
    found, expected = layer("lstm_training", (7, 8, 32, 64), precision="bfloat16", result=result, present="bhc")
    assert "LstmStep" in found.kernels
    assert np.linalg.norm(found.native - expected) <= 1e-2 * np.linalg.norm(expected)


_UNSCALED_TOLERANCE = 0.1
"""The tolerance of products in bfloat16 by weights that are not scaled, whose errors grow from step to step."""


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("at_end", [True, False], ids=["end", "begin"])
@pytest.mark.parametrize("level", LEVELS)
def test_steps_of_whole_vectors_stay_inside(level: str, at_end: bool, precision: str) -> None:
    graphs = list[Graph]()
    for op, samples, hidden, directions in (("lstm", 1, 16, 1), ("lstm", 33, 48, 2), ("lstm_training", 5, 32, 2)):
        functions = NAMES[op] * directions
        parameters = (0.0,) * len(functions)
        attrs: dict[str, Plain] = {"direction": "forward" if directions == 1 else "bidirectional", "activations": functions}
        attrs |= {"alphas": parameters, "betas": parameters, "clip": float("inf"), "input_forget": False}
        weights = [(directions, 4 * hidden, 3), (directions, 4 * hidden, hidden), (directions, 8 * hidden)]
        state = (directions, samples, hidden)
        graph = graph_of(op, [(4, samples, 3), *weights, None, state, state], attrs, held=(1, 2, 3), precision=precision)
        graphs.append(graph if precision == "float32" else replace(graph, tolerance=_UNSCALED_TOLERANCE))
    found = outcomes(graphs, host_cpu().limited_to(level), at_end=at_end)
    assert not [f"{outcome.name}: {outcome.problem}" for outcome in found if outcome.problem]
    assert all("LstmStep" in outcome.kernels for outcome in found)


def test_whole_vectors_begin_at_one_number_for_all() -> None:
    found = layer("lstm", (4, 8, 5, 32), present="bh", result=1, spread=True)
    close(found)
    assert "LstmStep" in found[0].kernels


@pytest.mark.parametrize("linear", [False, True])
def test_the_reset_gate_before_or_after_the_product(linear: bool) -> None:
    close(layer("gru", (4, 3, 5, 15), linear_before_reset=linear, present="bh"))


def test_forget_gates_may_be_coupled() -> None:
    close(layer("lstm", (4, 3, 5, 15), input_forget=True, present="bhcp", result=2))


@pytest.mark.parametrize("name", EVERY)
def test_activations(name: str) -> None:
    close(layer("rnn", (3, 4, 5, 9), names=(name,)))


def test_activations_see_what_is_clipped() -> None:
    close(layer("lstm", (4, 3, 5, 9), clip=0.25, present="bhc"))


def test_states_are_not_rounded_between_steps() -> None:
    found, expected = layer("lstm", (9, 3, 5, 17), format="Float16_b")
    assert not found.refusals
    np.testing.assert_allclose(found.native, expected, rtol=2e-2, atol=2e-2)


def test_lengths_out_of_range_are_the_error_of_the_reference_kernel() -> None:
    for lengths in ([2, 4], [-1, 2]):
        with pytest.raises(Error, match="E0802"):
            layer("gru", (3, 2, 4, 5), lengths=np.array(lengths, np.int32))


def test_float64_runs_in_python() -> None:
    sizes = (3, 2, 4, 5)
    given = [None if x is None else x.astype(np.float64) for x in operands("rnn", sizes, 1, None, "")]
    attrs = {"direction": "forward", "activations": ("tanh",), "alphas": (0.0,), "betas": (0.0,), "clip": float("inf")}
    types = (TensorType((3, 1, 2, 5), "Float64"), TensorType((1, 2, 5), "Float64"))
    works = [Work("tile.rnn", (0, 1, 2), attrs, types), Work("tile.relayout", (3,), {}, types[:1])]
    found = ran(works, [Given(x, "Float64") for x in given if x is not None])
    assert found.refusals == (("tile.rnn", "recurrent layers of f64"),)
    np.testing.assert_array_equal(found.native, found.reference)
