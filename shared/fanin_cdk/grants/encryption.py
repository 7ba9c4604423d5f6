"""Encryption with a key of the user: tables, queues and buckets, and what reads and writes them."""

from __future__ import annotations

from aws_cdk import Annotations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

# What the CDK grants for reads and writes of a table with a key, each action in full.
USE_KEY = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
# What a service needs that sends to a queue with a key: Amazon SQS Developer Guide, Key management.
SEND = ("kms:Decrypt", "kms:GenerateDataKey")


def encrypt(parts: Construct, key: kms.IKey) -> None:
    """Encrypt what *parts* have so far with *key*, and let their roles and EventBridge use it."""
    for each in parts.node.find_all():
        if isinstance(each, dynamodb.CfnTable):
            each.sse_specification = dynamodb.CfnTable.SSESpecificationProperty(
                sse_enabled=True, sse_type="KMS", kms_master_key_id=key.key_arn
            )
        elif isinstance(each, sqs.CfnQueue):
            each.sqs_managed_sse_enabled = False
            each.kms_master_key_id = key.key_arn
        elif isinstance(each, s3.CfnBucket):
            each.bucket_encryption = _of_bucket(key)
        elif isinstance(each, iam.Role):
            let_use(each, key)


def let_use(grantee: iam.IGrantable, key: kms.IKey) -> None:
    """Let *grantee* read and write what is encrypted with *key*."""
    iam.Grant.add_to_principal(grantee=grantee, actions=list(USE_KEY), resource_arns=[key.key_arn])


def admit_events(key: kms.IKey) -> None:
    """Let EventBridge send to queues with *key*; an imported key needs its owner to.

    Without a condition: "aws:SourceAccount" and "aws:SourceArn" are not supported in the policy of a key for
    what EventBridge sends (Amazon SNS Developer Guide, Key management), and the event would be lost. The
    policies of the queues name the rules.
    """
    added = key.add_to_resource_policy(
        iam.PolicyStatement(
            actions=list(SEND),
            principals=[iam.ServicePrincipal("events.amazonaws.com")],
            resources=["*"],
        )
    )
    if not added.statement_added:
        Annotations.of(key).add_warning_v2(
            "fanin:imported_key",
            f"{key.node.path} is imported: its policy must allow events.amazonaws.com {' and '.join(SEND)}",
        )


def _of_bucket(key: kms.IKey) -> s3.CfnBucket.BucketEncryptionProperty:
    by_default = s3.CfnBucket.ServerSideEncryptionByDefaultProperty(
        sse_algorithm="aws:kms", kms_master_key_id=key.key_arn
    )
    rule = s3.CfnBucket.ServerSideEncryptionRuleProperty(
        server_side_encryption_by_default=by_default, bucket_key_enabled=True
    )
    return s3.CfnBucket.BucketEncryptionProperty(server_side_encryption_configuration=[rule])
