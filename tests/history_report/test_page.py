"""The page: what it says first, what it shows, and that it needs nothing beside itself."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from html.parser import HTMLParser

import pytest

from fanin.history_report import summary
from fanin.history_report.facts import Bar, BatchFacts, History, Point, Repeats, Shares
from fanin.history_report.format import percent, seconds
from fanin.history_report.moments import Clock, marks
from fanin.history_report.rendering import page_of

OPENED = datetime(2026, 3, 1, 12, tzinfo=UTC)


def after(value: float) -> datetime:
    return OPENED + timedelta(seconds=value)


LATE = {"position": 7, "item_id": "id:of:7", "acked_at": after(62), "after": 12.0, "failed": True}
LATE |= {"record": '{"name":"<qgis>"}'}
WELL = BatchFacts(
    batch_id="0199a000-0000-7000-8000-000000000001",
    state="COMPLETE",
    user_key="orders",
    mode="exact",
    total=1000,
    acked=1000,
    seen=1000,
    opened_at=OPENED,
    closed_at=after(1),
    first_ack_at=after(2),
    last_ack_at=after(62),
    ended_at=after(62.2),
    event_at=after(63),
    lasted=62.2,
    acking=60.0,
    decided_after=0.2,
    reported_after=0.8,
    tail_at=after(50),
    outstanding=0,
    shares=Shares("closed", 1000, 20.0, 18.0, 40.0, 45.0, 49.0, 61.0),
    curve=(Point(0, 400, 0), Point(20, 590, 0), Point(60, 10, 0)),
    bars=(Bar(0, 24.5, 600), Bar(24.5, 49, 390), Bar(49, 61, 10)),
    stragglers=(LATE,),
    is_drawn=True,
)
TIMED_OUT = replace(
    WELL,
    batch_id="0199a000-0000-7000-8000-000000000002",
    user_key="<b>late</b> & $more^2$",
    state="TIMED_OUT",
    acked=863,
    failed=4,
    outstanding=137,
    is_orphan=True,
    event_at=None,
    end_reason="deadline <passed>",
    reasons=(("<timeout>", 4),),
)
HISTORY = History("s3://bucket/changes", OPENED, after(63), 2, 2, 1, 1, 1863, 4, batches=(TIMED_OUT, WELL))


class Reader(HTMLParser):
    """The texts of a page, and whether its elements close as they opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip() and self.open[-1] != "style":
            self.texts.append(data.strip())

    @property
    def text(self):
        return " ".join(self.texts)


@cache
def whole() -> str:
    """The page over both batches with their charts, which take time."""
    return page_of(HISTORY)


def read(*batches, **facts) -> Reader:
    """The page over *batches*, or over both of them without their charts."""
    shown = batches or [replace(batch, curve=(), bars=()) for batch in HISTORY.batches]
    return Reader(page_of(replace(HISTORY, batches=shown, **facts)))


@pytest.mark.parametrize("history", [HISTORY, History("changes")])
def test_the_page_is_whole(history):
    reader = Reader(whole() if history is HISTORY else page_of(history))

    assert reader.open == []
    assert [tag for tag, _ in reader.tags][:2] == ["html", "head"]


def test_the_page_needs_nothing_beside_itself():
    text = whole()
    tags = Reader(text).tags
    links = {attributes["href"] for tag, attributes in tags if tag == "a"}

    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in tags}
    assert not {"src", "srcset", "action", "onload", "onclick"} & {name for _, each in tags for name in each}
    assert {link[0] for link in links} == {"#"}
    assert "http" not in text
    assert "@import" not in text
    assert set(re.findall(r"url\((.)", text)) <= {"#"}


def test_the_page_supports_light_and_dark_mode():
    style = re.search(r"<style>(.*)</style>", page_of(History("changes")), re.DOTALL)[1]
    light, dark = (set(re.findall(r"(--[a-z-]+):", part)) for part in style.split("scheme: dark", 1))

    assert "color-scheme: light dark" in style
    assert light == dark
    assert set(re.findall(r"var\((--[a-z-]+)\)", style)) <= light


def test_charts_have_the_colours_of_the_page_and_no_other():
    drawn = "".join(re.findall(r"<svg.*?</svg>", whole(), re.DOTALL))

    assert "var(--acks)" in drawn
    assert not re.search("#[0-9a-f]{6}", drawn)


def test_what_users_wrote_is_text_and_nothing_else():
    reader = read()

    for text in ("<b>late</b> & $more^2$", "deadline <passed>", "<timeout>"):
        assert text in reader.texts
    assert '{"name":"<qgis>"}' in reader.text
    assert not [tag for tag, _ in reader.tags if tag in {"timeout", "passed", "qgis"}]


def test_the_first_screen_says_when_how_many_and_what_failed():
    text = read().text

    assert "1 of 2 batches complete" in text
    assert "<b>late</b> & $more^2$ : timed out with 137 items not acked" in text
    assert "2026-03-01 12:00:00 to 2026-03-01 12:01:03 UTC" in text
    assert "1,863 items were acked; 4 of them failed; 1 batch ended with items left behind." in text
    assert "2 / 2 batches over" in text
    assert "137 left behind" in text
    assert "49 s slowest p99 of a batch" in text


