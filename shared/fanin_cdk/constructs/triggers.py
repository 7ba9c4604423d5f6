"""What starts a function that no route calls: the records of a stream, or a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

READ_STREAM = (
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
)
# A stream keeps its records for 24 hours, so 12 hours are left to read them again.
HALF_A_DAY = Duration.hours(12)
EVERY = Duration.minutes(1)


@dataclass(frozen=True, slots=True)
class Reader:
    """A function that reads streams. *tried_for*: how long a delivery that fails is retried, in halves."""

    function: lambda_.Function
    tried_for: Duration = HALF_A_DAY

    @property
    def lag(self) -> Duration:
        """The age of a record that raises an alarm: 11 twelfths of the time are left."""
        return Duration.minutes(self.tried_for.to_minutes() / 12)

    def follow(
        self,
        id_: str,
        stream: str,
        dead_letter_queue: sqs.Queue,
        *,
        at_once: int,
        window: Duration | None = None,
        patterns: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Let the function read the *stream* from its beginning, at most *at_once* records in a delivery.

        *patterns*: of the records that are delivered; one of them suffices. Default: all records. The
        position of a delivery that is given up goes to the dead-letter queue.
        """
        read = iam.PolicyStatement(actions=list(READ_STREAM), resources=[stream])
        self.function.add_to_role_policy(read)
        self.function.add_event_source_mapping(
            id_,
            event_source_arn=stream,
            starting_position=lambda_.StartingPosition.TRIM_HORIZON,
            batch_size=at_once,
            max_batching_window=window,
            bisect_batch_on_error=True,
            report_batch_item_failures=True,
            max_record_age=self.tried_for,
            on_failure=sources.SqsDlq(dead_letter_queue),
            filters=[dict(lambda_.FilterCriteria.filter(dict(each))) for each in patterns] or None,
        )


class Sweeper(Construct):
    """Runs *sweep* every minute. A sweep that failed is not retried: the next one does the same work."""

    def __init__(self, scope: Construct, id_: str, sweep: lambda_.Function) -> None:
        super().__init__(scope, id_)
        # Neither EventBridge retries an event that it could not deliver, nor Lambda a run that failed.
        sweep.configure_async_invoke(retry_attempts=0, max_event_age=EVERY)
        self.rule = events.Rule(
            self,
            "EveryMinute",
            schedule=events.Schedule.rate(EVERY),
            targets=[targets.LambdaFunction(sweep, retry_attempts=0, max_event_age=EVERY)],
        )
