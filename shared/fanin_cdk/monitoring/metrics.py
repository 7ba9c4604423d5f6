"""The metrics that the functions emit, as alarms and the dashboard query them."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from fanin import names
from fanin.completion_events import metrics as announced
from fanin_cdk.constructs.functions import service_name
from fanin_cdk.settings.config import Config

PERIOD = Duration.minutes(5)

BATCHES = (
    names.BATCHES_OPENED,
    names.BATCHES_COMPLETED,
    names.BATCHES_FAILED,
    names.BATCHES_FORCED,
    names.BATCHES_CANCELLED,
    names.BATCHES_TIMED_OUT,
    names.BATCHES_EXPIRED,
)
ITEMS = (names.ITEMS_ADDED, names.ACKS_ACCEPTED)
WITHOUT_EFFECT = (names.ACKS_DUPLICATE, names.ACKS_REFUSED, names.ACKS_RETURNED, names.ACKS_DROPPED)
SWEEPS = (
    names.SWEEP_LOOKED,
    names.SWEEP_REPAIRED,
    names.SWEEP_ANNOUNCED_AGAIN,
    names.SWEEP_FAILED,
    names.THRESHOLDS_REACHED,
)
EVENTS = (
    announced.EVENTS_AT_ONCE,
    announced.EVENTS_LEFT,
    announced.EVENTS_SAVED,
    names.EVENTS_CONFIRMED,
    names.EVENTS_IGNORED,
)
WEBHOOKS = (names.WEBHOOKS_DELIVERED, names.WEBHOOKS_RETURNED, names.WEBHOOKS_GIVEN_UP)
REGISTERED = (names.TASKS_REGISTERED, names.TASKS_BUNDLED)
BUNDLES = (
    names.BUNDLES_FILLED,
    names.BUNDLE_CALLS,
    names.BUNDLE_REPEATS,
    names.BUNDLES_PUT_BACK,
    names.BUNDLES_LIMITED,
)
LEADERS = (names.LEADERS_ELECTED, names.LEADERS_CONTENDED, names.TAKEOVERS)
OF_RESUMES = (names.TASKS_RESUMED, names.TASKS_ENDED_BEFORE, names.RESUMES_RETURNED)
OF_REGISTRATIONS = (names.REGISTRATIONS_RETURNED,)
MESSAGES = (
    names.TASK_MESSAGES,
    names.TASK_MESSAGES_RETURNED,
    names.BUNDLE_MESSAGES,
    names.BUNDLE_MESSAGES_RETURNED,
)
WOKEN = (names.LANES_WOKEN, names.BUNDLES_WOKEN)
JOBS = (names.JOBS_ADDED, names.JOBS_REJECTED)
DEPTHS = (names.JOBS_QUEUED, names.JOBS_IN_PROGRESS, names.JOBS_DELAYED, names.JOBS_DEAD)


class Emitted:
    """Metrics of one stage: every function emits with the stage's service name as the only dimension."""

    def __init__(self, config: Config) -> None:
        self.dimensions = {"service": service_name(config)}

    def metric(self, name: str, statistic: str = "Sum") -> cloudwatch.Metric:
        """Return the metric *name* with a period of five minutes."""
        return cloudwatch.Metric(
            namespace=names.METRICS_NAMESPACE,
            metric_name=name,
            dimensions_map=self.dimensions,
            statistic=statistic,
            period=PERIOD,
        )

    def sums(self, metrics: Sequence[str]) -> list[cloudwatch.IMetric]:
        """Return the sums of several metrics."""
        return [self.metric(name) for name in metrics]

    def rate(self, name: str) -> cloudwatch.IMetric:
        """Return the sum of *name* a second."""
        return cloudwatch.MathExpression(
            expression="counted / PERIOD(counted)",
            using_metrics={"counted": self.metric(name)},
            period=PERIOD,
            label=f"{name} a second",
        )
