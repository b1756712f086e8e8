"""Constants of plans: tensors of the program in place, values that are written out in it, and what is made of both before all runs."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.interpret import run_unrounded, run_work
from ttc.runtime.engines.native.arena import Arena
from ttc.runtime.engines.native.code import Code
from ttc.runtime.engines.native.copies import constant
from ttc.runtime.engines.native.instance import Instance
from ttc.runtime.engines.native.memory import aligned_bytes
from ttc.runtime.engines.native.nodes import Node
from ttc.runtime.engines.native.pool import Pool
from ttc.runtime.engines.native.prepared import ConstantJobs
from ttc.runtime.engines.native.python_step import stored
from ttc.runtime.engines.native.region import result_storage
from ttc.runtime.engines.native.storage import Storage, storage_of_dtype
from ttc.runtime.engines.native.tensors import Buffer, Place, View, dense
from ttc.runtime.evaluate import MALFORMED
from ttc.runtime.tensors import Constants

LITERAL = "ttc.constant"


def constant_view(constants: Constants, key: str) -> View | None:
    """A tensor of the program where it lies, or in the compute dtype of its format; None if only the reference engine can hold it."""
    array = np.ascontiguousarray(constants.narrow(key))
    narrow = array.dtype.name == "bfloat16"
    storage: Storage | None = "bf16" if narrow else storage_of_dtype(array.dtype)
    if storage is None:
        array = np.ascontiguousarray(constants[key])
        storage = storage_of_dtype(array.dtype)
    if storage is None:
        return None
    array = array.view(np.uint16) if narrow else array
    return dense(Buffer(array.nbytes, Place.CONSTANT, key=key, array=array), storage, array.shape)


def literal_view(node: Node) -> View | None:
    """The values that a node writes out, in place before any run; None for another node, or what only the reference engine can hold."""
    work = node.work
    if work.op != LITERAL or not isinstance(work.attrs.get("values"), tuple) or len(work.results) != 1 or node.region is not None:
        return None
    storage = result_storage(work.results[0], node.unrounded)
    if storage is None or not work.results[0].elements:
        return None
    try:
        (value,) = (run_unrounded if node.unrounded else run_work)(work, [])
    except (Error, *MALFORMED):
        return None
    return constant(stored(value, storage), storage)


def compute_constants(packing: ConstantJobs, code: Code, pool: Pool, constants: Constants) -> None:
    """Run jobs on constants.  They are given back after their last reader, but for small tables; what runs read of them comes again."""
    if not packing.reads:
        return
    last = {buffer: number for number, buffers in enumerate(packing.reads) for buffer in buffers}
    made = {buffer for buffers in packing.writes for buffer in buffers}
    instance = Instance(packing.template, Arena({}, 0), code.addresses, pool.threads)
    for number, (reads, writes) in enumerate(zip(packing.reads, packing.writes, strict=True)):
        for buffer in writes:
            if buffer.array is None:
                buffer.array = aligned_bytes(buffer.size_bytes)
                instance.bind(buffer, buffer.array.ctypes.data)
        run = instance.segment(number, number + 1)
        pool.run(run.ctypes.data)
        for buffer in dict.fromkeys(reads):
            if last[buffer] == number and (buffer.key is not None or buffer in made):
                if buffer not in packing.kept:
                    buffer.array = None
                if buffer.key is not None:
                    constants.release(buffer.key)
