"""Views, copies and pieces on the host."""

from __future__ import annotations

from math import prod

from ttc.exporters.ttnn.code import call, flat, items, literal, numbers
from ttc.exporters.ttnn.host import HOST_RULES, require_arithmetic
from ttc.exporters.ttnn.op_text import Elsewhere, OpText, ints

MODES = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}


@HOST_RULES.rule("reshape")
def reshape(step: OpText) -> None:
    """Write a reshape to known sizes."""
    step.torch(call(f"{step.host(0)}.reshape", numbers(step.shape)))


@HOST_RULES.rule("transpose")
def transpose(step: OpText) -> None:
    """Write a permutation of the dimensions."""
    step.torch(call(f"{step.host(0)}.permute", numbers(ints(step, "perm"))))


@HOST_RULES.rule("expand")
def expand(step: OpText) -> None:
    """Write a broadcast to known sizes."""
    step.torch(call(f"{step.host(0)}.expand", numbers(step.shape)))


@HOST_RULES.rule("repeat")
def repeat(step: OpText) -> None:
    """Write whole copies side by side."""
    step.torch(call(f"{step.host(0)}.repeat", numbers(ints(step, "repeats"))))


@HOST_RULES.rule("shape")
def shape(step: OpText) -> None:
    """Write the sizes, which are known."""
    step.torch(call("torch.tensor", numbers(step.operand(0).shape, "[]"), dtype="torch.int64"))


@HOST_RULES.rule("slice")
def slice_(step: OpText) -> None:
    """Write a regular part; torch has no steps backward, so these are a flip of a part."""
    parts, flips = [], []
    for axis, (start, size, jump) in enumerate(zip(*(ints(step, name) for name in ("starts", "sizes", "steps")), strict=True)):
        first = start if jump > 0 else start + (size - 1) * jump
        parts.append(f"{first}:{first + (size - 1) * abs(jump) + 1 if size else first}" + (f":{abs(jump)}" if abs(jump) > 1 else ""))
        flips += [axis] if jump < 0 else []
    if flips:
        require_arithmetic(step)
    text = f"{step.host(0)}[{', '.join(parts)}]" if parts else step.host(0)
    step.torch(f"{text}.flip({', '.join(map(str, flips))})" if flips else text)


@HOST_RULES.rule("split")
def split(step: OpText) -> None:
    """Write a part for each piece."""
    axis, start = step.axis(), 0
    for index, size in enumerate(ints(step, "sizes")):
        step.torch(call(f"{step.host(0)}.narrow", str(axis), str(start), str(size)), index)
        start += size


@HOST_RULES.rule("concat")
def concat(step: OpText) -> None:
    """Write the operands one after the other."""
    step.torch(call("torch.cat", items([step.emitter.host(value) for value in step.present], "[]"), dim=str(step.axis())))


@HOST_RULES.rule("pad")
def pad(step: OpText) -> None:
    """Write margins; torch counts dimensions from the last."""
    mode = str(step.work.attrs["mode"])
    before, after = ints(step, "before"), ints(step, "after")
    margins = [size for pair in reversed(list(zip(before, after, strict=True))) for size in pair]
    if mode == "constant":
        step.torch(call("torch.nn.functional.pad", step.host(0), numbers(margins), value=literal(step.work.attrs["value"])))
        return
    while margins[-2:] == [0, 0]:
        margins = margins[:-2]
    count, shape = len(margins) // 2, step.operand(0).shape
    if not 1 <= count <= 3 or not step.operand(0).is_float:
        raise Elsewhere(f"torch has no margins of mode {mode} in so many dimensions, or for integers")
    joined = numbers((prod(shape[: len(shape) - count]), *shape[len(shape) - count :]))  # torch asks for dimensions before those
    source = f"{step.host(0)}.reshape({flat(joined)})"
    padded = step.emitter.let("padded", call("torch.nn.functional.pad", source, numbers(margins), mode=literal(MODES[mode])))
    step.torch(call(f"{padded}.reshape", numbers(step.shape)))
