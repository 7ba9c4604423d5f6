"""The values that a setting takes: a rule for each setting, and how an error names its values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from fanin.names import OPTIONAL_EVENTS
from fanin_cdk.settings import restored, warming

Target = Literal["aws", "local"]
Preset = Literal["off", "lean", "full"]
Rules = Mapping[str, tuple[Callable[[Any], bool], str]]
"""For each setting its rule, and its values as an error names them."""


def matches(pattern: str) -> Callable[[Any], bool]:
    """Return the rule of a text of *pattern*."""
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def distinct(pattern: str) -> Callable[[Any], bool]:
    """Return the rule of a list of different texts of *pattern*."""
    one = matches(pattern)
    return lambda values: all(one(value) for value in values) and len(set(values)) == len(values)


def _is_of_different_queues(entries: Any) -> bool:
    """Return whether *entries* are ARNs of different queues of one region, with or without tenants."""
    queues = {entry.partition("=")[0] for entry in entries}
    if not distinct(DEAD_LETTER_QUEUE)(entries) or len(queues) != len(entries):
        return False
    return len({queue.split(":")[3] for queue in queues}) <= 1


def _is_of_one_region(pattern: str) -> Callable[[Any], bool]:
    """Return the rule of a list of different ARNs of *pattern* in one region."""
    return lambda arns: distinct(pattern)(arns) and len({arn.split(":")[3] for arn in arns}) <= 1


def _is_of_different_kinds(entries: Any) -> bool:
    """Return whether *entries* are restored tables, each of another kind."""
    return distinct(restored.ENTRY)(entries) and len(restored.by_kind(entries)) == len(entries)


def _is_warm(entries: Any) -> bool:
    """Return whether *entries* are units that tables can have, each for another kind of table."""
    if not distinct(warming.ENTRY)(entries):
        return False
    found = warming.by_kind(entries)
    return len(found) == len(entries) and all(each.is_possible for each in found.values())


def _is_by(key: str) -> Callable[[Any], bool]:
    """Return whether a text is a JSON list of objects that each have a *key*."""

    def holds(text: Any) -> bool:
        try:
            rows = json.loads(text)
        except (ValueError, RecursionError):
            return False
        return isinstance(rows, list) and all(isinstance(row, dict) and key in row for row in rows)

    return holds


def between(low: int, high: int) -> tuple[Callable[[Any], bool], str]:
    """Return the rule of a number from *low* to *high*."""
    return (lambda value: low <= value <= high), f"a whole number from {low} to {high}"


def one_of(kind: Any) -> tuple[Callable[[Any], bool], str]:
    """Return the rule of a value of *kind*, a Literal."""
    values = get_args(kind)
    return (lambda value: value in values), f"{', '.join(values[:-1])} or {values[-1]}"


# The retention periods of CloudWatch Logs, up to ten years.
# fmt: off
LOG_RETENTION_DAYS = (
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
)
# fmt: on

QUEUE_ARN = r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,80}(\.fifo)?"
TENANT = r"[^#\x00-\x1f\x7f-\x9f]{1,255}"
DEAD_LETTER_QUEUE = rf"{QUEUE_ARN}(={TENANT})?"
STATE_MACHINE_ARN = r"arn:aws[a-z-]*:states:[a-z0-9-]+:[0-9]{12}:stateMachine:[A-Za-z0-9_-]{1,80}"
FUNCTION_ARN = r"arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]{1,64}"
USER_KEY = r"[^\x00-\x1f\x7f-\x9f]{1,256}"
STAGE = r"[a-z][a-z0-9-]{0,19}"
DOMAIN = r"(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}"
BUCKET = "[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
CERTIFICATE_ARN = r"arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]{1,64}"
JOB_QUEUE = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}"

RULES: Rules = {
    "stage": (matches(STAGE), "1 to 20 of a-z, 0-9 and -, starting with a-z"),
    "target": one_of(Target),
    "python_version": (matches(r"3\.1[1-4]"), "3.11, 3.12, 3.13 or 3.14"),
    "page_bits": between(2, 1024),
    "max_request_units": between(0, 1_000_000),
    "lambda_concurrency": between(10, 100_000),
    "other_queues": between(0, 1000),
    "consumer_concurrency": (
        lambda value: value == 0 or 2 <= value <= 1000,
        "a whole number from 2 to 1000, or 0 for a share of lambda_concurrency",
    ),
    "throttle_rate": between(0, 10_000),
    "throttle_burst": between(0, 5_000),
    "quota_open_batches": between(0, 1_000_000),
    "quota_adds": between(0, 10_000),
    "quota_tasks": between(0, 100_000),
    "quota_jobs": between(0, 100_000),
    "quota_queues": between(0, 10_000),
    "quota_reads": between(0, 100_000),
    "log_retention_days": (lambda value: value in LOG_RETENTION_DAYS, f"one of {LOG_RETENTION_DAYS}"),
    "jwt_issuer": (matches(r"|https://\S+"), "an https:// URL"),
    "jwt_tenant_claim": (matches(r"\S{1,255}"), "the name of a claim"),
    "jwt_caller_claim": (matches(r"\S{1,255}"), "the name of a claim"),
    "domain_name": (matches(rf"|{DOMAIN}"), "a host name of a-z, 0-9, - and dots, such as fanin.example.com"),
    "certificate_arn": (matches(rf"|{CERTIFICATE_ARN}"), "the ARN of a certificate in ACM"),
    "acks_log": (
        matches(rf"|s3://{BUCKET}/[A-Za-z0-9._=/-]{{1,200}}"),
        "s3://BUCKET/PREFIX, the prefix of A-Z a-z 0-9 . _ = / -",
    ),
    "acks_tenant": (matches(rf"|{TENANT}"), "the name of a tenant: 1 to 255 characters, no # among them"),
    "monitoring": one_of(Preset),
    "oldest_batch_alarm_hours": between(1, 10_000),
    "oldest_message_alarm_minutes": between(1, 20_160),
    "dead_letter_queue_arns": (
        _is_of_different_queues,
        "ARNs of different SQS queues in the stack's region, each alone or as ARN=TENANT",
    ),
    "restored_tables": (
        _is_of_different_kinds,
        f"KIND=ARN for different tables, each the ARN of a table or of its stream; KIND is one of "
        f"{', '.join(restored.KINDS)}",
    ),
    "warm_throughput": (
        _is_warm,
        f"KIND=READS/WRITES for different tables, from {warming.LEAST_READS}/{warming.LEAST_WRITES} to "
        f"{warming.MOST}/{warming.MOST}; KIND is one of {', '.join(restored.KINDS)}",
    ),
    "resumed_state_machines": (
        _is_of_one_region(STATE_MACHINE_ARN),
        "ARNs of different state machines of Step Functions in the stack's region",
    ),
    "resumed_durable_functions": (
        _is_of_one_region(FUNCTION_ARN),
        "ARNs of different Lambda functions in the stack's region, without a version or an alias",
    ),
    "job_queues": (distinct(JOB_QUEUE), "different names of queues: 1 to 80 of A-Z a-z 0-9 . _ -"),
    "callbacks": (_is_by("name"), "a JSON list of objects that each have a name"),
    "publications": (_is_by("source"), "a JSON list of objects that each have a source and a queue"),
    "events": (distinct("|".join(OPTIONAL_EVENTS)), f"different ones of {', '.join(OPTIONAL_EVENTS)}"),
    "grouper_policies": (_is_by("pattern"), "a JSON list of objects that each name a pattern"),
    "grouper_downstream": (_is_by("pattern"), "a JSON list of objects that each name a pattern"),
    "results_bucket": (matches(rf"|{BUCKET}"), "the name of a bucket: 3 to 63 of a-z 0-9 . -"),
    "archive_days": between(1, 3650),
}
