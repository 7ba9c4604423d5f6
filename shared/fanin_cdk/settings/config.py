"""The settings of the construct: the keyword arguments of FaninTracker, or values of the CDK context.

In the context, a setting is looked up in the context itself (``cdk synth -c page_bits=512``), then in its
``stages.<stage>`` (in cdk.json); else its default applies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NewType, Self, get_type_hints

from fanin.callbacks.model import Callback
from fanin.callbacks.parsing import callbacks_of
from fanin.errors import InvalidRequest
from fanin.grouper.settings.endpoints import Endpoint, check_timeouts
from fanin.grouper.settings.parsing import Rows, endpoints_of, policies_of
from fanin.grouper.settings.policy import Policies
from fanin.grouper.settings.targeting import TargetTemplate
from fanin.names import BUNDLE_FAILED, JOB_DEAD, TASK_SUCCEEDED
from fanin.s3_publications.allowing import Allowed
from fanin.s3_publications.parsing import publications_of
from fanin_cdk.settings import restored, warming
from fanin_cdk.settings.rules import RULES, Preset, Rules, Target

ByPattern = NewType("ByPattern", str)
"""A list of objects, each for a pattern of targets, as JSON text."""
ByName = NewType("ByName", str)
"""A list of objects, each with a name, as JSON text."""


NEAR = 0.82
"""The least likeness of a misspelling to a setting: ``log_retention`` has it, ``tags`` does not."""
OF_A_CLONE = re.compile("alarm_email|analytics.*")
"""The settings that the project's own stack alone has; its Spark jobs are not in the package."""


