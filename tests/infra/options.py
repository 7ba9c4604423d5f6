"""Every setting of the stack with values to test, and deployments that cover them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

ARN = "arn:aws:sqs:eu-west-1:123456789012:"
STREAM = "pages=arn:aws:dynamodb:eu-west-1:123456789012:table/new/stream/2026-11-22T08:00:00.000"
CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/0f6b4b6a-0000-4000-8000-000000000000"
POLICIES = [{"pattern": "orders-*", "maxSize": 50, "rate": 2.5}]
SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop-AbCdEf"
CALLBACKS = [
    {"name": "orders", "queue": f"{ARN}orders"},
    {"name": "in-order", "queue": f"{ARN}orders.fifo", "tenants": ["acme", "shop"]},
    {"name": "people", "topic": "arn:aws:sns:eu-west-1:123456789012:people", "tenants": ["*"]},
    {"name": "shop", "url": "https://shop.example.com/fanin", "secret": SECRET, "timeoutSeconds": 5},
]
PUBLICATIONS = [
    {"source": "s3://lake/in/", "queue": f"{ARN}work", "onCreated": True, "chunk": 50, "rate": 100},
    {"source": "s3://lake/in/", "queue": f"{ARN}mails", "tenants": ["acme"]},
]
DOWNSTREAM = [{"pattern": "*", "url": "https://batch.example.com/"}]
LISTED = [{"source": f"s3://{place}", "queue": f"{ARN}work"} for place in ("lake/b", "lake/a/", "all/")]
PROD: dict[str, Any] = {
    "stage": "prod",
    "python_version": "3.13",
    "callbacks": CALLBACKS[:3],
    "publications": LISTED,
}
OPTIONS: dict[str, Sequence[Any]] = {
    "analytics": ("off", "glue", "emr"),
    "python_version": ("3.14", "3.11", "3.12", "3.13"),
    "target": ("aws", "local"),
    "grouper": (True, False),
    "archive": (False, True),
    "results": (False, True),
    "results_bucket": ("", "shop-results"),
    "protect_data": (False, True),
    "stage": ("dev", "p2345678901234567-90"),
    "page_bits": (1024, 2),
    "max_request_units": (0, 4000),
    "warm_throughput": ([], ["batches=12000/8000", "jobs=40000/40000"]),
    "lambda_concurrency": (10, 1000),
    "other_queues": (0, 3),
    "consumer_concurrency": (2, 1000),
    "throttle_rate": (20, 10_000),
    "throttle_burst": (1000, 1),
    "quota_open_batches": (0, 1_000_000),
    "quota_adds": (0, 1),
    "quota_tasks": (0, 100_000),
    "quota_jobs": (0, 10),
    "quota_queues": (0, 10_000),
    "quota_reads": (0, 100),
    "log_retention_days": (14, 3653),
    "jwt": ({}, {"jwt_issuer": "https://issuer.example.com/", "jwt_audience": "fanin"}),
    "progress_tokens": (False, True),
    "jwt_tenant_claim": ("sub", "c" * 255),
    "jwt_caller_claim": ("sub", "c" * 255),
    "domain": ({}, {"domain_name": "fanin.example.com", "certificate_arn": CERTIFICATE}),
    "acks_tenant": ("", "t" * 255),
    "acks_log": ("", "s3://logs/of/acks"),
    "alarms": (
        {},
        {"monitoring": "full", "alarm_email": "ops@example.com"},
        {"monitoring": "lean", "alarm_email": "ops@example.com"},
        {"monitoring": "off"},
    ),
    "oldest_batch_alarm_hours": (168, 10_000),
    "oldest_message_alarm_minutes": (15, 20_160),
    "restored_tables": ([], [STREAM]),
    "dead_letter_queue_arns": ([], [f"{ARN}orders-dead=acme", f"{ARN}mails-dead.fifo"]),
    "keep_dead_letter_messages": (False, True),
    "resumed_state_machines": (
        [],
        ["arn:aws:states:eu-west-1:123456789012:stateMachine:waits"],
    ),
    "resumed_durable_functions": (
        [],
        ["arn:aws:lambda:eu-west-1:123456789012:function:orders"],
    ),
    "queues": (True, False),
    "job_queues": ([], ["thumbs", "a.b", "a_b"]),
    "callbacks": ([], CALLBACKS),
    "publications": ([], PUBLICATIONS),
    "events": ([], ["TaskSucceeded", "BundleFailed", "JobDead"]),
    "immediate_events": (True, False),
    "grouper_target": ("", "{customer}/{region}"),
    "grouper_registrations": (False, True),
    "grouper_policies": ([], POLICIES),
    "grouper_downstream": ([], DOWNSTREAM),
    "archive_days": (90, 3650),
    "analytics_workers": (10, 299),
    "analytics_queue_arns": ([], [f"{ARN}work"]),
    "analytics_bucket_arns": ([], ["arn:aws:s3:::datasets"]),
    "analytics_schedule": ("", "cron(15 2 * * ? *)"),
}
"""Values by setting, the default first; ``jwt``, ``domain`` and ``alarms`` stand for two settings each."""
NEEDED = {
    "analytics": {"target": "aws"},
    "events": {"grouper": True, "queues": True},
    "grouper_registrations": {"grouper": True},
    "job_queues": {"queues": True},
    "results_bucket": {"results": True},
    "keep_dead_letter_messages": {
        "dead_letter_queue_arns": [f"{ARN}orders-dead=acme", f"{ARN}mails-dead.fifo"]
    },
    "restored_tables": {"protect_data": True},
    "warm_throughput": {"queues": True},
}
"""What a value other than the default requires of another setting."""
FEW = {"grouper": 1, "queues": 1, "alarms": 3}
"""Values by number that make fewer resources than the default."""
Row = dict[str, Any]


def covering(strength: int, *rows: Row) -> Iterator[Row]:
    """Yield *rows*, and deployments after which every valid combination of *strength* values is in one."""
    remaining = {each for each in _combinations(strength) if _is_valid(dict(each))}
    given = iter(rows)
    while remaining:
        row = next(given, None) or _row(remaining)
        remaining -= set(itertools.combinations(sorted(row.items()), strength))
        yield row


def settings(row: Mapping[str, int]) -> dict[str, Any]:
    """Return the settings of *row*, which has the number of each option's value."""
    values = {name: OPTIONS[name][number] for name, number in row.items()}
    return {**values.pop("jwt"), **values.pop("domain"), **values.pop("alarms"), **values}


