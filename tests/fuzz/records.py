"""Fuzzed records against the handlers of queues, streams and events: only what is broken fails."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from importlib import import_module
from random import Random
from typing import Any

from fanin.api.bus_events.ending_events import endings
from fanin.isolating import TRIES
from fanin.local.request_rules.sqs import BYTES_MAX
from functions.wiring import grouping, tracking
from tests.contract import moto_clients
from tests.functions.deliveries import delivery, failed
from tests.fuzz import granting
from tests.fuzz.deployment import ACCOUNT, REGION, refusals
from tests.fuzz.mutating import STRANGE_TEXTS, Request, mutated
from tests.fuzz.tenants import Tenant

QUEUE = f"arn:aws:sqs:{REGION}:{ACCOUNT}:acks"
NOT_OF_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
GOOD = ("m-0", "m-4")
KEY_CHARACTERS = 600
"""As much of a strange text as a partition key of 2,048 bytes has, beside a tenant and a batch."""


class Context:
    """The context of an invocation that has time."""

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


@dataclass
class Judge:
    """Counts the deliveries by handler, and keeps what is wrong."""

    delivered: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def expect(self, holds: bool, name: str, found: object) -> None:
        if not holds:
            self.wrong.append(f"{name}: {found}"[:600])


def good_bodies(tenant: Tenant) -> dict[str, str]:
    """Return by handler the body of a message that it processes."""
    item, marks = tenant.marks["ITEM"], tenant.marks
    grouper, sqs = grouping.settings(), moto_clients.client("sqs")
    tenant.send("POST", "/v1/tasks", {"target": "late", "taskId": "late", "payload": 1})
    waiting = sqs.receive_message(QueueUrl=grouper.tasks_queue, VisibilityTimeout=0)["Messages"][0]["Body"]
    bundled = sqs.receive_message(QueueUrl=grouper.bundles_queue, VisibilityTimeout=0)["Messages"][0]["Body"]
    detail = {"tenant": tenant.account, "batchId": marks["ENDED"], "eventId": f"{marks['ENDED']}:FAILED"}
    return {
        "consume_acks": item,
        "fail_dead_letter_messages": item,
        "consume_tasks": json.dumps({"target": "t", "payload": {"a": 1}, "taskId": "of-a-message"}),
        "lead_tasks": waiting,
        "handle_bundle": bundled,
        "resume_task": json.dumps({"detail": detail}),
    }


def broken(body: str, chance: Random) -> str:
    """Return a text that SQS would deliver, made of *body* or of nothing."""
    kind = chance.randrange(4)
    if kind == 0:
        return whole(chance.choice(STRANGE_TEXTS))
    if kind == 1:
        at = chance.randrange(len(body))
        return body[:at] + chance.choice(("", "é", '"', "9", "{")) + body[at + 1 :]
    document = json.loads(body) if body.startswith("{") else {"itemId": body}
    content = mutated(Request("POST", "/", document), chance).content() or b""
    return whole(content.decode("utf-8", "replace"))


def whole(text: str) -> str:
    """Return *text* as SQS takes it: not empty, not too long, without characters that XML has not."""
    taken = NOT_OF_XML.sub("?", text).encode()[:BYTES_MAX]
    return taken.decode(errors="ignore") or " "


def deliver(judge: Judge, bodies: dict[str, str], chance: Random, name: str) -> None:
    """Send each handler of a queue a delivery of two good messages around three broken ones."""
    for handler, good in bodies.items():
        bad = [broken(good, chance) for _ in range(3)]
        event = delivery(good, *bad, good, prefix="m", queue=QUEUE, receives=chance.choice((1, TRIES, 100)))
        answer = _called(judge, handler, event, f"{name} {handler} {bad!r:.300}")
        if answer is not None:
            judge.expect(not set(GOOD) & set(failed(answer)), f"{name} {handler} {bad!r:.300}", answer)


def _called(judge: Judge, handler: str, event: Any, name: str) -> Any:
    granting.SENT.clear()
    judge.delivered[handler] = judge.delivered.get(handler, 0) + 1
    try:
        with redirect_stdout(io.StringIO()):
            answer = import_module(f"functions.{handler}").handler(event, Context())
        refused, more = refusals(), granting.ungranted(handler)
        judge.expect(not more, name, f"sends without a grant: {more}")
        judge.expect(not refused, name, f"sends what AWS refuses: {refused}")
        return answer
    except Exception as error:  # the whole delivery would return
        judge.expect(False, name, f"{type(error).__name__}: {error}")
        return None


def _change(keys: dict[str, Any], number: int, image: dict[str, Any]) -> dict[str, Any]:
    return {
        "eventID": f"e{number}",
        "eventName": "MODIFY",
        "eventSourceARN": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Batches/stream/2026",
        "dynamodb": {
            "Keys": keys,
            "NewImage": image,
            "SequenceNumber": str(100 + number),
            "ApproximateCreationDateTime": 1_800_000_000,
        },
    }


def changes(tenant: Tenant, chance: Random) -> list[dict[str, Any]]:
    """Return the records of three rows; the one in the middle is broken."""
    pk = f"{tenant.account}#{tenant.marks['ENDED']}"
    keys = {"pk": {"S": pk}, "sk": {"S": "batch"}}
    image = keys | {"state": {"S": "FAILED"}}
    records = [_change(keys, number, image) for number in range(3)]
    # A stream has rows that are stored: their keys have a limit.
    strange = whole(chance.choice(STRANGE_TEXTS))[:KEY_CHARACTERS]
    forged = chance.choice(
        (pk[:-1], f"{tenant.account}#{strange}", strange, f"{strange}#{tenant.marks['ENDED']}")
    )
    records[1]["dynamodb"]["Keys"] = {"pk": {"S": forged}, "sk": {"S": "batch"}}
    records[1]["dynamodb"]["NewImage"] = {**image, "state": {"S": chance.choice((strange, "FAILED", "OPEN"))}}
    return records


def stream(judge: Judge, tenant: Tenant, chance: Random, name: str) -> None:
    """Send each handler of a stream three records, of which the second is broken."""
    records = changes(tenant, chance)
    name = f"{name} {records[1]['dynamodb']['Keys']!r:.200}"
    _called(judge, "publish_endings", {"Records": records}, f"{name} publish_endings")
    details = endings(records, tracking.tracker())
    judge.expect(len(details) in (2, 3), f"{name} publish_endings", details)
    for handler in ("publish_dead_jobs", "archive_changes"):
        answer = _called(judge, handler, {"Records": records}, f"{name} {handler}")
        if answer is not None:
            judge.expect(failed(answer) in ([], ["100"], ["101"]), f"{name} {handler}", answer)


def event(judge: Judge, tenant: Tenant, chance: Random, name: str) -> None:
    """Send the handler of confirmations a forged event."""
    detail = {"tenant": tenant.account, "batchId": tenant.marks["BATCH"], "eventId": "x"}
    body = mutated(Request("POST", "/", detail), chance).body
    _called(judge, "confirm_event", {"detail": body}, f"{name} confirm_event {body!r:.300}")


def run(deliveries: int, seed: int, first: int = 0, tenant: Tenant | None = None) -> Judge:
    """Send deliveries *first* to *first* + *deliveries* of a seed to every handler, within a deployment.

    *tenant*: that of the account, which has something of each kind.
    """
    judge = Judge()
    with redirect_stdout(io.StringIO()):
        tenant = tenant or Tenant(ACCOUNT).fill()
        bodies = good_bodies(tenant)
    acts: Sequence[Callable[..., None]] = (stream, event)
    for number in range(first, first + deliveries):
        name, chance = f"--seed {seed} --first {number}", Random(f"{seed}:{number}")
        deliver(judge, bodies, chance, name)
        for act in acts:
            act(judge, tenant, chance, name)
    return judge
