"""What a function of a user sends to DynamoDB is what the construct grants it, and no more."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin import Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Outcome
from fanin_cdk.grants.reaching import ACK, PUBLISH, READ
from functions.wiring import tracking
from tests.crashes.account import CLIENTS, opened
from tests.crashes.naming import TENANT
from tests.crashes.tracker_scenarios import acked, added, child, closed
from tests.crashes.tracker_scenarios import opened as opened_batch
from tests.infra.requests_sent import Recorder
from tests.infra.sending import FALLBACK

GRANTS = {"publish": PUBLISH, "ack": ACK, "read": READ}


def closed_batch():
    batch_id = opened_batch()
    items = added(batch_id)
    closed(batch_id)
    return batch_id, items


def failed_in_part():
    batch_id, items = closed_batch()
    acked(items[:3], Outcome.FAILURE)
    acked(items[:1])
    return batch_id, items


def overdue():
    return child(deadline=timedelta(minutes=1))


def publish(fanin, _):
    with fanin.open(user_key="catalog-8", deadline=timedelta(hours=6)) as batch:
        batch.add(10)
    batch.status()
    waited_for = fanin.open(task_token="t0ken", deadline=timedelta(hours=6))
    waited_for.add(5)
    waited_for.cancel("enough", children=True)


def get(fanin, prepared):
    fanin.status(prepared[0])


def ack(fanin, prepared):
    _, items = prepared
    fanin.ack(items[:6])
    fanin.fail(items[6:], "broken")


def read(fanin, prepared):
    batch_id, _ = prepared
    get(fanin, prepared)
    list(fanin.outstanding(batch_id))
    list(fanin.failures(batch_id))
    fanin.samples(batch_id)
    list(fanin.batches())
    list(fanin.batches(user_key="catalog-8"))


DEEDS = {
    "publish": [(lambda: None, publish), (overdue, get)],
    "ack": [(closed_batch, ack), (child, ack), (overdue, ack)],
    "read": [(failed_in_part, read), (overdue, read)],
}


@pytest.fixture(scope="module")
def account():
    with opened() as account:
        yield account


def sent_by(name, account):
    """Return what the client of a user's function sends, two minutes after others wrote to the tables."""
    recorder = Recorder()
    recorder.listen(CLIENTS)
    empty = account.save()
    for before, deed in DEEDS[name]:
        prepared = before()
        account.clock.pass_by(timedelta(minutes=2))
        account.restart()
        with recorder.of(name):
            deed(Fanin(DirectTransport(tracking.tracker(), TENANT)), prepared)
        account.restore(empty)
    return {(action, table) for action, table in recorder.sent[name] if action.startswith("dynamodb:")}


@pytest.mark.parametrize("name", GRANTS)
def test_a_function_is_granted_what_the_client_sends_and_no_more(name, account):
    tables = {"TablesBatches": GRANTS[name].batches, "TablesPages": GRANTS[name].pages}
    grants = {(action, table) for table, actions in tables.items() for action in actions}
    grants |= {("dynamodb:Query", f"TablesBatches/index/{each}") for each in GRANTS[name].indexes}

    sent = sent_by(name, account)

    assert sent <= grants
    assert grants - sent <= {(action, f"Tables{table}") for action, table in FALLBACK}
