"""The tracker's tables."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.config import Config

# DynamoDB deletes an item some time after this moment (epoch seconds); nothing but storage depends on it.
TTL_ATTRIBUTE = "ttl"
IMAGES = dynamodb.StreamViewType.NEW_AND_OLD_IMAGES
# What a reader of a stream is granted on it.
READ_STREAM = (
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
)
KEYS_ONLY, ALL = dynamodb.ProjectionType.KEYS_ONLY, dynamodb.ProjectionType.ALL


def text(name: str) -> dynamodb.Attribute:
    """A key attribute of kind S."""
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)


def number(name: str) -> dynamodb.Attribute:
    """A key attribute of kind N."""
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.NUMBER)


class Tables(Construct):
    """Batches (a batch and all that belongs to it; streamed, with indexes) and Pages (the bitfields)."""

    def __init__(self, scope: Construct, id_: str, config: Config) -> None:
        super().__init__(scope, id_)
        self.batches = table(self, "Batches", config, sort_key="sk", stream=IMAGES)
        # Batches to look at, by time; the table is asked what each is.
        index(self.batches, config, "due", text("dueShard"), number("dueAt"), KEYS_ONLY)
        # Live batches, the oldest first.
        index(self.batches, config, "live", text("liveShard"), text("createdKey"), KEYS_ONLY)
        # Lists, newest first: a tenant's batches in shards, and those under one of the tenant's user keys.
        index(self.batches, config, "byTenant", text("tenantShard"), text("createdKey"), ALL)
        index(self.batches, config, "byUser", text("tenantUser"), text("createdKey"), ALL)
        self.pages = table(self, "Pages", config, stream=archived(config))


def table(
    scope: Construct,
    id_: str,
    config: Config,
    *,
    key: str = "pk",
    sort_key: str | None = None,
    stream: dynamodb.StreamViewType | None = None,
) -> dynamodb.Table:
    """An on-demand table keyed by *key*, with expiry and point-in-time recovery; kept if protected."""
    return dynamodb.Table(
        scope,
        id_,
        partition_key=text(key),
        sort_key=text(sort_key) if sort_key else None,
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


def archived(config: Config) -> dynamodb.StreamViewType | None:
    """The stream of a table that nothing reads but the archive: none where there is none."""
    return IMAGES if config.archive else None


def stream_arn(table: dynamodb.Table) -> str:
    """The ARN of the stream of *table*; ValueError where it has none."""
    if table.table_stream_arn is None:
        raise ValueError(f"{table.node.path} has no stream")
    return table.table_stream_arn


def index(
    table: dynamodb.Table,
    config: Config,
    name: str,
    partition: dynamodb.Attribute,
    sort: dynamodb.Attribute,
    projection: dynamodb.ProjectionType,
    facts: Sequence[str] | None = None,
) -> None:
    """An index of *table* under the table's cap: an item without the index's keys is not in it.

    *facts*: the attributes that it shows, where its projection is INCLUDE.
    """
    table.add_global_secondary_index(
        index_name=name,
        partition_key=partition,
        sort_key=sort,
        projection_type=projection,
        non_key_attributes=list(facts) if facts else None,
        max_read_request_units=config.max_request_units or None,
        max_write_request_units=config.max_request_units or None,
    )
