"""The topic of the alarms."""

from __future__ import annotations

from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct


def alarm_topic(scope: Construct, email: str) -> sns.Topic:
    """Return a topic, TLS only. *email*: the address that gets the alarms. Default: none."""
    topic = sns.Topic(scope, "Alarms", enforce_ssl=True)
    if email:
        topic.add_subscription(subscriptions.EmailSubscription(email))
    return topic
