"""Texts and numbers of the page: no markup, rounded down, with their zone."""

from __future__ import annotations

import re

import pytest

from tests.dashboard.pages import (
    BILLION,
    MISSING,
    TRILLION,
    clocked,
    main,
    opened,
    picture,
    polled,
    status,
    wait,
    windowed,
)


def test_a_user_key_is_text(fanin, api, dashboard, opens):
    key = "<img src=x onerror=\"document.title='owned'\"><script>1</script>"
    batch = opened(fanin, key, items=2, acked=0, failed=1, labels={"<b>": "<img onerror=1>"})
    page = opens(dashboard)
    wait(page, key)
    page.goto(page.url.partition("#")[0] + f"#/batches/{batch.id}")
    wait(page, f"HTTP 500 of {key}")
    assert page.locator("main img, main script, main b").count() == 0
    assert page.title() == f"{batch.id} · fanin"


def test_a_batch_of_which_enough_has_succeeded_looks_like_a_success(fanin, api, dashboard, opens):
    opened(fanin, "the first to answer", items=3, acked=1, close=False, min_succeeded=1)
    page = opens(dashboard)
    wait(page, "1 succeeded: enough")

    assert page.get_attribute(".state", "class") == "state good"


HUGE = [
    (BILLION, BILLION - 1, ["99.9 %", "1,000,000,000"]),
    (TRILLION, TRILLION - 1, ["99.9 %", "1,000,000,000,000"]),
    (TRILLION, 1, ["under 0.1 %", "999,999,999,999"]),
    (TRILLION, TRILLION, ["100 %"]),
    (3, 1, ["33.3 %"]),
]


def test_huge_numbers_are_right(api, dashboard, opens):
    page = opens(dashboard)
    for number, (total, acked, shown) in enumerate(HUGE):
        batch, key = f"{MISSING[:-1]}{number}", f"batch {number}"
        api.instead[f"/v1/batches/{batch}"] = (200, status(batch, total, acked, userKey=key))
        api.instead[".*/map"] = (200, picture(total, lambda cell, size: size))
        page.goto(page.url.partition("#")[0] + f"#/batches/{batch}")
        wait(page, key)
        wait(page, "Outstanding")

        facts = page.inner_text("dl.facts")
        assert all(each in facts for each in shown), facts


@pytest.mark.proof
def test_rate_and_time_left_are_of_what_was_polled(api, dashboard, opens):
    batch, acked = f"/v1/batches/{MISSING}", [0]
    api.instead[batch] = (200, lambda _: status(total=1_000_000, acked=acked[0]))
    api.instead[".*/map"] = windowed(1_000_000)
    page = clocked(opens, dashboard, f"#/batches/{MISSING}")
    wait(page, "measuring")
    for _ in range(3):
        acked[0] += 10_000
        polled(page, api, batch)
    rate = float(re.search(r"([\d,.]+)/s", main(page))[1].replace(",", ""))
    # Polls are 2 s apart or more; how much more depends on the answers.
    assert 0.99 * 10_000 / (page.evaluate("performance.now()") / 1000) < rate < 5_100
    assert re.search(r"≈ \d+ (s|min|h)", main(page))


def test_times_say_their_zone_and_their_date(fanin, api, dashboard, opens):
    opened(fanin, "catalog")
    page = opens(dashboard)
    wait(page, "catalog")

    assert re.search(r"UTC\+0[12]:00", page.inner_text("footer"))
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\+0[12]:00", page.get_attribute("tbody time", "title")
    )
