"""The settings of a deployment, read once from the CDK context.

A setting is looked up in the context itself (``cdk synth -c demo=true``), then in the context's
``stages.<stage>`` (in cdk.json); else its default applies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

from fanin.callbacks.model import Callback
from fanin.callbacks.parsing import callbacks_of
from fanin.errors import InvalidRequest
from fanin.grouper.endpoints import Endpoint, check_timeouts
from fanin.grouper.parsing import Rows, endpoints_of, policies_of
from fanin.grouper.policy import Policies
from fanin.grouper.targeting import TargetTemplate
from fanin.names import BUNDLE_FAILED, JOB_DEAD, OPTIONAL_EVENTS, TASK_SUCCEEDED
from infra import restored
from infra.given import NO_NAMES, NO_PATTERNS, ByName, ByPattern, ConfigError, parsed, refused

Target = Literal["aws", "local"]
Engine = Literal["off", "glue", "emr"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """The settings of one deployment.

    ``stage``: the name of the deployment and its stack; 1 to 20 of a-z, 0-9 and ``-``, starting with a-z.
    ``target``: ``aws``, or ``local`` for the emulator: a layer for this host, and unsigned requests.
    ``demo``: adds the demo's queue, worker, index table and event queue; needs ``grouper``.
    ``python_version``: the Lambda runtime, ``3.11`` to ``3.14``; arm64 always.
    ``page_bits``: items on a page of a NEW batch, 2 to 1024; a batch keeps the size that it was opened with.
    ``protect_data``: deletion protection on the tables, which are retained when the stack is deleted.
    ``restored_tables``: tables of a restore that replace the stack's own: ``batches=ARN``, and so on.
    ``max_request_units``: cap on read and on write request units a second of a table; 0 is no cap.
    ``lambda_concurrency``: the concurrent executions that this stack may use of the account's quota.
    ``consumer_concurrency``: concurrent Lambda invocations for one queue, 2 to 1000; 0: its share.
    ``throttle_rate``, ``throttle_burst``: requests a second that the API admits, and its burst limit; 0: its
    share of ``lambda_concurrency``.
    ``log_retention_days``: how long logs are kept, one of the periods of CloudWatch Logs.
    ``jwt_issuer``, ``jwt_audience``: the JWT that the API requires; both empty: it requires IAM signatures.
    ``jwt_tenant_claim``, ``jwt_caller_claim``: the claims that name the tenant of a request and its caller.
    ``acks_tenant``: the tenant of the items in the acks queue's messages, and of the tasks in those of the
    registrations queue. Default: the account id.
    ``alarm_email``: e-mail address for alarms. Default: none.
    ``oldest_batch_alarm_hours``: the age of a live batch that raises an alarm.
    ``oldest_message_alarm_minutes``: the age of a message in a consumed queue that raises an alarm.
    ``throttle_alarms``: adds alarms on throttled functions and tables.
    ``dead_letter_queue_arns``: the users' SQS dead-letter queues in this region. Each of their messages
    becomes a failed ack and is deleted. A list, or the ARNs separated by commas; ``ARN=TENANT`` names the
    tenant of the items. Default: the account id.
    ``keep_letters``: copies each of these messages to a queue that keeps it for 14 days, before it is
    deleted.
    ``resumed_state_machines``: ARNs of Step Functions state machines in this region, whose tasks may wait for
    the end of a batch. A list, or the ARNs separated by commas.
    ``job_queues``: names of work queues whose doorbells the stack makes, for Lambda consumers in a template;
    the API makes those of all others. A list, or the names separated by commas.
    ``events``: the optional events that are published: ``TaskSucceeded``, ``BundleFailed`` (both need
    ``grouper``) and ``JobDead``. A list, or the names separated by commas.
    ``callbacks``: the SQS queues, SNS topics and webhooks that get the events of the batches that name them:
    a list of objects (``fanin.callbacks.parsing`` defines their fields), or such a list as JSON text.
    ``grouper``: adds the group-batcher. ``grouper_policies`` and ``grouper_downstream``: how it bundles and
    which batch API it calls, by pattern of targets: lists of objects (``fanin.grouper.parsing`` defines
    their fields), or such lists as JSON text. ``grouper_target``: the template of the targets of tasks that
    are registered without one, such as ``{customer}/{region}``. ``grouper_registrations``: adds a queue
    whose messages are tasks to register.
    ``archive``: stores every change of the tables as files in a bucket, each for ``archive_days``.
    ``analytics``: runs the Spark jobs on AWS Glue (``glue``) or EMR Serverless (``emr``), not on ``local``.
    ``analytics_workers``: the maximum number of workers of 4 cores and 16 GB for one run on Glue, or for all
    runs on EMR together; 2 to 299, including the driver.
    ``analytics_queue_arns``, ``analytics_bucket_arns``: the SQS queues that jobs may send to, and the S3
    buckets that they may read (datasets, ack logs); lists, or the ARNs separated by commas.
    ``analytics_schedule``: when the audit and the history run, ``cron(...)`` in UTC. Default: on demand.
    """

    stage: str = "dev"
    target: Target = "aws"
    demo: bool = False
    python_version: str = "3.14"
    page_bits: int = 1024
    protect_data: bool = False
    restored_tables: tuple[str, ...] = ()
    max_request_units: int = 0
    lambda_concurrency: int = 10
    consumer_concurrency: int = 0
    throttle_rate: int = 0
    throttle_burst: int = 0
    log_retention_days: int = 14
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_tenant_claim: str = "sub"
    jwt_caller_claim: str = "sub"
    acks_tenant: str = ""
    alarm_email: str = ""
    oldest_batch_alarm_hours: int = 168
    oldest_message_alarm_minutes: int = 15
    throttle_alarms: bool = True
    dead_letter_queue_arns: tuple[str, ...] = ()
    keep_letters: bool = False
    resumed_state_machines: tuple[str, ...] = ()
    job_queues: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    callbacks: ByName = NO_NAMES
    grouper: bool = True
    grouper_policies: ByPattern = NO_PATTERNS
    grouper_downstream: ByPattern = NO_PATTERNS
    grouper_target: str = ""
    grouper_registrations: bool = False
    archive: bool = False
    archive_days: int = 90
    analytics: Engine = "off"
    analytics_workers: int = 10
    analytics_queue_arns: tuple[str, ...] = ()
    analytics_bucket_arns: tuple[str, ...] = ()
    analytics_schedule: str = ""

    def __post_init__(self) -> None:
        for name, (holds, takes) in _RULES.items():
            value = getattr(self, name)
            if not holds(value):
                raise refused(name, value, takes)
        if bool(self.jwt_issuer) != bool(self.jwt_audience):
            raise ConfigError("jwt_issuer and jwt_audience go together: set both or neither")
        self._check_restored_tables()
        self._check_grouper()
        if self.keep_letters and not self.dead_letter_queue_arns:
            raise ConfigError(
                "keep_letters needs dead_letter_queue_arns: it keeps the messages of these queues"
            )
        if self.analytics != "off" and self.target == "local":
            raise ConfigError("analytics runs on AWS only; on this machine run python -m pipeline.jobs.NAME")
        _check_entries("grouper_policies", policies_of, self.grouper_policies)
        _check_entries("grouper_downstream", endpoints_of, self.grouper_downstream)
        self._check_batch_apis()
        _check_entries("callbacks", callbacks_of, self.callbacks)
        self._check_webhooks()

    @property
    def policies(self) -> Policies:
        """The policies of targets."""
        return policies_of(json.loads(self.grouper_policies))

    @property
    def batch_apis(self) -> tuple[Endpoint, ...]:
        """The batch APIs of targets."""
        return endpoints_of(json.loads(self.grouper_downstream))

    def _check_grouper(self) -> None:
        """Refuse what needs the group-batcher without it."""
        if self.grouper:
            return
        if self.demo:
            raise ConfigError("demo needs grouper: the demo bundles some of its items")
        if self.grouper_registrations:
            raise ConfigError("grouper_registrations needs grouper: its queue registers tasks")
        if {TASK_SUCCEEDED, BUNDLE_FAILED} & set(self.events):
            raise ConfigError(f"events needs grouper for {TASK_SUCCEEDED} and {BUNDLE_FAILED}")

    @property
    def named_callbacks(self) -> tuple[Callback, ...]:
        """The callbacks."""
        return callbacks_of(json.loads(self.callbacks))

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
        if kinds := restored.without_stream(self.restored_tables, self.archive, JOB_DEAD in self.events):
            raise ConfigError(
                f"restored_tables names no stream of {', '.join(kinds)}: enable it, and use its ARN "
                "(LatestStreamArn of describe-table)"
            )

    @classmethod
    def from_context(cls, context: Mapping[str, Any]) -> Config:
        """Read the settings from *context*, the CDK context as a whole."""
        kinds = get_type_hints(cls)
        # The context values of the CDK and its libraries have other names: "aws:cdk:...", "@aws-cdk/...".
        named = {name for name in context if not re.search(r"[:@/]", name)}
        _refuse_unknown("the context", named - kinds.keys() - {"stages"})
        stage = str(context.get("stage") or "dev")
        of_stage = _of_stage(context, stage)
        _refuse_unknown(f"stages.{stage}", of_stage.keys() - kinds.keys())
        given = {**of_stage, **{name: context[name] for name in kinds if context.get(name) is not None}}
        settings: dict[str, Any] = {name: parsed(name, kinds[name], value) for name, value in given.items()}
        return cls(**settings)


def _refuse_unknown(where: str, unknown: Set[str]) -> None:
    if unknown:
        raise ConfigError(f"{where} has unknown settings: {', '.join(sorted(unknown))}; see docs/settings.md")


def _of_stage(context: Mapping[str, Any], stage: str) -> Mapping[str, Any]:
    stages = context.get("stages") or {}
    of_stage = stages.get(stage) or {} if isinstance(stages, Mapping) else None
    if not isinstance(of_stage, Mapping):
        raise ConfigError(f"stages.{stage} is not an object of settings")
    return of_stage


def _matches(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _distinct(pattern: str) -> Callable[[Any], bool]:
    one = _matches(pattern)
    return lambda values: all(one(value) for value in values) and len(set(values)) == len(values)


def _is_of_different_queues(entries: Any) -> bool:
    """Return whether *entries* are ARNs of different queues of one region, with or without tenants."""
    queues = {entry.partition("=")[0] for entry in entries}
    if not _distinct(DEAD_LETTER_QUEUE)(entries) or len(queues) != len(entries):
        return False
    return len({queue.split(":")[3] for queue in queues}) <= 1


def _is_of_one_region(pattern: str) -> Callable[[Any], bool]:
    """Return the rule of a list of different ARNs of *pattern* in one region."""
    return lambda arns: _distinct(pattern)(arns) and len({arn.split(":")[3] for arn in arns}) <= 1


def _is_schedule(text: Any) -> bool:
    """Return whether *text* is empty or a cron expression; AWS requires ``?`` for one of the two days."""
    fields = text[5:-1].split(" ")
    return not text or (bool(re.fullmatch(CRON, text)) and (fields[2] == "?") != (fields[4] == "?"))


def _is_of_different_kinds(entries: Any) -> bool:
    """Return whether *entries* are restored tables, each of another kind."""
    return _distinct(restored.ENTRY)(entries) and len(restored.by_kind(entries)) == len(entries)


def _is_by(key: str) -> Callable[[Any], bool]:
    """Return whether a text is a JSON list of objects that each have a *key*."""

    def holds(text: Any) -> bool:
        try:
            rows = json.loads(text)
        except (ValueError, RecursionError):
            return False
        return isinstance(rows, list) and all(isinstance(row, dict) and key in row for row in rows)

    return holds


def _check_entries(name: str, parse: Callable[[Rows], object], text: str) -> None:
    try:
        parse(json.loads(text))
    except InvalidRequest as error:
        raise ConfigError(f"{name}, {error}") from error


def _between(low: int, high: int) -> tuple[Callable[[Any], bool], str]:
    return (lambda value: low <= value <= high), f"a whole number from {low} to {high}"


# The retention periods of CloudWatch Logs, up to ten years.
# fmt: off
LOG_RETENTION_DAYS = (
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
)
# fmt: on

QUEUE_ARN = r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,80}(\.fifo)?"
TENANT = r"[^#\x00-\x1f\x7f-\x9f]{1,255}"
DEAD_LETTER_QUEUE = rf"{QUEUE_ARN}(={TENANT})?"
BUCKET_ARN = r"arn:aws[a-z-]*:s3:::[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
# Minute, hour, day of the month, month, day of the week, year.
CRON = r"cron\([0-9*,/-]+ [0-9*,/-]+ [0-9*?,/LW-]+ [0-9A-Z*,/-]+ [0-9A-Z*?,/#-]+ [0-9*,/-]+\)"
STATE_MACHINE_ARN = r"arn:aws[a-z-]*:states:[a-z0-9-]+:[0-9]{12}:stateMachine:[A-Za-z0-9_-]{1,80}"
JOB_QUEUE = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}"

_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "stage": (_matches(r"[a-z][a-z0-9-]{0,19}"), "1 to 20 of a-z, 0-9 and -, starting with a-z"),
    "target": (lambda value: value in get_args(Target), " or ".join(get_args(Target))),
    "python_version": (_matches(r"3\.1[1-4]"), "3.11, 3.12, 3.13 or 3.14"),
    "page_bits": _between(2, 1024),
    "max_request_units": _between(0, 1_000_000),
    "lambda_concurrency": _between(10, 100_000),
    "consumer_concurrency": (
        lambda value: value == 0 or 2 <= value <= 1000,
        "a whole number from 2 to 1000, or 0 for a share of lambda_concurrency",
    ),
    "throttle_rate": _between(0, 10_000),
    "throttle_burst": _between(0, 5_000),
    "log_retention_days": (lambda value: value in LOG_RETENTION_DAYS, f"one of {LOG_RETENTION_DAYS}"),
    "jwt_issuer": (_matches(r"|https://\S+"), "an https:// URL"),
    "jwt_tenant_claim": (_matches(r"\S{1,255}"), "the name of a claim"),
    "jwt_caller_claim": (_matches(r"\S{1,255}"), "the name of a claim"),
    "acks_tenant": (_matches(rf"|{TENANT}"), "the name of a tenant: 1 to 255 characters, no # among them"),
    "oldest_batch_alarm_hours": _between(1, 10_000),
    "oldest_message_alarm_minutes": _between(1, 20_160),
    "dead_letter_queue_arns": (
        _is_of_different_queues,
        "ARNs of different SQS queues in the stack's region, each alone or as ARN=TENANT",
    ),
    "restored_tables": (
        _is_of_different_kinds,
        f"KIND=ARN for different tables, each the ARN of a table or of its stream; KIND is one of "
        f"{', '.join(restored.KINDS)}",
    ),
    "resumed_state_machines": (
        _is_of_one_region(STATE_MACHINE_ARN),
        "ARNs of different state machines of Step Functions in the stack's region",
    ),
    "job_queues": (_distinct(JOB_QUEUE), "different names of queues: 1 to 80 of A-Z a-z 0-9 . _ -"),
    "events": (_distinct("|".join(OPTIONAL_EVENTS)), f"different ones of {', '.join(OPTIONAL_EVENTS)}"),
    "callbacks": (_is_by("name"), "a JSON list of objects that each have a name"),
    "grouper_policies": (_is_by("pattern"), "a JSON list of objects that each name a pattern"),
    "grouper_downstream": (_is_by("pattern"), "a JSON list of objects that each name a pattern"),
    "archive_days": _between(1, 3650),
    "analytics": (lambda value: value in get_args(Engine), " or ".join(get_args(Engine))),
    "analytics_workers": _between(2, 299),
    "analytics_queue_arns": (_distinct(QUEUE_ARN), "ARNs of different SQS queues"),
    "analytics_bucket_arns": (_distinct(BUCKET_ARN), "ARNs of different S3 buckets"),
    "analytics_schedule": (
        _is_schedule,
        "cron(...) of six fields with one space between them; one of day-of-month and day-of-week is ?",
    ),
    "alarm_email": (_matches(r"|[^@\s]+@[^@\s]+"), "an e-mail address"),
}
