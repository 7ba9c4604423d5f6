"""Numbers of the group-batcher, an invocation at a time."""

from __future__ import annotations

from fanin.grouper import Handled, HandledAs, Turn, Turned
from fanin.grouper.consuming import Consumed
from functions.metrics.counts import age, count


def count_turns(consumed: Consumed[Turn]) -> None:
    """Messages of tasks: how many, who led, what came of it. A bundle's size is a value of its own."""
    turns = consumed.done
    sizes = [len(bundle.members) for turn in turns for bundle in turn.bundles]
    count(
        TaskMessages=len(turns) + len(consumed.failed),
        TaskMessagesReturned=len(consumed.failed),
        LeadersElected=sum(turn.turned is Turned.LED for turn in turns),
        LeadersContended=sum(turn.contended for turn in turns),
        Takeovers=sum(turn.took_over for turn in turns),
        BundlesFilled=len(sizes),
        TasksBundled=sum(sizes),
    )
    for size in sizes:
        count(BundleSize=size)
    waits = [turn.longest_wait.total_seconds() for turn in turns if turn.bundles]
    if waits:
        age("BundleWaitSeconds", max(waits))


def count_handled(consumed: Consumed[Handled]) -> None:
    """Messages of bundles: calls, those of them that repeat one, and waits for a token of the rate."""
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
    """How many of the calls were not the first for their bundle."""
    if handled.bundle is None or not handled.calls:
        return 0
    return handled.calls - (handled.bundle.attempt == handled.calls)
