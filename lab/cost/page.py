"""Writes docs/cost.md from the counted units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from fanin.cost import PRICES, Bill, Price, Usage
from fanin.cost.prices import AS_OF, PAGES
from lab.cost.items import Page
from lab.cost.operations import Operation
from lab.cost.results import RESULT_BYTES, Kept
from lab.cost.transactions import transactions

MILLION, BILLION = 10**6, 10**9


@dataclass(frozen=True)
class Counts:
    """All that was counted. *idle*: a month of the default stack; *options*: of other settings, by name.

    *months*: an idle month by the setting ``monitoring``.
    *queue*, *api*: the acks of a page by the acks queue and by the API, for several items at a time.
    *bulk*: dollars of a billion items by ``bulk_ack``. *results*: those of a million items.
    *operations*: what one of each takes.
    """

    idle: Usage
    months: Mapping[str, Usage]
    options: Mapping[str, Usage]
    queue: Sequence[Page]
    api: Sequence[Page]
    bulk: float
    results: Sequence[Kept]
    operations: Sequence[Operation]


def written(counts: Counts) -> str:
    """Return the page."""
    return "\n".join(
        [
            *_introduction(counts),
            *_idle(counts),
            *_operations(counts.operations),
            *_items(counts),
            *_results(counts.results),
            *_transactions(),
            *_switches(counts),
            *_meter(),
            *_prices(),
        ]
    )


INTRODUCTION = """# Cost

A month of an idle deployment costs about {idle}, and {full} with `monitoring=full`. A million acks cost
{together} if a hundred neighbours are acked together, and {alone} one by one.

`make cost` writes this page from the synthesised template and the requests, units, metrics and log bytes of
the handlers. A month has 30 days. An invocation takes 10 ms, and 8 ms for each request; X-Ray records the
first trace of each second and 5 % of the others. Your queues and consumers, and data transfer, are not
included. Each delivery reads the row of its batch; a warm consumer once in 5 s, which takes up to $0.125 off
a million items that are acked alone: [Ways to ack](performance/ways_to_ack.md).
"""
IDLE = """
Lambda polls each queue that feeds a function by five long polls of 20 s at a time; the sweepers run every
minute.
"""
OPERATIONS = """## What one operation costs

Requests to DynamoDB, SQS and S3 of a client at the tables, and their units; of several together, the share
of each. The API adds $1.00 for a million requests, and its function.
"""
ITEMS = """## A month with items

