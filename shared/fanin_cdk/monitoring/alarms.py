"""Alarms that publish to a topic; the description of each one ends with its runbook."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from fanin_cdk.settings.config import Config

RUNBOOKS = "docs/runbooks.md"
AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
LESS = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
NO_ALARM = cloudwatch.TreatMissingData.NOT_BREACHING
ALARM = cloudwatch.TreatMissingData.BREACHING


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """When a metric raises an alarm: *datapoints* of the last *periods* periods reach *threshold*.

    *missing*: what a period without a value means.
    """

    threshold: float = 1
    periods: int = 1
    datapoints: int = 1
    comparison: cloudwatch.ComparisonOperator = AT_LEAST
    missing: cloudwatch.TreatMissingData = NO_ALARM


FIRST = Rule()
"""The first event raises the alarm."""


class Alarms:
    """Creates alarms in *scope* that publish to *topic*: ``added`` has all, ``urgent`` those to act on now.

    The emulator of the local run refuses alarms on metric math, so its template has none.
    """

    def __init__(self, scope: Construct, topic: sns.ITopic, config: Config) -> None:
        self.scope = scope
        self.topic = topic
        self.is_local = config.target == "local"
        self.added: list[cloudwatch.Alarm] = []
        self.urgent: list[cloudwatch.Alarm] = []
        self._joint: cloudwatch.CfnCompositeAlarm | None = None

    def add_urgent(
        self, name: str, metric: cloudwatch.IMetric, meaning: str, runbook: str, rule: Rule = FIRST
    ) -> None:
        """Add an alarm that an operator must act on now: nothing else repairs the cause, or the loss."""
        known = len(self.added)
        self.add(name, metric, meaning, runbook, rule)
        self.urgent += self.added[known:]
        if self._joint:
            self._joint.alarm_rule = self._any_urgent()

    def join(self) -> None:
        """Add the alarm ``ActNow``, which is raised while an urgent one is, also one that is added later."""
        if not self.is_local:
            self._joint = cloudwatch.CfnCompositeAlarm(
                self.scope,
                "ActNow",
                alarm_rule=self._any_urgent(),
                alarm_actions=[self.topic.topic_arn],
                alarm_description=f"An operator must act now. What to do: {RUNBOOKS}#alarms",
            )

    def _any_urgent(self) -> str:
        return " OR ".join(f'ALARM("{alarm.alarm_name}")' for alarm in self.urgent)

    def add(
        self, name: str, metric: cloudwatch.IMetric, meaning: str, runbook: str, rule: Rule = FIRST
    ) -> None:
        """Add the alarm *name*. *meaning*: one clause. *runbook*: the anchor of its section."""
        if self.is_local and isinstance(metric, cloudwatch.MathExpression):
            return
        alarm = cloudwatch.Alarm(
            self.scope,
            name,
            metric=metric,
            alarm_description=f"{meaning}. What to do: {RUNBOOKS}#{runbook}",
            threshold=rule.threshold,
            evaluation_periods=rule.periods,
            datapoints_to_alarm=rule.datapoints,
            comparison_operator=rule.comparison,
            treat_missing_data=rule.missing,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))
        self.added.append(alarm)
