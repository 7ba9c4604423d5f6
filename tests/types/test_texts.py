"""The texts of the types are those that the calls take and the answers have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import pytest

from fanin import types
from fanin.client.argument_checks.checking import LISTED
from fanin.grouper.rules.model import BundleState, TaskState
from fanin.queue import JobState, OnBusy
from fanin.tracker import Mode
from fanin.tracker.batch_changes.reopening import ReopenItems
from fanin.tracker.rules.options import ONCE, OnFailures, ParentFailsOn

TEXTS: dict[str, Iterable[str]] = {
    "ModeText": Mode,
    "StateText": LISTED,
    "ParentFailsOnText": ParentFailsOn,
    "OnFailuresText": OnFailures,
    "NotifyAtText": ONCE,
    "ReopenItemsText": ReopenItems,
    "TaskStateText": TaskState,
    "BundleStateText": BundleState,
    "OnBusyText": OnBusy,
    "JobStateText": {*get_args(types.ListedStateText), *(state.shown for state in JobState)},
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_type_has_the_texts_of_its_values(name: str) -> None:
    assert set(get_args(getattr(types, name))) == set(map(str, TEXTS[name]))
