"""The tool: its operators on small sources, what it plants, and the list of equivalent mutants."""

from __future__ import annotations

from tests.mutation.__main__ import equivalents, generated
from tests.mutation.results import score
from tests.mutation.rooms import ROOMS, ROOT


def test_a_mutant_counts_as_equivalent_only_while_it_survives():
    rows = [
        {"id": "a", "status": "killed"},
        {"id": "b", "status": "survived"},
        {"id": "c", "status": "survived"},
        {"id": "d", "status": "unplantable"},
    ]

    found = score("room", {"file"}, rows, {"a", "b"})

    assert (found.mutants, found.killed, found.equivalent, found.survivors) == (3, 1, 1, 1)
    assert found.percent == "50.0 %"


def test_each_equivalent_mutant_exists_and_has_a_reason():
    ids = {mutant.id for room in ROOMS.values() for mutant in generated(room)}

    assert [name for name in equivalents() if name not in ids] == []
    assert [name for name, reason in equivalents().items() if len(reason) < 20] == []


def test_the_tests_of_each_room_exist():
    named = {name for room in ROOMS.values() for name in (*room.tests, *room.beyond)}

    assert {name for name in named if not (ROOT / name).exists()} == set()
