"""A delivery of messages to a consumer of each client: what is worked on, acked and returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fanin import Failed
from fanin.testing.delivering import LambdaContext
from tests.agreement.calls import Boom
from tests.agreement.worlds import World


@dataclass(frozen=True, slots=True)
class Delivery:
    """Messages, each the id of an item and its receive count, for a consumer with *fail_after*.

    *raising*: the items whose work raises, *for_good*: with a failure for good; *reported*: those that their
    function reports as failed. *in_order*: the queue is a FIFO queue, with one group.
    *results*: what their functions return is kept, if their batches keep results.
    """

    messages: tuple[tuple[str, int], ...]
    fail_after: int | None
    raising: frozenset[str]
    for_good: frozenset[str]
    reported: frozenset[str]
    in_order: bool
    results: bool
    of: None = None

    def on(self, world: World) -> list[Any]:
        """Deliver the messages; return the answer of the handler, the items worked on, and the verdicts."""
        fanin = getattr(world.client, "sync", world.client)
        worked: list[str] = []
        verdicts: list[tuple[str, Any]] = []

        def work(record: dict[str, Any]) -> Any:
            item = record["body"]
            worked.append(item)
            if item in self.reported:
                fanin.fail([item], "reported")
            if item in self.for_good:
                raise Failed(item)
            if item in self.raising:
                raise Boom(item)
            return {"of": item}

        def note(outcomes: Any) -> None:
            verdicts.extend((record["body"], verdict) for record, verdict in outcomes)

        handler = fanin.acks(fail_after=self.fail_after, on_acked=note, results=self.results)(work)
        records = [self._record(number, *message) for number, message in enumerate(self.messages)]
        return [handler({"Records": records}, LambdaContext()), worked, verdicts]

    def _record(self, number: int, item: str, receives: int) -> dict[str, Any]:
        group = {"MessageGroupId": "one"} if self.in_order else {}
        queue = "arn:aws:sqs:eu-west-1:111122223333:work" + (".fifo" if self.in_order else "")
        attributes = {"ApproximateReceiveCount": str(receives), **group}
        return {
            "messageId": f"m{number}",
            "receiptHandle": f"m{number}",
            "body": item,
            "attributes": attributes,
            "messageAttributes": {},
            "eventSource": "aws:sqs",
            "eventSourceARN": queue,
        }
