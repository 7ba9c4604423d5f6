"""The dashboard: one screen with the metrics of fanin and those of AWS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from fanin import names
from fanin_cdk.constructs.functions import name_of
from fanin_cdk.grants.group_handlers import REGISTRATIONS, TASKS
from fanin_cdk.grants.handlers import RESUMES
from fanin_cdk.monitoring import aws_metrics
from fanin_cdk.monitoring.metrics import (
    BATCHES,
    BUNDLES,
    DEPTHS,
    EVENTS,
    ITEMS,
    JOBS,
    LEADERS,
    MESSAGES,
    OF_REGISTRATIONS,
    OF_RESUMES,
    PERIOD,
    REGISTERED,
    SWEEPS,
    WEBHOOKS,
    WITHOUT_EFFECT,
    WOKEN,
    Emitted,
)
from fanin_cdk.monitoring.watched import Watched

HALF, HEIGHT = 12, 6
ALARMS = 100
"""The maximum of an alarm widget."""


def draw(
    scope: Construct, emitted: Emitted, watched: Watched, alarms: Sequence[cloudwatch.IAlarm]
) -> cloudwatch.Dashboard:
    """Return the dashboard: alarms first, then batches, bundles, jobs, queues, routes and functions."""
    dashboard = cloudwatch.Dashboard(scope, "Dashboard", default_interval=Duration.hours(3))
    for number in range(0, len(alarms), ALARMS):
        shown = alarms[number : number + ALARMS]
        dashboard.add_widgets(cloudwatch.AlarmStatusWidget(title="Alarms", alarms=shown, width=2 * HALF))
    of_batches = (*_of_batches(emitted, watched), *_of_webhooks(emitted, watched))
    of_bundles = _of_bundles(emitted, watched) if TASKS in watched.consumed else []
    of_jobs = _of_jobs(emitted) if "Jobs" in watched.tables else []
    ours = (*of_batches, *of_bundles, *of_jobs)
    for row in (*ours, *_of_queues(watched), *_of_routes(watched), *_of_functions(watched)):
        dashboard.add_widgets(*row)
    return dashboard


def _of_batches(emitted: Emitted, watched: Watched) -> list[list[cloudwatch.IWidget]]:
    events = (*EVENTS, *(OF_RESUMES if RESUMES in watched.consumed else ()))
    oldest = emitted.metric(names.OLDEST_BATCH_SECONDS, "Maximum")
    return [
        [
            _graph("Batches", emitted.sums(BATCHES)),
            _graph("Oldest batch that has not ended, seconds", [oldest]),
        ],
        [
            _graph("Items", [emitted.rate(names.ACKS_ACCEPTED), *emitted.sums(ITEMS)]),
            _graph("Acks that changed nothing", emitted.sums(WITHOUT_EFFECT)),
        ],
        [
            _graph("Sweeper and events", emitted.sums((*SWEEPS, *events))),
            _graph("DynamoDB", emitted.sums((names.WRITE_UNITS, names.CONFLICTS))),
        ],
        [
            _graph(
                "Transactions that met another write", map(aws_metrics.conflicts, watched.tables.values())
            ),
        ],
    ]


def _of_webhooks(emitted: Emitted, watched: Watched) -> list[list[cloudwatch.IWidget]]:
    """Return nothing for a stack without webhooks."""
    return (
        [[_graph("Events for webhooks", emitted.sums(WEBHOOKS))]]
        if "Webhooks" in watched.dead_letter_queues
        else []
    )


def _of_bundles(emitted: Emitted, watched: Watched) -> list[list[cloudwatch.IWidget]]:
    messages = (*MESSAGES, *(OF_REGISTRATIONS if REGISTRATIONS in watched.consumed else ()))
    sizes = [emitted.metric(names.BUNDLE_SIZE, statistic) for statistic in ("Average", "Maximum")]
    return [
        [_graph("Tasks and bundles", emitted.sums((*REGISTERED, *BUNDLES))), _graph("Bundle size", sizes)],
        [
            _graph("Leaders, messages and what was woken", emitted.sums((*LEADERS, *messages, *WOKEN))),
            _graph(
                "Longest wait of a bundle's member, seconds",
                [emitted.metric(names.BUNDLE_WAIT_SECONDS, "Maximum")],
            ),
        ],
    ]


def _of_jobs(emitted: Emitted) -> list[list[cloudwatch.IWidget]]:
    depths = [emitted.metric(name, "Maximum") for name in DEPTHS]
    oldest = emitted.metric(names.OLDEST_JOB_SECONDS, "Maximum")
    return [
        [
            _graph("Jobs", [*emitted.sums(JOBS), *depths]),
            _graph("Oldest job that waits, seconds", [oldest]),
        ]
    ]


def _of_queues(watched: Watched) -> list[list[cloudwatch.IWidget]]:
    ages = (
        queue.metric_approximate_age_of_oldest_message(period=PERIOD, label=name)
        for name, queue in watched.queues.items()
    )
    depths = (
        queue.metric_approximate_number_of_messages_visible(period=PERIOD, statistic="Maximum", label=name)
        for name, queue in watched.dead_letter_queues.items()
    )
    return [[_graph("Oldest message, seconds", ages), _graph("Dead-letter messages", depths)]]


def _of_routes(watched: Watched) -> list[list[cloudwatch.IWidget]]:
    """Return a table of the access log: a function serves several routes. Nothing for a stack without API."""
    if watched.access_log is None:
        return []
    counted = "stats count(*) as requests, pct(latencyMs, 50) as p50, pct(latencyMs, 99) as p99"
    table = cloudwatch.LogQueryWidget(
        title="Requests by route and status, with their latency in milliseconds",
        log_group_names=[watched.access_log.log_group_name],
        query_lines=[f"{counted} by route, status", "sort route, status"],
        view=cloudwatch.LogQueryVisualizationType.TABLE,
        width=2 * HALF,
        height=HEIGHT,
    )
    return [[table]]


def _of_functions(watched: Watched) -> list[list[cloudwatch.IWidget]]:
    functions = [(name_of(function), function) for function in watched.functions]
    errors = (function.metric_errors(period=PERIOD, label=name) for name, function in functions)
    durations = (
        function.metric_duration(period=PERIOD, statistic="p99", label=name) for name, function in functions
    )
    return [[_graph("Failed invocations", errors), _graph("Duration, p99", durations)]]


def _graph(title: str, metrics: Iterable[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=HALF, height=HEIGHT)
