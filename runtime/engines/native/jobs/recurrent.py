"""Recurrent layers as jobs: one product for the inputs of all steps, then for each step the product of the state and what a cell does.

The product of the inputs is multiplied as the precision says.  All steps share their kernels and the packed weights of the state; jobs of
one task follow each other on one thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import TypeAlias

import numpy as np

from ttc.runtime.engines.native.graph.region import Region, RegionBuilder
from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.copies import constant, copy
from ttc.runtime.engines.native.jobs.elementwise import compute_into
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS, Panels, block_of, left_operand, multiplier_of, packed, submit_product
from ttc.runtime.engines.native.jobs.tile_choice import tile_parts
from ttc.runtime.engines.native.kernels.gemm import Gemm
from ttc.runtime.engines.native.kernels.gemm_block import Block, Multiplier
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows
from ttc.runtime.engines.native.kernels.lengths import CheckLengths

Activation: TypeAlias = "tuple[str, float, float]"
"""A function by the name that recurrent layers have for it, and its parameters."""

_STEP_FLOPS, _STEP_TASKS = 1 << 17, 16
"""The least FLOPs of a task of a step, which take a microsecond, as telling a thread of it does; and the most tasks of few panels."""
MOST_STEPS = 1 << 13
"""The most steps of both directions together: every step is a few jobs."""
_LENGTHS: tuple[Storage, ...] = ("i32", "i64")


class RecurrentLayer(ABC):
    """A layer being lowered, whose operands are float32 but the input.

    GATES: matrices that w and r stack.  FUNCTIONS: activations a direction.
    """

    GATES: int
    FUNCTIONS: int

    def __init__(self, n: Lowering) -> None:
        self.n = n
        self.x, w, r = (self._operand(i) for i in range(3))
        self.w, self.r, self.bias = w, r, self._operand(3) if n.has(3) else None
        (self.steps, self.samples, _), (self.directions, _, self.hidden) = self.x.shape, r.shape
        if self.steps * self.directions > MOST_STEPS:
            raise NotTaken(f"{self.steps * self.directions} steps")
        self.lengths = self._checked_lengths() if n.has(4) else None
        self.y = n.temp((self.steps, self.directions, self.samples, self.hidden), "f32")
        self.h = self._temp(self.hidden)
        clip = n.attr("clip")
        self.clip = float(clip) if isinstance(clip, int | float) and isfinite(clip) else None

    def lower(self) -> None:
        """Add the jobs, and set the results."""
        ends = [self._direction(d) for d in range(self.directions)]
        self.n.alias(self.y, 0)
        for index in range(len(ends[0])):
            last = self.n.temp((self.directions, self.samples, self.hidden), "f32")
            for d, states in enumerate(ends):
                copy(self.n, states[index], last.at(d))
            self.n.alias(last, index + 1)

    def _direction(self, d: int) -> list[View]:
        """Return the jobs of one direction; gives its last states, of which the first is the output's."""
        gates = self.inputs(d)
        self._multiply_inputs(d, gates)
        self.prepare(d)
        states = self.start(d)
        backward = self.n.attr("direction") == "reverse" or d == 1
        for number in range(self.steps):
            t = self.steps - 1 - number if backward else number
            states = self.step(d, t, gates.at(t), states)
        return [self._kept(state, i, states) for i, state in enumerate(states)]

    def _multiply_inputs(self, d: int, gates: View) -> None:
        """Add the jobs of the products of the inputs of all steps."""
        n, w, bias, rows = self.n, self.w.at(d), self.input_bias(d), self.steps * self.samples
        steps = RegionBuilder(["f32"] if bias is None else ["f32", "f32"])
        region = steps.region(0 if bias is None else steps("add", 0, 1))
        others = [] if bias is None else [bias.expanded(gates.shape)]
        parts = tile_parts(n, w, rows, *w.shape)
        if parts:
            from ttc.runtime.engines.native.jobs.amx_products import product_in_tiles

            product_in_tiles(n, self.x, w.permuted((1, 0)), region, others, gates, parts)
        else:
            self.product(self.x, self.panels(w, rows, multiplier_of(n, w.shape[1])), region, others, gates)

    def _kept(self, state: View, index: int, states: Sequence[View]) -> View:
        """Return a last state in memory that later directions leave alone."""
        if index == 0 and self.lengths is None:
            return state
        kept = self.n.temp(state.shape, "f32")
        copy(self.n, state, kept)
        return kept

    def inputs(self, d: int) -> View:
        """Return memory for what the products of the inputs come to, [steps, samples, gates * hidden]."""
        del d
        return self.n.temp((self.steps, self.samples, self.GATES * self.hidden), "f32")

    # ---- what cells define -------------------------------------------------------------------------------------------------------------

    @abstractmethod
    def input_bias(self, d: int) -> View | None:
        """Return what is added to the product of the inputs: [gates * hidden]."""

    @abstractmethod
    def prepare(self, d: int) -> None:
        """Pack the weights that the state is multiplied by."""

    @abstractmethod
    def start(self, d: int) -> list[View]:
        """Return the first states, [samples, hidden] each."""

    @abstractmethod
    def step(self, d: int, t: int, gates: View, states: list[View]) -> list[View]:
        """Return the states after step t, whose output is put into y.  gates: of the inputs, [samples, gates * hidden]."""

    # ---- what cells are made of --------------------------------------------------------------------------------------------------------

    def functions(self, d: int) -> list[Activation]:
        """Return the activation functions of a direction."""
        names, alphas, betas = (self.n.attr(name) for name in ("activations", "alphas", "betas"))
        if not (isinstance(names, tuple) and isinstance(alphas, tuple) and isinstance(betas, tuple)):
            raise NotTaken("no activations")
        every = [(str(name), _real(a), _real(b)) for name, a, b in zip(names, alphas, betas, strict=True)]
        return every[d * self.FUNCTIONS : (d + 1) * self.FUNCTIONS]

    def first(self, index: int, d: int) -> View:
        """Return an operand [directions, samples, hidden] of a direction; zeros where it is absent."""
        if not self.n.has(index):
            return constant(np.zeros((self.samples, self.hidden)), "f32")
        return self._operand(index).at(d)

    def part(self, view: View, gate: int, count: int = 1) -> View:
        """Return neighbouring gates, of a view that holds several."""
        return view.sliced(len(view.shape) - 1, gate * self.hidden, count * self.hidden)

    def gates(self, count: int) -> View:
        """Return memory for so many gates of one step."""
        return self._temp(count * self.hidden)

    def panels(self, w: View, rows: int, multiplier: Multiplier = "f32") -> Panels:
        """Return w[columns, depth] packed as a right operand, transposed."""
        return packed(self.n, w.permuted((1, 0)), block_of(self.n, rows, w.shape[0]), multiplier)

    def product(self, a: View, panels: Panels, region: Region, others: Sequence[View], c: View) -> None:
        """Add the job of c = region(a panels, others...)."""

        def kernel(block: Block, spread: tuple[bool, ...], dimensions: int) -> Gemm:
            return Gemm(block, DenseRows(), region, spread, dimensions, panels.multiplier)

        rows = left_operand(self.n, a, panels.multiplier)  # an initial state may be one number, spread
        submit_product(self.n, kernel, rows, panels, [view.expanded(c.shape) for view in others], c)

    def activated(self, steps: RegionBuilder, x: int, function: Activation) -> int:
        """Return the number of an activation of a value that is brought into the limits first."""
        if self.clip is not None:
            x = steps("clip", x, min=-self.clip, max=self.clip)
        return activation(steps, x, function)

    def running(self, t: int) -> list[View]:
        """Return the operands of `while_running`: lengths and the step, none if all sequences are as long."""
        if self.lengths is None:
            return []
        number = constant(np.asarray(t), self.lengths.storage)
        return [replace(self.lengths, shape=(self.samples, 1), strides=(1, 0)), number]

    def storages(self, count: int, t: int) -> list[Storage]:
        """Return the storages of so many numbers and of the operands of `while_running` behind them."""
        found = floats(count)
        found.extend(view.storage for view in self.running(t))
        return found

    def while_running(self, steps: RegionBuilder, at: int, then: int, otherwise: int) -> int:
        """Return `then` while a sequence lasts, else `otherwise`.  at: number of the first operand that `running` gave."""
        return then if self.lengths is None else steps.choice("greater", at, at + 1, then, otherwise)

    def kept(self, t: int, d: int, before: View) -> View:
        """Return the state after a step whose output is in y: where a sequence is over, the one before."""
        y = self.y.at(t).at(d)
        if self.lengths is None:
            return y
        steps = RegionBuilder(self.storages(2, t))
        compute_into(self.n, steps.region(self.while_running(steps, 2, 0, 1)), [y, before, *self.running(t)], self.h)
        return self.h

    def output(self, t: int, d: int) -> View:
        """Return memory for the output of a step."""
        return self.y.at(t).at(d)

    def sum_of_halves(self, d: int) -> View | None:
        """Return the biases of inputs and of states together."""
        if self.bias is None:
            return None
        bias, half = self.bias.at(d), self.bias.shape[1] // 2
        halves = [bias.sliced(0, 0, half), bias.sliced(0, half, half)]
        steps, total = RegionBuilder([view.storage for view in halves]), self.n.temp((half,), "f32")
        compute_into(self.n, steps.region(steps("add", 0, 1)), halves, total)
        return total

    def _temp(self, columns: int) -> View:
        return self.n.temp((self.samples, columns), "f32")

    def _operand(self, index: int) -> View:
        view = self.n.operand(index)
        if view.storage not in FLOATS:
            raise NotTaken(f"recurrent layers of {view.storage}")
        if view.storage == "f32" or index == 0:
            return view
        target = self.n.temp(view.shape, "f32")
        copy(self.n, view, target)
        return target

    def _checked_lengths(self) -> View:
        lengths = self.n.dense(4)
        if lengths.storage not in _LENGTHS:
            raise NotTaken(f"lengths in {lengths.storage}")
        words = {"lengths": lengths, "count": self.samples, "most": self.steps, "status": self.n.status}
        self.n.job(CheckLengths(lengths.storage), words, tasks=1, written=[self.n.status])
        return lengths


