"""The events of dead jobs; deployed only if the setting ``events`` has ``JobDead``.

    stream of Jobs -> publish_dead_jobs -> bus
    records that fail for too long -> dead-letter queue

A job dies in one transaction, which stores the row of the dead job. The insertion of that row is in the
table's stream for 24 hours, so no event is lost when a worker crashes, and workers need no grant on the bus.
A delivery that fails is retried, in halves, for 12 hours.
"""

from __future__ import annotations

from typing import Any

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from constructs import Construct

from fanin_cdk.constructs.functions import Functions
from fanin_cdk.constructs.queues import dead_letter_queue
from fanin_cdk.constructs.tables import stream_arn
from fanin_cdk.constructs.triggers import Reader
from fanin_cdk.grants.job_handlers import PUBLISH_DEAD_JOBS
from fanin_cdk.nag import accept

DIED: dict[str, Any] = {
    "eventName": ["INSERT"],
    "dynamodb": {"Keys": {"pk": {"S": [{"prefix": "D#"}]}}},
}
RECORDS_AT_ONCE = 100


class DeadJobEvents(Construct):
    """Publishes an event for each dead job of *jobs*."""

    def __init__(
        self, scope: Construct, id_: str, functions: Functions, jobs: dynamodb.ITable, bus: events.IEventBus
    ) -> None:
        super().__init__(scope, id_)
        self.dead_letter_queue = dead_letter_queue(self, "DeadLetters")
        accept(self.dead_letter_queue, "This is the stream's dead-letter queue", "AwsSolutions-SQS3")
        self.reader = Reader(functions.add_publisher(PUBLISH_DEAD_JOBS, bus))
        self.reader.follow(
            "Died", stream_arn(jobs), self.dead_letter_queue, at_once=RECORDS_AT_ONCE, patterns=(DIED,)
        )
