"""The settings of FaninTracker as keyword arguments, for editors and type checkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from fanin_cdk.settings.rules import Preset, Target

Rows = Sequence[Mapping[str, Any]] | str
"""A list of objects, or such a list as JSON text."""


class Settings(TypedDict, total=False):
    """The names of ``Config``, which describes them and has their defaults."""

    stage: str
    target: Target
    python_version: str
    page_bits: int
    protect_data: bool
    restored_tables: Sequence[str]
    max_request_units: int
    warm_throughput: Sequence[str]
    lambda_concurrency: int
    other_queues: int
    consumer_concurrency: int
    throttle_rate: int
    throttle_burst: int
    quota_open_batches: int
    quota_adds: int
    quota_tasks: int
    quota_jobs: int
    quota_queues: int
    quota_reads: int
    log_retention_days: int
    jwt_issuer: str
    jwt_audience: str
    jwt_tenant_claim: str
    jwt_caller_claim: str
    progress_tokens: bool
    domain_name: str
    certificate_arn: str
    acks_tenant: str
    acks_log: str
    monitoring: Preset
    oldest_batch_alarm_hours: int
    oldest_message_alarm_minutes: int
    dead_letter_queue_arns: Sequence[str]
    keep_dead_letter_messages: bool
    resumed_state_machines: Sequence[str]
    resumed_durable_functions: Sequence[str]
    queues: bool
    job_queues: Sequence[str]
    callbacks: Rows
    publications: Rows
    events: Sequence[str]
    immediate_events: bool
    grouper: bool
    grouper_policies: Rows
    grouper_downstream: Rows
    grouper_target: str
    grouper_registrations: bool
    results: bool
    results_bucket: str
    archive: bool
    archive_days: int
