"""``fanin status --cost``: what a batch has cost so far, as far as its counts say it."""

from __future__ import annotations

from typing import Annotated

import typer

from fanin.cli.output import Column, Output, note
from fanin.client.documents import Document
from fanin.cost.batch import batch_costs
from fanin.cost.dollars import price
from fanin.cost.prices import AS_OF

Cost = Annotated[
    bool, typer.Option("--cost", help="An estimate of what it has cost so far, by the way it is acked.")
]
COLUMNS = (
    Column("Acks arrive", "acksArrive"),
    Column("Together", "together", right=True),
    Column("Write units", "writeUnits", lambda found: f"{found['writeUnits']:,}", right=True),
    Column("Read units", "readUnits", lambda found: f"{found['readUnits']:,}", right=True),
    Column("Requests", "requests", lambda found: f"{found['requests']:,}", right=True),
    Column("Price", "dollars", lambda found: price(found["dollars"]), right=True),
)


def print_cost(output: Output, batch: Document) -> None:
    """Print the estimates for the document of a batch, and on standard error what they assume."""
    progress = batch["progress"]
    done, failed = progress["estimate"], progress["failed"]
    output.table(COLUMNS, batch_costs(done, failed))
    about = "" if progress["exact"] else "about "
    note(
        f"estimated from {about}{done:,} items done, {failed:,} of them failed: the batch does not know how"
        " they were acked. One add, each failure acked alone with a reason; list prices of AWS, us-east-1,"
        f" {AS_OF}, without functions and the messages of your queues"
    )