class ConfigError(ValueError):
    """A setting has an invalid value; the message names both and the valid values."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """The settings of one deployment of the construct.

    ``stage``: the name of the deployment, which is part of the names of its metrics and doorbells; 1 to 20 of
    a-z, 0-9 and ``-``, starting with a-z.
    ``target``: ``aws``, or ``local`` for the emulator: a layer for this host, and unsigned requests.
    ``python_version``: the Lambda runtime, ``3.11`` to ``3.14``; arm64 always.
    ``page_bits``: items on a page of a NEW batch, 2 to 1024; a batch keeps the size that it was opened with.
    ``protect_data``: deletion protection on the tables, which are retained when the stack is deleted.
    ``restored_tables``: tables of a restore that replace the stack's own: ``batches=ARN``, and so on.
    ``max_request_units``: cap on read and on write request units a second of a table; 0 is no cap.
    ``warm_throughput``: request units a second that tables take at once, before any load:
    ``pages=READS/WRITES`` and so on.
    ``lambda_concurrency``: the concurrent executions that the construct may use of the account's quota.
    ``other_queues``: the SQS queues that functions of yours consume, which share ``lambda_concurrency``.
    ``consumer_concurrency``: concurrent Lambda invocations for one queue, 2 to 1000; 0: its share.
    ``throttle_rate``, ``throttle_burst``: requests a second that a route admits, and its burst limit; 0: its
    share of ``lambda_concurrency``.
    ``quota_open_batches``, ``quota_queues``: the live batches and the work queues of one tenant.
    ``quota_adds``, ``quota_tasks``, ``quota_jobs``, ``quota_reads``: its adds of items, tasks and jobs a
    second, and the read units of its requests that read. 0 is no limit.
    ``log_retention_days``: how long logs are kept, one of the periods of CloudWatch Logs.
    ``jwt_issuer``, ``jwt_audience``: the JWT that the API requires; both empty: it requires IAM signatures.
    ``jwt_tenant_claim``, ``jwt_caller_claim``: the claims that name the tenant of a request and its caller.
    ``progress_tokens``: adds the route that answers to the holder of a progress token, without another
    credential, and the one that creates tokens.
    ``domain_name``, ``certificate_arn``: a host name under which the API answers too, and the ARN of its
    certificate in ACM, in the stack's region. The local run has none.
    ``acks_tenant``: the tenant of the items in the acks queue's messages, and of the tasks in those of the
    registrations queue. Default: the account id.
    ``acks_log``: ``s3://BUCKET/PREFIX``, to which the acks queue writes logs in place of the tables.
    ``monitoring``: ``lean``, the alarms that an operator must act on now; ``full``, all alarms, a
    dashboard and traces; ``off``, none of these, and no metrics of the functions.
    ``oldest_batch_alarm_hours``: the age of a live batch that raises an alarm.
    ``oldest_message_alarm_minutes``: the age of a message in a consumed queue that raises an alarm.
    ``dead_letter_queue_arns``: the users' SQS dead-letter queues in this region. Each of their messages
    becomes a failed ack and is deleted. A list, or the ARNs separated by commas; ``ARN=TENANT`` names the
    tenant of the items. Default: the account id.
    ``keep_dead_letter_messages``: copies each of these messages to a queue that keeps it for 14 days, before
    it is deleted.
    ``resumed_state_machines``: ARNs of Step Functions state machines in this region, whose tasks may wait for
    the end of a batch. A list, or the ARNs separated by commas.
    ``resumed_durable_functions``: ARNs of Lambda durable functions in this region, whose callbacks may wait
    for the end of a batch, without a version. A list, or the ARNs separated by commas.
    ``queues``: adds the work queues. ``job_queues``: names of work queues whose doorbells the stack makes,
    for Lambda consumers in a template; the API makes those of all others. A list, or the names separated by
    commas.
    ``callbacks``: the SQS queues, SNS topics and webhooks that get the events of the batches that name them:
    a list of objects (``fanin.callbacks.parsing`` defines their fields), or such a list as JSON text.
    ``publications``: the sources in S3 that the stack publishes, each with its SQS queue: a list of objects
    (``fanin.s3_publications.parsing`` defines their fields), or such a list as JSON text.
    ``events``: the optional events that are published: ``TaskSucceeded``, ``BundleFailed`` (both need
    ``grouper``) and ``JobDead`` (needs ``queues``). A list, or the names separated by commas.
    ``immediate_events``: whatever completes a batch puts its event on the bus at once, and not the stream
    alone, a second later.
    ``grouper``: adds the group-batcher. ``grouper_policies`` and ``grouper_downstream``: how it bundles and
    which batch API it calls, by pattern of targets: lists of objects (``fanin.grouper.settings.parsing``
    defines their fields), or such lists as JSON text. ``grouper_target``: the template of the targets of
    tasks that are registered without one, such as ``{customer}/{region}``. ``grouper_registrations``: adds
    a queue whose messages are tasks to register.
    ``results``: keeps the results of the items of batches that ask for it, in a bucket of the stack, or in
    that named ``results_bucket``.
    ``archive``: stores every change of the tables as files in a bucket, each for ``archive_days``.
    """

    stage: str = "dev"
    target: Target = "aws"
    python_version: str = "3.14"
    page_bits: int = 1024
    protect_data: bool = False
    restored_tables: tuple[str, ...] = ()
    max_request_units: int = 0
    warm_throughput: tuple[str, ...] = ()
    lambda_concurrency: int = 10
    other_queues: int = 0
    consumer_concurrency: int = 0
    throttle_rate: int = 0
    throttle_burst: int = 0
    quota_open_batches: int = 0
    quota_adds: int = 0
    quota_tasks: int = 0
    quota_jobs: int = 0
    quota_queues: int = 0
    quota_reads: int = 0
    log_retention_days: int = 14
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_tenant_claim: str = "sub"
    jwt_caller_claim: str = "sub"
    progress_tokens: bool = False
    domain_name: str = ""
    certificate_arn: str = ""
    acks_tenant: str = ""
    acks_log: str = ""
    monitoring: Preset = "lean"
    oldest_batch_alarm_hours: int = 168
    oldest_message_alarm_minutes: int = 15
    dead_letter_queue_arns: tuple[str, ...] = ()
    keep_dead_letter_messages: bool = False
    resumed_state_machines: tuple[str, ...] = ()
    resumed_durable_functions: tuple[str, ...] = ()
    queues: bool = False
    job_queues: tuple[str, ...] = ()
    callbacks: ByName = ByName("[]")
    publications: ByName = ByName("[]")
    events: tuple[str, ...] = ()
    immediate_events: bool = True
    grouper: bool = False
    grouper_policies: ByPattern = ByPattern("[]")
    grouper_downstream: ByPattern = ByPattern("[]")
    grouper_target: str = ""
    grouper_registrations: bool = False
    results: bool = False
    results_bucket: str = ""
    archive: bool = False
    archive_days: int = 90

    def __post_init__(self) -> None:
        self._check_values(RULES)
        if bool(self.jwt_issuer) != bool(self.jwt_audience):
            raise ConfigError("jwt_issuer and jwt_audience go together: set both or neither")
        if self.results_bucket and not self.results:
            raise ConfigError("results_bucket names the bucket of results: set results too, or leave it out")
        if bool(self.domain_name) != bool(self.certificate_arn):
            raise ConfigError("domain_name and certificate_arn go together: set both or neither")
        self._check_restored_tables()
        self._check_warm_throughput()
        self._check_grouper()
        self._check_queues()
        _check_entries("grouper_policies", policies_of, self.grouper_policies)
        _check_entries("grouper_downstream", endpoints_of, self.grouper_downstream)
        self._check_batch_apis()
        _check_entries("callbacks", callbacks_of, self.callbacks)
        self._check_webhooks()
        _check_entries("publications", publications_of, self.publications)

    def _check_values(self, rules: Rules) -> None:
        for name, (holds, takes) in rules.items():
            value = getattr(self, name)
            if not holds(value):
                raise _refused(name, value, takes)

    @property
    def policies(self) -> Policies:
        """The policies of targets."""
        return policies_of(json.loads(self.grouper_policies))

    @property
    def batch_apis(self) -> tuple[Endpoint, ...]:
        """The batch APIs of targets."""
        return endpoints_of(json.loads(self.grouper_downstream))

    @property
    def named_callbacks(self) -> tuple[Callback, ...]:
        """The callbacks."""
        return callbacks_of(json.loads(self.callbacks))

    @property
    def allowed_publications(self) -> tuple[Allowed, ...]:
        """What may be published, and to which queues."""
        return publications_of(json.loads(self.publications))

    @property
    def resumes_any(self) -> bool:
        """Whether a state machine or a durable function may wait for a batch."""
        return bool(self.resumed_state_machines or self.resumed_durable_functions)

    @property
    def webhooks(self) -> tuple[Callback, ...]:
        """The callbacks that are webhooks."""
        return tuple(each for each in self.named_callbacks if each.url)

    def _check_webhooks(self) -> None:
        """Refuse a webhook on this machine, which no function on AWS reaches."""
        for number, each in enumerate(self.named_callbacks, start=1):
            if each.is_local and self.target != "local":
                raise ConfigError(
                    f"callbacks, entry {number}: {each.url} is on this machine: use a public host"
                )

    def _check_grouper(self) -> None:
        """Refuse what needs the group-batcher without it."""
        if self.grouper:
            return
        if self.grouper_registrations:
            raise ConfigError("grouper_registrations needs grouper: its queue registers tasks")
        if {TASK_SUCCEEDED, BUNDLE_FAILED} & set(self.events):
            raise ConfigError(f"events needs grouper for {TASK_SUCCEEDED} and {BUNDLE_FAILED}")

    def _check_queues(self) -> None:
        """Refuse what needs the work queues without them."""
        if self.queues:
            return
        if self.job_queues:
            raise ConfigError("job_queues needs queues: it makes the doorbells of work queues")
        if JOB_DEAD in self.events:
            raise ConfigError(f"events needs queues for {JOB_DEAD}")

    def _check_batch_apis(self) -> None:
        """Refuse timeouts that do not fit into the leases of calls, and a malformed template of targets."""
        try:
            check_timeouts(self.policies, self.batch_apis)
            if self.grouper_target:
                TargetTemplate.parse(self.grouper_target)
        except InvalidRequest as error:
            raise ConfigError(str(error)) from error

    def _check_restored_tables(self) -> None:
        if self.restored_tables and not self.protect_data:
            raise ConfigError(
                "restored_tables needs protect_data: deploy with protect_data=true first, so that the tables "
                "that are replaced are retained"
            )
        self._check_on("restored_tables", restored.by_kind(self.restored_tables))
        if kinds := restored.without_stream(self.restored_tables, self.archive, JOB_DEAD in self.events):
            raise ConfigError(
                f"restored_tables names no stream of {', '.join(kinds)}: enable it, and use its ARN "
                "(LatestStreamArn of describe-table)"
            )

    def _check_warm_throughput(self) -> None:
        """Refuse units of a table that the stack does not make, or does not own."""
        warm = warming.by_kind(self.warm_throughput)
        self._check_on("warm_throughput", warm)
        if both := sorted(warm.keys() & restored.by_kind(self.restored_tables).keys()):
            raise ConfigError(
                f"warm_throughput names {', '.join(both)}, which restored_tables replaces: warm that table "
                "by aws dynamodb update-table --warm-throughput"
            )

    def _check_on(self, setting: str, named: Mapping[str, object]) -> None:
        """Refuse tables of a capability that is off, which the stack does not have."""
        for capability, kinds in (("grouper", restored.OF_GROUPER), ("queues", restored.OF_QUEUES)):
            if not getattr(self, capability) and (off := sorted(named.keys() & kinds)):
                raise ConfigError(f"{setting} names {', '.join(off)}, which needs {capability}")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return the settings *given* by name: values as the command line, JSON or Python has them."""
        kinds = get_type_hints(cls)
        _refuse_unknown("FaninTracker", given.keys() - kinds.keys())
        parsed: dict[str, Any] = {name: _parsed(name, kinds[name], value) for name, value in given.items()}
        return cls(**parsed)

    @classmethod
    def from_context(cls, context: Mapping[str, Any]) -> Self:
        """Read the settings from *context*, the CDK context as a whole."""
        kinds = get_type_hints(cls)
        _refuse_misspelt(context.keys(), kinds.keys() | {"stages"})
        stage = str(context.get("stage") or "dev")
        of_stage = _of_stage(context, stage)
        _refuse_unknown(f"stages.{stage}", of_stage.keys() - kinds.keys())
        return cls.of(
            {**of_stage, **{name: context[name] for name in kinds if context.get(name) is not None}}
        )