def cut_step(columns: int, row_blocks: int, flops: int) -> tuple[int, int, int]:
    """Return in how many ranges of row blocks a step is cut, how many tasks it has, and how many of these a thread takes at a time.

    columns: panels, or vectors of units, each of which is a task or more.  flops: of the step.
    """
    row_chunks = max(min(row_blocks, _STEP_TASKS // columns), 1)
    tasks = columns * row_chunks
    return row_chunks, tasks, max(tasks * _STEP_FLOPS // max(flops, 1), 1)


def row_strides(views: Mapping[str, View]) -> dict[str, int]:
    """Return the bytes from row to row of tensors [rows, columns], as the words of steps are named."""
    return {f"{name}_row": view.strides[0] * view.item_bytes for name, view in views.items()}


def floats(count: int) -> list[Storage]:
    """Return the storages of so many numbers in float32."""
    return ["f32" for _ in range(count)]


def activation(s: RegionBuilder, x: int, function: Activation) -> int:
    """Return one of the functions that recurrent layers know.  Raises NotTaken for another."""
    name, alpha, beta = function
    match name:
        case "relu" | "tanh" | "sigmoid" | "softplus":
            return s(name, x)
        case "leakyrelu" | "elu":
            return s("leaky_relu" if name == "leakyrelu" else "elu", x, alpha=alpha)
        case "hardsigmoid":
            return s("hard_sigmoid", x, alpha=alpha, beta=beta)
        case "affine":
            return s("add", s("mul", s.number(alpha), x), s.number(beta))
        case "scaledtanh":
            return s("mul", s.number(alpha), s("tanh", s("mul", s.number(beta), x)))
        case "thresholdedrelu":
            return s.choice("greater_equal", x, s.number(alpha), x, s.number(0.0))
        case "softsign":
            return s("div", x, s("add", s.number(1.0), s("abs", x)))
        case _:
            raise NotTaken(f"activation {name}")


def _real(value: object) -> float:
    if not isinstance(value, int | float):
        raise NotTaken("parameters of activations")
    return float(value)
