"""The metrics of the group-batcher, for each invocation."""

from __future__ import annotations

from fanin import names
from fanin.grouper import Handled, HandledAs, LeadOutcome, LeadResult
from fanin.grouper.use_cases.consuming import Consumed
from functions.invocation_metrics.measuring import age, count


def count_lead_results(consumed: Consumed[LeadResult]) -> None:
    """Emit the metrics of a delivery of task messages; each bundle's size is a value of its own."""
    results = consumed.answers
    sizes = [len(bundle.members) for result in results for bundle in result.bundles]
    count(
        {
            names.TASK_MESSAGES: len(results) + len(consumed.failed),
            names.TASK_MESSAGES_RETURNED: len(consumed.failed),
            names.LEADERS_ELECTED: sum(result.outcome is LeadOutcome.LED for result in results),
            names.LEADERS_CONTENDED: sum(result.contended for result in results),
            names.TAKEOVERS: sum(result.took_over for result in results),
            names.BUNDLES_FILLED: len(sizes),
            names.TASKS_BUNDLED: sum(sizes),
        }
    )
    for size in sizes:
        count({names.BUNDLE_SIZE: size})
    waits = [result.longest_wait.total_seconds() for result in results if result.bundles]
    if waits:
        age(names.BUNDLE_WAIT_SECONDS, max(waits))


def count_handled(consumed: Consumed[Handled]) -> None:
    """Emit the metrics of a delivery of bundle messages: calls, repeated calls, waits for the rate."""
    handled = consumed.answers
    count(
        {
            names.BUNDLE_MESSAGES: len(handled) + len(consumed.failed),
            names.BUNDLE_MESSAGES_RETURNED: len(consumed.failed),
            names.BUNDLE_CALLS: sum(each.calls for each in handled),
            names.BUNDLE_REPEATS: sum(_repeats(each) for each in handled),
            names.BUNDLES_LIMITED: sum(each.handled_as is HandledAs.LIMITED for each in handled),
            names.BUNDLES_PUT_BACK: sum(each.handled_as is HandledAs.RETRIED for each in handled),
        }
    )


def _repeats(handled: Handled) -> int:
    """Return how many of the calls were not the first of their bundle."""
    if handled.bundle is None or not handled.calls:
        return 0
    return handled.calls - (handled.bundle.attempt == handled.calls)
