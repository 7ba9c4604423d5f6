"""A completion is reported by the process that decided it, once, and by no other."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.tracker import State
from fanin.tracker.announcing import is_decided
from fanin.tracker.rules.lifecycle import transition
from tests.tracker.calls import START
from tests.tracker.stored import BATCH, TICK

COMPLETE = replace(BATCH, state=State.COMPLETE, completed_at=START, completed_by="me")


@pytest.mark.parametrize(
    ("since", "is_own"),
    [
        (-TICK, False),
        (0 * TICK, True),
        (999 * TICK, True),
        (1000 * TICK, False),  # the next millisecond, which a later request has
        (timedelta(hours=1), False),
    ],
    ids=str,
)
def test_a_completion_is_decided_within_the_millisecond_that_is_stored(since, is_own):
    change = transition(BATCH, State.COMPLETE, START + since, caller="me")

    assert is_decided(COMPLETE, change) is is_own


@pytest.mark.parametrize(
    ("stored", "to", "caller"),
    [
        pytest.param(COMPLETE, State.COMPLETE, "other", id="of another caller"),
        pytest.param(COMPLETE, State.FAILED, "me", id="to another state"),
        pytest.param(BATCH, State.COMPLETE, "me", id="refused, of a batch that is live"),
        pytest.param(BATCH, State.FAILED, "me", id="refused, and to another state"),
    ],
)
def test_any_other_transition_decides_no_completion(stored, to, caller):
    assert is_decided(stored, transition(BATCH, to, START, caller=caller)) is False