@pytest.mark.parametrize(
    ("facts", "look"),
    [
        ({"is_orphan": True, "state": "EXPIRED", "outstanding": 1}, "expired with 1 item not acked"),
        ({"state": "CLOSED", "idle": 7200.0}, "not over, and nothing happened for 2 h"),
        ({"event_at": None}, "its event is not confirmed yet"),
        ({"notices": 2}, "had to be sent again (2 times)"),
        ({"failed": 9, "state": "FAILED", "outstanding": 1}, "ended by its failures: 9, with 1 item not"),
        ({"state": "FAILED", "end_reason": "stuck"}, "its end was forced (stuck), with 0 items not acked"),
        ({"tail_at": after(22)}, "the last percent of its items took 40 s, 66.7 % of its time"),
        ({"state": "UNKNOWN", "event_at": None}, "whose own row is not in the archive"),
    ],
)
def test_what_is_worth_a_look_is_named_and_nothing_of_a_batch_that_went_well(facts, look):
    (found,) = summary.attention(replace(WELL, **facts))

    assert look in found
    assert list(summary.attention(WELL)) == []


STATES = {("OPEN", 0): "open", ("CLOSED", 3): "under way", ("COMPLETE", 0): "complete"}
STATES[("COMPLETE", 3)] = "with failures"


@pytest.mark.parametrize(("state", "failed"), STATES)
def test_the_state_of_a_batch_is_named_with_its_failures(state, failed):
    assert summary.chip(replace(WELL, state=state, failed=failed))[1] == STATES[state, failed]


def test_an_end_with_enough_is_not_called_complete():
    enough = replace(WELL, outstanding=137, acked=863)
    history = replace(HISTORY, known=3, completed=1, enough=2)

    assert summary.chip(enough) == ("good", "enough")
    assert summary.headline(history) == "1 of 3 batches complete, 2 ended with enough"
    assert list(summary.attention(replace(enough, event_at=None))) == [
        "ended with enough, but its event is not confirmed yet"
    ]
    assert " complete" not in read(enough).text.partition("event on the bus")[0].rpartition("orders")[2]


@pytest.mark.parametrize(
    ("healed", "sentence"),
    [(1, "1 failed at first and was healed later"), (7, "7 failed at first and were healed later")],
)
def test_healed_items_are_counted_apart_from_those_that_failed_in_the_end(healed, sentence):
    text = summary.verdict(replace(HISTORY, healed=healed, orphans=0))

    assert text == f"1,863 items were acked; 4 of them failed in the end; {sentence}."


def test_a_batch_shows_its_moments_its_percentiles_and_its_last_items():
    text = read(WELL).text

    assert "99 % acked 50 s" in text
    assert "event on the bus 1 min 3 s" in text
    assert "p99 49 s" in text
    assert "from the batch's close to the item's ack" in text
    assert "7 2026-03-01 12:01:02 12 s failed" in text


def test_duplicates_are_reported_only_if_a_log_has_them():
    assert "came again" not in read().text
    assert "acked again" not in read().text
    counted = Repeats(1020, 20)
    text = read(replace(WELL, repeats=counted, curve=(), bars=()), repeats=counted).text

    assert "2 % of acks came again (20)" in text
    assert "acked again 20 (2 %)" in text


def test_a_batch_without_acks_or_without_a_section_is_listed_all_the_same():
    bare = BatchFacts(batch_id="0199a000-0000-7000-8000-000000000003", state="OPEN", total=5, is_drawn=True)
    hidden = replace(WELL, is_drawn=False)
    text = read(bare, hidden).text

    assert "No ack of it is in the archive." in text
    assert not [attributes for tag, attributes in read(hidden).tags if tag == "section"]


def test_bundles_and_jobs_are_there_where_there_are_any():
    target = {"target": "orders", "tasks": 5, "states": [("DEAD", 1), ("SUCCEEDED", 4)], "bundles": 2}
    target |= {"size": 2.5, "largest": 3, "calls": 2, "waited": [0.8, 2.0, 2.0]}
    queue = {"queue": "thumbs", "jobs": 6, "states": [("done", 5), ("dead", 1)], "again": 1, "refused": 2}
    queue |= {"waited": [4, 6, 6], "worked": None}
    text = read(targets=[target], sizes=((2, 1), (3, 1)), queues=[queue] * 33).text

    assert "orders 5 4 succeeded, 1 dead 2 2.5 3 2 800 ms 2 s 2 s" in text
    assert "1 bundle of 3" in text
    assert "thumbs 6 5 done, 1 dead 1 2 4 s 6 s 6 s \u2013 \u2013 \u2013" in text
    assert "and 3 queues with fewer, not shown" in text
    assert "Bundles" not in read().texts
    assert "Jobs" not in read().texts


def test_an_event_is_never_reported_earlier_than_the_end_though_its_time_is_rounded_down():
    at_once = replace(WELL, event_at=after(62), reported_after=0.0, reported_after_last_ack=0.0)
    text = read(at_once).text

    assert "complete 1 min 2 s event on the bus 1 min 2 s" in text
    assert {mark.name: mark.at for mark in marks(at_once, Clock.of(at_once))}["event on the bus"] == 62.2
    assert "event after the end under 1 s event after the last ack under 1 s" in text
    assert "under 1 s longest wait for an event" in text


DURATIONS = {None: "\u2013", 0: "0 ms", 0.85: "850 ms", 0.9999: "1 s", 4.24: "4.2 s", 59.97: "1 min"}
DURATIONS |= {125: "2 min 5 s", 3600: "1 h", 3725: "1 h 2 min", 273_600: "3 d 4 h"}


@pytest.mark.parametrize("value", DURATIONS)
def test_a_duration_reads_as_people_say_it(value):
    assert seconds(value) == DURATIONS[value]


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0 %"), (1e-6, "<0.1 %"), (0.1234, "12.3 %"), (0.99999, ">99.9 %"), (1, "100 %")]
)
def test_a_share_is_never_rounded_to_all_or_nothing(share, text):
    assert percent(share) == text
