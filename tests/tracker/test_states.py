"""The state diagram of docs/tracker.md has the transitions that the rules admit, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from fanin.tracker import State
from fanin.tracker.rules.lifecycle import Transition
from tests.tracker.calls import START

PAGE = Path(__file__).parents[2] / "docs" / "tracker.md"


def drawn() -> set[tuple[str, str]]:
    diagram = PAGE.read_text().split("```mermaid")[1].split("```")[0]
    return set(re.findall(r"^ +(\w+) --> (\w+)", diagram, re.MULTILINE))


def admitted() -> set[tuple[str, str]]:
    ends = [Transition(to, START, START, START) for to in State if to is not State.OPEN]
    early = Transition(State.FAILED, START, START, START, failures=1)
    return {(source.value, change.to.value) for change in (*ends, early) for source in change.sources}


def test_the_diagram_has_every_transition_and_no_other():
    assert drawn() == admitted()
