"""The verbs ack and fail: items of any batches, from arguments and standard input, a thousand a request."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated
from uuid import NAMESPACE_OID, uuid5

import typer

from fanin.cli.arguments.api import both
from fanin.cli.arguments.items import ItemRange, item_ranges
from fanin.cli.terminal.exits import Refused, UsageError
from fanin.cli.terminal.output import note
from fanin.cli.verbs import Invocation, Verbs
from fanin.client.argument_checks.reasons import fitting
from fanin.client.http_bodies import documents
from fanin.client.transports.reports import AckReport
from fanin.client.transports.transport import acked, ranged_requests_of
from fanin.tracker import Ack, Outcome, Verdict
from fanin.tracker.reads.walking import joined

verb = Verbs()

Items = Annotated[
    list[str],
    typer.Argument(metavar="ITEM", help="batch:group:7, batch:group:0-99, or - for such lines on stdin."),
]
Why = Annotated[str | None, typer.Option("-m", "--reason", metavar="WHY", help="The reason, for people.")]
NOT_ACKED = {
    Verdict.NOT_FOUND: "no such batch or group",
    Verdict.OUT_OF_RANGE: "beyond the group",
    Verdict.CANCELLED: "the batch was cancelled",
    Verdict.EXPIRED: "the batch has expired",
    Verdict.LATE: "the batch had ended",
}


@verb("ack", writes=True)
def ack(call: Invocation, items: Items) -> None:
    """Ack items as done; print how many got each verdict.

    An item that was acked before is a duplicate: the command may be run again.
    """
    Acking(call, Outcome.SUCCESS, None).run(items)


@verb("fail", writes=True)
def fail(call: Invocation, items: Items, why: Why = None) -> None:
    """Ack items as failed; print how many got each verdict.

    An item that was acked as done stays done.
    """
    Acking(call, Outcome.FAILURE, fitting(why or "")).run(items)


class Acking:
    """Acks a stream of items in requests of up to 1,000 entries and 100,000 items."""

    def __init__(self, call: Invocation, outcome: Outcome, reason: str | None) -> None:
        self._call, self._outcome, self._reason = call, outcome, reason
        self._counts: Counter[Verdict] = Counter()
        self._error: UsageError | None = None

    def run(self, arguments: Sequence[str]) -> None:
        """Ack the items of *arguments*; print the counts, of what was sent before an error too."""
        ranges = item_ranges(arguments, sys.stdin)
        try:
            self._send(map(self._ack, joined(self._to_error(ranges), ItemRange.joined)))
        finally:
            self._call.progress.clear()
            self._print()
        if self._error is not None:
            raise self._error
        self._check()
        self._note()

    def ack(self, acks: Sequence[Ack], key: str | None = None) -> AckReport:
        """Send one request, as ``acked`` calls it, and count its verdicts."""
        answer = self._call.api.transport.ack_as(acks, key, both(documents.report_of))
        if self._call.output.as_json:
            self._call.output.value(answer.document, "")
        self._counts += _verdicts(answer.value)
        for each in answer.value.completions:
            self._call.progress.clear()
            note(f"complete: {each.user_key or each.batch_id} ({each.result})")
        self._call.progress.show(f"acked {self._counts.total():,}")
        return answer.value

    def _send(self, acks: Iterable[Ack]) -> None:
        """Send *acks*; each request has a key of its own."""
        for number, request in enumerate(ranged_requests_of(acks)):
            acked(self.ack, request, str(uuid5(NAMESPACE_OID, f"{self._call.key}/{number}")))

    def _ack(self, items: ItemRange) -> Ack:
        batch_id = self._call.names.id_of(items.batch)
        ends = items.first, items.last
        return Ack(batch_id, items.group_id, *ends, self._call.key, self._outcome, self._reason)

    def _to_error(self, ranges: Iterator[ItemRange]) -> Iterator[ItemRange]:
        """Yield *ranges* up to the first line that is no item, so that those before it are sent."""
        try:
            yield from ranges
        except UsageError as error:
            self._error = error

    def _print(self) -> None:
        """Print the count of each verdict that there is."""
        if self._call.output.as_json:
            return
        sign = " " if self._call.output.on_terminal else "\t"
        for verdict in filter(self._counts.get, Verdict):
            count = self._counts[verdict]
            self._call.output.line(f"{verdict}{sign}{count:,}" if sign == " " else f"{verdict}{sign}{count}")

    def _check(self) -> None:
        """Raise Refused if an item got a verdict other than accepted and duplicate."""
        found = {verdict: self._counts[verdict] for verdict in NOT_ACKED if self._counts[verdict]}
        if found:
            parts = (f"{count:,} {verdict} ({NOT_ACKED[verdict]})" for verdict, count in found.items())
            raise Refused(f"not all items were acked: {', '.join(parts)}")

    def _note(self) -> None:
        """Say on standard error what the counts alone would not: nothing was given, or nothing changed."""
        if not self._counts:
            note("no item was given, and nothing was sent")
        elif self._outcome is Outcome.FAILURE and (before := self._counts[Verdict.DUPLICATE]):
            note(f"{before:,} had been acked before, as done or as failed, and stay so")


def _verdicts(report: AckReport) -> Counter[Verdict]:
    counts = Counter(result.verdict for result in report.results)
    for part in report.ranges:
        counts.update(part.counts)
    return counts
