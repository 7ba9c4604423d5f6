"""The first screen: did all finish, when, what failed, what was slow. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pipeline.history import wording
from pipeline.history.facts import ENDED_WELL, BatchFacts, History
from pipeline.history.tags import Cell, cell, number, table, tag, text
from pipeline.wording import count

LONG_IDLE = 3600.0
"""Seconds without an ack, a batch that is under way is worth a look."""
LONG_TAIL = 0.5
"""A batch whose last percent took so large a part of its acking is worth a look."""
LOOKED_AT = 8


def overview(history: History) -> str:
    """Headline, tiles, what to look at, and the list of batches."""
    parts = [text("h1", _headline(history)), text("p", _period(history), "soft")]
    if history.batches:
        looks = [look for batch in history.batches for look in _looks(batch)]
        parts += [text("p", _verdict(history), "lead"), _tiles(history), _look_list(looks), _list(history)]
    return "".join(parts)


def chip(batch: BatchFacts) -> str:
    """The state of a batch, in its colour."""
    if batch.is_alive:
        return text("span", "open" if batch.state == "OPEN" else "under way", "chip live")
    if batch.state != ENDED_WELL:
        return text("span", wording.state(batch.state), "chip bad")
    return (
        text("span", "with failures", "chip live") if batch.failed else text("span", "complete", "chip good")
    )


def _headline(history: History) -> str:
    if not history.known:
        return "Nothing happened"
    if history.completed == history.known:
        return "All complete" if history.known > 1 else "The batch is complete"
    return f"{wording.number(history.completed)} of {wording.batches(history.known)} complete"


def _period(history: History) -> str:
    if history.since is None:
        return f"The archive {history.archive} holds no change in the days that were asked for."
    return f"{wording.moment(history.since)} to {wording.moment(history.until)} UTC, from {history.archive}"


def _verdict(history: History) -> str:
    said = [f"{wording.number(history.items)} items were acked"]
    said += _failures(history)
    if history.orphans:
        said.append(f"{wording.batches(history.orphans)} ended with items left behind")
    under_way = history.known - history.ended
    if under_way:
        said.append(f"{wording.number(under_way)} {'is' if under_way == 1 else 'are'} not over")
    return "; ".join(said) + "."


def _failures(history: History) -> Iterator[str]:
    """How many items failed, and how many had and were healed: each has a reason further below."""
    ending = " in the end" if history.healed else ""
    yield (f"{wording.number(history.failed)} of them" if history.failed else "none") + f" failed{ending}"
    if history.healed:
        were = "was" if history.healed == 1 else "were"
        yield f"{wording.number(history.healed)} failed at first and {were} healed later"


def _tiles(history: History) -> str:
    shares = [(batch.shares.p99, batch) for batch in history.batches if batch.shares]
    told = [batch.told_after for batch in history.batches if batch.told_after is not None]
    slow = max(shares, key=lambda pair: pair[0])[0] if shares else None
    left = sum(batch.outstanding or 0 for batch in history.batches if batch.is_orphan)
    tiles = [
        _tile(f"{wording.number(history.ended)} / {wording.number(history.known)}", "batches over"),
        _tile(wording.number(history.items), "items acked"),
        _tile(wording.number(history.failed), f"failed ({_share(history)})", bad=history.failed > 0),
        _tile(wording.number(left), "left behind", bad=left > 0),
        _tile(wording.seconds(slow), "slowest p99 of a batch"),
        _tile(wording.whole_seconds(max(told, default=None)), "longest wait for an event"),
    ]
    if history.repeats:
        again = f"of acks came again ({wording.number(history.repeats.duplicates)})"
        tiles.append(_tile(wording.percent(history.repeats.rate), again))
    return tag("div", "".join(tiles), "tiles")


def _share(history: History) -> str:
    return wording.percent(history.failed / history.items if history.items else 0.0)


def _tile(value: str, name: str, bad: bool = False) -> str:
    return tag("div", text("b", value) + text("span", name), "tile bad" if bad else "tile")


def _looks(batch: BatchFacts) -> Iterator[tuple[BatchFacts, str]]:
    """What about *batch* is worth a look."""
    if batch.is_orphan:
        left = count(batch.outstanding or 0, "item")
        yield batch, f"{wording.state(batch.state)} with {left} not acked"
    if batch.state == "UNKNOWN":
        yield batch, "acks of a batch whose own row is not in the archive: it was opened before these days"
    if batch.is_alive and (batch.idle or 0) > LONG_IDLE:
        yield batch, f"not over, and nothing happened for {wording.seconds(batch.idle)}"
    if batch.state == ENDED_WELL and batch.event_at is None:
        yield batch, "complete, and no word yet that its event arrived on the bus"
    if batch.notices:
        yield batch, f"its event had to be sent again ({count(batch.notices, 'time')})"
    if batch.failed and batch.max_failures is not None and batch.failed >= batch.max_failures:
        yield batch, f"ended by its failures: {wording.number(batch.failed)}, of {batch.max_failures:,} borne"
    if batch.acking and batch.tail is not None and batch.tail > max(10.0, LONG_TAIL * batch.acking):
        yield batch, f"the last percent of its items took {_part(batch.tail, batch.acking)}"


def _part(tail: float, acking: float) -> str:
    return f"{wording.seconds(tail)}, {wording.percent(tail / acking)} of its time"


def _look_list(looks: list[tuple[BatchFacts, str]]) -> str:
    if not looks:
        return ""
    lines = [f"<li>{link(batch)}: {escape(said)}</li>" for batch, said in looks[:LOOKED_AT]]
    if len(looks) > LOOKED_AT:
        lines.append(text("li", f"and {len(looks) - LOOKED_AT:,} more, in the list below"))
    return tag("ul", "".join(lines), "look")


def link(batch: BatchFacts) -> str:
    """The batch's name, which leads to its section where it has one."""
    name = escape(batch.name)
    return f'<a href="#{escape(batch.batch_id)}">{name}</a>' if batch.is_drawn else name


