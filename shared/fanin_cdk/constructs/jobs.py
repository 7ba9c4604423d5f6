"""The work queues: their table, their doorbells, their routes and their schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import jsii
from aws_cdk import Aws, Duration, IResolveContext, IStringProducer, Lazy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fanin.names import (
    DOORBELL_POLL_SECONDS,
    DOORBELL_RETENTION_SECONDS,
    DOORBELL_VISIBILITY_SECONDS,
    JOB_ATTRIBUTES,
    JOB_DEAD,
    JOBS_INDEX,
    OF_QUEUE,
    OF_TENANT,
    QUEUES_INDEX,
    TENANT_QUEUES_INDEX,
    doorbell_prefix,
    stack_doorbell,
)
from fanin_cdk.constructs.functions import Functions, allow
from fanin_cdk.constructs.tables import IMAGES, KEYS_ONLY, archived, index, restored_table, table, text
from fanin_cdk.constructs.triggers import Sweeper
from fanin_cdk.grants.job_handlers import JOB_API, OF_OWN, SWEEP_JOBS, JobHandler
from fanin_cdk.monitoring.watched import WatchedTable
from fanin_cdk.nag import accept, accept_wildcards
from fanin_cdk.settings.config import Config
from fanin_cdk.settings.quotas import served


class FaninQueues(Construct):
    """The work queues' resources; *routes* are their part of the API: functions, and the routes of each.

    *doorbells*: by queue name, those that the stack makes; the functions make the doorbells of other queues,
    whose ARNs begin with *prefix* too. These get the tags of *tagged*, a queue of the stack.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        config: Config,
        functions: Functions,
        *,
        tagged: sqs.Queue,
        has_api: bool = True,
    ) -> None:
        super().__init__(scope, id_)
        self.functions = functions
        self._tags = tags_of(tagged)
        self._creating: list[lambda_.Function] = []
        self.table = restored_table(self, "Table", config, "jobs") or _table(self, config)
        self.watched = {"Jobs": WatchedTable(table=self.table, indexes=[QUEUES_INDEX, TENANT_QUEUES_INDEX])}
        names = doorbell_prefix(config.stage)
        self.prefix = f"arn:{Aws.PARTITION}:sqs:{Aws.REGION}:{Aws.ACCOUNT_ID}:{names}"
        self.doorbells = {name: _doorbell(self, names, name) for name in config.job_queues}
        served_here = served(JOB_API, config) if has_api else ()
        self.routes = [(self.add(each), each.lambda_.routes) for each in served_here]
        self.sweep = self.add(SWEEP_JOBS)
        Sweeper(self, "Sweeper", self.sweep)

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of every function that uses work queues."""
        return {"FANIN_QUEUE_TABLE": self.table.table_name, "FANIN_DOORBELL_PREFIX": self.prefix}

    def encrypt_doorbells(self, key: kms.IKey) -> None:
        """Let the functions create doorbells with *key*, which their roles may use."""
        for function in self._creating:
            function.add_environment("FANIN_DOORBELL_KEY", key.key_arn)

    def add(self, handler: JobHandler) -> lambda_.Function:
        """Deploy *handler* with the work queues' environment and the grants that it names, and no others."""
        function = self.functions.add(handler.lambda_, self.environment)
        allow(function, self.table, handler.table)
        indexes = [f"{self.table.table_arn}/index/{name}" for name in handler.indexes]
        _allow(function, ["dynamodb:Query"], indexes)
        of_all = [action for action in handler.doorbells if action not in OF_OWN]
        self._allow_doorbells(function, of_all, [self.prefix])
        if "sqs:CreateQueue" in handler.doorbells:
            function.add_environment("FANIN_DOORBELL_TAGS", self._tags)
            self._creating.append(function)
        own = [self.prefix + kind for kind in (OF_QUEUE, OF_TENANT)]
        self._allow_doorbells(function, [each for each in handler.doorbells if each in OF_OWN], own)
        return function

    def _allow_doorbells(
        self, function: lambda_.Function, actions: Sequence[str], prefixes: Sequence[str]
    ) -> None:
        if actions:
            arns = [f"{prefix}*" for prefix in prefixes]
            accept_wildcards(_role_of(function), "A work queue's doorbell is made with the queue", *arns)
            _allow(function, actions, arns)


def _doorbell(scope: Construct, prefix: str, queue: str) -> sqs.Queue:
    """Return the doorbell of *queue*; the functions make the others alike."""
    doorbell = sqs.Queue(
        scope,
        f"Doorbell-{queue}",
        queue_name=stack_doorbell(prefix, queue),
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        visibility_timeout=Duration.seconds(DOORBELL_VISIBILITY_SECONDS),
        retention_period=Duration.seconds(DOORBELL_RETENTION_SECONDS),
        receive_message_wait_time=Duration.seconds(DOORBELL_POLL_SECONDS),
    )
    accept(doorbell, "A ring is a hint: one that is not received expires", "AwsSolutions-SQS3")
    return doorbell


def _stream(config: Config) -> dynamodb.StreamViewType | None:
    """Return the stream view of the table, which the archive reads, and the events of dead jobs."""
    return IMAGES if JOB_DEAD in config.events else archived(config)


def _table(scope: Construct, config: Config) -> dynamodb.Table:
    """Return the table of jobs, sessions and queues, with the indexes of a part's order and of queues."""
    jobs = table(scope, "Table", config, sort_key="sk", stream=_stream(config))
    jobs.add_local_secondary_index(
        index_name=JOBS_INDEX,
        sort_key=text("ix"),
        projection_type=dynamodb.ProjectionType.INCLUDE,
        non_key_attributes=list(JOB_ATTRIBUTES),
    )
    include = dynamodb.ProjectionType.INCLUDE
    index(jobs, config, QUEUES_INDEX, text("listed"), text("pk"), include, ("parts",))
    # Keys alone: a change of a config then writes nothing to it.
    index(jobs, config, TENANT_QUEUES_INDEX, text("tenant"), text("pk"), KEYS_ONLY)
    return jobs


def _allow(function: lambda_.Function, actions: Sequence[str], resources: list[str]) -> None:
    if resources:
        function.add_to_role_policy(iam.PolicyStatement(actions=list(actions), resources=resources))


def _role_of(function: lambda_.Function) -> iam.IRole:
    """Return the role of a function; each function has one of its own."""
    return cast(iam.IRole, function.role)


def tags_of(queue: sqs.Queue) -> str:
    """Return the tags of *queue*, which can be added later, as a JSON object of texts."""
    return Lazy.uncached_string(_Tags(queue))


@jsii.implements(IStringProducer)
class _Tags:
    """Reads the tags when the template is written: those of its stack, and those of the queue itself."""

    def __init__(self, queue: sqs.Queue) -> None:
        self._queue = queue

    def produce(self, context: IResolveContext) -> str | None:  # noqa: ARG002  # the signature of the CDK
        """Return the text; None without tags, so that no variable is written."""
        stack = Stack.of(self._queue)
        resource = cast(sqs.CfnQueue, self._queue.node.default_child)
        tags = {**stack.tags.tag_values(), **resource.tags.tag_values()}
        return stack.to_json_string(dict(sorted(tags.items()))) if tags else None
