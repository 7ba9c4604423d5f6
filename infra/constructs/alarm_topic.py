"""The topic of the alarms."""

from __future__ import annotations

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct


def alarm_topic(scope: Construct, email: str) -> sns.Topic:
    """Return a topic, TLS only, that the alarms of this account and region may publish to.

    *email*: the address that gets them. Default: none.

    The policy that enforces TLS replaces the topic's default policy, which lets CloudWatch publish.
    """
    topic = sns.Topic(scope, "Alarms", enforce_ssl=True)
    alarms = f"arn:{Aws.PARTITION}:cloudwatch:{Aws.REGION}:{Aws.ACCOUNT_ID}:alarm:*"
    ours = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}, "ArnLike": {"aws:SourceArn": alarms}}
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            actions=["sns:Publish"],
            principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
            resources=[topic.topic_arn],
            conditions=ours,
        )
    )
    if email:
        topic.add_subscription(subscriptions.EmailSubscription(email))
    return topic
