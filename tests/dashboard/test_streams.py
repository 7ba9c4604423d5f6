"""The page of a live batch follows a stream of looks at it, and reads the rest when one finds news."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack

import pytest

from fanin.dashboard import streams
from tests.dashboard.asking import BATCH
from tests.dashboard.pages import at_rest, clocked, opened, polled, status, wait
from tests.polling import eventually

PATH = f"/streams/{BATCH}"


def looks(api):
    """How many requests of streams the API got."""
    return sum(query == {"progress": "estimate"} for _, _, query in list(api.queries))


def others(api, since=0):
    """What else was asked for since: the last parts of the paths."""
    return [path.rpartition("/")[2] for _, path, query in api.queries[since:] if "progress" not in query]


@pytest.fixture
def reader(dashboard):
    """Opens a stream, and returns its connection once it has the beginning of the answer, with that."""
    port, cookie = dashboard.door.port, dashboard.door.cookie.partition(";")[0]
    with ExitStack() as stack:

        def opened(path=PATH):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n"
            raw.sendall(head.encode())
            return raw, raw.recv(100)

        yield opened


def answers(*documents):
    """Answers of a batch, one after another; the last one stands for all later ones."""
    remaining = list(documents)
    return 200, lambda _: remaining.pop(0) if remaining[1:] else remaining[0]


def test_a_stream_has_an_event_for_each_look_and_ends_with_the_batch(browser, api):
    api.instead[f"/v1/batches/{BATCH}"] = answers(
        *(status(acked=at, retryAfterSeconds=0.01) for at in (0, 1)), status(acked=2)
    )
    answer = browser.ask(PATH)
    events = [json.loads(event.removeprefix("data: ")) for event in answer.text.strip().split("\n\n")]

    assert answer.headers["Content-Type"] == "text/event-stream"
    assert [event["progress"]["acked"] for event in events] == [0, 1, 2]
    assert looks(api) == len(api.log) == 3


def test_a_look_without_an_answer_ends_a_stream_and_a_first_one_refuses_it(browser, api):
    def once(_):
        api.instead[f"/v1/batches/{BATCH}"] = (403, {"message": "Forbidden"})
        return status(retryAfterSeconds=0.01)

    api.instead[f"/v1/batches/{BATCH}"] = (200, once)

    assert browser.ask(PATH).text.count("data: ") == 1
    assert browser.ask(PATH).status == 403
    assert len(api.log) == 3


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        (401, {"Cookie": ""}),
        (403, {"Sec_Fetch_Site": "same-site"}),
        (403, {"Origin": "http://127.0.0.1:9"}),
        (421, {"Host": "evil.example"}),
        (404, {"path": "/streams/.."}),
        (405, {"method": "POST"}),
    ],
)
def test_a_stream_is_refused_as_any_other_request(browser, api, code, asked):
    assert browser.ask(**{"path": PATH} | asked).status == code
    assert api.log == []


def test_streams_are_few_and_one_ends_when_its_reader_goes_or_the_server_stops(
    dashboard, browser, api, reader
):
    api.instead[f"/v1/batches/{BATCH}"] = (200, status(retryAfterSeconds=60))
    several = [reader() for _ in range(streams.STREAMS)]

    assert all(b" 200 " in head for _, head in several)
    assert b" 503 " in reader()[1]
    assert looks(api) == streams.STREAMS
    several[0][0].close()
    assert eventually(lambda: b" 200 " in reader()[1])
    dashboard.close()
    assert several[1][0].makefile("rb").read().endswith(b"\n\n")


@pytest.mark.parametrize("pages", [1, 40])
def test_an_idle_batch_costs_looks_a_moving_one_its_map_and_an_ended_one_is_read_once_more(
    fanin, api, dashboard, opens, pages
):
    """With the clock of the page at rest, nothing is polled. A look at 40 pages is an estimate."""
    batch = fanin.open("catalog")
    items = batch.add(1024 * pages)

    def ack(of_page):
        fanin.ack([items[1024 * page + at] for page in range(pages) for at in of_page])

    ack(range(256))
    page = clocked(opens, dashboard, f"#/batches/{batch.id}")
    wait(page, "25.0 %")
    at_rest(page, api)
    before = len(api.queries)
    assert eventually(lambda: looks(api) >= 3)
    assert others(api, before) == []
    ack(range(256, 512))
    wait(page, "50.0 %")
    assert set(others(api, before)) == ({"map"} if pages == 1 else {"map", batch.id})
    batch.cancel()
    wait(page, "cancelled")
    at_rest(page, api)
    assert others(api, before).count("children") == 2
    seen = looks(api)
    page.clock.run_for(120_000)
    assert (looks(api), at_rest(page, api)) == (seen, len(api.log))


def test_a_batch_that_moves_all_the_time_is_read_as_a_whole_each_minute(fanin, api, dashboard, opens):
    batch = fanin.open("catalog")
    items = batch.add(10)
    page = clocked(opens, dashboard, f"#/batches/{batch.id}")
    wait(page, "0 %")
    before = at_rest(page, api)
    for at in range(3):
        page.clock.run_for(25_000)
        fanin.ack([items[at]])
        wait(page, f"{at + 1}0.0 %")

    assert {"children", batch.id} <= set(others(api, before))


def test_a_page_without_a_stream_polls_and_one_that_is_paused_gives_its_place_back(
    fanin, api, dashboard, opens, reader, monkeypatch
):
    monkeypatch.setattr(streams, "STREAMS", 1)
    path = f"/streams/{opened(fanin, 'catalog').id}"
    held, _ = reader(path)
    page = clocked(opens, dashboard, path.replace("/streams", "#/batches"))
    polled(page, api, ".*/map", 2)
    held.close()
    before = looks(api)
    assert eventually(lambda: (page.clock.run_for(5000), looks(api) > before)[1])
    assert b" 503 " in reader(path)[1]
    page.keyboard.press("p")
    assert eventually(lambda: b" 200 " in reader(path)[1])


def test_a_batch_that_waits_for_live_children_is_polled(fanin, api, dashboard, opens):
    batch = fanin.open("night")
    fanin.open("at work", parent=batch.add(1)[0])
    page = clocked(opens, dashboard, f"#/batches/{batch.id}")
    wait(page, "at work")
    polled(page, api, ".*/children", 2)
    assert looks(api) == 0
