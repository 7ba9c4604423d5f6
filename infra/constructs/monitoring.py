"""Alarms on failures, stopped sweepers and old batches, and the dashboard."""

from __future__ import annotations

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fanin import names
from infra.config import Config
from infra.constructs.dashboard import draw
from infra.constructs.functions import name_of
from infra.constructs.metrics import PERIOD, Emitted
from infra.constructs.watched import Watched

AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
LESS = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
UNSWEPT = {
    "Sweep": "overdue batches do not end, lost events are not sent again",
    "SweepGroups": "tasks and bundles that a crash left behind are not woken",
    "SweepJobs": "jobs of dead workers do not go back, delayed ones are not woken",
}
"""The consequence of a stopped sweeper, by its handler: part of the alarm's description."""


class Monitoring(Construct):
    """An SNS topic, the alarms that publish to it, and a dashboard."""

    def __init__(self, scope: Construct, id_: str, config: Config, watched: Watched) -> None:
        super().__init__(scope, id_)
        self.emitted = Emitted(config)
        self.alarms: list[cloudwatch.Alarm] = []
        self.topic = _topic(self)
        if config.alarm_email:
            self.topic.add_subscription(subscriptions.EmailSubscription(config.alarm_email))
        self._watch_for_failures(watched)
        self._watch_batches(config)
        self._watch_sweepers(watched)
        draw(self, self.emitted, watched, self.alarms)

    def _watch_for_failures(self, watched: Watched) -> None:
        for name, queue in watched.dead_letter_queues.items():
            self._alarm(f"{name}DeadLetters", _depth(queue), f"{name}: messages were given up on")
        for function in watched.functions:
            name = name_of(function)
            errors = function.metric_errors(period=Duration.minutes(1))
            self._alarm(f"{name}Errors", errors, f"{name}: invocations failed")

    def _watch_batches(self, config: Config) -> None:
        hours = config.oldest_batch_alarm_hours
        oldest = self.emitted.metric(names.OLDEST_BATCH_SECONDS, "Maximum")
        self._alarm("OldestBatch", oldest, f"A batch has not ended for {hours} hours", threshold=hours * 3600)
        self._alarm(
            "LateEvents",
            self.emitted.metric(names.SWEEP_ANNOUNCED_AGAIN),
            "The bus did not confirm an ending event in time: it was sent again",
        )

    def _watch_sweepers(self, watched: Watched) -> None:
        """Alarm on missing invocations. A new stack is in alarm until its first sweep."""
        for sweeper in watched.sweepers:
            name = name_of(sweeper)
            self._alarm(
                f"{name}Stopped",
                sweeper.metric_invocations(period=PERIOD),
                f"{name}: no sweep for five minutes: {UNSWEPT[name]}",
                comparison=LESS,
                missing=cloudwatch.TreatMissingData.BREACHING,
            )

    def _alarm(
        self,
        name: str,
        metric: cloudwatch.Metric,
        description: str,
        threshold: int = 1,
        comparison: cloudwatch.ComparisonOperator = AT_LEAST,
        missing: cloudwatch.TreatMissingData = cloudwatch.TreatMissingData.NOT_BREACHING,
    ) -> None:
        alarm = metric.create_alarm(
            self,
            name,
            alarm_description=description,
            threshold=threshold,
            evaluation_periods=1,
            comparison_operator=comparison,
            treat_missing_data=missing,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))
        self.alarms.append(alarm)


def _topic(scope: Construct) -> sns.Topic:
    """Return a topic, TLS only, that the alarms of this account and region may publish to.

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
    return topic


def _depth(queue: sqs.IQueue) -> cloudwatch.Metric:
    return queue.metric_approximate_number_of_messages_visible(
        period=Duration.minutes(1), statistic="Maximum"
    )
