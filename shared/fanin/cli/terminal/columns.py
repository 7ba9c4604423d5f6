"""The columns of a list of batches, and the fields of one, from the API's documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from fanin.cli.terminal.durations import ago
from fanin.cli.terminal.output import Column
from fanin.client.http_bodies.codec import Document
from fanin.tracker.rules.option_kinds import Duration, Flag, Kind, Labels, Several, Whole
from fanin.tracker.rules.options import SHOWN, Option


def _now() -> datetime:
    return datetime.now(UTC)


def time_ago(name: str) -> Callable[[Document], str | None]:
    """Return what shows how long ago the time *name* of a document is."""

    def shown(document: Document) -> str | None:
        time = document.get(name)
        return ago(datetime.fromisoformat(time), _now()) if time else None

    return shown


def time_here(name: str) -> Callable[[Document], str | None]:
    """Return what shows the time *name* of a document in the time zone of the terminal, which it names."""

    def shown(document: Document) -> str | None:
        if not document.get(name):
            return None
        then = datetime.fromisoformat(document[name])
        return f"{then.astimezone():%Y-%m-%d %H:%M:%S %Z} ({ago(then, _now())})"

    return shown


def number(name: str) -> Callable[[Document], str | None]:
    """Return what shows the number *name* of a document with separators."""
    return lambda document: None if document.get(name) is None else f"{document[name]:,}"


def state_shown(document: Document) -> str:
    """Return how the batch ended, or the state of a live one."""
    return str(document.get("result") or document["state"])


def done_shown(document: Document) -> str:
    """Return how many items are done; ≈ before an estimate."""
    progress, total = document["progress"], document["total"]
    about = "" if progress["exact"] else "≈ "
    percent = f" ({_percent(progress['estimate'], total)})" if total else ""
    return f"{about}{progress['estimate']:,} of {total:,}{percent}"


def outstanding_shown(document: Document) -> str | None:
    """Return how many items are outstanding; None if no item is."""
    outstanding = _outstanding(document)
    return f"{'' if document['progress']['exact'] else '≈ '}{outstanding:,}" if outstanding else None


def children_shown(document: Document) -> str | None:
    """Return the names of the children that *document* has, and which is stalled or has ended."""
    children = document.get("children")
    if children is None:
        return None
    names = [_child_shown(child) for child in children["batches"]]
    more = f"more by fanin children {document['batchId']}" if children.get("cursor") else None
    return ", ".join([*names, *([more] if more else [])])


def _child_shown(child: Document) -> str:
    name = child.get("userKey") or child["batchId"]
    state = "stalled" if child.get("isStalled") else child.get("result")
    return f"{name} ({state})" if state else str(name)


def _of_progress(child: Document, shown: Callable[[Document], Any]) -> Any:
    return shown(child) if "progress" in child else None


def read_shown(publication: Document) -> str:
    """Return how much of its object a publication has read."""
    read, size = publication["readBytes"], publication.get("sizeBytes")
    if size is None:
        return f"{read:,} bytes"
    return f"{read:,} of {size:,} bytes" + (f" ({_percent(read, size)})" if size else "")


def _outstanding(document: Document) -> int:
    return int(document["total"] - document["progress"]["estimate"])


def _percent(part: int, total: int) -> str:
    """Return a percentage with one decimal, rounded down, so that 100 % is all."""
    tenths = 1_000 * part // total
    return f"{tenths // 10}.{tenths % 10} %"


def _progress(name: str) -> Callable[[Document], Any]:
    return lambda document: document["progress"][name]


def _nonzero(name: str) -> Callable[[Document], str | None]:
    return lambda document: f"{document['progress'][name]:,}" if document["progress"][name] else None


def _pairs(name: str) -> Callable[[Document], str]:
    return lambda document: ", ".join(f"{key}:{value}" for key, value in (document.get(name) or {}).items())


def _joined(name: str) -> Callable[[Document], str]:
    return lambda document: ", ".join(document.get(name) or ())


def _seconds(name: str) -> Callable[[Document], str | None]:
    return lambda document: None if document.get(name) is None else f"{document[name]:,} s"


CELLS: Mapping[type[Kind], Callable[[str], tuple[Any, Any]]] = {
    Labels: lambda name: (_pairs(name), None),
    Several: lambda name: (_joined(name), None),
    Flag: lambda name: (name, lambda document: "yes" if document.get(name) else None),
    Whole: lambda name: (name, number(name)),
    Duration: lambda name: (name, _seconds(name)),
}
"""What a column of an option shows, and on a terminal, by its kind, if it is not the field as it is."""


def _option(option: Option) -> Column:
    """Return the column of an option of a batch."""
    cells = CELLS.get(type(option.kind))
    of, shown = cells(option.field) if cells else (option.field, None)
    return Column(option.title, of, shown, name=option.field)


def _event_field(name: str) -> Callable[[Document], Any]:
    return lambda document: (document.get("event") or {}).get(name)


def _event_shown(document: Document) -> str | None:
    """Return the ending event: its type, its id, and whether the bus has confirmed it."""
    event = document.get("event")
    if not event:
        return None
    return (
        f"{event['type']} {event['eventId']} ({'confirmed' if event['confirmed'] else 'not confirmed yet'})"
    )


def _time(title: str, name: str) -> Column:
    return Column(title, name, time_here(name))


BATCHES = (
    Column("Batch", "batchId"),
    Column("User key", "userKey"),
    Column("State", "state", state_shown),
    Column("Result", "result", hidden=True),
    Column("Items", "total", number("total"), right=True),
    Column("Opened", "createdAt", time_ago("createdAt")),
)
CHILDREN = (
    Column("Item", "parentItemId"),
    *BATCHES,
    Column(
        "Done",
        lambda child: _of_progress(child, _progress("acked")),
        lambda child: _of_progress(child, done_shown),
    ),
    Column("Failed", "failed", lambda child: f"{child['failed']:,}" if child["failed"] else None, right=True),
    Column("Stalled", "isStalled"),
)
BATCH = (
    Column("Batch", "batchId"),
    Column("User key", "userKey"),
    Column("State", "state"),
    Column("Result", "result"),
    Column("Items", "total", number("total"), hidden=True),
    Column("Done", _progress("acked"), done_shown, name="acked"),
    Column("Estimate", _progress("estimate"), hidden=True, name="estimate"),
    Column("At most", _progress("upperBound"), hidden=True, name="upperBound"),
    Column("Failed", _progress("failed"), _nonzero("failed"), name="failed"),
    Column("Outstanding", _outstanding, outstanding_shown, name="outstanding"),
    Column("Children", children_shown, name="children"),
    Column("Reached", "reached", number("reached")),
    Column("Reason", "reason"),
    Column("Ended by", "endedBy"),
    _time("Opened", "createdAt"),
    _time("Closed", "closedAt"),
    _time("Ended", "endedAt"),
    _time("Deadline", "deadlineAt"),
    _time("Kept until", "expiresAt"),
    Column("Mode", "mode", lambda document: None if document["mode"] == "exact" else document["mode"]),
    *(_option(option) for option in SHOWN if option.name not in ("user_key", "mode")),
    Column("Origin", "originBatchId"),
    Column("Event", _event_field("eventId"), _event_shown, name="eventId"),
    Column("Event confirmed", _event_field("confirmed"), hidden=True, name="eventConfirmed"),
)
PUBLICATION = (
    Column("Batch", "batchId"),
    Column("User key", "userKey"),
    Column("Source", "source"),
    Column("State", "state"),
    Column("All sent", "isPublished", lambda found: "yes" if found["isPublished"] else "no"),
    Column("Rows sent", "rows", number("rows")),
    Column("Read", "readBytes", read_shown),
    Column("Size", "sizeBytes", hidden=True),
    Column("Reason", "reason"),
    _time("Opened", "createdAt"),
)