def _list(history: History) -> str:
    heads: list[Cell] = [("", "batch"), ("", "state"), ("", "acked"), ("", "opened (UTC)")]
    heads += [("n", said) for said in ("lasted", "failed", "p50", "p99", "last 1 %", "event")]
    rows = table(heads, (_row(batch) for batch in history.batches))
    hidden = history.known - len(history.batches)
    more = text("p", f"and {wording.batches(hidden)} more, not listed", "soft") if hidden > 0 else ""
    return tag("div", rows + more, "card wide")


def _row(batch: BatchFacts) -> list[Cell]:
    name = link(batch) + (text("span", f"{batch.batch_id[:8]}\u2026", "mono") if batch.user_key else "")
    shares = batch.shares
    return [
        ("name", name),
        ("", chip(batch)),
        ("much", _meter(batch)),
        cell(wording.moment(batch.opened_at), "time"),
        number(wording.seconds(batch.lasted)),
        number(wording.number(batch.failed)),
        number(wording.seconds(shares.p50 if shares else None)),
        number(wording.seconds(shares.p99 if shares else None)),
        number(wording.whole_seconds(batch.tail)),
        number(wording.whole_seconds(batch.told_after)),
    ]


def _meter(batch: BatchFacts) -> str:
    """How much of a batch is acked, as a bar and in numbers."""
    whole = max(batch.total or 0, batch.acked, 1)
    failed = 100 * min(batch.failed, batch.acked) / whole
    good = 100 * batch.acked / whole - failed
    bar = f'<i style="width:{good:.2f}%"></i><i class="failed" style="width:{failed:.2f}%"></i>'
    said = f"{wording.number(batch.acked)} of {wording.number(batch.total)}"
    return tag("div", bar, "meter") + text("span", said, "soft")
