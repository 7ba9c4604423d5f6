"""The metrics that the functions emit, as alarms and the dashboard ask for them."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.config import Config
from infra.constructs.functions import service_name

NAMESPACE = "fanin"
PERIOD = Duration.minutes(5)

LIVES = ("BatchesOpened", "BatchesCompleted", "BatchesCancelled", "BatchesTimedOut", "BatchesExpired")
ITEMS = ("ItemsAdded", "AcksAccepted")
SET_ASIDE = ("AcksDuplicate", "AcksRefused", "AcksReturned", "AcksDropped")
OLDEST = "OldestOpenBatchSeconds"
ANNOUNCED_AGAIN = "SweepAnnouncedAgain"
SWEEPS = ("SweepLooked", "SweepRepaired", ANNOUNCED_AGAIN, "SweepFailed")
EVENTS = ("EventsConfirmed", "EventsIgnored")
REGISTERED = ("TasksRegistered", "TasksBundled")
BUNDLES = ("BundlesFilled", "BundleCalls", "BundleRepeats", "BundlesPutBack", "BundlesLimited")
SIZE = "BundleSize"
WAIT = "BundleWaitSeconds"
LEADERS = ("LeadersElected", "LeadersContended", "Takeovers")
MESSAGES = ("TaskMessages", "TaskMessagesReturned", "BundleMessages", "BundleMessagesReturned")
WOKEN = ("LanesWoken", "BundlesWoken")
JOBS = ("JobsAdded", "JobsRejected")
DEPTHS = ("JobsQueued", "JobsInProgress", "JobsDelayed", "JobsDead")
OLDEST_JOB = "OldestJobSeconds"
WRITE_UNITS = "WriteUnits"
CONFLICTS = "Conflicts"


class Emitted:
    """Metrics of one stage: every function emits under the stage's name as its only dimension."""

    def __init__(self, config: Config) -> None:
        self.dimensions = {"service": service_name(config)}

    def metric(self, name: str, statistic: str = "Sum") -> cloudwatch.Metric:
        """The metric *name*, every five minutes."""
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=name,
            dimensions_map=self.dimensions,
            statistic=statistic,
            period=PERIOD,
        )

    def sums(self, names: Sequence[str]) -> list[cloudwatch.IMetric]:
        """The totals of several metrics."""
        return [self.metric(name) for name in names]

    def rate(self, name: str) -> cloudwatch.IMetric:
        """How many of *name* there were a second."""
        return cloudwatch.MathExpression(
            expression="counted / PERIOD(counted)",
            using_metrics={"counted": self.metric(name)},
            period=PERIOD,
            label=f"{name} a second",
        )
