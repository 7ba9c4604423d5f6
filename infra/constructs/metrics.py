"""The metrics that the functions emit, as alarms and the dashboard query them."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.config import Config
from infra.constructs.functions import service_name

NAMESPACE = "fanin"
PERIOD = Duration.minutes(5)

BATCHES = ("BatchesOpened", "BatchesCompleted", "BatchesCancelled", "BatchesTimedOut", "BatchesExpired")
ITEMS = ("ItemsAdded", "AcksAccepted")
WITHOUT_EFFECT = ("AcksDuplicate", "AcksRefused", "AcksReturned", "AcksDropped")
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
    """Metrics of one stage: every function emits with the stage's service name as the only dimension."""

    def __init__(self, config: Config) -> None:
        self.dimensions = {"service": service_name(config)}

    def metric(self, name: str, statistic: str = "Sum") -> cloudwatch.Metric:
        """Return the metric *name* with a period of five minutes."""
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=name,
            dimensions_map=self.dimensions,
            statistic=statistic,
            period=PERIOD,
        )

    def sums(self, names: Sequence[str]) -> list[cloudwatch.IMetric]:
        """Return the sums of several metrics."""
        return [self.metric(name) for name in names]

    def rate(self, name: str) -> cloudwatch.IMetric:
        """Return the sum of *name* a second."""
        return cloudwatch.MathExpression(
            expression="counted / PERIOD(counted)",
            using_metrics={"counted": self.metric(name)},
            period=PERIOD,
            label=f"{name} a second",
        )
