"""The meaning of Buda ops: each as tile ops with the reference's semantics, and back.

    work_of(op, inputs, fused, arch) -> Function        form_of(op) -> OpForm

A module a family of ops, both ways side by side: `TYPES` maps the types of the form to functions that build, `WORKS` maps tile ops to
functions that read.  The tables below are made of them.

What a work is made of.  Values are [t, rows, columns] in elements of whole tiles, intermediates Float32.  Of each input, in this order:

    tile.slice         `unpad`: trailing tiles dropped
    tile.repeat        `broadcast`        tile.hslice + reshape   `hslice`      reshape   `vslice`, `vstack`
    tile.transpose     `transpose`        reshape + tile.hstack   `hstack`      tile.tile_broadcast   `tile_broadcast`
    tile.pad           `pad`: tiles of one value behind
    tile.adjust        Bfp2, Bfp4 as stored, Float32 as Tf32 on Wormhole
    tile.retile        tiles smaller than 32 x 32 in frames of zeros, unless the op is elementwise on tiles of one size

then the op, then `tile.relu`, `tile.adjust` (results in Int8, Int32, Bfp2, Bfp4) and `tile.retile`:

    matmul             tile.matmul (biases by tile.tile_broadcast, requant and dequant by tile.rescale), sparse ones tile.encoded_matmul
    binary ops         tile.binary; the quantization family tile.rescale
    nop, datacopy      tile.map of fn identity (ethernet_datacopy and tilizer too)
    sfpu ops           tile.sfpu        reduce     tile.reduce, then tile.pad to whole tiles of zeros
    splice             tile.splice      depthwise  tile.tile_depthwise      embedding  tile.lookup      topk  tile.topk
    fused_op           the works of its sub-ops one after another

Biases broadcast their TMs within tiles, as the reference has it: a bias that is broadcast along r holds its first row in every row.  A
gradient op's work is what it adds to its queue: adding is the caller's.

Vector modes leave zeros beside what they compute, as the reference writes to a new tensor; where a value of a fused op takes its own place
again they leave what was there.  Small tiles are computed whole.

`form_of` reads these works exactly, and the works that the compiler makes with kernels `buda`: `tile.map`, `tile.eltwise`, `tile.cast`,
`tile.concat`, `tile.sparse_matmul`, `tile.depthwise`, `tile.embedding`, with views and literals.  It raises E0503 for what Buda lacks.
Attributes that no work says (kernel_broadcast, approximate_mode, ...) are the caller's to keep, and so are the names and places of a fused
op's sub-ops: elementwise works get a schedule of our own.  A sparse product that was a selection says the steps of its blocks itself.
"""

from __future__ import annotations

from ttc.dialects.netlist.buda.work.build import work_of
from ttc.dialects.netlist.buda.work.building import result_type
from ttc.dialects.netlist.buda.work.read import form_of
from ttc.dialects.netlist.buda.work.shared import ImpliedConstant, OpForm

__all__ = ["ImpliedConstant", "OpForm", "form_of", "result_type", "work_of"]
