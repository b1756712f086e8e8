"""The class of all errors of the project, and the table of their codes.

A code is stable: tools and tests may match on it.  Ranges: E01 options and files, E02 models (importers), E03 IR text and structure,
E04 meaning of nn and tile ops, E05 passes and targets, E06 netlists, E07 archives, E08 inputs of a run, E09 the program itself.
"""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ttc.dialects.core.records import record
from ttc.dialects.core.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

CODES: dict[str, str] = {
    "E0101": "an option has an unknown name or an unusable value",
    "E0102": "a file or folder is missing, unreadable or not of the kind asked for",
    "E0103": "a file cannot be written",
    "E0104": "the machine or an installed package lacks what was asked for",
    "E0105": "a name of another project has no meaning here",
    "E0201": "the model file is not a readable model",
    "E0202": "the model uses ops or opsets that have no importer",
    "E0203": "the model's graph is not well formed",
    "E0204": "external data of the model is unsafe or unreadable",
    "E0205": "the model has dynamic dimensions that were not fixed",
    "E0206": "an option names an input or dimension that the model does not have",
    "E0207": "a model written by hand cannot be traced",
    "E0301": "IR text does not parse",
    "E0302": "IR is not well formed: types, attributes or structure",
    "E0303": "a value is used where its definition does not dominate it",
    "E0304": "IR refers to a weight that the weight store does not hold",
    "E0305": "the IR is of another stage than the one asked for",
    "E0401": "operands of an op do not fit each other",
    "E0402": "an attribute of an op is out of its range",
    "E0403": "an op does not take this data type",
    "E0412": "an axis is outside the rank",
    "E0502": "an op needs more of a core's memory than the target has",
    "E0503": "the target cannot hold or compute this",
    "E0504": "what a rule asks of the placement cannot hold",
    "E0505": "a pass changed the numbers by more than it may",
    "E0506": "a gradient is asked for that does not exist",
    "E0507": "a gradient rule gives other numbers than the op's own differences",
    "E0601": "a netlist names a queue, graph, op or program that does not exist, or twice",
    "E0602": "shapes or blocks of a netlist op or queue do not fit",
    "E0603": "a core is off the grid or used twice in an epoch",
    "E0604": "an op's buffers exceed L1",
    "E0605": "a DRAM range is misaligned, outside its bank, or overlaps another",
    "E0606": "an edge between epochs does not go through a queue",
    "E0607": "a format or numeric setting is not legal on the target",
    "E0608": "a program instruction is malformed",
    "E0609": "a netlist is malformed: fields, types or sizes",
    "E0610": "an op reads more queues than a core can",
    "E0611": "a Buda netlist is not YAML, or larger or deeper than any netlist",
    "E0612": "a section of a Buda netlist is missing, of the wrong kind or in the wrong place",
    "E0613": "a field of a Buda netlist does not exist, or is written twice",
    "E0614": "a required field of a Buda netlist is missing",
    "E0615": "a field of a Buda netlist has a value of the wrong kind or outside those allowed",
    "E0616": "a Buda op has another number of inputs, or of what is given for each of them, than it takes",
    "E0617": "a Buda queue has another number of addresses than its grid has buffers",
    "E0618": "DRAM ports of a Buda queue do not exist or are not one a buffer",
    "E0619": "a Buda queue is an alias of one that does not fit",
    "E0620": "a Buda queue has no room for the inputs of a run, or its readers differ in their number",
    "E0621": "entries of a Buda queue are of another shape than what its op makes",
    "E0622": "inputs of a Buda op are of other shapes than it needs",
    "E0623": "a tile manipulation is malformed, not legal where it stands, or does not divide its input",
    "E0624": "a ublock of a Buda op does not fit into the destination register",
    "E0625": "an edge of a Buda netlist changes its data format",
    "E0626": "formats of a Buda op that computes with integers do not go together",
    "E0627": "an attribute does not exist, or not for ops of this type",
    "E0628": "an attribute of a Buda op is missing, has an unusable value, or is at odds with another",
    "E0629": "a Buda matmul breaks a rule of matmuls",
    "E0630": "a kernel broadcast does not go with the tile manipulations or blocks of its op",
    "E0631": "a Buda splice breaks a rule of splices",
    "E0632": "an output of a Buda op cannot be untilized like this",
    "E0633": "a Buda op cannot add up gradients like this",
    "E0634": "small tiles are used where they cannot be",
    "E0635": "a Buda tilizer, embedding, depthwise product or topk breaks a rule of its own",
    "E0636": "a Buda op has more streams than its cores",
    "E0640": "a Buda fused op is malformed",
    "E0641": "sub-ops of a Buda fused op pass the destination register wrongly",
    "E0642": "a product inside a Buda fused op stands or writes where it cannot",
    "E0643": "a tile manipulation inside a Buda fused op is not possible",
    "E0644": "an intermediate of a Buda fused op is read, made or left over at the wrong time",
    "E0645": "blocks inside a Buda fused op do not fit each other",
    "E0651": "a variable of a Buda program is not declared, declared twice, or cannot be changed",
    "E0652": "loops of a Buda program do not nest or never run",
    "E0653": "settings of a queue in an execute are missing, superfluous or at odds with the queue",
    "E0654": "a graph is never executed, or does not go with those of its epoch",
    "E0655": "parameters of a Buda program are not its first instruction",
    "E0656": "a Buda program allocates, frees or uses a queue at the wrong time",
    "E0701": "the file is not a ttc archive, or is damaged",
    "E0702": "the archive's format version or target is not supported",
    "E0703": "the archive holds members that are unsafe or do not belong to it",
    "E0704": "a member's bytes do not match its recorded hash or size",
    "E0801": "an input of the run is missing, unknown or of the wrong shape or type",
    "E0802": "a data-dependent index or value is out of range",
    "E0803": "the run was asked for a program or engine that does not exist",
    "E0804": "a queue is read while empty, written while full, or used at a pointer or time at which it cannot be",
    "E0805": "a run takes more steps, memory or arithmetic than it may",
    "E0806": "an input of the run has another value than the program was compiled for",
    "E0807": "a checkpoint is damaged, or of another model",
    "E0808": "training met a number that is not finite",
    "E0809": "weights were changed on the host and by training",
    "E0810": "the cache of a generator has no room for what it was asked for",
    "E0811": "a process of a pipeline has ended",
    "E0812": "a stage of a pipeline gives other numbers than its reference",
    "E0813": "a module of PyTorch failed in a stage of a pipeline",
    "E0814": "work of PyTorch cannot be captured as a graph, or not at this time",
    "E0815": "a function of Python in a model failed",
    "E0901": "an internal error: a bug in ttc",
}


