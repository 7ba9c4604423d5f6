"""The resources that alarms and the dashboard watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """All functions, the sweepers among them, and the queues by name of their part."""

    functions: Sequence[lambda_.Function]
    sweepers: Sequence[lambda_.Function]
    queues: Mapping[str, sqs.IQueue]
    dead_letter_queues: Mapping[str, sqs.IQueue]
