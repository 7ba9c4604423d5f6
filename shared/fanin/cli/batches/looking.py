"""The verbs that read: where, status, list, children, outstanding, failures, results."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from typing import Annotated, Literal, get_args

import typer

from fanin.cli.arguments.items import ItemRange, item_range, range_in, range_of
from fanin.cli.arguments.options import Batch
from fanin.cli.terminal.columns import BATCH, BATCHES, CHILDREN, PUBLICATION, time_ago
from fanin.cli.terminal.durations import time_of
from fanin.cli.terminal.exits import UsageError
from fanin.cli.terminal.listing import Every, Limit, print_list
from fanin.cli.terminal.output import Column, Output, dumped, note
from fanin.cli.verbs import Invocation, Verbs
from fanin.client.http_bodies import documents
from fanin.client.http_bodies.codec import Document
from fanin.errors import NotFound, StoreUnavailable
from fanin.types import ConditionText

Cost = Annotated[bool, typer.Option("--cost", help="An estimate of what it has cost so far.")]
COLUMNS = (
    Column("Acks arrive", "acksArrive"),
    Column("Together", "together", right=True),
    Column("Write units", "writeUnits", lambda found: f"{found['writeUnits']:,}", right=True),
    Column("Read units", "readUnits", lambda found: f"{found['readUnits']:,}", right=True),
    Column("Requests", "requests", lambda found: f"{found['requests']:,}", right=True),
    Column("Price", "dollars", lambda found: _price(found["dollars"]), right=True),
)


def _price(dollars: float) -> str:
    from fanin.cost.dollars import price  # noqa: PLC0415  # other runs print no costs

    return price(dollars)


def print_cost(output: Output, batch: Document) -> None:
    """Print the estimates for the document of a batch, and on standard error what they assume."""
    from fanin.cost.batch import batch_costs  # noqa: PLC0415  # see _price
    from fanin.cost.prices import AS_OF  # noqa: PLC0415  # see _price

    progress = batch["progress"]
    acked, failed = progress["estimate"], progress["failed"]
    output.table(COLUMNS, batch_costs(acked, failed))
    about = "" if progress["exact"] else "about "
    note(
        f"estimated from {about}{acked:,} items done, {failed:,} of them failed: the batch does not know how"
        " they were acked. One add, each failure acked alone with a reason; list prices of AWS, us-east-1,"
        f" {AS_OF}, without functions and the messages of your queues"
    )


verb = Verbs()

RANGES_A_PAGE = "1000"
State = Literal["OPEN", "CLOSED", "COMPLETE", "FAILED", "CANCELLED", "TIMED_OUT"]
UserKey = Annotated[str | None, typer.Option("--key", metavar="KEY", help="Only batches of this user key.")]
InState = Annotated[
    State | None,
    typer.Option(
        "--state", metavar="STATE", help=f"Only batches in this state: {', '.join(get_args(State))}."
    ),
]
InCondition = Annotated[
    ConditionText | None,
    typer.Option(
        "--condition",
        metavar="CONDITION",
        help="Only batches that are `live`, have `problems`, or `endedBadly`.",
    ),
]
Prefix = Annotated[
    str | None, typer.Option("--key-prefix", metavar="TEXT", help="Only batches whose user key begins so.")
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="TIME", help="Only batches opened since: 2d for two days ago, or RFC 3339."
    ),
]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Only batches opened before.")]
Label = Annotated[
    str | None, typer.Option("--label", metavar="KEY:VALUE", help="Only batches with this label.")
]
Ids = Annotated[bool, typer.Option("--ids", help="One item id a line, in place of ranges.")]
BatchOrItem = Annotated[
    str, typer.Argument(metavar="OF", help="A batch, as an id or a user key, or an item.")
]
DoneToo = Annotated[
    bool,
    typer.Option(
        "--done",
        help="Also the first 100 of each item whose ends did not fail it; nothing shows if there are more.",
    ),
]
Reasons = Annotated[bool, typer.Option("--reasons", help="A sample of at most 128 items, with reasons.")]
After = Annotated[
    str | None, typer.Option("--after", metavar="ITEM", help="Only the results behind this item.")
]
FAILURES = (
    Column("Item", "itemId"),
    Column("When", "at", time_ago("at")),
    Column("Reason", "reason"),
)


@verb("where")
def where(call: Invocation) -> None:
    """Print the URL that the verbs use, and how it was found."""
    found = {"url": call.site.url, "found": call.site.found}
    call.output.table((Column("URL", "url"), Column("Found by", "found")), [found])


@verb("status")
def status(call: Invocation, batch: Batch, cost: Cost = False) -> None:
    """Print state and progress of BATCH.

    Without --json its children that are live, or failed an item, are printed, too.
    """
    found = call.api.get(call.path(batch), documents.status_of).document
    if cost:
        print_cost(call.output, found)
        return
    call.output.card(BATCH, found if call.output.as_json else _with_children(call, found))


def _with_children(call: Invocation, batch: Document) -> Document:
    """Return the document of a batch with the first page of its children."""
    if batch["mode"] != "exact" or not batch["total"]:
        return batch
    with suppress(NotFound):  # an older API has no such list
        path = f"/v1/batches/{batch['batchId']}/children"
        return {**batch, "children": call.api.get(path, itemgetter("batches")).document}
    return batch


def _with_progress(call: Invocation, child: Document) -> Document:
    """Return the document of a child with its progress, unless all its items are done."""
    if call.output.as_json or child["isComplete"]:
        return child
    with suppress(NotFound):  # it has expired meanwhile
        found = call.api.get(f"/v1/batches/{child['batchId']}", documents.status_of)
        return {**child, **found.document}
    return child


@verb("publication")
def publication(call: Invocation, batch: Batch) -> None:
    """Print how many rows and bytes of its object the stack has published for BATCH."""
    path = f"/v1/publications/{call.names.id_of(batch)}"
    call.output.card(PUBLICATION, call.api.get(path, documents.publication_of).document)


@verb("list")
def list_(
    call: Invocation,
    key: UserKey = None,
    key_prefix: Prefix = None,
    state: InState = None,
    condition: InCondition = None,
    label: Label = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    every: Every = False,
) -> None:
    """List batches, newest first."""
    if label is not None and ":" not in label:
        raise UsageError(f"--label takes KEY:VALUE, not {label!r}")
    query = {"userKey": key, "userKeyPrefix": key_prefix, "label": label}
    query |= {"state": state, "condition": condition, "openedFrom": _time(since), "openedTo": _time(until)}
    print_list(call, BATCHES, "/v1/batches", "batches", None if every else limit, **query)


@verb("children")
def children(
    call: Invocation, of: BatchOrItem, done: DoneToo = False, limit: Limit = 50, every: Every = False
) -> None:
    """List the live children of a batch, or of one item, and those that failed an item.

    Without --json what is done is printed, too, read by a request of each that is not complete.
    """
    item = _one_item(of) if range_in(of) else None
    batch_id = call.names.id_of(of if item is None else item.batch)
    item_id = None if item is None else str(replace(item, batch=batch_id))
    path = call.path(batch_id, "/children")
    query = {"itemId": item_id, "done": "true" if done else None}
    completed = partial(_with_progress, call)
    print_list(call, CHILDREN, path, "batches", None if every else limit, completed, **query)


@verb("outstanding")
def outstanding(call: Invocation, batch: Batch, ids: Ids = False) -> None:
    """Print the items of BATCH that are not acked yet, as ranges.

    To ack them all: `fanin outstanding BATCH | fanin ack -`.
    """
    _print_ranges(call, batch, "outstanding", ids)


@verb("failures")
def failures(
    call: Invocation,
    batch: Batch,
    ids: Ids = False,
    reasons: Reasons = False,
) -> None:
    """Print the failed items of BATCH, as ranges."""
    if not reasons:
        _print_ranges(call, batch, "failures", ids)
        return
    if ids:
        raise UsageError("--reasons and --ids exclude each other; give one of them")
    answer = call.api.get(call.path(batch, "/failures"), itemgetter("samples"), limit="1")
    call.output.table(FAILURES, answer.value)
    failed = call.api.get(call.path(batch), documents.status_of).value.failed
    if failed > len(answer.value):
        kept = len(answer.value)
        note(f"{kept:,} of {failed:,} failed items have a reason that is kept; all: fanin failures {batch}")


@verb("results")
def results(call: Invocation, batch: Batch, after: After = None) -> None:
    """Print the results of BATCH, which has ended, as lines of JSON in the order of its items."""
    from fanin.client.result_files import read_results  # noqa: PLC0415  # other verbs read none

    batch_id = call.names.id_of(batch)
    last = None if after is None else str(replace(_one_item(after), batch=batch_id))
    show, lines_are_seen = call.progress.show, sys.stdout.isatty()
    found = read_results(call.api.transport, batch_id, last, lambda: show("gathering the results"))
    try:
        for number, (last, result) in enumerate(found, 1):
            call.progress.clear() if lines_are_seen else show(f"{number:,} results")
            call.output.line(dumped({"itemId": last, "result": result}))
    except StoreUnavailable as error:
        raise StoreUnavailable(f"{error}; go on with --after {last}" if last else str(error)) from None
    finally:
        call.progress.clear()


def _one_item(text: str) -> ItemRange:
    item = item_range(text)
    if item.first != item.last:
        raise UsageError(f"{text!r} is a range, and one item is taken here")
    return item


def _time(text: str | None) -> str | None:
    return None if text is None else time_of(text, datetime.now(UTC)).isoformat()


def _print_ranges(call: Invocation, batch: str, which: str, ids: bool) -> None:
    """Print ranges while they are read; those that touch are one, except as the API's documents."""
    if ids and call.output.as_json:
        raise UsageError("--ids and --json exclude each other; give one of them")
    batch_id = call.names.id_of(batch)
    pages = call.api.pages(call.path(batch_id, f"/{which}"), itemgetter("ranges"), limit=RANGES_A_PAGE)
    found = (each for page in pages for each in page.value)
    if call.output.as_json:
        call.output.values((each, "") for each in found)
        return
    from fanin.tracker.reads.walking import joined  # noqa: PLC0415  # other verbs print no ranges

    for each in joined((range_of(batch_id, one) for one in found), ItemRange.joined):
        for line in each.ids() if ids else [str(each)]:
            call.output.line(line)
