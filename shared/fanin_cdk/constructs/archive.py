"""The archive: every change of the tables, as files; deployed only with the context ``archive=true``.

    streams of Batches, Pages, Jobs, Tasks, Bundles -> archive_changes -> bucket
    deliveries that failed for too long -> dead-letter queue

A delivery has the records of one minute, at most 1,000. One that fails is retried, in halves, for 12 hours;
then its position in the stream (not the records) goes to the dead-letter queue. The stream keeps its records
for 24 hours, so 12 hours are left to read them again. A stream supports two readers; that of Batches has
two: publish_endings and archive_changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from aws_cdk import Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from fanin.names import QUOTA_ROW
from fanin_cdk.constructs.buckets import ABANDONED, private_bucket
from fanin_cdk.constructs.functions import Functions
from fanin_cdk.constructs.queues import dead_letter_queue
from fanin_cdk.constructs.tables import stream_arn
from fanin_cdk.constructs.triggers import Reader
from fanin_cdk.grants.handlers import ARCHIVE_CHANGES
from fanin_cdk.nag import accept
from fanin_cdk.settings.config import Config

FOLDER = "changes"
RECORDS_AT_ONCE = 1000
WINDOW = Duration.minutes(1)
# Rows that are archived, where not all are: no idempotency keys, task tokens, quotas, heartbeats of workers.
ROWS: dict[str, dict[str, Any]] = {
    "batches": {"sk": {"S": [{"anything-but": ["key", "token", QUOTA_ROW]}]}},
    "jobs": {"pk": {"S": [{"prefix": "J#"}, {"prefix": "D#"}]}},
}


class Archive(Construct):
    """Stores the changes of *tables*, by what they hold, in a bucket that is retained with its content."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        config: Config,
        functions: Functions,
        tables: Mapping[str, dynamodb.ITable],
    ) -> None:
        super().__init__(scope, id_)
        self.bucket = _bucket(self, config)
        self.dead_letter_queue = dead_letter_queue(self, "DeadLetters")
        accept(self.dead_letter_queue, "This is the streams' dead-letter queue", "AwsSolutions-SQS3")
        names = {kind: table.table_name for kind, table in tables.items()}
        environment = {
            "FANIN_ARCHIVE_BUCKET": self.bucket.bucket_name,
            "FANIN_ARCHIVE_TABLES": Stack.of(self).to_json_string(names),
        }
        self.reader = Reader(functions.add(ARCHIVE_CHANGES, environment))
        self.function = self.reader.function
        self._let_write()
        for kind, table in tables.items():
            self._follow(kind, stream_arn(table))

    def _let_write(self) -> None:
        objects = self.bucket.arn_for_objects(f"{FOLDER}/*")
        put = iam.PolicyStatement(actions=["s3:PutObject"], resources=[objects])
        self.function.add_to_role_policy(put)
        bucket = Stack.of(self).get_logical_id(cast(s3.CfnBucket, self.bucket.node.default_child))
        finding = f"AwsSolutions-IAM5[Resource::<{bucket}.Arn>/{FOLDER}/*]"
        owner = cast(Construct, self.function.node.scope)
        accept(owner, "Of an object's name only the folder is known before", finding)

    def _follow(self, kind: str, stream: str) -> None:
        """Add the stream of the table of *kind* as event source of the function."""
        self.reader.follow(
            kind.capitalize(),
            stream,
            self.dead_letter_queue,
            at_once=RECORDS_AT_ONCE,
            window=WINDOW,
            patterns=({"dynamodb": {"Keys": ROWS[kind]}},) if kind in ROWS else (),
        )


def _bucket(scope: Construct, config: Config) -> s3.Bucket:
    """Return a private bucket whose objects expire after ``archive_days``."""
    rule = s3.LifecycleRule(
        expiration=Duration.days(config.archive_days), abort_incomplete_multipart_upload_after=ABANDONED
    )
    bucket = private_bucket(scope, "Bucket", [rule])
    accept(bucket, "One function writes, and readers are the account's own", "AwsSolutions-S1")
    return bucket
