"""Rows on an SQS queue: a loader publishes them, workers index them, and one event ends each load."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fanin_cdk import FaninTracker

FUNCTIONS = str(Path(__file__).parent / "functions")


class Catalog(cdk.Stack):
    """The loader, the queue with its workers, and the queue of the events that say that a load is done."""

    def __init__(self, scope: Construct, id_: str) -> None:
        super().__init__(scope, id_)
        work = queue(self, "Work", cdk.Duration.minutes(3))
        completed = queue(self, "Done", cdk.Duration.seconds(30))
        loader = function(self, "Loader", "loader.handler", {"QUEUE_URL": work.queue_url})
        worker = function(self, "Worker", "worker.handler")
        tracker = FaninTracker(self, "Fanin")
        tracker.grant_publish(loader)
        tracker.consume(work, worker)
        tracker.on_completed(targets.SqsQueue(completed), user_key_prefix="catalog-")
        tracker.add_outputs()
        work.grant_send_messages(loader)
        cdk.CfnOutput(self, "LoaderName", value=loader.function_name)
        cdk.CfnOutput(self, "DoneUrl", value=completed.queue_url)


def queue(scope: Construct, name: str, visibility: cdk.Duration) -> sqs.Queue:
    """Return a queue with a dead-letter queue."""
    lost = sqs.Queue(scope, f"{name}DeadLetters", enforce_ssl=True, retention_period=cdk.Duration.days(14))
    dead_letter_queue = sqs.DeadLetterQueue(queue=lost, max_receive_count=3)
    return sqs.Queue(
        scope, name, enforce_ssl=True, visibility_timeout=visibility, dead_letter_queue=dead_letter_queue
    )


def function(
    scope: Construct, name: str, handler: str, environment: dict[str, str] | None = None
) -> lambda_.Function:
    """Return a function of the folder ``functions``, which may write its own log and nothing else."""
    group = logs.LogGroup(scope, f"{name}Log", retention=logs.RetentionDays.TWO_WEEKS)
    role = iam.Role(scope, f"{name}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    group.grant_write(role)
    return lambda_.Function(
        scope,
        name,
        runtime=lambda_.Runtime.PYTHON_3_14,
        handler=handler,
        code=lambda_.Code.from_asset(FUNCTIONS),
        timeout=cdk.Duration.seconds(30),
        memory_size=512,
        environment=environment,
        role=role,
        log_group=group,
    )


if __name__ == "__main__":
    app = cdk.App()
    Catalog(app, "Catalog")
    app.synth()
