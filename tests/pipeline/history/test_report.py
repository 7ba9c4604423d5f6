"""The page: what it says first, what it shows, and that it needs nothing beside itself."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest

from pipeline.history.facts import (
    Bar,
    BatchFacts,
    History,
    Point,
    Queue,
    Repeats,
    Shares,
    Spread,
    Straggler,
    Target,
)
from pipeline.history.page.charts import Clock, Scale, marks, steps, time_steps
from pipeline.history.page.document import page
from pipeline.history.page.format import number, percent, seconds

OPENED = datetime(2026, 3, 1, 12, tzinfo=UTC)


def after(value: float) -> datetime:
    return OPENED + timedelta(seconds=value)


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
    told_after=0.8,
    tail_at=after(50),
    outstanding=0,
    shares=Shares("closed", 1000, 20.0, 18.0, 40.0, 45.0, 49.0, 61.0),
    curve=(Point(0, 400, 0), Point(20, 590, 0), Point(60, 10, 0)),
    bars=(Bar(0, 24.5, 600), Bar(24.5, 49, 390), Bar(49, 61, 10)),
    stragglers=(Straggler(7, "id:of:7", after(62), 12.0, True, '{"name":"<qgis>"}'),),
    is_drawn=True,
)
TIMED_OUT = replace(
    WELL,
    batch_id="0199a000-0000-7000-8000-000000000002",
    user_key="<b>late</b> & more",
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
        self.said: list[str] = []
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
            self.said.append(data.strip())

    @property
    def text(self):
        return " ".join(self.said)


def read(*batches, **facts) -> Reader:
    return Reader(page(replace(HISTORY, **({"batches": batches} if batches else {}), **facts)))


@pytest.mark.parametrize("history", [HISTORY, History("changes"), replace(HISTORY, batches=(WELL,))])
def test_the_page_is_whole(history):
    reader = Reader(page(history))

    assert reader.open == []
    assert [tag for tag, _ in reader.tags][:2] == ["html", "head"]


def test_the_page_needs_nothing_beside_itself():
    text = page(HISTORY)
    names = {name for _, attributes in read().tags for name in attributes}
    links = {attributes["href"] for tag, attributes in read().tags if tag == "a"}

    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in read().tags}
    assert not {"src", "srcset", "action", "onload", "onclick"} & names
    assert {link[0] for link in links} == {"#"}
    assert "http" not in text
    assert "@import" not in text
    assert "url(" not in text


def test_the_page_is_for_light_and_for_dark_rooms():
    style = re.search(r"<style>(.*)</style>", page(HISTORY), re.DOTALL)[1]
    parts = style.split("prefers-color-scheme: dark", 1)
    light, dark = (set(re.findall(r"(--[a-z-]+):", part)) for part in parts)

    assert "color-scheme: light dark" in style
    assert light == dark
    assert set(re.findall(r"var\((--[a-z-]+)\)", style)) <= light


def test_what_users_wrote_is_text_and_nothing_else():
    reader = read()

    for said in ("<b>late</b> & more", "deadline <passed>", "<timeout>"):
        assert said in reader.said
    assert '{"name":"<qgis>"}' in reader.text
    assert not [tag for tag, _ in reader.tags if tag in {"timeout", "passed", "qgis"}]


@pytest.mark.parametrize(
    ("facts", "headline"),
    [
        ({"known": 2, "completed": 1}, "1 of 2 batches complete"),
        ({"known": 3, "completed": 3}, "All complete"),
        ({"known": 1, "completed": 1}, "The batch is complete"),
        ({"known": 1, "completed": 0}, "0 of 1 batch complete"),
    ],
)
def test_the_headline_says_whether_all_finished(facts, headline):
    assert headline in read(**facts).said


def test_the_first_screen_says_when_how_many_and_what_failed():
    said = read().text

    assert "2026-03-01 12:00:00 to 2026-03-01 12:01:03 UTC" in said
    assert "1,863 items were acked; 4 of them failed; 1 batch ended with items left behind." in said
    assert "2 / 2 batches over" in said
    assert "137 left behind" in said
    assert "49 s slowest p99 of a batch" in said


def looks(batch) -> str:
    """What the page finds worth a look about *batch*."""
    reader = read(batch)
    start = reader.text.find(batch.name + " :")
    return reader.text[start : reader.text.find(" batch state ")] if start >= 0 else ""


@pytest.mark.parametrize(
    ("facts", "look"),
    [
        ({"is_orphan": True, "state": "EXPIRED", "outstanding": 1}, "expired with 1 item not acked"),
        ({"state": "CLOSED", "idle": 7200.0}, "not over, and nothing happened for 2 h"),
        ({"event_at": None}, "its event is not confirmed yet"),
        ({"notices": 2}, "had to be sent again (2 times)"),
        (
            {"failed": 9, "state": "FAILED", "outstanding": 1},
            "ended by its failures: 9, with 1 item not acked",
        ),
        (
            {"state": "FAILED", "end_reason": "stuck", "outstanding": 2},
            "its end was forced (stuck), with 2 items not acked",
        ),
        ({"tail_at": after(22)}, "the last percent of its items took 40 s, 66.7 % of its time"),
        ({"state": "UNKNOWN", "event_at": None}, "whose own row is not in the archive"),
    ],
)
def test_what_is_worth_a_look_is_named(facts, look):
    assert look in looks(replace(WELL, **facts))


def test_a_batch_that_went_well_is_worth_no_look():
    assert looks(WELL) == ""


@pytest.mark.parametrize(
    ("state", "failed", "word"),
    [
        ("OPEN", 0, "open"),
        ("CLOSED", 3, "under way"),
        ("COMPLETE", 0, "complete"),
        ("COMPLETE", 3, "with failures"),
    ],
)
def test_a_batch_wears_its_state(state, failed, word):
    assert word in read(replace(WELL, state=state, failed=failed)).said


def test_a_batch_shows_its_moments_its_percentiles_and_its_last_items():
    said = read(WELL).text

    assert "99 % acked 50 s" in said
    assert "event on the bus 1 min 3 s" in said
    assert "p99 49 s" in said
    assert "from the batch's close to the item's ack" in said
    assert "7 2026-03-01 12:01:02 12 s failed" in said


def test_duplicates_are_reported_only_if_a_log_has_them():
    assert "came again" not in read().text
    assert "acked again" not in read().text
    counted = Repeats(1020, 20)
    said = read(replace(WELL, repeats=counted), repeats=counted).text

    assert "2 % of acks came again (20)" in said
    assert "acked again 20 (2 %)" in said


def test_a_batch_without_acks_or_without_a_section_is_listed_all_the_same():
    bare = BatchFacts(batch_id="0199a000-0000-7000-8000-000000000003", state="OPEN", total=5, is_drawn=True)
    hidden = replace(WELL, is_drawn=False)
    said = read(bare, hidden).text

    assert "No ack of it is in the archive." in said
    assert not [attributes for tag, attributes in read(hidden).tags if tag == "section"]


def test_nothing_at_all_is_said_plainly():
    said = Reader(page(History("changes"))).text

    assert "Nothing happened" in said
    assert "holds no change in the days that were asked for" in said


def test_bundles_and_jobs_are_there_where_there_are_any():
    target = Target("orders", 5, {"SUCCEEDED": 4, "DEAD": 1}, 2, 2.5, 3, 2, Spread(0.8, 2.0, 2.0))
    queue = Queue("thumbs", 6, {"done": 5, "dead": 1}, 1, 2, Spread(4, 6, 6), Spread(0.4, 1, 8))
    said = read(targets=(target,), sizes=((2, 1), (3, 1)), queues=(queue,), more={"queues": 3}).text

    assert "orders 5 4 succeeded, 1 dead 2 2.5 3 2 800 ms 2 s 2 s" in said
    assert "1 bundle of 3" in said
    assert "thumbs 6 5 done, 1 dead 1 2 4 s 6 s 6 s 400 ms 1 s 8 s" in said
    assert "and 3 queues with fewer, not shown" in said
    assert "Bundles" not in read().said
    assert "Jobs" not in read().said


def test_a_chart_begins_at_the_opening_or_where_that_was_long_before_at_the_first_ack():
    assert Clock.of(WELL).name == "since the batch was opened"
    assert Clock.of(replace(WELL, opened_at=OPENED - timedelta(days=1))).name == "since the first ack"
    assert Clock.of(BatchFacts("b", "OPEN")) is None


def test_moments_before_the_chart_are_reported_and_not_drawn():
    early = replace(WELL, opened_at=OPENED - timedelta(days=1), closed_at=OPENED - timedelta(hours=1))
    moments = {mark.name: mark.at for mark in marks(early, Clock.of(early))}

    assert moments["closed"] == -3602
    assert "closed 1 h before the first ack" in read(early).text
    assert not [tag for tag, attributes in read(early).tags if attributes.get("class") == "mark closed"]


def test_an_event_is_never_reported_earlier_than_the_end_though_its_time_is_rounded_down():
    at_once = replace(WELL, event_at=after(62), told_after=0.0, told_after_last_ack=0.0)
    said = read(at_once).text

    assert "complete 1 min 2 s event on the bus 1 min 2 s" in said
    assert {mark.name: mark.at for mark in marks(at_once, Clock.of(at_once))}["event on the bus"] == 62.2
    assert "event after the end under 1 s event after the last ack under 1 s" in said
    assert "under 1 s longest wait for an event" in said


@pytest.mark.parametrize(
    ("failed", "healed", "said"),
    [
        (0, 0, "508 items were acked; none failed."),
        (2, 0, "508 items were acked; 2 of them failed."),
        (2, 2, "508 items were acked; 2 of them failed in the end; 2 failed at first and were healed later."),
        (0, 1, "508 items were acked; none failed in the end; 1 failed at first and was healed later."),
    ],
)
def test_items_that_failed_and_were_healed_are_reported_beside_those_that_failed(failed, healed, said):
    assert said in read(WELL, items=508, failed=failed, healed=healed, orphans=0).text


def test_reasons_say_that_items_healed_later_may_be_among_them():
    batch = replace(WELL, failed=0, healed=2, reasons=(("no name", 2),))

    assert "no name 2 2 items that failed at first and succeeded later may be among them." in read(batch).text
    assert "may be among them" not in read(TIMED_OUT).text


def test_the_curve_ends_at_the_number_of_acks():
    size = Scale(0, 1000 * 1.04, 14 + 180, 14)
    (line,) = (attributes["d"] for _, attributes in read(WELL).tags if attributes.get("class") == "line")

    assert line.endswith(f" {size(1000)}")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "\u2013"),
        (0, "0 ms"),
        (0.85, "850 ms"),
        (0.9999, "1 s"),
        (4.24, "4.2 s"),
        (59.97, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (3725, "1 h 2 min"),
        (273_600, "3 d 4 h"),
    ],
)
def test_a_duration_reads_as_people_say_it(value, said):
    assert seconds(value) == said


@pytest.mark.parametrize(
    ("share", "said"), [(0, "0 %"), (1e-6, "<0.1 %"), (0.1234, "12.3 %"), (0.99999, ">99.9 %"), (1, "100 %")]
)
def test_a_share_is_never_rounded_to_all_or_nothing(share, said):
    assert percent(share) == said


def test_numbers_are_grouped():
    assert (number(1234567), number(None)) == ("1,234,567", "\u2013")


@pytest.mark.parametrize("high", [0.5, 1, 2, 3, 4])
def test_few_are_counted_in_whole_numbers(high):
    assert steps(high, 4) == list(range(int(high) + 1))


@pytest.mark.parametrize(("high", "about"), [(3, 4), (7, 4), (63_440, 4), (1e9, 4)])
def test_an_axis_has_round_marks_about_as_many_as_asked_for(high, about):
    found = steps(high, about)

    assert found[0] == 0
    assert found[-1] <= high
    assert about / 2 <= len(found) <= about + 2


@pytest.mark.parametrize(("high", "last"), [(8, 8), (61, 60), (400, 360), (7200, 7200), (1e6, 950_400)])
def test_an_axis_of_time_has_the_marks_of_a_clock(high, last):
    found = time_steps(high, 8)

    assert len(found) <= 12
    assert found[-1] == pytest.approx(last, rel=0.11)
