"""The list of equivalent mutants."""

from __future__ import annotations

from tests.mutation.__main__ import equivalents, generated
from tests.mutation.rooms import ROOMS


def test_each_equivalent_mutant_exists_and_has_a_reason():
    ids = {mutant.id for room in ROOMS for mutant in generated(room)}

    assert [name for name in equivalents() if name not in ids] == []
    assert [name for name, reason in equivalents().items() if len(reason) < 20] == []
