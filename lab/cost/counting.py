"""Counts a month of the default stack, of others, and of acks by each of the ways to ack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from fanin.cost import Usage
from fanin_cdk.settings.rules import Preset
from functions.wiring import queueing
from infra.config import StackConfig
from lab.cost.items import ack_page
from lab.cost.month import MINUTES, traces
from lab.cost.operations import operations
from lab.cost.page import BILLION, MILLION, Counts
from lab.cost.results import count_results
from lab.cost.running import Counted, deployed, invoke
from lab.cost.stack import ACCOUNT, Stack
from lab.cost.units import UnitMeter
from pipeline.bulk_ack.run import estimate_acks

TOGETHER, RESULTS_TOGETHER = (100, 10, 1), (64, 10, 1)
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "`grouper=false`": {"grouper": False},
    "each of `dead_letter_queue_arns`": {
        "dead_letter_queue_arns": f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders-dead"
    },
    "each of `job_queues`": {"job_queues": "thumbs"},
    "`grouper_registrations=true`": {"grouper_registrations": True},
    "`results=true`": {"results": True},
    "`archive=true`": {"archive": True},
    "`analytics=glue`": {"analytics": "glue"},
}
Sweeps = Mapping[str, Counted]


def count(
    together: Sequence[int], results: Sequence[int], options: Mapping[str, Mapping[str, Any]]
) -> Counts:
    """Return the counts of acks for each of *together*, and of the stack with each of *options*.

    *results*: how many of them are acked together with their results.
    """
    presets = {each: Stack.synthesised(monitoring=each) for each in get_args(Preset)}
    stack = presets[StackConfig().monitoring]
    others = {name: Stack.synthesised(**settings) for name, settings in options.items()}
    with deployed(stack) as meter:
        sweeps = {handler: _sweep(stack, meter, handler) for handler in stack.scheduled()}
        swept = frozenset[tuple[str, ...]]().union(*(each.metrics for each in sweeps.values()))
        pages = {
            handler: [ack_page(stack, meter, handler, each) for each in together]
            for handler in ("consume_acks", "api.write_batches")
        }
        queue, api = (
            [replace(page, metrics=page.metrics - swept) for page in each] for each in pages.values()
        )
        idle = _idle(stack, sweeps)
        changed = {name: _idle(other, sweeps) for name, other in others.items()}
        months = {name: _idle(other, sweeps) for name, other in presets.items()}
        with_queue = _idle(stack, {**sweeps, "sweep_jobs": _sweep_with_a_queue(stack, meter)})
        single = operations(stack, meter)
    bulk = float(estimate_acks(-(-BILLION // 1024), 0).facts()["mostDollars"])
    return Counts(
        idle,
        months,
        {**changed, "each work queue until it sleeps, without jobs": with_queue},
        queue,
        api,
        bulk,
        count_results(MILLION, stack.gigabytes("api.read_batches"), results),
        single,
    )


def _sweep(stack: Stack, meter: UnitMeter, handler: str) -> Counted:
    """Return the count of one sweep."""
    counted = Counted()
    invoke(stack, meter, handler, {}, counted)
    return counted


def _sweep_with_a_queue(stack: Stack, meter: UnitMeter) -> Counted:
    """Return the count of a sweep of the work queues where there is one, without jobs."""
    queueing.created(ACCOUNT, "empty").context.config()  # the first use creates the queue
    return _sweep(stack, meter, "sweep_jobs")


def _idle(stack: Stack, sweeps: Sweeps) -> Usage:
    """Return a month of *stack* without items: what stands, and its sweepers."""
    usage, metrics = stack.standing(), set[tuple[str, ...]]()
    for handler in stack.scheduled():
        metrics |= sweeps[handler].metrics
        usage += sweeps[handler].usage(stack.gigabytes(handler)).times(MINUTES)
        usage += Usage({"trace": traces(MINUTES) if stack.is_traced(handler) else 0})
    return usage + Usage({"custom_metric": len(metrics)})
