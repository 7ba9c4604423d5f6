"""The catalog's stack: an SQS queue and a work queue with their consumers, an index, a queue of events."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from examples.catalog.functions.queueing import QUEUE
from fanin_cdk import FaninTracker
from fanin_cdk.settings.keywords import Settings

PACKAGE = "examples/catalog/functions"
FUNCTIONS = Path(__file__).parent / "functions"


class Catalog(cdk.Stack):
    """The tracker with its group-batcher and work queues, and the catalog's own parts."""

    def __init__(self, scope: Construct, id_: str, **settings: Unpack[Settings]) -> None:
        super().__init__(scope, id_)
        given: Any = {"grouper": True, "grouper_registrations": True, "queues": True, **settings}
        given["job_queues"] = (*given.get("job_queues", ()), QUEUE)
        self.tracker = FaninTracker(self, "Fanin", api="jwt" if given.get("jwt_issuer") else "iam", **given)
        self.tracker.add_outputs()
        self.index, self.outcomes = table(self, "Index"), table(self, "Outcomes")
        self.work, self.events = queue(self, "Work", receives=10), queue(self, "Events", receives=5)
        with TemporaryDirectory(prefix="catalog-") as folder:
            self.code = functions_in(Path(folder))
            self._add_worker()
            self._add_job_consumer()
        events.Rule(
            self,
            "EveryEvent",
            event_bus=self.tracker.bus,
            event_pattern=events.EventPattern(source=["fanin"]),
            targets=[targets.SqsQueue(self.events)],
        )
        self._add_outputs()

    def _add_worker(self) -> None:
        """Add the consumer of the SQS queue, which acks items, registers tasks and adds jobs."""
        grouper = self.tracker.grouper
        assert grouper is not None  # noqa: S101  # the settings add it
        tasks = grouper.queues["GroupRegistrations"].queue
        environment = {"WORK_QUEUE_URL": self.work.queue_url, "TASKS_QUEUE_URL": tasks.queue_url}
        worker = self._function("worker", environment)
        self.tracker.consume(self.work, worker, dead_letters="keep", batch_size=100)
        self.tracker.grant_add_jobs(worker, QUEUE)
        self.index.grant(worker, "dynamodb:BatchWriteItem", "dynamodb:UpdateItem")
        tasks.grant_send_messages(worker)

    def _add_job_consumer(self) -> None:
        """Add the consumer of the work queue, whose acks write the outcome and the index row too."""
        consumer = self._function("jobs", {"OUTCOMES_TABLE": self.outcomes.table_name})
        self.tracker.consume_jobs(QUEUE, consumer)
        self.tracker.grant_ack(consumer)
        self.index.grant(consumer, "dynamodb:PutItem")
        self.outcomes.grant(consumer, "dynamodb:PutItem")

    def _function(self, name: str, environment: dict[str, str]) -> lambda_.Function:
        """Return the function of the handler *name*, which may write its own log and nothing else."""
        id_ = name.capitalize()
        group = logs.LogGroup(self, f"{id_}Log", retention=logs.RetentionDays.TWO_WEEKS)
        role = iam.Role(self, f"{id_}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        group.grant_write(role)
        return lambda_.Function(
            self,
            id_,
            runtime=lambda_.Runtime.PYTHON_3_14,
            handler=f"{PACKAGE.replace('/', '.')}.{name}.handler",
            code=self.code,
            timeout=cdk.Duration.seconds(30),
            memory_size=512,
            environment={"INDEX_TABLE": self.index.table_name, **environment},
            role=role,
            log_group=group,
        )

    def _add_outputs(self) -> None:
        for name, value in {
            "DemoQueueUrl": self.work.queue_url,
            "DemoIndexTable": self.index.table_name,
            "DemoOutcomesTable": self.outcomes.table_name,
            "DemoEventsQueueUrl": self.events.queue_url,
        }.items():
            cdk.CfnOutput(self, name, value=value)


def functions_in(folder: Path) -> lambda_.Code:
    """Return the code of the functions, copied into *folder* at the path of their package."""
    shutil.copytree(FUNCTIONS, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    return lambda_.Code.from_asset(str(folder))


def table(scope: Construct, name: str) -> dynamodb.Table:
    """Return a table whose key is the text ``pk``."""
    key = dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING)
    return dynamodb.Table(
        scope,
        name,
        partition_key=key,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
    )


def queue(scope: Construct, name: str, receives: int) -> sqs.Queue:
    """Return a queue with a dead-letter queue."""
    lost = sqs.Queue(scope, f"{name}DeadLetters", enforce_ssl=True, retention_period=cdk.Duration.days(14))
    return sqs.Queue(
        scope,
        name,
        enforce_ssl=True,
        visibility_timeout=cdk.Duration.minutes(3),
        receive_message_wait_time=cdk.Duration.seconds(20),
        dead_letter_queue=sqs.DeadLetterQueue(queue=lost, max_receive_count=receives),
    )


def main() -> None:
    """Synthesise the stack; the context value ``settings`` has those of the tracker."""
    app = cdk.App()
    Catalog(app, "PackageCatalog", **(app.node.try_get_context("settings") or {}))
    app.synth()


if __name__ == "__main__":
    main()
