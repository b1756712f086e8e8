"""Constants of plans: tensors of the program in place, values that are written out in it, and what is made of both before all runs."""

from __future__ import annotations

from ttc.runtime.engines.native.codegen.code import Code
from ttc.runtime.engines.native.execution.instance import Instance
from ttc.runtime.engines.native.execution.pool import Pool
from ttc.runtime.engines.native.planning.arena import Arena
from ttc.runtime.engines.native.planning.prepared import ConstantJobs
from ttc.runtime.pages import aligned_bytes
from ttc.runtime.tensors import Constants


def compute_constants(packing: ConstantJobs, code: Code, pool: Pool, constants: Constants) -> None:
    """Run jobs on constants; a constant is given back after its last reader, unless runs read it or it is a small table."""
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
