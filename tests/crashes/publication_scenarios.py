"""Scenarios of publications: an object that is published in parts, by as many messages."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial

from fanin.s3_publications.model import Order
from fanin.tracker import OpenBatch
from functions.wiring import s3_publications, tracking
from tests.crashes.account import Account
from tests.crashes.group_scenarios import delivered, taken
from tests.crashes.naming import LAKE, TENANT, WORK, queue_arn
from tests.crashes.naming import PUBLICATIONS as QUEUE
from tests.crashes.scenario import Delivery, Duty, Messages, Request, Scenario
from tests.crashes.tracker_scenarios import TIMES

SOURCE = f"s3://{LAKE}/in/rows.jsonl"
BODY = {"source": SOURCE, "queue": queue_arn(WORK), "userKey": "catalog", "rate": 1}
"""At one message a second a part has 10 rows."""
CONTINUED = (*(Duty("continue_publication", delivery=partial(taken, QUEUE)) for _ in range(4)),)
"""Messages that another invocation handles."""


def _with_rows(account: Account, rows: int = 25) -> None:
    account.outside.queues.add(WORK)
    account.outside.buckets.objects[f"{LAKE}/in/rows.jsonl"] = b"".join(b"%d\n" % n for n in range(rows))


def _start(account: Account) -> Delivery:
    _with_rows(account)
    return Request("POST", "/v1/publications", BODY)


def _started(account: Account, rows: int = 25) -> str:
    _with_rows(account, rows)
    order = Order(TENANT, SOURCE, queue_arn(WORK), rate=1.0)
    return s3_publications.publications().start(order, OpenBatch(user_key="catalog"), "key")[0].batch_id


def _get(account: Account) -> Delivery:
    return Request("GET", f"/v1/publications/{_started(account)}")


def _continue(account: Account) -> Delivery:
    _started(account)
    return delivered(QUEUE, account)


def _created(account: Account) -> Delivery:
    _with_rows(account)
    detail = {"bucket": {"name": LAKE}, "object": {"key": "in/rows.jsonl", "size": 65, "etag": "e"}}
    event = {"source": "aws.s3", "detail-type": "Object Created", "detail": detail}
    return Messages((json.dumps(event),), queue_arn(QUEUE))


def _cancelled(account: Account) -> Delivery:
    tracking.tracker().cancel(TENANT, _started(account))
    return delivered(QUEUE, account)


def _broken(account: Account) -> Delivery:
    _started(account)
    account.outside.buckets.objects[f"{LAKE}/in/rows.jsonl"] = b"{" * 50
    return delivered(QUEUE, account)


def start_again(account: Account) -> Delivery:
    """Repeat a start, after the retention of its batch."""
    _started(account)
    account.clock.pass_by(timedelta(days=8))
    return Request("POST", "/v1/publications", BODY)


def get_expired(account: Account) -> Delivery:
    """Get a publication whose batch was open for its retention."""
    batch = _started(account)
    account.clock.pass_by(timedelta(days=8))
    return Request("GET", f"/v1/publications/{batch}")


PUBLICATIONS = [
    Scenario("start_publication", "an object", _start, CONTINUED, TIMES),
    Scenario("get_publication", "one that was started", _get),
    Scenario("continue_publication", "three parts", _continue, CONTINUED, TIMES),
    Scenario("continue_publication", "an object that was created", _created, CONTINUED, TIMES),
    Scenario("continue_publication", "one that was cancelled", _cancelled, CONTINUED, TIMES),
    Scenario("continue_publication", "a row that is not JSON", _broken, CONTINUED, TIMES),
]
