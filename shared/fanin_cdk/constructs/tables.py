"""The tracker's tables."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from fanin.names import LIVE_BATCHES_INDEX, NEXT_CHECK_INDEX, TENANT_INDEX, USER_KEY_INDEX
from fanin_cdk.monitoring.watched import WatchedTable
from fanin_cdk.settings.config import Config
from fanin_cdk.settings.restored import by_kind
from fanin_cdk.settings.warming import by_kind as warm_by_kind

# Epoch seconds; DynamoDB deletes an item some time after. Only storage depends on it.
TTL_ATTRIBUTE = "ttl"
IMAGES = dynamodb.StreamViewType.NEW_AND_OLD_IMAGES
KINDS_BY_ID = {"Table": "jobs"}
"""What a table holds, where its id does not say so."""
KEYS_ONLY, ALL = dynamodb.ProjectionType.KEYS_ONLY, dynamodb.ProjectionType.ALL


def text(name: str) -> dynamodb.Attribute:
    """Return a key attribute of type S."""
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)


def number(name: str) -> dynamodb.Attribute:
    """Return a key attribute of type N."""
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.NUMBER)


class Tables(Construct):
    """Batches (a batch and all that belongs to it; streamed, with indexes) and Pages (the bitfields)."""

    def __init__(self, scope: Construct, id_: str, config: Config) -> None:
        super().__init__(scope, id_)
        self.batches = restored_table(self, "Batches", config, "batches") or self._new_batches(config)
        self.pages = restored_table(self, "Pages", config, "pages") or table(
            self, "Pages", config, stream=archived(config)
        )
        indexes = (NEXT_CHECK_INDEX, LIVE_BATCHES_INDEX, TENANT_INDEX, USER_KEY_INDEX)
        self.watched = {
            "Batches": WatchedTable(table=self.batches, indexes=indexes),
            "Pages": WatchedTable(table=self.pages),
        }

    def _new_batches(self, config: Config) -> dynamodb.Table:
        batches = table(self, "Batches", config, sort_key="sk", stream=IMAGES)
        # Batches by the time of their next check; the sweeper reads the row itself from the table.
        index(batches, config, NEXT_CHECK_INDEX, text("dueShard"), number("dueAt"), KEYS_ONLY)
        # Live batches, oldest first.
        index(batches, config, LIVE_BATCHES_INDEX, text("liveShard"), text("createdKey"), KEYS_ONLY)
        # Lists, newest first: a tenant's batches in shards, and those of one user key.
        index(batches, config, TENANT_INDEX, text("tenantShard"), text("createdKey"), ALL)
        index(batches, config, USER_KEY_INDEX, text("tenantUser"), text("createdKey"), ALL)
        return batches


def table(
    scope: Construct,
    id_: str,
    config: Config,
    *,
    key: str = "pk",
    sort_key: str | None = None,
    stream: dynamodb.StreamViewType | None = None,
) -> dynamodb.Table:
    """Return an on-demand table with partition key *key*, TTL and point-in-time recovery."""
    return dynamodb.Table(
        scope,
        id_,
        partition_key=text(key),
        sort_key=text(sort_key) if sort_key else None,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        max_read_request_units=config.max_request_units or None,
        max_write_request_units=config.max_request_units or None,
        warm_throughput=_warm(config, id_),
        time_to_live_attribute=TTL_ATTRIBUTE,
        stream=stream,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        deletion_protection=config.protect_data,
        removal_policy=RemovalPolicy.RETAIN if config.protect_data else RemovalPolicy.DESTROY,
    )


def restored_table(scope: Construct, id_: str, config: Config, kind: str) -> dynamodb.ITable | None:
    """Return the table that ``restored_tables`` names for *kind*, which the stack does not own; else None."""
    found = by_kind(config.restored_tables).get(kind)
    if found is None:
        return None
    return dynamodb.Table.from_table_attributes(
        scope, id_, table_arn=found.arn, table_stream_arn=found.stream_arn or None
    )


def archived(config: Config) -> dynamodb.StreamViewType | None:
    """Return the stream view of a table whose stream only the archive reads; None without the archive."""
    return IMAGES if config.archive else None


def stream_arn(table: dynamodb.ITable) -> str:
    """Return the ARN of the stream of *table*; raise ValueError if it has none."""
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
    """Add a sparse global secondary index to *table*, with the table's cap on request units.

    It is as warm as the table. *facts*: the attributes of the projection INCLUDE.
    """
    table.add_global_secondary_index(
        index_name=name,
        partition_key=partition,
        sort_key=sort,
        projection_type=projection,
        non_key_attributes=list(facts) if facts else None,
        max_read_request_units=config.max_request_units or None,
        max_write_request_units=config.max_request_units or None,
        warm_throughput=_warm(config, table.node.id),
    )


def _warm(config: Config, id_: str) -> dynamodb.WarmThroughput | None:
    """Return the warm throughput of the table *id_*; None: what a new table has."""
    found = warm_by_kind(config.warm_throughput).get(KINDS_BY_ID.get(id_, id_.lower()))
    if found is None:
        return None
    return dynamodb.WarmThroughput(read_units_per_second=found.reads, write_units_per_second=found.writes)