MAX_LINE = 2000
"""Characters of a line of an error as text: names come from files, and can be of any length."""


@record(frozen=False)
class Error(Exception):
    """A failure that the user can act on.

    Args:
        code: a key of CODES.
        message: what is wrong, with the values that show it.
        where: the source location: file, node, op, queue, pass.
        hint: what would help.
        excerpt: a few lines of IR or text around the place.
        context: what was being done: `pass lower-to-tile (stage tile)`.
    """

    code: str
    message: str
    where: str | None = None
    hint: str | None = None
    excerpt: str | None = None
    context: str | None = None

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        lines = [f"error[{self.code}]: {place}{self.message}"]
        if self.excerpt:
            lines += [f"  {line}" for line in self.excerpt.split("\n")]
        if self.context:
            lines.append(f"  in {self.context}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(_cut(shown(line)) for line in lines)

    def at(self, where: str) -> Error:
        """Name the place, unless it is named already; returns self for `raise`."""
        if self.where is None:
            self.where = where
        return self


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}... ({len(line) - MAX_LINE} more characters)"


class TtcWarning(UserWarning):
    """Tells of something that is not as it should be, and was passed over."""


def warn(message: str) -> None:
    """Warn of something, once a process: the command line prints `warning: message`."""
    warnings.warn(_cut(shown(message)), TtcWarning, stacklevel=1)


def nearest(word: str, words: Iterable[str]) -> str | None:
    """A hint naming the known word closest to a misspelt one, or listing all of them if none is close and they are few."""
    known = sorted(set(words))
    close = get_close_matches(word, known, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"known: {', '.join(known)}" if known and len(known) <= 24 else None


_SURELY = 0.75
"""Likeness from which on a name that may well be another's is taken for a misspelt one of ours."""


def passed_over(names: Iterable[str], known: Iterable[str], prefix: str = "") -> str:
    """Return names that are probably misspelt, each with the known name that it resembles.  prefix: what all known names begin with."""
    words = [word.removeprefix(prefix) for word in known]
    close = {name: get_close_matches(name.removeprefix(prefix), words, n=1, cutoff=_SURELY) for name in names}
    return ", ".join(f"{name} (did you mean '{prefix}{near[0]}'?)" if near else name for name, near in sorted(close.items()))
