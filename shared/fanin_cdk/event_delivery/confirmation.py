"""The rule by which the bus confirms that an ending event has arrived on it."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from constructs import Construct

from fanin.names import EVENT_SOURCE
from fanin_cdk.constructs.queues import dead_letter_queue
from fanin_cdk.event_delivery.ending import DETAIL_TYPES
from fanin_cdk.nag import accept

# The sweeper resends an event that is not confirmed after 15 minutes, so an older confirmation is of no use.
WORTH_CONFIRMING = Duration.hours(1)


class Confirmation(Construct):
    """Invokes *confirm* for every ending event of the bus; undelivered ones go to the dead-letter queue."""

    def __init__(self, scope: Construct, id_: str, bus: events.EventBus, confirm: lambda_.Function) -> None:
        super().__init__(scope, id_)
        self.dead_letter_queue = dead_letter_queue(self, "DeadLetters")
        accept(self.dead_letter_queue, "This is the rule's dead-letter queue", "AwsSolutions-SQS3")
        confirm.configure_async_invoke(
            retry_attempts=2,
            max_event_age=WORTH_CONFIRMING,
            on_failure=destinations.SqsDestination(self.dead_letter_queue),
        )
        self.rule = events.Rule(
            self,
            "EveryEnding",
            event_bus=bus,
            event_pattern=events.EventPattern(source=[EVENT_SOURCE], detail_type=list(DETAIL_TYPES)),
            targets=[
                targets.LambdaFunction(
                    confirm,
                    dead_letter_queue=self.dead_letter_queue,
                    retry_attempts=10,
                    max_event_age=WORTH_CONFIRMING,
                )
            ],
        )