Dollars of acking that many items, on top of the idle month. A consumer with `@fanin.acks` or `Fanin.direct`
writes *at the tables*. *Together*: items, neighbours of one page, in a delivery or request. Traces of
`monitoring=full` come on top: at most $12.96 for a function, and 5 % of the others.
"""
BATCHES = """
An event that is put [at once](events.md#at-once) takes $0.75 more for a million batches.
"""
RESULTS = f"""## Results of items

Dollars that a million [results](results.md) of {RESULT_BYTES} bytes add to the acks. *Together*: results of
an ack request, a delivery or a chunk. The first read gathers them; they are kept for a week.
"""
READ = """
A reader gets {files} files. A read costs less than $0.01.
"""
TRANSACTIONS = """## Indexes in a transaction

DynamoDB bills a write of a transaction twice. Whether entries in secondary indexes too is not documented;
all figures of this project count these once, and `make smoke` prints `billed once in a transaction` or
`billed twice` for an account. The difference, for a million transactions:
"""
BULK = "by [bulk_ack](pipeline.md#bulk-ack-ack-the-items-that-logs-list), tables only"
Usages = Callable[[float], Usage]


def _introduction(counts: Counts) -> Iterable[str]:
    yield INTRODUCTION.format(
        idle=dollars(Bill(counts.idle).dollars),
        full=dollars(Bill(counts.months["full"]).dollars),
        together=dollars(Bill(counts.queue[0].acks(MILLION)).dollars),
        alone=dollars(Bill(counts.queue[-1].acks(MILLION)).dollars),
    )


def _idle(counts: Counts) -> Iterable[str]:
    yield "## A month without items\n"
    yield "Units and dollars by the setting [`monitoring`](settings.md):\n"
    bills = {name: Bill(usage) for name, usage in counts.months.items()}
    yield from _head("service", "unit", *(f"`{name}`" for name in bills))
    for line in Bill(sum(counts.months.values(), Usage())).lines:
        price = line.price
        yield _line(price.service, price.unit, *(_cell(bill, price) for bill in bills.values()))
    yield _line("all", "", *(f"**{dollars(bill.dollars)}**" for bill in bills.values()))
    yield IDLE


def _cell(bill: Bill, price: Price) -> str:
    found = [line for line in bill.lines if line.price is price]
    return "".join(f"{amount(line.amount)}: {dollars(line.dollars)}" for line in found)


def _operations(counted: Sequence[Operation]) -> Iterable[str]:
    yield OPERATIONS
    yield from _head("operation", "requests", "write units", "read units", "$ a million")
    for each in counted:
        units = (each.usage.units[kind] for kind in ("write_unit", "read_unit"))
        price = dollars(Bill(each.usage).dollars * MILLION)
        yield _line(each.name, *map(amount, (each.requests, *units)), price)
    yield ""


def _items(counts: Counts) -> Iterable[str]:
    yield ITEMS
    yield from _head("acks arrive", "together", "1 M items", "1 B items")
    for name, together, usage in _ways(counts):
        yield _line(name, together, *(dollars(Bill(usage(items)).dollars) for items in (MILLION, BILLION)))
    yield _line(BULK, "1,024", dollars(counts.bulk / 1000), dollars(counts.bulk))
    yield BATCHES


def _ways(counts: Counts) -> Iterable[tuple[str, str, Usages]]:
    """Yield each way to ack: its name, the items together, and its units for a number of items."""
    yield from (("at the tables", str(page.together), page.acks) for page in counts.queue)
    yield from (("by the acks queue", str(page.together), page.by_queue) for page in counts.queue)
    yield from (("by the API", str(page.together), page.by_api) for page in counts.api)


def _results(kept: Sequence[Kept]) -> Iterable[str]:
    yield RESULTS
    yield from _head("together", "written", "gathered", "kept", "all")
    for each in kept:
        bills = [Bill(usage).dollars for usage in (each.written, each.gathered, each.stored)]
        yield _line(str(each.together), *(dollars(bill) for bill in (*bills, sum(bills))))
    yield READ.format(files=max(each.files for each in kept))


def _transactions() -> Iterable[str]:
    yield TRANSACTIONS
    yield from _head("a transaction in which", "units, indexes once", "indexes twice", "a million", "twice")
    for each in transactions():
        millions = (Bill(Usage({"write_unit": MILLION * units})).dollars for units in (each.once, each.twice))
        yield _line(each.name, amount(each.once), amount(each.twice), *map(dollars, millions))
    yield ""


def _switches(counts: Counts) -> Iterable[str]:
    yield "## What to switch off\n"
    yield "The idle month changes by each [setting](settings.md), and by each queue:\n"
    yield from _head("setting", "dollars a month", "of which")
    for name, usage in counts.options.items():
        change = Bill(usage - counts.idle)
        parts = {service: value for service, value in change.by_service().items() if abs(value) >= 0.005}
        where = ", ".join(f"{service} {_signed(value)}" for service, value in parts.items())
        yield _line(name, _signed(change.dollars), where)
    yield ""


METER = """## Meter your own requests

`UsageMeter().attach(client, ...)`, from `fanin.cost`, adds up what requests of boto3 clients of DynamoDB, SQS
and EventBridge are billed: `usage` in units, `dollars` in money; with `takes_reports=False` also where the
engine, such as moto, reports no units. `fanin cost` estimates a fan-out before it is sent,
`fanin status BATCH --cost` what a batch has cost so far.
"""


def _meter() -> Iterable[str]:
    yield METER


def _prices() -> Iterable[str]:
    yield "## Prices\n"
    yield f"List prices of us-east-1, as of {AS_OF}, without free tiers: `shared/fanin/cost/prices.py`.\n"
    yield from _head("service", "prices")
    for service, prices in groupby(sorted(PRICES.values(), key=_service), _service):
        listed = "; ".join(f"{price.unit} {_price(price)}" for price in prices)
        yield _line(f"[{service}]({PAGES[service]})", listed)
    yield ""


def _service(price: Price) -> str:
    return price.service


def _head(*cells: str) -> Iterable[str]:
    yield _line(*cells)
    yield f"|{'---|' * len(cells)}"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def amount(value: float) -> str:
    """Return *value* with three significant digits and thousands separated, whole from 100."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def dollars(value: float) -> str:
    """Return *value* in dollars and cents; less than a cent never prints as zero."""
    return f"${value:,.2f}" if value >= 0.005 else "< $0.01"


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}${abs(value):,.2f}"


def _price(price: Price) -> str:
    small = f"${price.dollars:.10f}".rstrip("0")
    text = small if price.dollars < 0.01 else f"${price.dollars:,.3f}".removesuffix("0")
    return f"{text} a million" if price.each > 1 else text
