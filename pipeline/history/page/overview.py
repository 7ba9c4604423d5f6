"""Renders the overview: what finished and when, what failed, what was slow. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pipeline.history.facts import ENDED_WELL, BatchFacts, History
from pipeline.history.page import format as formats
from pipeline.history.page.tags import Cell, cell, number, table, tag, text
from pipeline.spark.format import count

LONG_IDLE = 3600.0
"""Seconds without an ack after which a running batch is listed for attention."""
LONG_TAIL = 0.5
"""The share of the acking time spent on the last percent from which a batch is listed for attention."""
LOOKED_AT = 8


def overview(history: History) -> str:
    """Return headline, tiles, batches that need attention, and the list of batches."""
    parts = [text("h1", _headline(history)), text("p", _period(history), "soft")]
    if history.batches:
        looks = [look for batch in history.batches for look in _looks(batch)]
        parts += [text("p", _verdict(history), "lead"), _tiles(history), _look_list(looks), _list(history)]
    return "".join(parts)


def chip(batch: BatchFacts) -> str:
    """Return the state of a batch in its colour."""
    if batch.is_alive:
        return text("span", "open" if batch.state == "OPEN" else "under way", "chip live")
    if batch.state != ENDED_WELL:
        return text("span", formats.state(batch.state), "chip bad")
    return (
        text("span", "with failures", "chip live") if batch.failed else text("span", "complete", "chip good")
    )


def _headline(history: History) -> str:
    if not history.known:
        return "Nothing happened"
    if history.completed == history.known:
        return "All complete" if history.known > 1 else "The batch is complete"
    return f"{formats.number(history.completed)} of {formats.batches(history.known)} complete"


def _period(history: History) -> str:
    if history.since is None:
        return f"The archive {history.archive} holds no change in the days that were asked for."
    return f"{formats.moment(history.since)} to {formats.moment(history.until)} UTC, from {history.archive}"


def _verdict(history: History) -> str:
    said = [f"{formats.number(history.items)} items were acked"]
    said += _failures(history)
    if history.orphans:
        said.append(f"{formats.batches(history.orphans)} ended with items left behind")
    under_way = history.known - history.ended
    if under_way:
        said.append(f"{formats.number(under_way)} {'is' if under_way == 1 else 'are'} not over")
    return "; ".join(said) + "."


def _failures(history: History) -> Iterator[str]:
    """Return how many items failed, and how many of them were healed."""
    ending = " in the end" if history.healed else ""
    yield (f"{formats.number(history.failed)} of them" if history.failed else "none") + f" failed{ending}"
    if history.healed:
        were = "was" if history.healed == 1 else "were"
        yield f"{formats.number(history.healed)} failed at first and {were} healed later"


def _tiles(history: History) -> str:
    shares = [(batch.shares.p99, batch) for batch in history.batches if batch.shares]
    waits = [batch.told_after for batch in history.batches if batch.told_after is not None]
    slow = max(shares, key=lambda pair: pair[0])[0] if shares else None
    left = sum(batch.outstanding or 0 for batch in history.batches if batch.is_orphan)
    tiles = [
        _tile(f"{formats.number(history.ended)} / {formats.number(history.known)}", "batches over"),
        _tile(formats.number(history.items), "items acked"),
        _tile(formats.number(history.failed), f"failed ({_share(history)})", bad=history.failed > 0),
        _tile(formats.number(left), "left behind", bad=left > 0),
        _tile(formats.seconds(slow), "slowest p99 of a batch"),
        _tile(formats.whole_seconds(max(waits, default=None)), "longest wait for an event"),
    ]
    if history.repeats:
        again = f"of acks came again ({formats.number(history.repeats.duplicates)})"
        tiles.append(_tile(formats.percent(history.repeats.rate), again))
    return tag("div", "".join(tiles), "tiles")


def _share(history: History) -> str:
    return formats.percent(history.failed / history.items if history.items else 0.0)


def _tile(value: str, name: str, bad: bool = False) -> str:
    return tag("div", text("b", value) + text("span", name), "tile bad" if bad else "tile")


def _looks(batch: BatchFacts) -> Iterator[tuple[BatchFacts, str]]:
    """Yield why *batch* needs attention."""
    if batch.is_orphan:
        left = count(batch.outstanding or 0, "item")
        yield batch, f"{formats.state(batch.state)} with {left} not acked"
    if batch.state == "UNKNOWN":
        yield batch, "acks of a batch whose own row is not in the archive: it was opened before these days"
    if batch.is_alive and (batch.idle or 0) > LONG_IDLE:
        yield batch, f"not over, and nothing happened for {formats.seconds(batch.idle)}"
    if batch.state == ENDED_WELL and batch.event_at is None:
        yield batch, "complete, but its event is not confirmed yet"
    if batch.notices:
        yield batch, f"its event had to be sent again ({count(batch.notices, 'time')})"
    if batch.is_forced or batch.ended_by_failures:
        left = count(batch.outstanding or 0, "item")
        yield batch, f"{_early_end(batch)}, with {left} not acked"
    if batch.acking and batch.tail is not None and batch.tail > max(10.0, LONG_TAIL * batch.acking):
        yield batch, f"the last percent of its items took {_part(batch.tail, batch.acking)}"


def _early_end(batch: BatchFacts) -> str:
    if batch.is_forced:
        return f"its end was forced ({batch.end_reason})"
    return f"ended by its failures: {formats.number(batch.failed)}"


def _part(tail: float, acking: float) -> str:
    return f"{formats.seconds(tail)}, {formats.percent(tail / acking)} of its time"


def _look_list(looks: list[tuple[BatchFacts, str]]) -> str:
    if not looks:
        return ""
    lines = [f"<li>{link(batch)}: {escape(said)}</li>" for batch, said in looks[:LOOKED_AT]]
    if len(looks) > LOOKED_AT:
        lines.append(text("li", f"and {len(looks) - LOOKED_AT:,} more, in the list below"))
    return tag("ul", "".join(lines), "look")


def link(batch: BatchFacts) -> str:
    """Return the batch's name, linked to its section if it has one."""
    name = escape(batch.name)
    return f'<a href="#{escape(batch.batch_id)}">{name}</a>' if batch.is_drawn else name


