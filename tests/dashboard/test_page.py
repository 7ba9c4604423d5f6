"""The page in headless Chromium, by keys alone, over the deployed handlers in memory."""

from __future__ import annotations

import re
from itertools import islice

import pytest

from tests.dashboard.conftest import needs_chromium

pytestmark = needs_chromium
MISSING = "00000000-0000-0000-0000-000000000000"
BILLION, TRILLION = 10**9, 10**12


def picture(total, acked=None, failed=(), start=0, stop=None, cells=1024):
    """A map as the API answers it."""
    stop = total if stop is None else stop
    width = max(1, -(-(stop - start) // cells))
    many = -(-(stop - start) // width)
    done = acked or (lambda cell, size: size)
    sizes = [min(width, stop - start - cell * width) for cell in range(many)]
    return {
        "from": start,
        "to": stop,
        "cellItems": width,
        "acked": [int(done(cell, size)) for cell, size in enumerate(sizes)],
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
    for each in ids[:acked]:
        fanin.ack(each)
    for each in ids[acked : acked + failed]:
        fanin.fail(each, reason=f"HTTP 500 of {key}")
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


# --- by keys alone --------------------------------------------------------------------------------


def test_a_batch_is_found_and_looked_into_by_keys(fanin, api, dashboard, opens):
    opened(fanin, "first")
    batch = opened(fanin, "second", items=5000, acked=3, failed=1)
    api.instead[".*/map"] = windowed(5000, acked=lambda cell, size: size * (cell % 5) / 4, failed={2})
    page = opens(dashboard)
    wait(page, "second")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert focused(page) == "first" or focused(page).startswith("row-")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    in_hash(page, f"^#/batches/{batch.id}$")
    wait(page, "HTTP 500 of second")
    page.keyboard.press("m")
    for key in ("ArrowRight", "ArrowDown", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
    wait(page, "items 10 to 14: 50.0 % done, some failed")
    page.keyboard.press("Enter")
    in_hash(page, "from=10&to=15$")
    wait(page, "A cell is one item")
    assert page.evaluate("document.activeElement.localName") == "canvas"
    page.keyboard.press("Escape")
    in_hash(page, f"^#/batches/{batch.id}$")
    page.keyboard.press("Escape")
    in_hash(page, "^#/batches$")


def test_each_view_has_a_key_and_help_lists_them(fanin, api, dashboard, opens):
    page = opens(dashboard)
    for key, path in {"t": "tasks", "q": "queues", "e": "events", "b": "batches"}.items():
        page.keyboard.press(key)
        in_hash(page, f"^#/{path}$")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert "pause and resume" in page.inner_text("dialog")
    page.keyboard.press("t")  # not while the dialog is open
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="hidden")
    assert page.evaluate("location.hash") == "#/batches"


def test_zooms_of_a_billion_items_end_at_the_items_and_come_back_one_by_one(fanin, api, dashboard, opens):
    batch = opened(fanin, "huge", items=BILLION)
    api.instead[".*/map"] = windowed(BILLION, acked=lambda cell, size: size // 3)
    page = opens(dashboard, f"#/batches/{batch.id}")
    wait(page, "1,000,000,000")
    hashes = []
    for cells in ("976,563", "954", "one item"):
        page.wait_for_selector("canvas")
        wait(page, f"A cell is {cells}")
        hashes.append(page.evaluate("location.hash"))
        page.keyboard.press("m")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
    assert "item 999,999,999" in main(page)
    for hash_ in (*reversed(hashes[:-1]), "#/batches"):
        page.keyboard.press("Escape")
        page.wait_for_function("hash => location.hash === hash", arg=hash_)


def test_filters_are_typed_and_can_be_shared(fanin, api, dashboard, opens):
    for number in range(3):
        opened(fanin, f"catalog-{number}", labels={"team": "search"})
    opened(fanin, "mailing")
    page = opens(dashboard)
    wait(page, "mailing")
    page.keyboard.press("/")
    page.keyboard.press("Tab")
    page.keyboard.type("is")
    page.keyboard.press("Tab")
    page.keyboard.type("catalog-1")
    page.keyboard.press("Enter")
    in_hash(page, "userKey=catalog-1")
    page.wait_for_function("document.querySelectorAll('tbody tr').length === 1")
    page.goto(f"http://127.0.0.1:{dashboard.door.port}/#/batches?label=team%3Asearch&state=CLOSED")
    page.wait_for_function("document.querySelectorAll('tbody tr').length === 3")
    assert page.input_value("#state") == "CLOSED"
    assert page.input_value("#label") == "team:search"


def test_older_and_newer_rows(fanin, api, dashboard, opens):
    for number in range(120):
        opened(fanin, f"batch-{number:03}", items=0, close=False)
    page = opens(dashboard)
    for key, first in (("n", "batch-069"), ("n", "batch-019"), ("N", "batch-069"), ("N", "batch-119")):
        page.wait_for_selector("a[rel]")
        page.keyboard.press(key)
        page.wait_for_function("key => document.querySelector('tbody a').textContent === key", arg=first)
    page.goto(page.url.partition("#")[0] + "#/batches?cursor=nonsense")
    wait(page, "cursor")


# --- polls ----------------------------------------------------------------------------------------


def clocked(opens, dashboard, hash_=""):
    """A page whose clock the test moves."""
    page = opens(dashboard)
    page.clock.install()
    page.goto(f"http://127.0.0.1:{dashboard.door.port}/{hash_}")
    page.reload()
    page.wait_for_selector("main h1, main .note")
    page.wait_for_function("document.getElementById('status').innerText !== ''")
    return page


def polled(page, api, pattern, times=1):
    """Move the clock until a path was asked for so often again."""
    for _ in range(times):
        before = api.asked(pattern)
        for _ in range(40):
            page.clock.run_for(1000)
            page.wait_for_timeout(25)
            if api.asked(pattern) > before:
                break
        assert api.asked(pattern) > before
    page.wait_for_timeout(150)


def test_focus_typing_scroll_and_details_survive_polls(fanin, api, dashboard, opens):
    for number in range(40):
        opened(fanin, f"batch-{number:02}")
    page = clocked(opens, dashboard)
    wait(page, "batch-00")
    page.click("summary")
    page.fill("#key", "half-typ")
    page.evaluate("scrollTo(0, 300)")
    opened(fanin, "new")
    polled(page, api, "/v1/batches", 2)
    wait(page, "new")
    assert (page.input_value("#key"), focused(page)) == ("half-typ", "key")
    assert page.evaluate("scrollY") == 300
    assert page.evaluate("document.querySelector('details').open")
    row = page.locator("tbody a", has_text="batch-07")
    row.focus()
    opened(fanin, "newer")
    polled(page, api, "/v1/batches")
    wait(page, "newer")
    assert page.evaluate("document.activeElement.textContent") == "batch-07"


def test_a_zoom_and_its_cell_survive_polls(fanin, api, dashboard, opens):
    batch = opened(fanin, "catalog", items=5000)
    api.instead[".*/map"] = windowed(5000)
    page = clocked(opens, dashboard, f"#/batches/{batch.id}?from=0&to=1000")
    page.wait_for_selector("canvas")
    page.keyboard.press("m")
    page.keyboard.press("ArrowRight")
    polled(page, api, ".*/map", 2)
    assert "item 1: 100 % done" in main(page)
    assert page.evaluate("document.activeElement.localName") == "canvas"


def test_a_paused_or_hidden_page_asks_for_nothing(fanin, api, dashboard, opens):
    opened(fanin, "catalog")
    page = clocked(opens, dashboard)
    wait(page, "catalog")
    page.keyboard.press("p")
    status_is(page, "paused")
    before = len(api.log)
    page.clock.run_for(120_000)
    page.wait_for_timeout(100)
    assert len(api.log) == before
    page.keyboard.press("r")
    page.wait_for_timeout(200)
    assert api.asked("/v1/batches") > 1
    page.keyboard.press("p")
    page.wait_for_timeout(200)
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    before = len(api.log)
    page.clock.run_for(120_000)
    page.wait_for_timeout(100)
    assert len(api.log) == before
    page.evaluate("Object.defineProperty(document, 'hidden', {value: false})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(200)
    assert len(api.log) > before


@pytest.mark.parametrize(("confirmed", "polls"), [(True, False), (False, True)])
def test_an_ended_batch_is_read_until_its_event_is_confirmed(api, dashboard, opens, confirmed, polls):
    event = {"eventId": "e", "type": "BatchCompleted", "confirmed": confirmed}
    ended = status(state="COMPLETE", isComplete=True, result="succeeded", acked=10, event=event)
    api.instead[f"/v1/batches/{MISSING}"] = (200, ended)
    api.instead[".*/map"] = windowed(10)
    page = clocked(opens, dashboard, f"#/batches/{MISSING}")
    wait(page, "BatchCompleted")
    before = len(api.log)
    page.clock.run_for(60_000)
    page.wait_for_timeout(200)
    assert (len(api.log) > before) is polls
    assert ("the bus took it" if confirmed else "not confirmed yet") in main(page)


def test_polls_come_every_ten_answer_times_from_2_to_30_seconds(dashboard, opens):
    page = opens(dashboard)
    pauses = page.evaluate(
        """async () => {
          const { pause } = await import('/poll.js');
          const of = (seconds, failures) => [pause(seconds, failures, 0), pause(seconds, failures, 1)];
          return [of(0.001, 0), of(1, 0), of(40, 0), of(0.001, 2), of(0.001, 50)];
        }"""
    )

    assert pauses == [[2, 2.4], [10, 12], [25, 30], [8, 9.6], [25, 30]]


# --- what goes wrong ------------------------------------------------------------------------------


def test_an_api_that_stops_leaves_the_last_data_and_comes_back(fanin, api, dashboard, opens):
    opened(fanin, "catalog", items=10, acked=4)
    page = clocked(opens, dashboard)
    wait(page, "40.0 %")
    api.instead["/v1/batches"] = (500, {"message": "Internal Server Error"})
    polled(page, api, "/v1/batches")
    status_is(page, "not current, as of ")
    assert "The API does not answer" in main(page)
    assert "fanin local list" in main(page)
    assert "40.0 %" in main(page)
    polled(page, api, "/v1/batches", 3)
    del api.instead["/v1/batches"]
    polled(page, api, "/v1/batches")
    page.wait_for_function("!document.querySelector('.note')")
    assert "not current" not in page.inner_text("#status")


def test_a_dashboard_that_was_ended_is_said(fanin, api, starts, opens):
    from contextlib import suppress

    dashboard = starts()
    opened(fanin, "catalog")
    page = opens(dashboard)
    wait(page, "catalog")
    dashboard.shutdown(), dashboard.server_close()
    page.keyboard.press("r")
    wait(page, "The dashboard does not answer")
    assert "Start it again with `fanin dashboard`" in main(page)
    assert "catalog" in main(page)
    with suppress(OSError):
        dashboard.socket.close()


def test_a_batch_that_is_not_there_is_said_and_not_asked_for_again(fanin, api, dashboard, opens):
    page = clocked(opens, dashboard, f"#/batches/{MISSING}")
    wait(page, "It has expired or was deleted")
    before = len(api.log)
    page.clock.run_for(60_000)
    page.wait_for_timeout(100)
    assert len(api.log) == before


def test_a_refused_filter_and_refused_credentials_are_said(fanin, api, dashboard, opens):
    page = opens(dashboard, "#/batches?label=nonsense")
    wait(page, "label")
    wait(page, "Change the filters")
    api.instead["/v1/batches"] = (403, {"message": "Forbidden"})
    page.keyboard.press("r")
    wait(page, "fanin where")


def test_a_part_that_is_not_deployed_is_said(api, dashboard, opens):
    api.instead["/v1/targets"] = (404, {"message": "Not Found"})
    page = opens(dashboard, "#/tasks")

    wait(page, "this part of fanin is not deployed there")


def test_states_of_a_newer_api_are_shown(api, dashboard, opens):
    api.instead["/v1/batches/[^/]*/map"] = windowed(10)
    known = status(state="FROZEN", result=None)
    page = opens(dashboard)
    page.route("**/v1/batches?*", lambda route: route.fulfill(json={"batches": [known], "more": {"new": 1}}))
    page.route(f"**/v1/batches/{MISSING}", lambda route: route.fulfill(json=known | {"colour": {"new": []}}))
    page.keyboard.press("r")
    wait(page, "FROZEN")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    wait(page, "Outstanding")
    assert "FROZEN" in main(page)


# --- texts and numbers ----------------------------------------------------------------------------


def test_a_user_key_is_text(fanin, api, dashboard, opens):
    key = "<img src=x onerror=\"document.title='owned'\"><script>1</script>"
    batch = opened(fanin, key, items=2, acked=0, failed=1, labels={"<b>": "<img onerror=1>"})
    page = opens(dashboard)
    wait(page, key)
    page.goto(page.url.partition("#")[0] + f"#/batches/{batch.id}")
    wait(page, f"HTTP 500 of {key}")
    assert page.locator("main img, main script, main b").count() == 0
    assert page.title() == f"{batch.id} · fanin"


@pytest.mark.parametrize(
    ("total", "acked", "shown"),
    [
        (BILLION, BILLION - 1, ["99.9 %", "1,000,000,000"]),
        (TRILLION, TRILLION - 1, ["99.9 %", "1,000,000,000,000"]),
        (TRILLION, 1, ["under 0.1 %", "999,999,999,999"]),
        (TRILLION, TRILLION, ["100 %"]),
        (3, 1, ["33.3 %"]),
    ],
)
def test_huge_numbers_are_right(api, dashboard, opens, total, acked, shown):
    api.instead[f"/v1/batches/{MISSING}"] = (200, status(total=total, acked=acked))
    api.instead[".*/map"] = (200, picture(total, lambda cell, size: size))
    page = opens(dashboard, f"#/batches/{MISSING}")
    wait(page, "Outstanding")

    facts = page.inner_text("dl.facts")
    assert all(each in facts for each in shown)


def test_rate_and_time_left_are_of_what_was_polled(api, dashboard, opens):
    batch, done = f"/v1/batches/{MISSING}", [0]
    api.instead[batch] = (200, lambda _: status(total=1_000_000, acked=done[0]))
    api.instead[".*/map"] = windowed(1_000_000)
    page = clocked(opens, dashboard, f"#/batches/{MISSING}")
    wait(page, "measuring")
    for _ in range(3):
        done[0] += 10_000
        polled(page, api, batch)
    rate = float(re.search(r"([\d,]+)/s", main(page))[1].replace(",", ""))
    assert 1_000 < rate < 10_000
    assert re.search(r"≈ \d+ (s|min)", main(page))


def test_times_say_their_zone_and_their_date(fanin, api, dashboard, opens):
    opened(fanin, "catalog")
    page = opens(dashboard)
    wait(page, "catalog")

    assert re.search(r"UTC\+0[12]:00", page.inner_text("footer"))
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\+0[12]:00", page.get_attribute("tbody time", "title")
    )


def test_an_empty_view_says_what_fills_it(api, starts, opens):
    api.instead["/v1/targets"] = (200, {"targets": []})
    api.instead["/v1/queues"] = (200, {"queues": []})
    page = opens(starts(events=list))
    for key, command in {
        "b": "fanin publish",
        "t": "/v1/tasks",
        "q": "create_queue",
        "e": "fanin close",
    }.items():
        page.keyboard.press(key)
        wait(page, command)


# --- bounded work ---------------------------------------------------------------------------------


def test_a_list_of_ten_thousand_batches_takes_21_requests(fanin, api, dashboard, opens):
    for number in range(10_000):
        fanin.open(user_key=f"batch-{number:05}")
    page = opens(dashboard)
    wait(page, "batch-09999")
    page.wait_for_function("document.querySelectorAll('progress').length === 20")

    assert page.locator("tbody tr").count() == 50
    assert api.asked("/v1/batches") == 1
    assert len(api.log) <= 21
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.keyboard.press("r")
    page.wait_for_function("document.querySelectorAll('progress').length > 20")
    assert len(api.log) <= 42


# --- writes ---------------------------------------------------------------------------------------


def test_a_read_only_dashboard_offers_no_write(fanin, api, dashboard, opens):
    batch = opened(fanin, "catalog", close=False)
    page = opens(dashboard, f"#/batches/{batch.id}")
    wait(page, "Outstanding")

    assert page.locator("main button").count() == 0


def test_cancel_needs_the_typed_key(fanin, api, starts, opens):
    batch = opened(fanin, "catalog", close=False)
    page = opens(starts(allow_writes=True), f"#/batches/{batch.id}")
    wait(page, "Cancel…")
    page.get_by_text("Close…").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    wait(page, "CLOSED")
    page.get_by_text("Cancel…").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("catalo")
    page.keyboard.press("Enter")
    assert page.is_disabled("#do")
    assert fanin.get(batch.id).state == "CLOSED"
    page.keyboard.type("g")
    page.keyboard.press("Tab")
    page.keyboard.type("a test")
    page.keyboard.press("Enter")
    wait(page, "cancelled")
    assert "a test" in main(page)
    page.get_by_text("Send the event again…").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]", state="hidden")
    assert [path.rpartition("/")[2] for method, path, _ in api.log if method == "POST"] == [
        "close",
        "cancel",
        "notify",
    ]


def test_a_refused_write_is_said_in_its_dialog(fanin, api, starts, opens):
    batch = opened(fanin, "catalog", close=False)
    page = opens(starts(allow_writes=True), f"#/batches/{batch.id}")
    wait(page, "Close…")
    batch.add(1)
    api.instead[".*/close"] = (403, {"message": "Forbidden"})
    page.get_by_text("Close…").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "document.getElementById('refused').innerText.includes('refuses your credentials')"
    )
