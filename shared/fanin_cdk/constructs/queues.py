"""An SQS queue with its dead-letter queue, and its event source mapping."""

from __future__ import annotations

import math
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

from fanin_cdk.settings.concurrency import shares
from fanin_cdk.settings.config import Config

# SQS returns up to ten messages a request; for a larger batch Lambda requires a batching window.
BATCH_SIZE = 100
BATCH_WINDOW = Duration.seconds(1)
# How long a message survives that no invocation processes: an account at its quota, a store that is down.
SURVIVES = Duration.hours(6)
# The maximum of SQS. A dead-letter queue counts it from the time the message was first sent.
RETENTION = Duration.days(14)


class SourceQueue(Construct):
    """A standard queue, encrypted, TLS only, with long polling and a dead-letter queue.

    *shared*: a dead-letter queue that it shares with others. Default: one of its own.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        visibility: Duration,
        max_receives: int = 5,
        retention: Duration | None = None,
        shared: sqs.Queue | None = None,
    ) -> None:
        super().__init__(scope, id_)
        self.dead_letter_queue = shared or dead_letter_queue(self, "DeadLetters")
        self.queue = sqs.Queue(
            self,
            "Queue",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            visibility_timeout=visibility,
            retention_period=retention,
            receive_message_wait_time=Duration.seconds(20),
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead_letter_queue, max_receive_count=max_receives
            ),
        )

    @classmethod
    def of_consumer(
        cls, scope: Construct, id_: str, timeout_seconds: int, shared: sqs.Queue | None = None
    ) -> SourceQueue:
        """Return the queue of a function with *timeout_seconds*; messages survive six hours of throttles.

        Its visibility timeout is six times the function's, as Lambda recommends.
        """
        visibility = Duration.seconds(6 * timeout_seconds)
        receives = receives_that_survive(visibility)
        return cls(
            *(scope, id_),
            visibility=visibility,
            max_receives=receives,
            retention=RETENTION,
            shared=shared,
        )

    def feed(self, consumer: lambda_.Function, config: Config, at_once: int = BATCH_SIZE) -> None:
        """Add the queue as event source of *consumer*, with partial batch responses."""
        feed(self.queue, consumer, config, at_once)

    def let_isolate(self, consumer: lambda_.Function) -> None:
        """Let *consumer* send invalid messages to the dead-letter queue itself (``fanin.isolating``)."""
        consumer.add_environment("FANIN_OWN_DEAD_LETTER_QUEUE", self.dead_letter_queue.queue_url)
        arns = [self.dead_letter_queue.queue_arn]
        consumer.add_to_role_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=arns))


def feed(queue: sqs.IQueue, consumer: lambda_.Function, config: Config, at_once: int = BATCH_SIZE) -> None:
    """Add *queue* as event source of *consumer*, with partial batch responses.

    *at_once*: the batch size; above ten the mapping has a batching window.
    """
    concurrency = shares(config).consumer
    consumer.add_event_source(
        sources.SqsEventSource(queue, max_concurrency=concurrency, **feeding(queue, at_once))
    )


def feeding(queue: sqs.IQueue, at_once: int = BATCH_SIZE) -> dict[str, Any]:
    """Return how a function gets the messages of *queue*: *at_once*, with partial batch responses."""
    # Lambda allows no batching window for a FIFO queue.
    few = min(at_once, 10) if queue.fifo else at_once
    window = None if few <= 10 else BATCH_WINDOW
    return {"batch_size": few, "max_batching_window": window, "report_batch_item_failures": True}


def queue_mappings(scope: IConstruct) -> list[lambda_.CfnEventSourceMapping]:
    """Return the event source mappings of queues in *scope*, in the order in which they were added."""
    found = (each for each in scope.node.find_all() if isinstance(each, lambda_.CfnEventSourceMapping))
    return [each for each in found if each.scaling_config is not None]


def receives_that_survive(visibility: Duration) -> int:
    """Return the ``maxReceiveCount`` with which a message survives six hours without one processed receive.

    Lambda retries a throttled batch until the visibility timeout of its messages has passed, and receives
    them again then: a receive for each visibility timeout, and the one that is processed.
    """
    return math.ceil(SURVIVES.to_seconds() / visibility.to_seconds()) + 1


def dead_letter_queue(scope: Construct, id_: str) -> sqs.Queue:
    """Return a queue with the maximum retention of SQS, 14 days."""
    return sqs.Queue(
        scope,
        id_,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=RETENTION,
    )