def _list(history: History) -> str:
    heads: list[Cell] = [("", "batch"), ("", "state"), ("", "acked"), ("", "opened (UTC)")]
    heads += [("n", said) for said in ("lasted", "failed", "p50", "p99", "last 1 %", "event")]
    rows = table(heads, (_row(batch) for batch in history.batches))
    hidden = history.known - len(history.batches)
    more = text("p", f"and {formats.batches(hidden)} more, not listed", "soft") if hidden > 0 else ""
    return tag("div", rows + more, "card wide")


def _row(batch: BatchFacts) -> list[Cell]:
    name = link(batch) + (text("span", f"{batch.batch_id[:8]}\u2026", "mono") if batch.user_key else "")
    shares = batch.shares
    return [
        ("name", name),
        ("", chip(batch)),
        ("much", _meter(batch)),
        cell(formats.moment(batch.opened_at), "time"),
        number(formats.seconds(batch.lasted)),
        number(formats.number(batch.failed)),
        number(formats.seconds(shares.p50 if shares else None)),
        number(formats.seconds(shares.p99 if shares else None)),
        number(formats.whole_seconds(batch.tail)),
        number(formats.whole_seconds(batch.told_after)),
    ]


def _meter(batch: BatchFacts) -> str:
    """Return the acked share of a batch as a bar and in numbers."""
    whole = max(batch.total or 0, batch.acked, 1)
    failed = 100 * min(batch.failed, batch.acked) / whole
    good = 100 * batch.acked / whole - failed
    bar = f'<i style="width:{good:.2f}%"></i><i class="failed" style="width:{failed:.2f}%"></i>'
    said = f"{formats.number(batch.acked)} of {formats.number(batch.total)}"
    return tag("div", bar, "meter") + text("span", said, "soft")
