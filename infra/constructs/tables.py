"""The tracker's tables."""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.config import Config

# DynamoDB deletes an item some time after this moment (epoch seconds); nothing but storage depends on it.
TTL_ATTRIBUTE = "ttl"


class Tables(Construct):
    """Batches (the batch item, its groups and receipts; streamed) and Pages (the bitfields)."""

    def __init__(self, scope: Construct, id_: str, config: Config) -> None:
        super().__init__(scope, id_)
        self.batches = table(
            self, "Batches", config, sort_key="sk", stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES
        )
        self.pages = table(self, "Pages", config)


def table(
    scope: Construct,
    id_: str,
    config: Config,
    *,
    sort_key: str | None = None,
    stream: dynamodb.StreamViewType | None = None,
) -> dynamodb.Table:
    """An on-demand table keyed by ``pk``, with expiry and point-in-time recovery; kept if protected."""
    text = dynamodb.AttributeType.STRING
    return dynamodb.Table(
        scope,
        id_,
        partition_key=dynamodb.Attribute(name="pk", type=text),
        sort_key=dynamodb.Attribute(name=sort_key, type=text) if sort_key else None,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        max_read_request_units=config.max_request_units or None,
        max_write_request_units=config.max_request_units or None,
        time_to_live_attribute=TTL_ATTRIBUTE,
        stream=stream,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        deletion_protection=config.protect_data,
        removal_policy=RemovalPolicy.RETAIN if config.protect_data else RemovalPolicy.DESTROY,
    )
