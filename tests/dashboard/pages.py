"""What the tests of the page share: batches, documents of the API, and waits for what a page shows."""

from __future__ import annotations

from itertools import islice

MISSING = "00000000-0000-0000-0000-000000000000"
BILLION, TRILLION = 10**9, 10**12


def picture(total, acked=None, failed=(), start=0, stop=None, cells=1024):
    """A map as the API answers it."""
    stop = total if stop is None else stop
    width = max(1, -(-(stop - start) // cells))
    many = -(-(stop - start) // width)
    acked_of = acked or (lambda cell, size: size)
    sizes = [min(width, stop - start - cell * width) for cell in range(many)]
    return {
        "from": start,
        "to": stop,
        "cellItems": width,
        "acked": [int(acked_of(cell, size)) for cell, size in enumerate(sizes)],
        "failed": [int(cell in failed) for cell in range(many)],
        "exact": total <= 1_000_000,
    }


def windowed(total, **given):
    """Maps of a batch for each window that is asked for."""
    return 200, lambda query: picture(
        total, start=int(query.get("from", 0)), stop=int(query.get("to", total)), **given
    )


def status(batch_id=MISSING, total=10, acked=0, **more):
    return {
        "batchId": batch_id,
        "userKey": "catalog",
        "mode": "exact",
        "state": "CLOSED",
        "isClosed": True,
        "isComplete": False,
        "total": total,
        "failed": 0,
        "progress": {"acked": acked, "failed": 0, "estimate": acked, "upperBound": acked, "exact": True},
        "createdAt": "2026-11-22T12:00:00.000Z",
        "expiresAt": "2026-12-22T12:00:00.000Z",
    } | more


def opened(fanin, key, items=10, acked=0, failed=0, close=True, **options):
    """A batch whose first items are acked, and those after them failed."""
    batch = fanin.open(user_key=key, **options)
    ids = list(islice(batch.add(items), acked + failed)) if items else []
    if close:
        batch.close()
    if acked:
        fanin.ack(ids[:acked])
    if failed:
        fanin.fail(ids[acked:], reason=f"HTTP 500 of {key}")
    return batch


def main(page):
    return page.inner_text("main")


def wait(page, text):
    page.wait_for_function("text => document.querySelector('main').innerText.includes(text)", arg=text)


def status_is(page, text):
    page.wait_for_function("text => document.getElementById('status').innerText.includes(text)", arg=text)


def in_hash(page, pattern):
    page.wait_for_function("pattern => new RegExp(pattern).test(location.hash)", arg=pattern)


def focused(page):
    return page.evaluate("document.activeElement.id || document.activeElement.textContent")


def clocked(opens, dashboard, hash_=""):
    """A page whose clock the test moves."""
    page = opens(dashboard, hash_, has_clock=True)
    page.wait_for_selector("main h1, main .note")
    page.wait_for_function("() => document.getElementById('status').innerText !== ''")
    return page


def polled(page, api, pattern, times=1):
    """Move the clock until a path was asked for so often again, once the read before it is answered."""
    for _ in range(times):
        before = api.asked(pattern)
        for _ in range(400):
            page.clock.run_for(1000)
            page.wait_for_timeout(25)
            if api.asked(pattern) > before:
                break
        assert api.asked(pattern) > before
    at_rest(page, api)


def at_rest(page, api):
    """Wait until the last answer is read; return how much was asked for by then."""
    for _ in range(100):
        before = len(api.log)
        page.wait_for_timeout(150)
        if len(api.log) == before:
            return before
    raise AssertionError(f"still asking after {len(api.log)} requests")


def asked_more(page, api, before):
    """Wait until more was asked for, with the clock as it is."""
    for _ in range(200):
        if len(api.log) > before:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"nothing was asked for after {before} requests")
