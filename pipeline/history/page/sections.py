"""Renders the sections below the overview: batches, bundles, jobs, and notes on the figures. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from pipeline.history.facts import BatchFacts, History, Queue, Spread, Straggler, Target
from pipeline.history.page import charts
from pipeline.history.page import format as formats
from pipeline.history.page.charts import Clock
from pipeline.history.page.overview import chip
from pipeline.history.page.tags import Cell, cell, facts, number, table, tag, text
from pipeline.spark.format import count

RECORD_CHARACTERS = 160

NOTES = (
    "Times of acks are those of the tables' streams: whole seconds, rounded down. A batch has its own"
    " times of opening, close and end, in milliseconds; an event's time is that of its confirmation.",
    "An item's latency is counted from its message if an ack log was given, else from the batch's close,"
    " or from its opening if acks came before that. Each chart names its basis.",
    "The last percent: what was acked after 99 % of a batch's items were; of a small batch, the last item.",
    "An ack of an item that was acked before writes nothing, so the streams do not show it: duplicates are"
    " counted from an ack log, and left out without one.",
    "Reasons of failures are a sample of at most 128 that a batch keeps, unless they come from an ack log.",
    "A task waits until its first bundle is created. A job waits while it is ready in its queue,"
    " and is in progress while a worker has it, all its deliveries together.",
)


def batch_section(batch: BatchFacts) -> str:
    """Return the section of one batch: times, curve, latencies, last items, reasons of failures."""
    head = f"{escape(batch.name)} {chip(batch)}"
    parts = [tag("h2", head), _identity(batch), *_curve(batch), *_latency(batch)]
    parts += [*_stragglers(batch), *_reasons(batch)]
    return f'<section class="card" id="{escape(batch.batch_id)}">' + "".join(parts) + "</section>"


def _identity(batch: BatchFacts) -> str:
    said = [text("p", batch.batch_id, "mono soft")]
    if batch.parent_batch_id:
        said.append(text("p", f"Its end acks an item of batch {batch.parent_batch_id}.", "soft"))
    if batch.mode == "estimated":
        said.append(text("p", _ESTIMATED, "soft"))
    return "".join([*said, tag("div", _numbers(batch) + _times(batch), "two")])


_ESTIMATED = "Acks are counted without their items: a duplicate counts, and no item has a latency."


def _numbers(batch: BatchFacts) -> str:
    mean = batch.seen / batch.acking if batch.acking else None
    again = batch.repeats
    return facts(
        [
            ("items", formats.number(batch.total)),
            ("acked", formats.number(batch.acked)),
            ("failed", _of(batch.failed, batch.failed / batch.acked if batch.acked else 0.0)),
            ("healed by a later success", formats.number(batch.healed) if batch.healed else None),
            ("left behind", formats.number(batch.outstanding) if batch.outstanding else None),
            ("acked, not in the archive", formats.number(batch.unseen) if batch.unseen else None),
            ("acks a second, on average", formats.number(mean) if mean else None),
            ("acked again", _of(again.duplicates, again.rate) if again else None),
        ]
    )


def _of(value: int, share: float) -> str:
    return f"{formats.number(value)} ({formats.percent(share)})"


def _times(batch: BatchFacts) -> str:
    return facts(
        [
            ("opened", formats.moment(batch.opened_at)),
            ("lasted", formats.seconds(batch.lasted)),
            ("first to last ack", formats.whole_seconds(batch.acking)),
            ("last percent took", formats.whole_seconds(batch.tail)),
            ("decided after the last ack", formats.whole_seconds(batch.decided_after)),
            ("event after the end", formats.whole_seconds(batch.told_after)),
            ("event after the last ack", formats.whole_seconds(batch.told_after_last_ack)),
            ("ended because", batch.end_reason),
            ("nothing happened for", formats.seconds(batch.idle) if batch.idle is not None else None),
        ]
    )


def _curve(batch: BatchFacts) -> Iterable[str]:
    clock = Clock.of(batch)
    if clock is None or not batch.curve:
        return [text("p", "No ack of it is in the archive.", "soft")]
    chart = charts.acks_over_time(batch, clock)
    keys = [("acked", "acked"), *([("failed", "failed")] if any(p.failed for p in batch.curve) else [])]
    said = [f'<span><i class="{kind}"></i>{escape(name)}</span>' for kind, name in keys]
    for mark in charts.marks(batch, clock):
        value = tag("b", escape(clock.label(mark.at)))
        said.append(f'<span><i class="{mark.kind}"></i>{escape(mark.name)} {value}</span>')
    return [text("h3", "Acks over time"), chart, tag("div", "".join(said), "keys")]


def _latency(batch: BatchFacts) -> Iterable[str]:
    if batch.shares is None or not batch.bars:
        return []
    shares = batch.shares
    figures = {
        "mean": shares.mean,
        "p50": shares.p50,
        "p90": shares.p90,
        "p95": shares.p95,
        "p99": shares.p99,
    }
    figures |= {"longest": shares.most}
    keys = "".join(
        f"<span>{name} <b>{escape(formats.seconds(at))}</b></span>" for name, at in figures.items()
    )
    return [text("h3", "Latency"), charts.latency(batch.bars, shares), tag("div", keys, "keys")]


def _stragglers(batch: BatchFacts) -> Iterable[str]:
    if not batch.stragglers:
        return []
    heads: list[Cell] = [("n", "item"), ("", "acked (UTC)"), ("n", "after the others"), ("", "")]
    with_records = any(late.record for late in batch.stragglers)
    heads.append(("", "what it was" if with_records else "item id"))
    rows = table(heads, (_straggler(late, with_records) for late in batch.stragglers))
    return [text("h3", "The last ones"), tag("div", rows, "wide")]


def _straggler(late: Straggler, with_records: bool) -> list[Cell]:
    what = late.record or "" if with_records else late.item_id or ""
    short = what if len(what) <= RECORD_CHARACTERS else what[: RECORD_CHARACTERS - 1] + "\u2026"
    return [
        number(formats.number(late.position)),
        cell(formats.moment(late.acked_at), "time"),
        number(formats.seconds(late.after)),
        ("", text("span", "failed", "chip bad") if late.failed else ""),
        ("", text("span", short, "mono")),
    ]


def _reasons(batch: BatchFacts) -> Iterable[str]:
    if not batch.reasons:
        return []
    source = "as the ack log says" if batch.reasons_from_log else "a sample that the batch keeps"
    rows = ([cell(reason), number(formats.number(items))] for reason, items in batch.reasons)
    parts = [text("h3", f"Why items failed ({source})"), table([("", "reason"), ("n", "items")], rows)]
    if batch.healed:
        healed = f"{count(batch.healed, 'item')} that failed at first and succeeded later may be among them."
        parts.append(text("p", healed, "soft"))
    return parts


def bundles_section(history: History) -> str:
    """Return the section of the group-batcher: targets, sizes and waits."""
    heads: list[Cell] = [("", "target"), ("n", "tasks"), ("", "how they stand"), ("n", "bundles")]
    heads += [("n", said) for said in ("size, mean", "largest", "calls", "wait p50", "p95", "longest")]
    parts = [text("h2", "Bundles"), tag("div", table(heads, map(_target, history.targets)), "wide")]
    parts += _more(history, "targets", "target")
    if history.sizes:
        parts += [text("h3", "Sizes of bundles"), charts.sizes(history.sizes)]
    return tag("section", "".join(parts), "card")


def _target(target: Target) -> list[Cell]:
    return [
        cell(target.name, "name"),
        number(formats.number(target.tasks)),
        cell(_states(target.states)),
        number(formats.number(target.bundles)),
        number(f"{target.size:.1f}"),
        number(formats.number(target.largest)),
        number(formats.number(target.calls)),
        *_spread(target.waited),
    ]


def jobs_section(history: History) -> str:
    """Return the section of the work queues: outcomes of jobs, waiting and working times."""
    heads: list[Cell] = [
        ("", "queue"),
        ("n", "jobs"),
        ("", "how they stand"),
        ("n", "again"),
        ("n", "refused"),
    ]
    heads += [("n", said) for said in ("waited p50", "p95", "longest", "worked p50", "p95", "longest")]
    rows = tag("div", table(heads, map(_queue, history.queues)), "wide")
    parts = [text("h2", "Jobs"), rows, *_more(history, "queues", "queue")]
    return tag("section", "".join(parts), "card")


def _queue(queue: Queue) -> list[Cell]:
    return [
        cell(queue.name, "name"),
        number(formats.number(queue.jobs)),
        cell(_states(queue.states)),
        number(formats.number(queue.again)),
        number(formats.number(queue.refused)),
        *_spread(queue.waited),
        *_spread(queue.worked),
    ]


def _spread(spread: Spread) -> list[Cell]:
    return [number(formats.seconds(value)) for value in (spread.p50, spread.p95, spread.most)]


def _states(states: Mapping[str, int]) -> str:
    ordered = sorted(states.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{formats.number(many)} {formats.state(state)}" for state, many in ordered)


def _more(history: History, name: str, one: str) -> list[str]:
    hidden = history.more.get(name, 0)
    return [text("p", f"and {count(hidden, one)} with fewer, not shown", "soft")] if hidden else []


def notes() -> str:
    """Return the notes on what the figures mean and where they come from."""
    lines = "".join(text("li", note) for note in NOTES)
    return tag("footer", text("h3", "How to read this") + tag("ul", lines))
