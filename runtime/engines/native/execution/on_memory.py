"""Runs of a plan on a caller's memory, by addresses: jobs read inputs and write results where the caller has them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import memmove
from functools import partial
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from ttc.runtime.engines.native.codegen.code import Code, Signature
from ttc.runtime.engines.native.execution.instance import Instance
from ttc.runtime.engines.native.graph.tensors import PlanBuffer
from ttc.runtime.engines.native.kernels.addresses import PlaceAddresses

PLACE = PlaceAddresses()


class Addresses:
    """Puts buffers of an instance at addresses, all of them by one call.

    Args:
        buffers: that the jobs of the instance have the addresses of, in order; None for an address that no job has.
        code: compiled `PLACE`.
    """

    def __init__(self, instance: Instance, buffers: Sequence[PlanBuffer | None], code: Code) -> None:
        words, patches = instance.patched(buffers)
        sizes = [len(patch.positions) for patch in patches]
        numbers = np.repeat(np.arange(len(buffers)), sizes)
        positions, offsets = (np.concatenate([_NONE, *(getattr(patch, name) for patch in patches)]) for name in ("positions", "offsets"))
        given = np.zeros(len(buffers), np.int64)
        self._lists = (words, given, positions, numbers, offsets)
        self._list_addresses = np.array([array.ctypes.data for array in self._lists], np.int64)
        self._fill = partial(Struct(f"={len(buffers)}q").pack_into, given.data, 0)
        arguments = ctypes.c_void_p(self._list_addresses.ctypes.data), ctypes.c_int64(0), ctypes.c_int64(sum(sizes)), ctypes.c_void_p(None)
        self._place = partial(Signature(code.addresses[PLACE.key]), *arguments)

    def place(self, addresses: Sequence[int]) -> None:
        """Put each buffer at its address."""
        self._fill(*addresses)
        self._place()


_NONE = np.zeros(0, np.int64)


class OnMemory:
    """Puts inputs and results of one lease where a caller has them.  Those that have no buffer of their own are copied.

    Args:
        inputs: in order, the buffer of each, or its own memory, into which it is copied; None for one that nothing reads.
        results: in order, the buffer of each, or the memory from which it is copied.
        home: where buffers lie in runs that are not on a caller's memory, for those that have memory of their own.
    """

    def __init__(
        self,
        instance: Instance,
        inputs: Sequence[PlanBuffer | NDArray | None],
        results: Sequence[PlanBuffer | NDArray],
        home: Mapping[PlanBuffer, NDArray],
        code: Code,
    ) -> None:
        self.counts = len(inputs), len(results)
        buffers = [port if isinstance(port, PlanBuffer) else None for port in (*inputs, *results)]
        self._addresses = Addresses(instance, buffers, code)
        self._home = [0 if buffer is None or buffer not in home else home[buffer].ctypes.data for buffer in buffers]
        self._away = False
        self._bring = [(i, port.ctypes.data, port.nbytes) for i, port in enumerate(inputs) if isinstance(port, np.ndarray)]
        self._take = [(i, port.ctypes.data, port.nbytes) for i, port in enumerate(results) if isinstance(port, np.ndarray)]

    def place(self, inputs: Sequence[int], results: Sequence[int]) -> None:
        """Have the next run read inputs from these addresses, and write results to those."""
        self._away = True
        self._addresses.place((*inputs, *results))
        for i, own, size in self._bring:
            memmove(own, inputs[i], size)

    def take(self, results: Sequence[int]) -> None:
        """Copy results that the run has left elsewhere to their addresses."""
        for i, own, size in self._take:
            memmove(results[i], own, size)

    def leave(self) -> None:
        """Have the next run use the instance's own memory."""
        if self._away:
            self._addresses.place(self._home)
            self._away = False
