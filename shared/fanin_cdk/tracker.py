"""The construct that users add to a stack of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack, cast, get_args

from aws_cdk import Aws, CfnOutput, Stack, Token
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from fanin.names import BATCH_COMPLETED, JOBS_INDEX
from fanin_cdk.composition import Authorization, Composition
from fanin_cdk.constructs.dead_letter_queues import UNMATCHED
from fanin_cdk.constructs.jobs import FaninQueues
from fanin_cdk.constructs.queues import BATCH_WINDOW, feed, queue_mappings
from fanin_cdk.event_delivery.callbacks import check_place
from fanin_cdk.event_delivery.deliveries import Deliveries
from fanin_cdk.event_delivery.ending import DETAIL_TYPES
from fanin_cdk.grants import announcing, consuming, encryption, looping, other_stacks, reaching, results
from fanin_cdk.grants.equipping import Equipment
from fanin_cdk.grants.handlers import RESUMES
from fanin_cdk.grants.job_handlers import ADD, WORK
from fanin_cdk.monitoring.construct import Monitoring
from fanin_cdk.nag import accept_wildcards
from fanin_cdk.settings.concurrency import shares
from fanin_cdk.settings.config import Config, ConfigError
from fanin_cdk.settings.keywords import Settings
from fanin_cdk.settings.quotas import limits
from fanin_cdk.settings.rules import USER_KEY, matches
from fanin_cdk.stages import place_of, stage_of

Result = Literal["succeeded", "completed_with_failures", "enough"]
DeadLetters = Literal["fail", "keep"]
TARGET = "fanin:target"
"""The context value that makes each tracker of an app one for the local run: ``-c fanin:target=local``."""


class FaninTracker(Composition):
    """A tracker with its tables, API, events and functions; methods connect it to the rest of a stack.

    *api*: how the HTTP API authorizes requests; None for no API. *alarms*: the topic of its alarms; without
    it there are no alarms and no dashboard. *encryption_key*: of its tables, queues and buckets. *packages*:
    the layer of third-party packages, which is else installed at synthesis. *settings*: those of ``Config``;
    ``stage`` is by default a name that no other tracker has. Raises ConfigError for settings that contradict
    each other.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        api: Authorization | None = "iam",
        alarms: sns.ITopic | None = None,
        encryption_key: kms.IKey | None = None,
        packages: lambda_.Code | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        config = _config(scope, id_, settings)
        _check_api(api, config)
        if alarms and config.monitoring == "off":
            raise ConfigError("alarms are off: set monitoring to lean or full")
        _check_place(scope, config)
        super().__init__(scope, id_, config, api, packages)
        self.encryption_key = encryption_key
        self._equipment = Equipment(self)
        self._deliveries: Deliveries | None = None
        self._failed: set[str] = set()
        self._shared: list[lambda_.CfnEventSourceMapping] = []
        if encryption_key is not None:
            encryption.encrypt(self, encryption_key)
            encryption.admit_events(encryption_key)
            if self.queues:
                self.queues.encrypt_doorbells(encryption_key)
        self.monitoring = Monitoring(self, "Monitoring", config, self.watched, alarms) if alarms else None

    @property
    def bus(self) -> events.EventBus:
        """The bus of the events."""
        return self.events.bus

    @property
    def acks_queue(self) -> sqs.Queue:
        """The queue whose messages are acks."""
        return self.acks.queue

    @property
    def batches_table(self) -> dynamodb.ITable:
        """The table of batches."""
        return self.tables.batches

    @property
    def pages_table(self) -> dynamodb.ITable:
        """The table of pages."""
        return self.tables.pages

    @property
    def api_url(self) -> str:
        """The URL of the API. Raises ConfigError without one."""
        if self.api is None:
            raise ConfigError(f"{self.node.path} has no API: set api to iam or jwt")
        return self.api.url

    @property
    def client_layer(self) -> lambda_.LayerVersion:
        """The layer with the client: Python sources alone, for Python 3.11 and later."""
        return self._equipment.layer_in(Stack.of(self))

    def grant_publish(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let *grantee* open, fill, close, cancel and read batches on the tables.

        A function also gets the environment of ``Fanin()``, and the client's layer if it runs Python.
        """
        looping.note(grantee, looping.PUBLISHES)
        return self._grant(grantee, reaching.PUBLISH)

    def grant_ack(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let *grantee* ack and fail items on the tables. A function is equipped as by grant_publish."""
        return self._grant(grantee, reaching.ACK)

    def grant_read(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let *grantee* read and list batches, their outstanding items and failures on the tables.

        A read of a batch whose deadline has passed ends it, so this grants updates of batches too. A function
        is equipped as by grant_publish.
        """
        return self._grant(grantee, reaching.READ)

    def grant_call_api(self, grantee: iam.IGrantable, *routes: str) -> iam.Grant:
        """Let *grantee* call *routes* of the API, each ``METHOD /path`` of docs/openapi.json.

        Default: all that neither delete nor force an end, which cannot be undone.
        The read of a batch or of a queue includes the reads below it: IAM's wildcard stands for slashes too.
        A function also gets ``FANIN_URL``, by which ``Fanin()`` then calls the API, and the client's layer.
        Raises ConfigError for an unknown route, and where IAM does not authorize the API.
        """
        if self.api is None or self.config.jwt_issuer:
            raise ConfigError('grant_call_api needs api="iam": other APIs know no grants of IAM')
        if unknown := set(routes) - set(self.api.routes):
            names = ", ".join(sorted(unknown))
            raise ConfigError(f"grant_call_api: the API has no route {names}; docs/openapi.json lists all")
        arns = self.api.arns(routes or [each for each in self.api.routes if not _is_final(each)])
        reaching.check_grantee(grantee, self)
        self._equipment.give(grantee, {"FANIN_URL": self.api.url})
        principal = grantee.grant_principal
        if isinstance(principal, iam.Role):
            accept_wildcards(principal, "The ids in the paths of requests are not known before", *arns)
        return iam.Grant.add_to_principal(grantee=grantee, actions=["execute-api:Invoke"], resource_arns=arns)

    def consume(
        self,
        queue: sqs.IQueue,
        worker: lambda_.Function,
        *,
        dead_letters: DeadLetters = "fail",
        batch_size: int = 10,
        max_concurrency: int | None = None,
    ) -> None:
        """Let *worker* consume *queue* and ack the items of its messages.

        *dead_letters*: ``fail`` makes each message of its dead-letter queue a failed ack and deletes it;
        ``keep`` leaves it there, and its item outstanding. *max_concurrency*: 2 to 1000; default: a share of
        ``lambda_concurrency``. A *worker* that opens batches whose items come back to it needs
        ``recursive_loop``. Raises ConfigError for a queue without dead-letter queue, and for one that hides
        messages for less than six timeouts of *worker*.
        """
        if dead_letters not in get_args(DeadLetters):
            raise ConfigError(f"consume: dead_letters is {dead_letters!r}; it takes fail or keep")
        lost = consuming.dead_letter_queue_of(queue)
        consuming.check_visibility(queue, worker)
        self._feed(queue, worker, batch_size, max_concurrency)
        looping.note(worker, looping.CONSUMES)
        self.grant_ack(worker)
        if dead_letters == "fail":
            self._fail(lost)

    def grant_add_jobs(self, grantee: iam.IGrantable, name: str) -> iam.Grant:
        """Let *grantee* add jobs to the work queue *name*, one of ``job_queues``.

        A function also gets the environment of ``Queue`` and the client's layer. Raises ConfigError for
        another queue.
        """
        return self._grant_jobs(grantee, name, ADD)

    def consume_jobs(self, name: str, worker: lambda_.Function, *, batch_size: int = 10) -> None:
        """Let *worker* take jobs of the work queue *name*, one of ``job_queues``, when its doorbell rings.

        Its ``recursive_loop`` becomes ALLOW, because it rings its own doorbell. A job with an item of a batch
        needs grant_ack too. Raises ConfigError for another queue.
        """
        consuming.check_doorbell(name, worker)
        looping.allow(worker)
        self._grant_jobs(worker, name, WORK, [JOBS_INDEX])
        self._feed(self._work_queues(name).doorbells[name], worker, batch_size, None)

    def on_completed(
        self,
        target: events.IRuleTarget,
        *,
        user_key_prefix: str = "",
        result: Result | None = None,
        id: str | None = None,
        scope: Construct | None = None,
    ) -> events.Rule:
        """Send the event of each completed batch to *target*.

        It is tried for 24 hours, then sent to a dead-letter queue, unless the target has retries of its own.
        *user_key_prefix*: of the batches' user keys. *result*: all items done, or some of them failed;
        default: both. *id*: of the rule; default: its number. *scope*: of the rule, for a target in another
        stack: that stack. Raises ConfigError for another result, and for a prefix that no user key has.
        """
        if result not in (None, *get_args(Result)):
            raise ConfigError(f"on_completed: result is {result!r}; it takes {' or '.join(get_args(Result))}")
        detail = {"result": [result]} if result else {}
        return self._deliver(target, (BATCH_COMPLETED,), detail | _of_user_keys(user_key_prefix), id, scope)

    def on_ended(
        self,
        target: events.IRuleTarget,
        *,
        user_key_prefix: str = "",
        id: str | None = None,
        scope: Construct | None = None,
    ) -> events.Rule:
        """Send the event of each batch that ended, in any way, to *target*; otherwise as on_completed."""
        return self._deliver(target, DETAIL_TYPES, _of_user_keys(user_key_prefix), id, scope)

    def resumes(self, waiting: stepfunctions.IStateMachine | lambda_.IFunction) -> None:
        """Let the end of a batch end the task or callback whose token it was opened with.

        *waiting*: the state machine or the durable function.
        """
        if self.resuming is None:
            self.resuming = self._resuming()
            # The role of a function is beside it.
            self._adopt(self.resuming, cast(Construct, self.resuming.function.node.scope))
            self._share_with(1)
            if self.monitoring:
                self.monitoring.watch_queue(RESUMES, self.resuming.queue)
                self.monitoring.watch_function(self.resuming.function)
        self.resuming.resume(waiting)
        for opening in self.functions.of("api.write_batches"):
            opening.add_environment("FANIN_RESUMES", ",".join(sorted(self.resuming.kinds)))

    def add_outputs(self) -> None:
        """Add the outputs that ``fanin --stage`` and the local run read; of one tracker in a stack."""
        for name, value in self.outputs.items():
            CfnOutput(Stack.of(self), name, value=value)

    def _grant(self, grantee: iam.IGrantable, grants: reaching.TableGrants) -> iam.Grant:
        announces = self.config.immediate_events and announcing.can_complete(grants.pages)
        names = {
            "FANIN_BATCHES_TABLE": self.batches_table.table_name,
            "FANIN_PAGES_TABLE": self.pages_table.table_name,
            "FANIN_TENANT": Aws.ACCOUNT_ID,
            "FANIN_PAGE_BITS": str(self.config.page_bits),
            **(announcing.environment(self.bus) if announces else {}),
        }
        reaching.check_grantee(grantee, self)
        self._equipment.give(grantee, names)
        if self.encryption_key:
            encryption.let_use(grantee, self.encryption_key)
        if self.results:
            self._equipment.give(grantee, {"FANIN_RESULTS_BUCKET": self.results.bucket_name})
            results.let(grantee, self.results, grants.results)
        given = reaching.grant_tables(grantee, grants, self.batches_table, self.pages_table)
        return given.combine(reaching.grant_events(grantee, self.bus)) if announces else given

    def _work_queues(self, name: str) -> FaninQueues:
        if self.queues is None or name not in self.queues.doorbells:
            raise ConfigError(
                f"{self.node.path} makes no doorbell for {name}: set queues, and name it in job_queues"
            )
        return self.queues

    def _grant_jobs(
        self, grantee: iam.IGrantable, name: str, actions: Sequence[str], indexes: Sequence[str] = ()
    ) -> iam.Grant:
        queues = self._work_queues(name)
        reaching.check_grantee(grantee, self)
        self._equipment.give(grantee, {**queues.environment, "FANIN_TENANT": Aws.ACCOUNT_ID})
        if self.encryption_key:
            encryption.let_use(grantee, self.encryption_key)
        return reaching.grant_jobs(grantee, queues.table, actions, indexes, queues.doorbells[name])

    def _feed(
        self, queue: sqs.IQueue, worker: lambda_.Function, batch_size: int, max_concurrency: int | None
    ) -> None:
        """Add *queue* as event source of *worker*, with partial batch responses."""
        max_concurrency = consuming.concurrency_of(worker, max_concurrency, shares(self.config).consumer)
        worker.add_event_source(
            sources.SqsEventSource(
                queue,
                batch_size=batch_size,
                max_batching_window=None if batch_size <= 10 else BATCH_WINDOW,
                report_batch_item_failures=True,
                max_concurrency=max_concurrency or shares(self.config).consumer,
            )
        )
        if max_concurrency is None:
            self._shared.append(queue_mappings(worker)[-1])
        if self.monitoring:
            self.monitoring.watch_worker(worker)
        self._share_with(1)

    def _fail(self, lost: sqs.IQueue) -> None:
        """Make each message of the dead-letter queue *lost* a failed ack; several queues may share it."""
        consuming.check_dead_letter_queue(lost)
        if lost.node.path not in self._failed:
            self._failed.add(lost.node.path)
            if self.monitoring:
                self.monitoring.watch_consumed(f"{lost.node.id}-{len(self._failed)}", lost)
            if other_stacks.is_elsewhere(lost, self):
                self._shared.append(other_stacks.feed(lost, self.dead_letter_handler, self.config))
            else:
                feed(lost, self.dead_letter_handler, self.config)
            self._park()
            self._share_with(1)

    def _park(self) -> None:
        """Make the queue of dead-letter messages that match no item, if it is not made yet."""
        queue = self.dead_letter_queues.let_park()
        if queue is None:
            return
        self._adopt(queue)
        self.outputs |= {"UnmatchedMessagesQueueUrl": queue.queue_url}
        if self.monitoring:
            self.monitoring.watch_dead_letter_queue(UNMATCHED, queue)

    def _share_with(self, queues: int) -> None:
        """Divide the concurrent executions again, with *queues* more that functions consume."""
        self.config = replace(self.config, other_queues=self.config.other_queues + queues)
        consumer = shares(self.config).consumer
        scaling = lambda_.CfnEventSourceMapping.ScalingConfigProperty(maximum_concurrency=consumer)
        for mapping in (*queue_mappings(self), *self._shared):
            mapping.scaling_config = scaling
        self.warn_of_shortage()

    def _deliver(
        self,
        target: events.IRuleTarget,
        detail_types: Sequence[str],
        detail: Mapping[str, Any],
        id_: str | None,
        scope: Construct | None,
    ) -> events.Rule:
        if self._deliveries is None:
            self._deliveries = Deliveries(self, "Deliveries", self.bus)
            self._adopt(self._deliveries)
            if self.monitoring:
                self.monitoring.watch_dead_letter_queue("Deliveries", self._deliveries.dead_letter_queue)
        return self._deliveries.add(target, detail_types, detail, id_, scope)

    def _adopt(self, *parts: Construct) -> None:
        """Encrypt *parts*, which were added after the others."""
        if self.encryption_key is None:
            return
        for part in parts:
            encryption.encrypt(part, self.encryption_key)


def _is_final(route: str) -> bool:
    """Return whether what *route* does cannot be undone."""
    return route.startswith("DELETE ") or route.endswith(("/end", "/delete"))


def _config(scope: Construct, id_: str, settings: Settings) -> Config:
    target = scope.node.try_get_context(TARGET) or "aws"
    stage = stage_of(*place_of(scope, id_))
    return Config.of({"stage": stage, "target": target, **settings})


def _check_api(api: Authorization | None, config: Config) -> None:
    if api not in (None, *get_args(Authorization)):
        raise ConfigError(f"api is {api!r}; it takes iam, jwt or None")
    if api == "jwt" and not config.jwt_issuer:
        raise ConfigError('api="jwt" needs jwt_issuer and jwt_audience')
    if api != "jwt" and config.jwt_issuer:
        raise ConfigError('jwt_issuer and jwt_audience need api="jwt"')
    if api is None and (config.throttle_rate or config.throttle_burst or config.domain_name):
        raise ConfigError("throttle_rate, throttle_burst and domain_name need an API: set api to iam or jwt")
    if api is None and limits(config):
        raise ConfigError("quotas need an API, which charges them: set api to iam or jwt")


def _check_place(scope: Construct, config: Config) -> None:
    """Refuse callbacks outside the stack's account and region, where these are known."""
    stack = Stack.of(scope)
    account, region = (None if Token.is_unresolved(each) else each for each in (stack.account, stack.region))
    check_place(config, account, region)


def _of_user_keys(prefix: str) -> dict[str, list[Any]]:
    if prefix and not matches(USER_KEY)(prefix):
        raise ConfigError(f"user_key_prefix is {prefix!r}, which no user key begins with: {USER_KEY}")
    return {"userKey": [{"prefix": prefix}]} if prefix else {}
