"""The settings of a deployment, read once from the CDK context.

A setting is looked up in the context itself (``cdk synth -c demo=true``), then in the context's
``stages.<stage>`` (in cdk.json); else its default applies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal, NewType, get_args, get_type_hints

Target = Literal["aws", "local"]
Engine = Literal["off", "glue", "emr"]
ByPattern = NewType("ByPattern", str)
"""A list of objects, each for a pattern of targets, as JSON text."""


class ConfigError(ValueError):
    """A setting has an invalid value; the message names both and the valid values."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """The settings of one deployment.

    ``stage``: the name of the deployment and its stack; 1 to 20 of a-z, 0-9 and ``-``, starting with a-z.
    ``target``: ``aws``, or ``local`` for the emulator: a layer for this host, and unsigned requests.
    ``demo``: adds the demo's queue, worker, index table and event queue; needs ``grouper``.
    ``python_version``: the Lambda runtime, ``3.11`` to ``3.14``; arm64 always.
    ``page_bits``: items on a page of a NEW batch, 2 to 1024; a batch keeps the size that it was opened with.
    ``protect_data``: deletion protection on the tables, which are retained when the stack is deleted.
    ``max_request_units``: cap on read and on write request units a second of a table; 0 is no cap.
    ``consumer_concurrency``: concurrent Lambda invocations for one queue, 2 to 1000.
    ``throttle_rate``, ``throttle_burst``: requests a second that the API admits, and its burst limit.
    ``log_retention_days``: how long logs are kept, one of the periods of CloudWatch Logs.
    ``jwt_issuer``, ``jwt_audience``: the JWT that the API requires; both empty: it requires IAM signatures.
    ``jwt_tenant_claim``, ``jwt_caller_claim``: the claims that name the tenant of a request and its caller.
    ``acks_tenant``: the tenant of the items in the acks queue's messages. Default: the account id.
    ``alarm_email``: e-mail address for alarms. Default: none.
    ``oldest_batch_alarm_hours``: the age of a live batch that raises an alarm.
    ``dead_letter_queue_arns``: the users' SQS dead-letter queues in this region. Each of their messages
    becomes a failed ack and is deleted. A list, or the ARNs separated by commas; ``ARN=TENANT`` names the
    tenant of the items. Default: the account id.
    ``job_queues``: names of work queues whose doorbells the stack makes, for Lambda consumers in a template;
    the API makes those of all others. A list, or the names separated by commas.
    ``grouper``: adds the group-batcher. ``grouper_policies`` and ``grouper_downstream``: how it bundles and
    which batch API it calls, by pattern of targets: lists of objects (``fanin.grouper.parsing`` defines
    their fields), or such lists as JSON text.
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
    max_request_units: int = 0
    consumer_concurrency: int = 10
    throttle_rate: int = 500
    throttle_burst: int = 1000
    log_retention_days: int = 14
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_tenant_claim: str = "sub"
    jwt_caller_claim: str = "sub"
    acks_tenant: str = ""
    alarm_email: str = ""
    oldest_batch_alarm_hours: int = 168
    dead_letter_queue_arns: tuple[str, ...] = ()
    job_queues: tuple[str, ...] = ()
    grouper: bool = True
    grouper_policies: ByPattern = ByPattern("[]")
    grouper_downstream: ByPattern = ByPattern("[]")
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
                raise _refused(name, value, takes)
        if bool(self.jwt_issuer) != bool(self.jwt_audience):
            raise ConfigError("jwt_issuer and jwt_audience go together: set both or neither")
        if self.demo and not self.grouper:
            raise ConfigError("demo needs grouper: the demo bundles some of its items")
        if self.analytics != "off" and self.target == "local":
            raise ConfigError("analytics runs on AWS only; on this machine run python -m pipeline.jobs.NAME")

    @classmethod
    def from_context(cls, context: Mapping[str, Any]) -> Config:
        """Read the settings from *context*, the CDK context as a whole."""
        kinds = get_type_hints(cls)
        # The context values of the CDK and its libraries have other names: "aws:cdk:...", "@aws-cdk/...".
        named = {name for name in context if re.fullmatch(r"[a-z_]+", name)}
        _refuse_unknown("the context", named - kinds.keys() - {"stages"})
        stage = str(context.get("stage") or "dev")
        of_stage = _of_stage(context, stage)
        _refuse_unknown(f"stages.{stage}", of_stage.keys() - kinds.keys())
        given = {**of_stage, **{name: context[name] for name in kinds if context.get(name) is not None}}
        parsed: dict[str, Any] = {name: _parsed(name, kinds[name], value) for name, value in given.items()}
        return cls(**parsed)


