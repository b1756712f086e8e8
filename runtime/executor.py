"""What users of a program hold: a session of their own, and the program that fits their inputs."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist import model
from ttc.runtime.arguments import check_names, inputs_of
from ttc.runtime.cpu import starting_threads
from ttc.runtime.machine.device import MachineDevice
from ttc.runtime.machine.session import Session
from ttc.runtime.manifest import Description
from ttc.runtime.program import Program
from ttc.runtime.variants import Fit, Variants

FORWARD = "forward"
"""The program that runs unless another is named."""


class Executor:
    """An executor of a program; thread-safe.

    Programs without state run concurrently, each call on queues of its own.  Programs that read or change states, or update
    parameters, run one at a time; a run that fails changes nothing.

    Args:
        devices: that compute; None: one for all chips, as the program was loaded.
    """

    def __init__(self, program: Program, devices: Sequence[MachineDevice] | None = None) -> None:
        program.prepare()
        self.session = Session(program, devices)
        """The memory, and the programs that run on it one step at a time."""
        self._initial = program
        self._check = program.check
        self._variants = Variants(program.netlists.surface.programs, program.description, FORWARD)
        self._several = self._variants.several

    @property
    def program(self) -> Program:
        """The program, with the parameters as they are now."""
        return self.session.program

    @property
    def netlist(self) -> model.Netlist:
        """The netlist that runs, as plain data."""
        return self._initial.netlist

    @property
    def description(self) -> Description:
        """The description of the program that its archive holds."""
        return self._initial.description

    @property
    def fixed_inputs(self) -> Mapping[str, NDArray]:
        """Values of inputs that the program was compiled for; a run with another value of one raises E0806."""
        return self.session.fixed_inputs

    @property
    def variants(self) -> Variants:
        """The program `forward`, and those that differ from it in shapes alone."""
        return self._variants

    def fit(self, shapes: Mapping[str, tuple[int, ...]] | None, program: str | None = None, *, pad_batch: bool = False) -> Fit:
        """Return the entry program that runs on inputs of these shapes: the one named, else `forward` or what differs from it in shapes
        alone.

        shapes: None for those of `forward`.
        Raises: E0801 if no program takes them; where there is one program alone, its run says so.
        """
        if program is not None or shapes is None or not self._variants.several:
            return Fit(program or FORWARD)
        return self._variants.fit(shapes, pad=pad_batch)

    def run(self, inputs: Mapping[str, Any], program: str | None = None, *, pad_batch: bool = False) -> dict[str, NDArray]:
        """Run an entry program once.

        Args:    inputs: an array for each input, of its shape and dtype; read during the call only.
                 program: name of the entry program; None: `forward`, or the one that differs from it in shapes alone and has these.
                 pad_batch: whether, where no program has these shapes, rows are added up to the next batch of one whose samples are
                     proved independent, and cut off the results.
        Returns: the outputs by name, in order; arrays of the caller's own.
        Raises:  E0801 for inputs that do not fit, E0802 for values out of range, E0803 for an unknown program or a closed session,
                 E0806 for another value of an input than the program was compiled for, E0704 if the archive's file was changed.
        """
        if self._check is not None:
            self._check()
        if program is None:
            fit = self._chosen(inputs, pad_batch) if self._several else None
            if fit is not None and fit.rows is not None:
                return fit.cut(self.run(fit.padded(inputs), fit.program))
            program = FORWARD if fit is None else fit.program
        return self.session.call(program, inputs)

    def _chosen(self, inputs: Mapping[str, Any], pad_batch: bool) -> Fit:
        check_names(self.session.entry(FORWARD), inputs)
        return self._variants.fit({name: np.shape(value) for name, value in inputs.items()}, pad=pad_batch)

    def run_many(self, many: Iterable[Mapping[str, Any]], program: str | None = None) -> Iterator[dict[str, NDArray]]:
        """Run an entry program on one set of inputs after another; gives the outputs of each, in order.

        While one set is computed, the next is fetched, checked and copied.  Inputs are copied before the next are asked for, so that
        whoever makes them may use the same arrays again.  At most two sets are held beside the one being computed.
        Raises: as `run` does, when the outputs of the set are asked for.
        """
        copies = ({name: deepcopy(value) for name, value in inputs.items()} for inputs in many)
        with ThreadPoolExecutor(1, "ttc-stream") as worker:
            waiting: deque[Future[dict[str, NDArray]]] = deque()
            try:
                for inputs in copies:
                    with starting_threads():
                        waiting.append(worker.submit(self.run, inputs, program))
                    if len(waiting) > 2:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def __call__(self, *arrays: Any, program: str | None = None) -> tuple[NDArray, ...]:
        """Run with inputs in the order of the program's arguments; gives its outputs in order.  Raises as `run` does."""
        names = [a.name for a in inputs_of(self.session.entry(program or FORWARD))]
        if len(arrays) != len(names):
            message = f"program '{program or FORWARD}' takes {len(names)} inputs, not {len(arrays)}"
            raise Error("E0801", message, hint=f"in order: {', '.join(names)}")
        return tuple(self.run(dict(zip(names, arrays, strict=True)), program).values())

    def states(self) -> dict[str, NDArray]:
        """Return copies of the states by name, in the dtypes of the model."""
        return self.session.states()

    def parameters(self) -> dict[str, NDArray]:
        """Return copies of the parameters by name, in the dtypes of the model; without those that only derived tensors are stored of."""
        return self.session.parameters()

    def set_parameters(self, values: Mapping[str, NDArray]) -> None:
        """Give parameters new values; tensors that derive from them are computed anew.

        Raises: E0801 for an unknown parameter, a wrong shape or dtype, or a tensor that also derives from parameters which are not at hand;
                then nothing has changed.
        """
        self.session.assign(values)

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Write states, and parameters that were changed, to a file in the safetensors format.  See `Session.checkpoint`."""
        self.session.checkpoint(path)

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Go on from a checkpoint; if it does not fit, nothing has changed.  See `Session.restore`."""
        self.session.restore(path)

    def reset(self) -> None:
        """Give states and parameters the values they had at the start."""
        self.session.reset()

    def close(self) -> None:
        """Give up the session's memory; further runs raise E0803."""
        self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
