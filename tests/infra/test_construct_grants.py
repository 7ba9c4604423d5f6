"""What a function of a user sends to DynamoDB is what the construct grants it, and no more."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin import Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from fanin_cdk.grants.reaching import ACK, PUBLISH, READ
from tests.infra.sending import AT, FALLBACK, actions_sent
from tests.infra.test_grants_suffice import child_of, closed, failed_in_part, overdue

GRANTS = {"publish": PUBLISH, "ack": ACK, "read": READ}


def publish(fanin, _):
    with fanin.open(user_key="catalog-8", deadline=timedelta(hours=6)) as batch:
        batch.add(3000)
    batch.status()
    left = fanin.open(task_token="t0ken", deadline=timedelta(hours=6))
    left.add(5)
    left.cancel("enough")


def ack(fanin, prepared):
    _, items = prepared
    fanin.ack(items[:100])
    fanin.fail(items[100:], "broken")


def read(fanin, prepared):
    batch_id, _ = prepared
    fanin.get(batch_id)
    list(fanin.outstanding(batch_id))
    list(fanin.failures(batch_id))
    fanin.samples(batch_id)
    list(fanin.batches())
    list(fanin.batches(user_key="catalog-8"))


DEEDS = [
    ("publish", lambda _: None, publish),
    ("publish", overdue, lambda fanin, prepared: fanin.get(prepared[0])),
    ("ack", closed, ack),
    ("ack", child_of, lambda fanin, prepared: fanin.ack(prepared[1])),
    ("ack", overdue, ack),
    ("read", failed_in_part, read),
    ("read", overdue, read),
]


def of_a_user(tracker):
    """The client of a user's function, two minutes later."""
    later = Tracker(tracker.store, now=lambda: AT + timedelta(minutes=2), pause=lambda _: None)
    return Fanin(DirectTransport(later, "t"))


@pytest.mark.parametrize("name", GRANTS)
def test_a_function_is_granted_what_the_client_sends_and_no_more(name):
    granted = GRANTS[name]
    grants = {(action, "Batches") for action in granted.batches} | {(each, "Pages") for each in granted.pages}
    grants |= {("dynamodb:Query", f"Batches/index/{each}") for each in granted.indexes}

    sent = set().union(
        *(actions_sent(before, deed, of_a_user) for each, before, deed in DEEDS if each == name)
    )

    assert sent <= grants
    assert grants - sent <= FALLBACK