def _refuse_unknown(where: str, unknown: Set[str]) -> None:
    if unknown:
        raise ConfigError(f"{where} has unknown settings: {', '.join(sorted(unknown))}; see docs/settings.md")


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
    if kind is ByPattern and isinstance(value, list):
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


def _matches(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _distinct(pattern: str) -> Callable[[Any], bool]:
    one = _matches(pattern)
    return lambda values: all(one(value) for value in values) and len(set(values)) == len(values)


def _is_of_different_queues(entries: Any) -> bool:
    """Return whether *entries* are ARNs of different queues, each with or without its tenant."""
    queues = {entry.partition("=")[0] for entry in entries}
    return _distinct(DEAD_LETTER_QUEUE)(entries) and len(queues) == len(entries)


def _is_by_pattern(text: Any) -> bool:
    """Return whether *text* is a JSON list of objects with a ``pattern``; other fields are checked later."""
    try:
        rows = json.loads(text)
    except ValueError:
        return False
    return isinstance(rows, list) and all(isinstance(row, dict) and "pattern" in row for row in rows)


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
CRON = r"cron\(\S+( \S+){5}\)"
JOB_QUEUE = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}"

_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "stage": (_matches(r"[a-z][a-z0-9-]{0,19}"), "1 to 20 of a-z, 0-9 and -, starting with a-z"),
    "target": (lambda value: value in get_args(Target), " or ".join(get_args(Target))),
    "python_version": (_matches(r"3\.1[1-4]"), "3.11, 3.12, 3.13 or 3.14"),
    "page_bits": _between(2, 1024),
    "max_request_units": _between(0, 1_000_000),
    "consumer_concurrency": _between(2, 1000),
    "throttle_rate": _between(1, 10_000),
    "throttle_burst": _between(1, 5_000),
    "log_retention_days": (lambda value: value in LOG_RETENTION_DAYS, f"one of {LOG_RETENTION_DAYS}"),
    "jwt_issuer": (_matches(r"|https://\S+"), "an https:// URL"),
    "jwt_tenant_claim": (_matches(r"\S{1,255}"), "the name of a claim"),
    "jwt_caller_claim": (_matches(r"\S{1,255}"), "the name of a claim"),
    "acks_tenant": (_matches(rf"|{TENANT}"), "the name of a tenant: 1 to 255 characters, no # among them"),
    "oldest_batch_alarm_hours": _between(1, 10_000),
    "dead_letter_queue_arns": (
        _is_of_different_queues,
        "ARNs of different SQS queues, each alone or as ARN=TENANT",
    ),
    "job_queues": (_distinct(JOB_QUEUE), "different names of queues: 1 to 80 of A-Z a-z 0-9 . _ -"),
    "grouper_policies": (_is_by_pattern, "a JSON list of objects that each name a pattern"),
    "grouper_downstream": (_is_by_pattern, "a JSON list of objects that each name a pattern"),
    "archive_days": _between(1, 3650),
    "analytics": (lambda value: value in get_args(Engine), " or ".join(get_args(Engine))),
    "analytics_workers": _between(2, 299),
    "analytics_queue_arns": (_distinct(QUEUE_ARN), "ARNs of different SQS queues"),
    "analytics_bucket_arns": (_distinct(BUCKET_ARN), "ARNs of different S3 buckets"),
    "analytics_schedule": (_matches(rf"|{CRON}"), "cron(...) of six fields with one space between them"),
    "alarm_email": (_matches(r"|[^@\s]+@[^@\s]+"), "an e-mail address"),
}
