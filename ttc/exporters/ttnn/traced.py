"""A module's `forward` cut into what the host sends, what the device computes, and what comes back, so that a trace records the middle."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.exporters.ttnn.code import INDENT, WIDTH, items, statement

SEND, COMPUTE, FETCH = "send", "compute", "fetch"
GIVEN, FOUND = "given", "found"
"""Names of what `send` gives and `compute` takes, and of what that gives and `fetch` takes."""
DOWNLOADS = ("to_host", "to_torch")
TEXT = '''

def {prefix}send(device, inputs, weights=PREPARED):
    """Send to the device what `{prefix}compute` takes; device {host}: make it on the host."""
{send}

def {prefix}compute(device, given, weights=PREPARED):
    """Run the {what} on the device."""
{compute}

def {prefix}fetch(device, found, weights=PREPARED):
    """Bring the outputs to the host: tensors of torch by name."""
{fetch}

def {name}(device, inputs, weights=PREPARED):
    """Run the {what}.  inputs, and what is returned: tensors of torch by name."""
    given = {prefix}send(device, inputs, weights)
    found = {prefix}compute(device, given, weights)
    return {prefix}fetch(device, found, weights)


def {prefix}capture(device, inputs, weights=PREPARED):
    """Record what the device does for inputs of these shapes, for `{prefix}replay`.

    The device is opened with a trace_region_size that holds the trace.
    """
    given = {prefix}send(device, inputs, weights)
    {prefix}compute(device, given, weights)  # kernels are compiled before
    trace = ttnn.begin_trace_capture(device, cq_id=0)
    found = {prefix}compute(device, given, weights)
    ttnn.end_trace_capture(device, trace, cq_id=0)
    return trace, given, found


def {prefix}replay(device, captured, inputs, weights=PREPARED):
    """Run what `{prefix}capture` gave for other inputs; returns what `{name}` does."""
    trace, given, found = captured
    sent = {prefix}send({host}, inputs, weights)
    for tensor, place in zip(sent, given):
        ttnn.copy_host_to_device_tensor(tensor, place)
    ttnn.execute_trace(device, trace, cq_id=0, blocking=True)
    return {prefix}fetch(device, found, weights)
'''


@record
class Piece:
    """A statement of the body: its lines, with the comment before it; names that it reads, makes and drops; what it does."""

    lines: tuple[str, ...]
    reads: frozenset[str]
    makes: frozenset[str]
    part: str


def traced_text(body: Sequence[str], precise: str, name: str, what: str, host: str = "None") -> str:
    """Return the functions of a module whose device's work a trace can record.

    Args:
        body: lines of `forward`.
        name: of the function that does all of it; what stands in front of the others' names, unless it is `forward`.
        what: it runs, in a word or two.
        host: what stands for the device where tensors are made on the host.
        precise: the statement that makes `precise`, which some calls read; empty if none does.
    Raises: E0503 if the host computes with what the device gave, for the device or beside it.
    """
    pieces = pieces_of(body)
    made = {part: {name for piece in pieces if piece.part == part for name in piece.makes} for part in (SEND, COMPUTE, FETCH)}
    read = {part: {name for piece in pieces if piece.part == part for name in piece.reads} for part in (SEND, COMPUTE, FETCH)}
    if read[FETCH] & (made[SEND] | {"inputs"}):
        raise Error("E0503", "a trace cannot record the program: an output needs what the host computes", hint="export without --trace")
    given, found = ([name for name in _in_order(pieces, made[a]) if name in read[b]] for a, b in ((SEND, COMPUTE), (COMPUTE, FETCH)))
    parts = {part: [line for piece in pieces if piece.part == part for line in piece.lines] for part in made}
    parts[SEND] += ["", *statement("return ", items(given))]
    head = [*_unpacked(given, GIVEN), *precise.splitlines()]
    parts[COMPUTE] = [*head, *parts[COMPUTE], "", *statement("return ", items(found))]
    parts[FETCH] = [*_unpacked(found, FOUND), *parts[FETCH]]
    prefix = "" if name == "forward" else f"{name}_"
    texts = {part: "\n".join(_stripped(lines)) + "\n" for part, lines in parts.items()}
    return TEXT.format(prefix=prefix, name=name, what=what, host=host, **texts)


def pieces_of(body: Sequence[str]) -> list[Piece]:
    """Return the statements of a body, each with its part.  Raises E0503 where the device needs what came back from it."""
    tree = ast.parse("def forward():\n" + "\n".join(body)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    pieces: list[Piece] = []
    parts: dict[str, str] = {}
    start = 0
    for node in tree.body:
        end = (node.end_lineno or 0) - 1
        names = [(inner.id, type(inner.ctx)) for inner in ast.walk(node) if isinstance(inner, ast.Name)]
        reads = frozenset(name for name, kind in names if kind is ast.Load)
        makes = frozenset(name for name, kind in names if kind is ast.Store)
        part = COMPUTE if isinstance(node, ast.Delete) else _part(node, {parts[name] for name in reads if name in parts})
        parts.update(dict.fromkeys(makes, part))
        pieces.append(Piece(tuple(body[start:end]), reads, makes, part))
        start = end
    return pieces


def _part(node: ast.stmt, before: Collection[str]) -> str:
    """Return the part of a statement that reads what those parts made."""
    calls = {_called(inner.func) for inner in ast.walk(node) if isinstance(inner, ast.Call)}
    downloads = isinstance(node, ast.Return) or any(name.rpartition(".")[2] in DOWNLOADS for name in calls)
    if downloads:
        return FETCH
    on_device = any(name.startswith("ttnn.") for name in calls)
    if FETCH in before and (on_device or "to_device" in calls):
        raise Error(
            "E0503", "a trace cannot record the program: the host computes between ops of the device", hint="export without --trace"
        )
    if on_device or COMPUTE in before:
        return COMPUTE
    return FETCH if FETCH in before else SEND


def _called(function: ast.expr) -> str:
    """Return the dotted name of a function; empty for one that is computed."""
    return ast.unparse(function) if isinstance(function, ast.Name | ast.Attribute) else ""


def _in_order(pieces: Sequence[Piece], names: set[str]) -> list[str]:
    """Return names in the order in which they are made."""
    return [name for piece in pieces for name in sorted(piece.makes) if name in names]


def _unpacked(names: list[str], source: str) -> list[str]:
    """Return the statement that takes a tuple apart."""
    if not names:
        return []
    line = f"{INDENT}{', '.join(names)} = {source}" if len(names) > 1 else f"{INDENT}({names[0]},) = {source}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{INDENT}(", *(f"{INDENT * 2}{name}," for name in names), f"{INDENT}) = {source}"]


def _stripped(lines: Sequence[str]) -> list[str]:
    """Return lines without empty ones at their ends."""
    kept = list(lines)
    while kept and not kept[0]:
        kept.pop(0)
    while kept and not kept[-1]:
        kept.pop()
    return kept
