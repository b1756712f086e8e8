"""Cutting one imported program into stages: a program of IR for each, which is compiled as the whole would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import TensorType

from ttc.compiler.source import Source
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port, entry_functions, finish_function, make_function, ports
from ttc.dialects.core.ir.leaves import LeafOp, ParamOp, StateOp
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.ir.values import ModuleOp, Operation, SSAValue, func
from ttc.stages.named import is_leaf, read_by, stages_by_name
from ttc.stages.plans import StagePlan

OF_INPUTS = ("ttc.fixed_inputs", "ttc.item_inputs", "ttc.absent_inputs")
"""Attributes of modules about inputs, which only the first stage keeps."""


def cut_imported(source: Source, plan: StagePlan | None, *, strict: bool, training: bool) -> tuple[Source, ...]:
    """Cut an imported program into stages; each takes what the one before it gives, and together they compute what it does.

    Args:
        plan: stages by names of ops and parameters, as `stages_by_name` reads them.
        strict: whether a value that flows back to an earlier stage is an error; else the op that reads it is of the later stage.
        training: whether a parameter that several stages read is trained, and so one of the first of them, passed on to the others.
    Raises: E0101 without a plan, and for one whose names the model does not have; E0503 for what cannot be cut.
    """
    if plan is None:
        hint = '{"encoder.layer.0-5": 0, "re:head.*": 1}: names of the file, which `ttc compile --to import --print-locations` shows'
        raise Error("E0101", "a model that is no module of PyTorch is cut by a plan", hint=hint)
    functions = entry_functions(source.module)
    if source.stage != "import" or len(functions) != 1:
        raise Error("E0503", "only one program of stage import can be cut into stages", hint="give the model, or its stages one by one")
    function = functions[0]
    ops = [op for op in function.body.block.ops if not is_leaf(op) and not isinstance(op, func.ReturnOp)]
    return _Cut(source, function, stages_by_name(ops, plan, strict=strict), training=training).parts()


class _Cut:
    """A program that is taken apart.

    Args:
        function: its entry.
        stages: of its ops.
    """

    def __init__(self, source: Source, function: func.FuncOp, stages: Mapping[Operation, int], *, training: bool) -> None:
        self._source, self._function, self._stages = source, function, stages
        self._count = max(stages.values(), default=0) + 1
        block = function.body.block
        self._arguments, self._results = ports(function)
        last = block.last_op
        assert last is not None
        self._returned = list(zip(self._results, last.operands, strict=True))
        self._leaves = [op for op in block.ops if isinstance(op, LeafOp)]
        self._reads: dict[SSAValue, set[int]] = {}
        for op, stage in stages.items():
            for value in read_by(op):
                self._reads.setdefault(value, set()).add(stage)
        self._homes = self._homes_of_updates()
        for port, value in self._returned:
            self._reads.setdefault(value, set()).add(self._count - 1 if port.updates is None else self._homes[port.updates])
        self._shared = [op.result for op in self._leaves if training and isinstance(op, ParamOp) and self._is_trained_by_several(op)]

    def parts(self) -> tuple[Source, ...]:
        """Return the program of each stage."""
        first = [(port, value) for port, value in zip(self._arguments, self._function.body.block.args, strict=True)]
        last = [(port, value) for port, value in self._returned if port.updates is None]
        borders = [first, *(self._crossing(number) for number in range(1, self._count)), last]
        return tuple(self._part(number, *pair) for number, pair in enumerate(zip(borders, borders[1:], strict=False)))

    def _part(self, number: int, taken: Sequence[tuple[Port, SSAValue]], given: Sequence[tuple[Port, SSAValue]]) -> Source:
        updates = [(port, value) for port, value in self._returned if port.updates is not None and self._homes[port.updates] == number]
        function = make_function("forward", [(port, value.type) for port, value in taken], self._function.location)
        block = function.body.block
        values: dict[SSAValue, SSAValue] = {value: own for (_, value), own in zip(taken, block.args, strict=True)}
        own = {value for _, value in (*given, *updates)}
        for op in self._leaves:
            if op.result not in values and (number in self._reads.get(op.result, ()) or op.result in own or self._is_unread(op, number)):
                block.add_op(op.clone(values))
        for op, stage in self._stages.items():
            if stage == number:
                block.add_op(op.clone(values))
        finish_function(function, [(port, values[value]) for port, value in (*given, *updates)])
        return self._module(number, function)

    def _module(self, number: int, function: func.FuncOp) -> Source:
        others = [op.clone() for op in self._source.module.ops if op is not self._function]
        module = ModuleOp([function, *others])
        module.attributes.update({k: v for k, v in self._source.module.attributes.items() if number == 0 or k not in OF_INPUTS})
        return Source(module, self._source.weights, "import")

    def _crossing(self, number: int) -> list[tuple[Port, SSAValue]]:
        """Return the values that stages before a number make, and that it or one after it reads."""
        made: list[SSAValue] = [*self._function.body.block.args, *self._shared, *(x for op in self._stages for x in op.results)]
        found = [x for x in made if self._begins(x) < number <= max(self._reads.get(x, ()), default=-1)]
        if not found:  # a stage takes something: what it does not need passes through it
            found = [max((x for x in made if x not in self._shared and self._begins(x) < number), key=self._begins)]
        for value in found:
            if not isinstance(value.type, TensorType):
                message = f"a value that is no tensor passes from stage {self._begins(value)} to another"
                raise Error("E0503", message, hint="let it be made and read in one stage")
        places = {value: place for place, value in enumerate(made)}
        return [(Port(f"value.{places[value]}"), value) for value in found]

    def _begins(self, value: SSAValue) -> int:
        """Return the stage that makes a value; the first that reads a parameter which is passed on."""
        owner = value.owner
        if not isinstance(owner, Operation):
            return 0  # an argument
        return self._stages[owner] if owner in self._stages else min(self._reads[value])

    def _homes_of_updates(self) -> dict[str, int]:
        """Return the stage of each variable that a result updates.  Raises E0503 where another reads it."""
        found = {port.updates: self._begins(value) for port, value in self._returned if port.updates is not None}
        for op in self._leaves:
            name = op.sym.data if isinstance(op, ParamOp | StateOp) else None
            if name in found and not self._reads.get(op.result, set()) <= {found[name]}:
                raise Error("E0503", f"variable '{name}' is changed in one stage, and read in another", where=name)
        return found

    def _is_unread(self, op: LeafOp, number: int) -> bool:
        """Return whether an op declares a variable that nobody reads, and that is of a stage."""
        return isinstance(op, StateOp) and not self._reads.get(op.result) and self._homes.get(op.sym.data, 0) == number

    def _is_trained_by_several(self, op: LeafOp) -> bool:
        return len(self._reads.get(op.result, ())) > 1 and spec_of(op.result.type).dtype.kind not in "iub"
