"""The metrics of the group-batcher, for each invocation."""

from __future__ import annotations

from fanin.grouper import Handled, HandledAs, LeadOutcome, LeadResult
from fanin.grouper.consuming import Consumed
from functions.metrics.counts import age, count


def count_lead_results(consumed: Consumed[LeadResult]) -> None:
    """Emit the metrics of a delivery of task messages; each bundle's size is a value of its own."""
    results = consumed.done
    sizes = [len(bundle.members) for result in results for bundle in result.bundles]
    count(
        TaskMessages=len(results) + len(consumed.failed),
        TaskMessagesReturned=len(consumed.failed),
        LeadersElected=sum(result.outcome is LeadOutcome.LED for result in results),
        LeadersContended=sum(result.contended for result in results),
        Takeovers=sum(result.took_over for result in results),
        BundlesFilled=len(sizes),
        TasksBundled=sum(sizes),
    )
    for size in sizes:
        count(BundleSize=size)
    waits = [result.longest_wait.total_seconds() for result in results if result.bundles]
    if waits:
        age("BundleWaitSeconds", max(waits))


def count_handled(consumed: Consumed[Handled]) -> None:
    """Emit the metrics of a delivery of bundle messages: calls, repeated calls, waits for the rate."""
    handled = consumed.done
    count(
        BundleMessages=len(handled) + len(consumed.failed),
        BundleMessagesReturned=len(consumed.failed),
        BundleCalls=sum(each.calls for each in handled),
        BundleRepeats=sum(_repeats(each) for each in handled),
        BundlesLimited=sum(each.handled_as is HandledAs.LIMITED for each in handled),
        BundlesPutBack=sum(each.handled_as is HandledAs.RETRIED for each in handled),
    )


def _repeats(handled: Handled) -> int:
    """Return how many of the calls were not the first of their bundle."""
    if handled.bundle is None or not handled.calls:
        return 0
    return handled.calls - (handled.bundle.attempt == handled.calls)
