from __future__ import annotations

from collections.abc import Sequence

import pytest

from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.grouper import NewTask
from functions.demo.bundling import Bundling, task_of
from functions.demo.catalog import Package
from functions.demo.index import Entry
from tests.item_ids import item_named

ENTRIES = [
    Entry(item_named(n), Package(f"p{n}", "1", "games", "Ada", 880, ()), sent_at=0, processed_at=0)
    for n in range(4)
]


def test_the_tasks_of_a_delivery_are_registered_at_once_and_those_that_may_not_be_stored_are_named() -> None:
    asked = []

    def every_other(tasks: Sequence[NewTask]) -> list[object]:
        asked.append(list(tasks))
        return [StoreUnavailable("busy") if n % 2 else task for n, task in enumerate(tasks)]

    assert Bundling(every_other, frozenset({"games"})).hand_over(ENTRIES) == [True, False, True, False]
    assert asked == [[task_of(entry) for entry in ENTRIES]]


def test_a_task_that_is_refused_fails_the_delivery() -> None:
    bundling = Bundling(
        lambda tasks: [InvalidRequest("too long", field="payload") for _ in tasks], frozenset({"games"})
    )

    with pytest.raises(InvalidRequest):
        bundling.hand_over(ENTRIES)
