"""The verbs for what has gone wrong: end, reopen, delete, map."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import typer

from fanin.cli.arguments.items import ItemRange
from fanin.cli.arguments.options import Batch, Key
from fanin.cli.batches.changing import Yes, ask, note_reason
from fanin.cli.terminal.output import Column
from fanin.cli.verbs import Invocation, Verbs
from fanin.client.http_bodies import documents
from fanin.client.http_bodies.codec import Document
from fanin.tracker.reads.mapping import CELLS_MAX

verb = Verbs()

Needed = Annotated[str, typer.Option("-m", "--reason", metavar="WHY", help="The reason, for people.")]
Which = Annotated[
    Literal["failed", "unfinished"],
    typer.Option("--items", metavar="WHICH", help="failed, or unfinished: the outstanding ones too."),
]
Cells = Annotated[
    int, typer.Option("--cells", metavar="N", min=1, max=CELLS_MAX, help="Into how many parts it is cut.")
]
CELLS = (
    Column("From", "from", lambda cell: f"{cell['from']:,}", right=True),
    Column("To", "to", lambda cell: f"{cell['to']:,}", right=True),
    Column("Done", "acked", lambda cell: f"{cell['acked']:,}", right=True),
    Column("", "bar", hidden=False),
    Column("Failed", "failed", lambda cell: "failed" if cell["failed"] else ""),
)
BAR = 20


@verb("end", writes=True)
def end(call: Invocation, batch: Batch, why: Needed, yes: Yes = False) -> None:
    """End BATCH as failed, by force, and print its state; asks first.

    The batch and its ending event keep the reason and your name.
    """
    batch_id = call.names.id_of(batch)
    ask(call, batch_id, "End", yes)
    answer = call.api.post(call.path(batch_id, "/end"), {"reason": why}, call.key, documents.cancelled_of)
    call.output.value(answer.document, answer.value.state)
    note_reason(answer.value.reason, why)


@verb("reopen", writes=True)
def reopen(call: Invocation, batch: Batch, items: Which = "failed", key: Key = None) -> None:
    """Open a new batch for the failed items of BATCH, which has ended, and print their range.

    Item k of the new batch stands for the k-th of these items.
    """
    answer = call.create(call.path(batch, "/reopen"), {"items": items}, documents.items_of, key)
    new = answer.value
    call.output.value(answer.document, str(ItemRange(new.batch_id, new.group_id, 0, len(new) - 1)))


@verb("delete", writes=True)
def delete(call: Invocation, batch: Batch, yes: Yes = False) -> None:
    """Remove the user data and the results of BATCH, which has ended, and print its id; asks first."""
    batch_id = call.names.id_of(batch)
    ask(call, batch_id, "Delete", yes)
    answer = call.api.delete(call.path(batch_id), documents.batch_id_of)
    call.output.value(answer.document, answer.value)


@verb("map")
def map_(call: Invocation, batch: Batch, cells: Cells = 20) -> None:
    """Show how many items of each part of BATCH are done, and which parts have failed ones."""
    answer = call.api.get(call.path(batch, "/map"), documents.map_of, cells=str(cells))
    if call.output.as_json:
        call.output.value(answer.document, "")
        return
    call.output.table(CELLS, _cells(answer.document))


def _cells(found: Document) -> Iterator[Document]:
    """Yield the cells of a map, each as a row."""
    size = found["cellItems"]
    for number, (acked, failed) in enumerate(zip(found["acked"], found["failed"], strict=True)):
        first = found["from"] + number * size
        after = min(first + size, found["to"])
        full = round(BAR * acked / (after - first))
        yield {
            "from": first,
            "to": after - 1,
            "acked": acked,
            "failed": bool(failed),
            "bar": "█" * full + "░" * (BAR - full),
        }
