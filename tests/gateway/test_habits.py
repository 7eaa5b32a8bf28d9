"""What is learnt about the length of answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.habits import MOST_TOOLS, Habits


def test_an_unknown_tool_is_unknown_and_one_answer_makes_it_known() -> None:
    habits = Habits()
    assert habits.usually_long("fs", "read") is None
    habits.observe("fs", "read", is_long=True)
    assert habits.usually_long("fs", "read") is True
    assert habits.usually_long("fs", "list") is None


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_the_last_eight_answers_decide(answers: list[bool]) -> None:
    habits = Habits()
    for is_long in answers:
        habits.observe("fs", "read", is_long=is_long)
    last = answers[-8:]
    assert habits.usually_long("fs", "read") is (sum(last) * 2 >= len(last))


def test_the_number_of_tools_is_bounded() -> None:
    habits = Habits()
    for number in range(MOST_TOOLS + 1):
        habits.observe("fs", f"t{number}", is_long=True)
    assert habits.usually_long("fs", "t0") is None
    assert habits.usually_long("fs", f"t{MOST_TOOLS}") is True