def _combinations(strength: int) -> Iterator[tuple[tuple[str, int], ...]]:
    for names in itertools.combinations(sorted(OPTIONS), strength):
        yield from itertools.product(
            *([(name, number) for number in range(len(OPTIONS[name]))] for name in names)
        )


def _row(remaining: set[tuple[tuple[str, int], ...]]) -> Row:
    """Return a valid deployment that has many of the combinations in *remaining*."""
    row: Row = {}
    # In sorted order the first option's pairs fill a row alone.
    for each in random.Random(1).sample(sorted(remaining), len(remaining)):
        merged = {**row, **dict(each)}
        if merged.items() >= row.items() and _is_valid(merged):
            row = merged
    return _completed(row)


def _completed(row: Row) -> Row:
    """Add what is missing in *row*: a required value, else one that makes few resources."""
    full = {name: row.get(name, FEW.get(name, 0)) for name in OPTIONS}
    for name, needs in NEEDED.items():
        if full[name]:
            full |= {other: OPTIONS[other].index(value) for other, value in needs.items()}
    return full


def _is_valid(row: Mapping[str, int]) -> bool:
    return all(
        not row.get(name) or row.get(other, OPTIONS[other].index(value)) == OPTIONS[other].index(value)
        for name, needs in NEEDED.items()
        for other, value in needs.items()
    )


UNSET = ("target", "grouper", "queues", "python_version", "stage")
ALL = {name: 0 if name in UNSET else 1 for name in OPTIONS}
EVERYTHING = settings(ALL)
"""Every part of the stack, and an entry in every list that makes resources or grants."""

BATCH_API_SECRET = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:batch-api-AbCdEf"
BATCH_API_KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
INVOKED = "arn:aws:lambda:eu-west-1:111122223333:function:batch"
SIGNED = "arn:aws:execute-api:eu-west-1:111122223333:abcdef1234/$default/POST/batch"
SIGNING = {
    "service": "execute-api",
    "region": "eu-west-1",
    "actions": ["execute-api:Invoke"],
    "resource": SIGNED,
}
CONFIGURED: dict[str, Any] = {
    "lambda_concurrency": 1000,
    "monitoring": "full",
    "alarm_email": "ops@example.com",
    "oldest_batch_alarm_hours": 2,
    "oldest_message_alarm_minutes": 90,
    "archive": True,
    "archive_days": 7,
    "acks_tenant": "umbrella",
    "acks_log": "s3://logs/of/acks",
    "dead_letter_queue_arns": f"{ARN}orders-dead=acme,{ARN}mails-dead.fifo",
    "keep_dead_letter_messages": True,
    "domain_name": "fanin.example.com",
    "certificate_arn": CERTIFICATE,
    "jwt_issuer": "https://issuer.example.com/",
    "jwt_audience": "fanin",
    "jwt_tenant_claim": "org",
    "jwt_caller_claim": "client_id",
    "throttle_rate": 7,
    "throttle_burst": 9,
    "job_queues": "thumbs,mail.v2",
    "callbacks": [
        *({**CALLBACKS[3], "name": name} for name in ("a.b", "a_b", "ab")),
        *({**CALLBACKS[0], "name": name} for name in ("c.d", "c_d", "cd", "CD")),
    ],
    "grouper_registrations": True,
    "grouper_target": "{a}/{b}",
    "grouper_policies": [{"pattern": "slow-*", "leaseSeconds": 40, "callLeaseSeconds": 840}],
    "grouper_downstream": [
        {"pattern": "a", "url": "https://a", "secret": BATCH_API_SECRET, "secretKey": BATCH_API_KEY},
        {"pattern": "b", "url": "https://b", "signing": SIGNING},
        {"pattern": "c", "function": INVOKED},
    ],
}
"""Values that tests find again in the one template that has them."""
