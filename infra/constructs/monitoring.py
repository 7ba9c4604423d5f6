"""Alarms: a failure that nobody hears of is the worst one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import Config
from infra.constructs.functions import name_of


class Monitoring(Construct):
    """Alarms of every dead-letter queue that is not empty and every function that fails, to one topic."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        config: Config,
        functions: Sequence[lambda_.Function],
        dead_letters: Mapping[str, sqs.Queue],
    ) -> None:
        super().__init__(scope, id_)
        self.topic = sns.Topic(self, "Alarms", enforce_ssl=True)
        if config.alarm_email:
            self.topic.add_subscription(subscriptions.EmailSubscription(config.alarm_email))
        for name, queue in dead_letters.items():
            self._alarm(f"{name}DeadLetters", _depth(queue), f"{name}: messages were given up on")
        for function in functions:
            name = name_of(function)
            errors = function.metric_errors(period=Duration.minutes(1))
            self._alarm(f"{name}Errors", errors, f"{name}: invocations failed")

    def _alarm(self, name: str, metric: cloudwatch.Metric, description: str) -> None:
        alarm = metric.create_alarm(
            self,
            name,
            alarm_description=description,
            threshold=1,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))


def _depth(queue: sqs.Queue) -> cloudwatch.Metric:
    return queue.metric_approximate_number_of_messages_visible(
        period=Duration.minutes(1), statistic="Maximum"
    )
