"""What a topic, and its key, need for the alarms that publish to it."""

from __future__ import annotations

from aws_cdk import Annotations, Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns

# Amazon SNS Developer Guide, Key management: of a service that publishes to an encrypted topic.
USE_KEY = ("kms:Decrypt", "kms:GenerateDataKey*")


def let_alarms_publish(topic: sns.ITopic) -> None:
    """Let the alarms of this account and region publish to *topic*; an imported one needs its owner to.

    Any policy replaces a topic's default one, which lets CloudWatch publish: that of ``enforce_ssl``, or one
    that another service needs.
    """
    added = topic.add_to_resource_policy(_of_alarms("sns:Publish", resource=topic.topic_arn))
    if not added.statement_added:
        Annotations.of(topic).add_warning_v2(
            "fanin:imported_topic",
            f"{topic.node.path} is imported: its policy must allow cloudwatch.amazonaws.com sns:Publish",
        )
    if topic.master_key:
        topic.master_key.add_to_resource_policy(_of_alarms(*USE_KEY, resource="*"))


def _of_alarms(*actions: str, resource: str) -> iam.PolicyStatement:
    alarms = f"arn:{Aws.PARTITION}:cloudwatch:{Aws.REGION}:{Aws.ACCOUNT_ID}:alarm:*"
    return iam.PolicyStatement(
        actions=list(actions),
        principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
        resources=[resource],
        conditions={
            "StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID},
            "ArnLike": {"aws:SourceArn": alarms},
        },
    )
