"""The state diagrams of docs/grouper_reference.md show the transitions that the referee allows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fanin.grouper import BundleState, TaskState
from tests.simulation_grouper.transitions import BUNDLE_TRANSITIONS, TASK_TRANSITIONS

PAGE = Path(__file__).parents[2] / "docs" / "grouper_reference.md"
DIAGRAMS = re.findall(r"```mermaid\nstateDiagram-v2\n(.*?)```", PAGE.read_text(), re.DOTALL)
ALLOWED = [
    pytest.param(TaskState, TASK_TRANSITIONS, {"CREATED"}, id="task"),
    pytest.param(BundleState, BUNDLE_TRANSITIONS, {"OPEN", "READY"}, id="bundle"),
]


@pytest.mark.parametrize(("states", "transitions", "first"), ALLOWED)
def test_a_diagram_shows_every_transition_and_which_states_are_first_and_terminal(states, transitions, first):
    task_diagram, bundle_diagram = DIAGRAMS
    diagram = task_diagram if states is TaskState else bundle_diagram
    arrows = set(re.findall(r"^ +(\S+) --> (\w+|\[\*\])", diagram, re.MULTILINE))

    assert {arrow for arrow in arrows if "[*]" not in arrow} == transitions
    assert {end for start, end in arrows if start == "[*]"} == first
    assert {start for start, end in arrows if end == "[*]"} == {state for state in states if state.ended}
