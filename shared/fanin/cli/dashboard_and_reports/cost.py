"""``fanin cost``: what a fan-out will cost, before it is sent."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fanin.cli.terminal.output import Column, Output, note
from fanin.cli.verbs import Json
from fanin.cost.dollars import price
from fanin.cost.estimate import Estimate, estimate
from fanin.cost.prices import AS_OF

Items = Annotated[int, typer.Option("--items", metavar="N", min=1, help="Items of the batch.")]
Chunk = Annotated[int, typer.Option("--chunk", metavar="N", min=1, max=10_000, help="Items of a message.")]
Bytes = Annotated[
    int, typer.Option("--bytes", metavar="N", min=0, help="Bytes of the row of an item; 0: messages of ids.")
]


def _range(least: str, most: str) -> Any:
    def text(found: Any) -> str:
        low, high = f"{found[least]:,}", f"{found[most]:,}"
        return low if low == high else f"{low} to {high}"

    return text


def _grouped(name: str) -> Any:
    return lambda found: f"{found[name]:,}"


FIELDS = (
    Column("Messages", "messages", _grouped("messages")),
    Column("SQS requests", "requests", _grouped("requests")),
    Column("Write units", "leastWrites", _range("leastWrites", "mostWrites")),
    Column("Write units, most", "mostWrites", hidden=True),
    Column("Read units", "reads", _grouped("reads")),
    Column("Price", "leastDollars", lambda found: price(found["leastDollars"], found["mostDollars"])),
    Column("Price, most", "mostDollars", hidden=True),
)


def cost(items: Items, chunk: Chunk = 1, bytes_: Bytes = 0, as_json: Json = False) -> None:
    """Print what N items cost: messages, SQS requests, acks.

    From ten neighbours acked together, the least, to each item acked alone. At list prices, without functions
    and requests to the API.
    """
    Output(as_json).card(FIELDS, _document(estimate(items, items * bytes_, chunk)))
    if not as_json:
        note(f"list prices of AWS, us-east-1, {AS_OF}; without functions and requests to the API")


def add_to(app: typer.Typer) -> None:
    """Make it a command of *app*."""
    app.command()(cost)


def _document(found: Estimate) -> dict[str, Any]:
    least, most = found.dollars
    return {
        "messages": found.messages,
        "requests": found.requests,
        "leastWrites": found.least_writes,
        "mostWrites": found.most_writes,
        "reads": found.reads,
        "leastDollars": round(least, 4),
        "mostDollars": round(most, 4),
    }
