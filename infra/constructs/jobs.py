"""The work queues: their table, their doorbells, their routes and their schedule."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from fanin.names import JOB_ATTRIBUTES, JOBS_INDEX, QUEUES_INDEX
from infra.config import Config
from infra.constructs.functions import Functions, allow
from infra.constructs.queues import SourceQueue
from infra.constructs.sweeper import Sweeper
from infra.constructs.tables import archived, index, restored_table, table, text
from infra.constructs.watched import WatchedTable
from infra.job_handlers import JOB_ROUTES, SWEEP_JOBS, JobHandler

SHARED = "Doorbell"
# A worker that receives a ring for another queue does not delete it: it becomes visible again after this.
SHARED_VISIBILITY = Duration.seconds(2)
# The maximum of SQS: a ring that no worker deletes expires with the queue's retention.
SHARED_RECEIVES = 1000
DEMO_QUEUE = "demo"
# Six times the timeout of a Lambda consumer, 30 s.
OWN_VISIBILITY = Duration.seconds(180)


class Jobs(Construct):
    """The work queues' resources; *routes* are their part of the API, *doorbells* are watched by alarms.

    *own*: by queue name, the doorbells of queues that have one of their own, which a Lambda may consume.
    """

    def __init__(self, scope: Construct, id_: str, config: Config, functions: Functions) -> None:
        super().__init__(scope, id_)
        self.functions = functions
        self.table = restored_table(self, "Table", config, "jobs") or _table(self, config)
        self.watched = {"Jobs": WatchedTable(table=self.table, indexes=[QUEUES_INDEX])}
        self.shared = SourceQueue(self, SHARED, visibility=SHARED_VISIBILITY, max_receives=SHARED_RECEIVES)
        self.own = {
            name: SourceQueue(self, f"{SHARED}-{name}", visibility=OWN_VISIBILITY) for name in _own(config)
        }
        self.doorbells = {SHARED: self.shared} | {f"{SHARED}-{name}": own for name, own in self.own.items()}
        urls = {name: own.queue.queue_url for name, own in self.own.items()}
        self.urls = Stack.of(self).to_json_string(urls)
        self.routes = {each.lambda_.route: self.add(each) for each in JOB_ROUTES}
        self.sweep = self.add(SWEEP_JOBS)
        Sweeper(self, "Sweeper", self.sweep)

    def add(
        self, handler: JobHandler, environment: Mapping[str, str] | None = None, queue: str | None = None
    ) -> lambda_.Function:
        """Deploy *handler* with the work queues' environment and the grants that it names, and no others.

        *environment*: more variables. *queue*: the only queue that it may ring; it has a doorbell of its own.
        """
        queueing = {
            "FANIN_QUEUE_TABLE": self.table.table_name,
            "FANIN_DOORBELL_URL": self.shared.queue.queue_url,
            "FANIN_DOORBELLS": self.urls,
        }
        function = self.functions.add(handler.lambda_, {**queueing, **(environment or {})})
        allow(function, self.table, handler.table)
        listed = {JOBS_INDEX: handler.lists_jobs, QUEUES_INDEX: handler.lists_queues}
        indexes = [f"{self.table.table_arn}/index/{name}" for name, is_read in listed.items() if is_read]
        _allow(function, "dynamodb:Query", indexes)
        rung = self.doorbells.values() if queue is None else [self.own[queue]]
        arns = [doorbell.queue.queue_arn for doorbell in rung]
        _allow(function, "sqs:SendMessage", arns if handler.rings else [])
        return function


def _own(config: Config) -> list[str]:
    """Return the queues with a doorbell of their own: the configured ones, and the demo's."""
    return list(dict.fromkeys((*config.job_queues, *([DEMO_QUEUE] if config.demo else []))))


def _table(scope: Construct, config: Config) -> dynamodb.Table:
    """Return the table of jobs, sessions and queues, with the indexes of a part's order and of queues."""
    made = table(scope, "Table", config, sort_key="sk", stream=archived(config))
    made.add_local_secondary_index(
        index_name=JOBS_INDEX,
        sort_key=text("ix"),
        projection_type=dynamodb.ProjectionType.INCLUDE,
        non_key_attributes=list(JOB_ATTRIBUTES),
    )
    include = dynamodb.ProjectionType.INCLUDE
    index(made, config, QUEUES_INDEX, text("listed"), text("pk"), include, ("parts",))
    return made


def _allow(function: lambda_.Function, action: str, resources: list[str]) -> None:
    if resources:
        function.add_to_role_policy(iam.PolicyStatement(actions=[action], resources=resources))
