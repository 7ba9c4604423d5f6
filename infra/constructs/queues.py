"""A queue and where its hopeless messages go."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import Config

# SQS hands a poller ten messages a request; above ten a batch, Lambda wants a window to gather them in.
BATCH_SIZE = 100
BATCH_WINDOW = Duration.seconds(1)


class SourceQueue(Construct):
    """A standard queue, encrypted, TLS only, with long polling and a dead-letter queue."""

    def __init__(self, scope: Construct, id_: str, *, visibility: Duration, max_receives: int = 5) -> None:
        super().__init__(scope, id_)
        self.dead_letters = dead_letter_queue(self, "DeadLetters")
        self.queue = sqs.Queue(
            self,
            "Queue",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            visibility_timeout=visibility,
            receive_message_wait_time=Duration.seconds(20),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead_letters, max_receive_count=max_receives),
        )

    def feed(self, consumer: lambda_.Function, config: Config, at_once: int = BATCH_SIZE) -> None:
        """Let *consumer* eat from the queue; it names a batch's failed messages, and only those return."""
        feed(self.queue, consumer, config, at_once)


def feed(queue: sqs.IQueue, consumer: lambda_.Function, config: Config, at_once: int = BATCH_SIZE) -> None:
    """Let *consumer* eat from *queue*; it names a batch's failed messages, and only those return.

    *at_once*: messages of a batch; more than ten are gathered for a moment.
    """
    # Lambda gathers no messages of a queue that keeps an order.
    few = min(at_once, 10) if queue.fifo else at_once
    consumer.add_event_source(
        sources.SqsEventSource(
            queue,
            batch_size=few,
            max_batching_window=None if few <= 10 else BATCH_WINDOW,
            report_batch_item_failures=True,
            max_concurrency=config.consumer_concurrency,
        )
    )


def dead_letter_queue(scope: Construct, id_: str) -> sqs.Queue:
    """A queue that keeps what failed for as long as SQS can: 14 days."""
    return sqs.Queue(
        scope,
        id_,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=Duration.days(14),
    )
