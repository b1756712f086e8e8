"""The device's own arithmetic: registers, multiplier, destination register and packer, on top of the reference engine.

`registers` holds what the hardware does to numbers; `core` runs the work of one op with it; the other modules hold the rules of ops that
use the matrix engine, `exact_<mnemonic>(core, operands..., *, attrs...)`, by the stems of the dialect's files.
"""
