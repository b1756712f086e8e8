"""Greedy descent: whole kinds of ops first, rung by rung in the order of what they save, then parts of the kinds that refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from ttc.dialects.core.records import record
from ttc.tune.cost import Cost
from ttc.tune.knobs import State
from ttc.tune.trial import Deviation, Trials

Show = Callable[[str], None]


@record(frozen=False)
class Search:
    """One search; deterministic, as it is bounded by evaluations.

    Args:
        trials: evaluates the model.
        cost: of rules.
        bound: correlation to keep.
        effort: evaluations at most.
        show: told what goes on.
        history: accepted states, the cheapest last.
    """

    trials: Trials
    cost: Cost
    bound: float
    effort: int
    show: Show
    history: list[State] = field(default_factory=list)

    @property
    def state(self) -> State:
        return self.history[-1]

    @property
    def is_spent(self) -> bool:
        return self.trials.count >= self.effort

    def run(self, start: State) -> Deviation:
        """Descend from a state; returns the deviation of the start, which is in `history` alone if it breaks the bound."""
        self.history.append(start)
        first = self.trials.error(start.rules())
        if first.keeps(self.bound):
            stuck = self.by_kind()
            while stuck and not self.is_spent:
                stuck = self.by_parts(stuck)
        return first

    def by_kind(self) -> list[int]:
        """Turn whole knobs while the bound holds; returns the numbers of those that refused before their last rung."""
        waiting = set(range(len(self.state.knobs)))
        stuck: list[int] = []
        while waiting and not self.is_spent:
            number, saving = self.most_saving(waiting)
            if saving < 0:
                break
            if not self.accept(number, self.members(number)):
                waiting.discard(number)
                stuck.append(number)
        return stuck

    def by_parts(self, stuck: list[int]) -> list[int]:
        """Turn one more rung for as many members of each knob as the bound allows; returns the knobs that moved."""
        moved: list[int] = []
        waiting = set(stuck)
        while waiting and not self.is_spent:
            number, saving = self.most_saving(waiting)
            waiting.discard(number)
            before = self.state
            if saving >= 0:
                self.halve(number, self.members(number))
            if self.state is not before:
                moved.append(number)
        return moved

    def halve(self, number: int, members: list[int]) -> None:
        """Turn the halves of a group that was refused, and the halves of those that are refused."""
        if len(members) < 2:
            return
        middle = len(members) // 2
        for part in (members[:middle], members[middle:]):
            if not self.is_spent and not self.accept(number, part):
                self.halve(number, part)

    def members(self, number: int) -> list[int]:
        """Return members of a knob that have not reached their last rung."""
        knob, rungs = self.state.knobs[number], self.state.rungs[number]
        return [i for i, member in enumerate(knob.members) if rungs[i] < member.cap]

    def most_saving(self, numbers: set[int]) -> tuple[int, float]:
        """Return the knob whose next rung saves most, and how much; of equals the first."""
        here = self.cost(self.state.rules())
        savings = {number: here - self.cost(self.state.raised(number, self.members(number)).rules()) for number in sorted(numbers)}
        best = max(savings, key=lambda number: savings[number])
        return best, savings[best]

    def accept(self, number: int, members: list[int]) -> bool:
        """Try a rung more for some members of a knob, and stay there if the bound holds."""
        knob = self.state.knobs[number]
        state = self.state.raised(number, members)
        if state.rungs == self.state.rungs:
            return False
        self.show(f"evaluation {self.trials.count + 1} of at most {self.effort}: {knob.key} of {len(members)} {knob.kind}")
        if not self.trials.error(state.rules()).keeps(self.bound):
            return False
        self.history.append(state)
        return True
