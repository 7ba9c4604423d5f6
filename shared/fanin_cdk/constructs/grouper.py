"""The group-batcher: its tables, its queues, its functions and their schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from fanin.grouper.settings.endpoints import Endpoint
from fanin.names import LANE_INDEX, LIVE_BUNDLES_INDEX, OPEN_TASKS_INDEX, TARGETS_INDEX
from fanin_cdk.constructs.functions import Functions, allow, allow_secret, tenant_of_messages
from fanin_cdk.constructs.queues import SourceQueue
from fanin_cdk.constructs.tables import archived, index, number, restored_table, table, text
from fanin_cdk.constructs.triggers import Sweeper
from fanin_cdk.grants.group_handlers import (
    BUNDLES,
    CONSUME_TASKS,
    GROUP_API,
    REGISTRATIONS,
    SWEEP_GROUPS,
    TASKS,
    GroupHandler,
    handle_bundle,
    lead_tasks,
)
from fanin_cdk.monitoring.watched import WatchedTable
from fanin_cdk.settings.config import Config
from fanin_cdk.settings.quotas import granted, served

INCLUDE, KEYS_ONLY = dynamodb.ProjectionType.INCLUDE, dynamodb.ProjectionType.KEYS_ONLY
TASK_FACTS = ("tenant", "taskId", "target", "shard", "dueAt")
BUNDLE_FACTS = ("tenant", "bundleId")
# The first message of a target leads; the others find their task bundled.
TASKS_AT_ONCE = 10
# A message of a bundle is a call of the batch API, and may take a minute.
BUNDLES_AT_ONCE = 1


class GroupTables(Construct):
    """Tasks with an index of the open ones, leases with one of targets, bundles with two indexes."""

    def __init__(self, scope: Construct, id_: str, config: Config) -> None:
        super().__init__(scope, id_)
        self.tasks = restored_table(self, "Tasks", config, "tasks") or self._new_tasks(config)
        self.leases = restored_table(self, "Leases", config, "leases") or self._new_leases(config)
        self.bundles = restored_table(self, "Bundles", config, "bundles") or self._new_bundles(config)
        self.watched = {
            "GroupTasks": WatchedTable(table=self.tasks, indexes=[OPEN_TASKS_INDEX]),
            "GroupLeases": WatchedTable(table=self.leases, indexes=[TARGETS_INDEX]),
            "GroupBundles": WatchedTable(table=self.bundles, indexes=[LIVE_BUNDLES_INDEX, LANE_INDEX]),
        }

    def _new_tasks(self, config: Config) -> dynamodb.Table:
        tasks = table(self, "Tasks", config, stream=archived(config))
        index(tasks, config, OPEN_TASKS_INDEX, text("lane"), text("order"), INCLUDE, TASK_FACTS)
        return tasks

    def _new_leases(self, config: Config) -> dynamodb.Table:
        leases = table(self, "Leases", config, key="lane")
        index(leases, config, TARGETS_INDEX, text("tenant"), text("target"), KEYS_ONLY)
        return leases

    def _new_bundles(self, config: Config) -> dynamodb.Table:
        bundles = table(self, "Bundles", config, stream=archived(config))
        index(bundles, config, LIVE_BUNDLES_INDEX, text("live"), number("createdAt"), INCLUDE, BUNDLE_FACTS)
        index(bundles, config, LANE_INDEX, text("lane"), number("fence"), INCLUDE, BUNDLE_FACTS)
        return bundles


class FaninGrouper(Construct):
    """The group-batcher's resources; *queues* are watched by alarms.

    *routes* are its part of the API: functions, and the routes of each.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        config: Config,
        functions: Functions,
        bus: events.IEventBus,
        *,
        has_api: bool = True,
    ) -> None:
        super().__init__(scope, id_)
        self.config = config
        self.functions = functions
        self.bus = bus
        self.tables = GroupTables(self, "Tables", config)
        leader, caller = lead_tasks(config.policies), handle_bundle(config.policies)
        self.queues = {
            TASKS: SourceQueue.of_consumer(self, "TaskMessages", leader.lambda_.timeout_seconds),
            BUNDLES: SourceQueue.of_consumer(self, "BundleMessages", caller.lambda_.timeout_seconds),
        }
        served_here = served(GROUP_API, config) if has_api else ()
        self.routes = [(self.add(each), each.lambda_.routes) for each in served_here]
        self.queues[TASKS].feed(self.add(leader), config, TASKS_AT_ONCE)
        self.queues[BUNDLES].feed(self.add(caller), config, BUNDLES_AT_ONCE)
        if config.grouper_registrations:
            self.queues[REGISTRATIONS] = self._registrations()
        self.sweep = self.add(SWEEP_GROUPS)
        Sweeper(self, "Sweeper", self.sweep)

    def _registrations(self) -> SourceQueue:
        """Return the queue whose messages are tasks to register."""
        source = SourceQueue.of_consumer(self, "Registrations", CONSUME_TASKS.lambda_.timeout_seconds)
        consumer = self.add(granted(CONSUME_TASKS, self.config), tenant_of_messages(self.config))
        source.let_isolate(consumer)
        source.feed(consumer, self.config)
        return source

    def add(self, handler: GroupHandler, environment: Mapping[str, str] | None = None) -> lambda_.Function:
        """Deploy *handler* with the grants that it names, and no others.

        Its environment is the group-batcher's, then *environment*.
        """
        environment = {**self._environment(handler), **(environment or {})}
        function = self.functions.add(handler.lambda_, environment)
        allow(function, self.tables.tasks, handler.tasks)
        allow(function, self.tables.leases, handler.leases)
        allow(function, self.tables.bundles, handler.bundles)
        _allow_index(function, self.tables.tasks, OPEN_TASKS_INDEX, handler.open_index)
        _allow_index(function, self.tables.bundles, LIVE_BUNDLES_INDEX, handler.live_index)
        _allow_index(function, self.tables.bundles, LANE_INDEX, handler.lane_index)
        _allow_index(function, self.tables.leases, TARGETS_INDEX, handler.targets_index)
        queues = [self.queues[name].queue.queue_arn for name in handler.sends]
        _allow(function, ("sqs:SendMessage",), queues)
        _allow(function, ("events:PutEvents",), [self.bus.event_bus_arn] if handler.publishes else [])
        for endpoint in self.config.batch_apis if handler.calls else ():
            _allow_call(function, endpoint)
        return function

    def _environment(self, handler: GroupHandler) -> Mapping[str, str]:
        environment = {
            "FANIN_GROUP_TASKS_TABLE": self.tables.tasks.table_name,
            "FANIN_GROUP_LEASES_TABLE": self.tables.leases.table_name,
            "FANIN_GROUP_BUNDLES_TABLE": self.tables.bundles.table_name,
            "FANIN_GROUPER_QUEUE_URL": self.queues[TASKS].queue.queue_url,
            "FANIN_BUNDLES_QUEUE_URL": self.queues[BUNDLES].queue.queue_url,
        }
        if not handler.publishes:
            return environment
        wanted = {"FANIN_EVENTS": ",".join(self.config.events)} if self.config.events else {}
        return environment | {"FANIN_BUS_NAME": self.bus.event_bus_name} | wanted


def _allow_call(function: lambda_.Function, endpoint: Endpoint) -> None:
    """Grant *function* what a batch API needs: its secret, its action or its function, and nothing wider."""
    if endpoint.function:
        _allow(function, ("lambda:InvokeFunction",), (endpoint.function,))
    if endpoint.signing:
        _allow(function, endpoint.signing.actions, (endpoint.signing.resource,))
    if endpoint.secret:
        allow_secret(function, endpoint.secret)


def _allow_index(function: lambda_.Function, of: dynamodb.ITable, name: str, actions: Sequence[str]) -> None:
    _allow(function, actions, [f"{of.table_arn}/index/{name}"])


def _allow(function: lambda_.Function, actions: Sequence[str], resources: Sequence[str]) -> None:
    if actions and resources:
        statement = iam.PolicyStatement(actions=list(actions), resources=list(resources))
        function.add_to_role_policy(statement)
