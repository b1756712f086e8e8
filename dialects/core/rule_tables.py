"""Tables of rules: what a pass, an engine or an importer does with an op, found by the op's name.

A rule is registered where it is defined, by its full name in quotes:

    KERNELS: RuleTable[Kernel] = RuleTable("kernel", __name__)     # in the __init__.py of a package

    @KERNELS.rule("softmax")                                        # in a module of that package
    def softmax(x, *, axis): ...

Nothing is found by the name of a function, and nothing is missing silently: an op that has no rule on purpose is registered with the
reason, any other is an error of ours (E0901).  A test compares the names in each table with the ops that it is for.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Generic, TypeVar

from ttc.dialects.core.errors import Error

RuleT = TypeVar("RuleT")
_FunctionT = TypeVar("_FunctionT")


class RuleTable(Generic[RuleT]):
    """The rules of one kind by the name of what they are for, mostly the mnemonic of an op.

    Args:
        kind: what a rule is, in errors: `native lowering`.
        package: the package whose modules register rules; they are imported when a rule is first asked for.  None if the rules stand in
            the module of the table.
        prefix: what the names of these modules begin with; others are not imported.
        index: the names that each module of the package registers, separated by blanks: asking for a rule then imports its module alone.
            A rule in the module of its own name need not be listed.
        holds: name of a mapping in each module, whose entries are registered when the module is imported.
    """

    def __init__(
        self, kind: str, package: str | None = None, index: Mapping[str, str] | None = None, *, prefix: str = "", holds: str | None = None
    ) -> None:
        self.kind = kind
        self._package, self._prefix, self._holds = package, prefix, holds
        self._index = None if index is None else {name: module for module, names in index.items() for name in names.split()}
        self._rules: dict[str, RuleT] = {}
        self._refusals: dict[str, str] = {}
        self._is_loaded = package is None

    def rule(self, *names: str) -> Callable[[_FunctionT], _FunctionT]:
        """Register the decorated function, which stays as it is, as the rule of these names.  Raises E0901 for a name that has one."""

        def register(rule: _FunctionT) -> _FunctionT:
            for name in names:
                self.add(name, rule)  # pyright: ignore[reportArgumentType]: functions are checked where a rule is called
            return rule

        return register

    def add(self, name: str, rule: RuleT) -> None:
        """Register a rule that is no function of its own.  Raises E0901 for a name that has one."""
        if self._index is not None and self.module_of(name) is None:
            raise Error("E0901", f"the {self.kind} of '{name}' is missing in the index of {self._package}")
        self._require_new(name)
        self._rules[name] = rule

    def add_all(self, rules: Mapping[str, RuleT]) -> None:
        """Register a table of rules that are no functions of their own.  Raises E0901 for a name that has one."""
        for name, rule in rules.items():
            self.add(name, rule)

    def refuse(self, reason: str, *names: str) -> None:
        """Register names that have no rule on purpose, and why: `its result is an integer`.  Raises E0901 for a name that has one."""
        for name in names:
            self._require_new(name)
            self._refusals[name] = reason

    def get(self, name: str) -> RuleT | None:
        """The rule of a name that may come from a file; None if there is none.  Raises E0901 if the index is wrong about it."""
        if name not in self._rules:
            self._load(name)
        return self._rules.get(name)

    def of(self, name: str) -> RuleT | None:
        """Return the rule of an op of ours; None if it is registered as having none.  Raises E0901 if it is not registered at all."""
        rule = self.get(name)
        return self[name] if rule is None and name not in self._refusals else rule

    def __getitem__(self, name: str) -> RuleT:
        """Return the rule of a name that has one.  Raises E0901 if it has none."""
        rule = self.get(name)
        if rule is None:
            raise Error("E0901", f"there is no {self.kind} of '{name}'")
        return rule

    def refusal(self, name: str) -> str | None:
        """Why a name has no rule; None if it has one or is not registered."""
        self._load(name)
        return self._refusals.get(name)

    def rules(self) -> dict[str, RuleT]:
        """Return all rules by name.  What is changed in it holds from then on."""
        self._load_all()
        return self._rules

    def refusals(self) -> dict[str, str]:
        """Return the reasons of the names that have no rule on purpose."""
        self._load_all()
        return self._refusals

    def mismatches(self, names: Iterable[str]) -> list[str]:
        """Compare the table with all the names that it is for: a line for each that is missing, and for each that does not exist."""
        known, wanted = self.rules().keys() | self._refusals.keys(), set(names)
        missing = [f"there is no {self.kind} of '{name}'" for name in sorted(wanted - known)]
        return missing + [f"there is a {self.kind} of '{name}', which does not exist" for name in sorted(known - wanted)]

    def _require_new(self, name: str) -> None:
        if name in self._rules or name in self._refusals:
            raise Error("E0901", f"the {self.kind} of '{name}' is registered twice")

    def module_of(self, name: str) -> str | None:
        """Return the module that registers a name: as the index says, else the one that is called like it."""
        listed = None if self._index is None else self._index.get(name)
        if listed is not None or self._package is None or not name.isidentifier():
            return listed
        package = importlib.import_module(self._package)
        return name if PathFinder.find_spec(f"{self._package}.{name}", package.__path__) is not None else None

    def _load(self, name: str) -> None:
        """Import the module that registers a name, all modules if there is no index."""
        if self._index is None:
            self._load_all()
        elif (module := self.module_of(name)) is not None:
            importlib.import_module(f"{self._package}.{module}")
            if name not in self._rules and name in self._index:
                raise Error("E0901", f"{self._package}.{module} has no {self.kind} of '{name}', as its index says")

    def _load_all(self) -> None:
        if self._package is None or self._is_loaded:
            return
        found = [info.name for info in pkgutil.iter_modules(importlib.import_module(self._package).__path__)]
        for module in found:
            if module.startswith(self._prefix):
                imported = importlib.import_module(f"{self._package}.{module}")
                if self._holds is not None:
                    self.add_all(self._held(imported))
        self._is_loaded = True

    def _held(self, module: ModuleType) -> Mapping[str, RuleT]:
        found = vars(module).get(str(self._holds))
        if found is None:
            raise Error("E0901", f"{module.__name__} has no {self._holds}, which names its rules")
        return found
