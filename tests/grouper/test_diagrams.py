"""The state diagrams of docs/grouper.md have the states of the model, and their ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fanin.grouper import BundleState, TaskState

PAGE = Path(__file__).parents[2] / "docs" / "grouper.md"
DIAGRAMS = re.findall(r"```mermaid\nstateDiagram-v2\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize(("states", "diagram"), zip((TaskState, BundleState), DIAGRAMS, strict=True))
def test_a_diagram_shows_every_state_and_which_are_terminal(states, diagram):
    arrows = [tuple(arrow) for arrow in re.findall(r"^ +(\S+) --> (\S+?)(?:$|:)", diagram, re.MULTILINE)]

    assert {state for arrow in arrows for state in arrow} - {"[*]"} == set(states)
    assert {start for start, end in arrows if end == "[*]"} == {state for state in states if state.ended}
    assert not [arrow for arrow in arrows if arrow[0] in {s for s in states if s.ended} and arrow[1] != "[*]"]
