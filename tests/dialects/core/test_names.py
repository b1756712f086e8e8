"""Names that nothing has yet."""

from __future__ import annotations

from ttc.dialects.core.names import FreeNames


class Counted(set[str]):
    """A set that counts how often it is asked."""

    asked = 0

    def __contains__(self, name: object) -> bool:
        self.asked += 1
        return super().__contains__(name)


def test_names_are_stems_or_stems_with_the_next_number() -> None:
    names, taken = FreeNames("_"), {"a", "a_2"}
    found = []
    for stem in ("a", "b", "a", "b"):
        found.append(names.of(stem, taken))
        taken.add(found[-1])
    assert found == ["a_1", "b", "a_3", "b_1"]


def test_many_names_of_one_stem_take_few_questions() -> None:
    names, taken = FreeNames("."), Counted()
    for _ in range(1000):
        taken.add(names.of("a", taken))
    assert len(taken) == 1000
    assert taken.asked < 4000
