"""The work queues: their table, their doorbells, their routes and their clock."""

from __future__ import annotations

from aws_cdk import Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.config import Config
from infra.constructs.functions import Functions, allow
from infra.constructs.queues import SourceQueue
from infra.constructs.sweeper import Sweeper
from infra.constructs.tables import archived, index, table, text
from infra.job_handlers import JOB_ROUTES, SWEEP_JOBS, JobHandler

JOBS_INDEX, QUEUES_INDEX = "by_ix", "queues"
JOB_FACTS = ("st", "session", "claim", "job_id", "deliveries", "ready_us", "claimed_us")
SHARED = "Doorbell"
# A worker that hears a ring for another queue leaves it be, and its own worker hears it so much later.
SHARED_VISIBILITY = Duration.seconds(2)
# As often as SQS counts: a ring that nobody wants is no trouble, it goes with its retention.
SHARED_RECEIVES = 1000
# What a Lambda consumer of up to 30 s asks of its source: six time-outs.
OWN_VISIBILITY = Duration.seconds(180)


class Jobs(Construct):
    """All of the work queues; *routes* are their part of the API, *doorbells* what alarms watch."""

    def __init__(self, scope: Construct, id_: str, config: Config, functions: Functions) -> None:
        super().__init__(scope, id_)
        self.functions = functions
        self.table = _table(self, config)
        self.shared = SourceQueue(self, SHARED, visibility=SHARED_VISIBILITY, max_receives=SHARED_RECEIVES)
        self.own = {
            name: SourceQueue(self, f"{SHARED}-{name}", visibility=OWN_VISIBILITY)
            for name in config.job_queues
        }
        self.doorbells = {SHARED: self.shared} | {f"{SHARED}-{name}": own for name, own in self.own.items()}
        urls = {name: own.queue.queue_url for name, own in self.own.items()}
        self.urls = Stack.of(self).to_json_string(urls)
        self.routes = {each.lambda_.route: self._add(each) for each in JOB_ROUTES}
        self.sweep = self._add(SWEEP_JOBS)
        Sweeper(self, "Sweeper", self.sweep)

    def _add(self, handler: JobHandler) -> lambda_.Function:
        """Deploy *handler* with the work queues' environment, and exactly the grants that it names."""
        told = {
            "FANIN_QUEUE_TABLE": self.table.table_name,
            "FANIN_DOORBELL_URL": self.shared.queue.queue_url,
            "FANIN_DOORBELLS": self.urls,
        }
        function = self.functions.add(handler.lambda_, told)
        allow(function, self.table, handler.table)
        listed = {JOBS_INDEX: handler.lists_jobs, QUEUES_INDEX: handler.lists_queues}
        indexes = [f"{self.table.table_arn}/index/{name}" for name, is_read in listed.items() if is_read]
        _allow(function, "dynamodb:Query", indexes)
        rung = [doorbell.queue.queue_arn for doorbell in self.doorbells.values()]
        _allow(function, "sqs:SendMessage", rung if handler.rings else [])
        return function


def _table(scope: Construct, config: Config) -> dynamodb.Table:
    """Jobs, sessions and all else of a queue, with the order of a part, and the list of queues."""
    made = table(scope, "Table", config, sort_key="sk", stream=archived(config))
    made.add_local_secondary_index(
        index_name=JOBS_INDEX,
        sort_key=text("ix"),
        projection_type=dynamodb.ProjectionType.INCLUDE,
        non_key_attributes=list(JOB_FACTS),
    )
    include = dynamodb.ProjectionType.INCLUDE
    index(made, config, QUEUES_INDEX, text("listed"), text("pk"), include, ("parts",))
    return made


def _allow(function: lambda_.Function, action: str, resources: list[str]) -> None:
    if resources:
        function.add_to_role_policy(iam.PolicyStatement(actions=[action], resources=resources))
