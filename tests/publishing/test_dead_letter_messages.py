"""Which dead-letter messages are left, and which reads the rest need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin import State
from fanin.client.items import Items
from fanin.publishing.dead_letter_messages import DeadLetterMessage, Left, Standing, reason_to_leave, windows
from fanin.tracker.reads.window import WINDOW_MAX

BATCH = "00000000-0000-4000-8000-000000000001"
GROUPS = ["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"]
ITEM = Items.between(BATCH, GROUPS[0], 5, 5)


@pytest.mark.parametrize(
    ("items", "standing", "reason"),
    [
        (None, None, Left.NO_ITEM),
        (ITEM, None, Left.UNKNOWN),
        (ITEM, Standing(None), Left.UNKNOWN),
        (ITEM, Standing(State.OPEN, is_known=False), Left.UNKNOWN),
        (ITEM, Standing(State.OPEN), Left.ESTIMATED),
        (ITEM, Standing(State.CLOSED, []), Left.DONE),
        (ITEM, Standing(State.CLOSED, [Items.between(BATCH, GROUPS[0], 6, 9)]), Left.DONE),
        (ITEM, Standing(State.CLOSED, [Items.between(BATCH, GROUPS[0], 0, 5)]), None),
        *[
            (ITEM, Standing(state, [ITEM]), Left.ENDED)
            for state in State
            if state not in {State.OPEN, State.CLOSED}
        ],
    ],
)
def test_the_reason_to_leave(items, standing, reason):
    assert reason_to_leave(items, None, standing) is reason
    if items is not None:
        assert reason_to_leave(items, "another", standing) is Left.OTHER_BATCH


RANGES = st.lists(
    st.tuples(st.sampled_from(GROUPS), st.integers(0, 30_000), st.integers(1, WINDOW_MAX)), max_size=12
)


@given(RANGES)
def test_every_range_lies_in_one_window_and_no_window_is_too_long(facts):
    ranges = [Items.between(BATCH, group, first, first + size - 1) for group, first, size in facts]
    found = windows(ranges)

    assert len(found) <= len(set(ranges))
    assert all(1 <= len(window) <= WINDOW_MAX for window in found)
    assert all(any(each[0] in window and each[-1] in window for window in found) for each in ranges)


def test_the_size_of_a_message_counts_its_attributes():
    attributes = {"n": {"DataType": "String", "StringValue": "käy"}}
    message = DeadLetterMessage({"MessageId": "m", "Body": "ä", "MessageAttributes": attributes})

    assert message.size == 2 + len("n") + len("String") + 4
