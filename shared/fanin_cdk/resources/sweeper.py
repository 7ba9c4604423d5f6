"""The schedule of a sweeper."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

EVERY = Duration.minutes(1)


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