def _refuse_unknown(where: str, unknown: Set[str]) -> None:
    if unknown:
        raise ConfigError(f"{where} has unknown settings: {', '.join(sorted(unknown))}; see docs/settings.md")


def _refuse_misspelt(given: Set[str], known: Set[str]) -> None:
    """Refuse each name that is nearly a *known* one. Others are not fanin's.

    The CDK stores names of its own in cdk.context.json (``cdk acknowledge``, ``cdk cli-telemetry``), and
    ``~/.cdk.json`` has those of all apps of its user.
    """
    meant = {name: _nearest(name, known) for name in sorted(given - known)}
    if misspelt := [f"{name} (for {near})" for name, near in meant.items() if near]:
        raise ConfigError(f"the context has unknown settings: {', '.join(misspelt)}; see docs/settings.md")


def _nearest(name: str, known: Set[str]) -> str:
    """Return the one of *known* that *name* nearly is, or an empty text."""
    written = re.sub(r"\W", "_", name.strip().lower())
    return next(iter(get_close_matches(written, sorted(known), n=1, cutoff=NEAR)), "")


def _of_stage(context: Mapping[str, Any], stage: str) -> Mapping[str, Any]:
    stages = context.get("stages") or {}
    of_stage = stages.get(stage) or {} if isinstance(stages, Mapping) else None
    if not isinstance(of_stage, Mapping):
        raise ConfigError(f"stages.{stage} is not an object of settings")
    return of_stage


