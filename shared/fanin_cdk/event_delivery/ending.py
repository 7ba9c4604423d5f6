"""The ending event: a batch's stream record becomes one event on the bus, and the bus confirms it.

    stream of Batches -> publish_endings -> bus; records that keep failing -> dead-letter queue
    bus -> rule -> confirm_event, which records the arrival in the batches table

The filters pass two kinds of records. One is the transition that ends a batch. The other is the insertion of
a notice: the sweeper writes one for an event that was not confirmed, and ``notify_batch`` writes one for a
caller that requests the event again. A stream keeps its records for 24 hours; a notice is a new record, so an
event can be sent as long as its batch is kept.

* An event source mapping of Lambda reads the stream, because these reads are free. Those of an EventBridge
  Pipe are billed: four shards, each read four times a second, are 41 million GetRecords a month, $7.79 of an
  idle stack at $0.20 a million beyond the first 2.5 million.
* A delivery that fails is retried, in halves, for an hour; meanwhile its shard stands still. Then its
  position in the stream (not the records) goes to the dead-letter queue. The sweeper sends each ending event
  again that is not confirmed after 15 minutes.
* Delivery is at least once. The transition happens once, by a conditional write, and ``eventId`` is stable:
  a consumer that must act once compares it.
* A rule fails in two ways: EventBridge cannot deliver the event to Lambda, or the function fails afterwards.
  Each has bounded retries and the same dead-letter queue.
"""

from __future__ import annotations

from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from constructs import Construct

from fanin.names import BATCH_CANCELLED, BATCH_COMPLETED, BATCH_EXPIRED, BATCH_FAILED, BATCH_TIMED_OUT
from fanin_cdk.constructs.functions import Functions
from fanin_cdk.constructs.queues import dead_letter_queue
from fanin_cdk.constructs.tables import stream_arn
from fanin_cdk.constructs.triggers import Reader
from fanin_cdk.grants.handlers import PUBLISH_ENDINGS, PUBLISH_ENDINGS_WITH_RESULTS
from fanin_cdk.nag import accept
from fanin_cdk.stages import unique_name

DETAIL_TYPES = (BATCH_COMPLETED, BATCH_FAILED, BATCH_CANCELLED, BATCH_TIMED_OUT, BATCH_EXPIRED)
# Nested JSON, not dotted keys: a pattern takes a key literally.
ENDING: dict[str, Any] = {
    "eventName": ["MODIFY"],
    "dynamodb": {
        "NewImage": {
            "sk": {"S": ["batch"]},
            "state": {"S": ["COMPLETE", "FAILED", "CANCELLED", "TIMED_OUT", "EXPIRED"]},
        },
        # Without it every later update of an ended batch would send its event again.
        "OldImage": {"state": {"S": ["OPEN", "CLOSED"]}},
    },
}
NOTICE: dict[str, Any] = {
    "eventName": ["INSERT"],
    "dynamodb": {"NewImage": {"sk": {"S": [{"prefix": "notice#"}]}}},
}
RECORDS_AT_ONCE = 10
# As long as a record fails, it stops the other events of its shard.
TRIED_FOR = Duration.hours(1)


class EndingEvents(Construct):
    """The bus, and the function that puts the events of ended *batches* on it."""

    def __init__(self, scope: Construct, id_: str, functions: Functions, batches: dynamodb.ITable) -> None:
        super().__init__(scope, id_)
        self.bus = events.EventBus(self, "Bus", event_bus_name=unique_name(self))
        self.dead_letter_queue = dead_letter_queue(self, "DeadLetters")
        accept(self.dead_letter_queue, "This is the stream's dead-letter queue", "AwsSolutions-SQS3")
        handler = PUBLISH_ENDINGS_WITH_RESULTS if functions.results else PUBLISH_ENDINGS
        self.reader = Reader(functions.add_publisher(handler, self.bus), TRIED_FOR)
        self.reader.follow(
            "Endings",
            stream_arn(batches),
            self.dead_letter_queue,
            at_once=RECORDS_AT_ONCE,
            patterns=(ENDING, NOTICE),
        )