def _parsed(name: str, kind: Any, value: object) -> object:
    """Return *value* as *kind*: the command line passes text, cdk.json JSON values."""
    if kind is bool:
        return _flag(name, value)
    if kind is int:
        return _whole_number(name, value)
    if kind == tuple[str, ...]:
        return _texts(name, value)
    if kind in (ByPattern, ByName) and isinstance(value, list):
        return json.dumps([_with_whole_numbers(row) for row in value])
    if not isinstance(value, str):
        raise _refused(name, value, "text")
    return value


def _flag(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return value == "true"
    raise _refused(name, value, "true or false")


def _whole_number(name: str, value: object) -> int:
    value = _whole(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
        return int(value)
    raise _refused(name, value, "a whole number")


def _whole(value: object) -> object:
    """Return a whole float as an int: jsii may return an int as a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _with_whole_numbers(row: object) -> object:
    return {name: _whole(value) for name, value in row.items()} if isinstance(row, Mapping) else row


def _texts(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise _refused(name, value, "a list of texts, or one text with commas")


def _refused(name: str, value: object, takes: str) -> ConfigError:
    return ConfigError(f"{name} is {value!r}; it takes {takes}")


def _check_entries(name: str, parse: Callable[[Rows], object], text: str) -> None:
    try:
        parse(json.loads(text))
    except InvalidRequest as error:
        raise ConfigError(f"{name}, {error}") from error
