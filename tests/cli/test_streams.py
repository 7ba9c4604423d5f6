"""Items on pipes: a million ranges in bounded memory, and as few ack requests as fit."""

from __future__ import annotations

import io
from uuid import UUID

import pytest

from fanin.cli.arguments.api import Answer
from fanin.cli.arguments.items import ItemRange, item_range, item_ranges
from fanin.cli.batches import looking
from fanin.cli.terminal.output import Output
from fanin.client.transports.transport import ranged_requests_of
from fanin.tracker import Ack, GroupId
from fanin.tracker.reads.walking import joined

BATCH = "9b2f6f0e-6f0c-4c53-8e39-3f6a1f5d2c10"
GROUP = str(GroupId.make(b"salt", BATCH, 0, 2**36))


class Range(dict):
    """A range of an answer; the class counts those that are alive."""

    alive = most = 0

    def __init__(self, **fields):
        super().__init__(fields)
        Range.alive += 1
        Range.most = max(Range.most, Range.alive)

    def __del__(self):
        Range.alive -= 1


class Call:
    """An invocation over an API with *pages* pages of a thousand ranges with gaps."""

    def __init__(self, pages, stream):
        self.api, self.names, self.number = self, self, pages
        self.output = Output(stream=stream)

    def id_of(self, name):
        return name

    def path(self, batch_id, action):
        return f"{batch_id}{action}"

    def pages(self, path, reader, **query):
        for number in range(self.number):
            firsts = range(number * 3_000, (number + 1) * 3_000, 3)
            ranges = [Range(groupId=GROUP, to=first + 1, **{"from": first}) for first in firsts]
            page = Answer({"ranges": ranges}, ranges)
            del ranges
            yield page
            del page


class Lines(io.StringIO):
    """Counts lines in place of keeping them."""

    count = 0

    def write(self, text):
        self.count += 1
        return len(text)


@pytest.mark.parametrize("pages", [10, pytest.param(1_000, marks=pytest.mark.proof)])
def test_ranges_are_printed_while_they_are_read(pages):
    stream, Range.most = Lines(), 0
    looking._print_ranges(Call(pages, stream), BATCH, "outstanding", ids=False)

    assert stream.count == pages * 1_000
    assert Range.most <= 2_000


def test_neighbours_are_one_request_and_scattered_items_a_thousand_each(fanin, served):
    fanin("open", "k").ok()
    ids = fanin("add", "k", "3600", "--ids").ok()
    assert fanin("ack", "-", stdin="\n".join(ids.lines[:1_500])).ok().lines == ["accepted\t1500"]
    assert served.posts("/v1/acks") == 1

    completed = fanin("ack", "-", stdin="\n".join(ids.lines[1_500::2])).ok()
    assert completed.lines == ["accepted\t1050"]
    assert served.posts("/v1/acks") == 3

    outstanding = fanin("outstanding", "k").ok()
    assert len(outstanding.lines) == 1_050
    assert fanin("fail", "-", stdin=outstanding.out).ok().lines == ["accepted\t1050"]
    assert "failed\t1050" in fanin("status", "k").ok().lines


def test_lines_are_sent_while_they_are_read():
    read, seen = [], []

    def lines():
        for index in range(0, 10_000, 2):
            read.append(index)
            yield f"{BATCH}:{GROUP}:{index}\n"

    for request in ranged_requests_of(
        Ack(each.batch, each.group_id, each.first, each.last, "c")
        for each in joined(item_ranges(["-"], lines()), ItemRange.joined)
    ):
        seen.append((len(read), len(request)))

    assert seen == [(1_002, 1_000), (2_002, 1_000), (3_002, 1_000), (4_002, 1_000), (5_000, 1_000)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"{BATCH}:{GROUP}:7", (BATCH, 7, 7)),
        (f"{BATCH}:{GROUP}:0-99", (BATCH, 0, 99)),
        (f"catalog-7:{GROUP}:0", ("catalog-7", 0, 0)),
        (f"a:b c:{GROUP}:3-3", ("a:b c", 3, 3)),
    ],
)
def test_an_item_is_of_an_id_or_a_user_key_with_any_characters(text, parts):
    found = item_range(text)

    assert (found.batch, found.first, found.last) == parts
    assert found.group_id == GROUP


def test_neighbours_are_one_range_within_their_group_alone():
    small = str(GroupId.make(b"salt", BATCH, 0, 5))
    batch_id = str(UUID(int=7))

    def ends(group, *pairs):
        return [
            (each.first, each.last)
            for each in joined((ItemRange(BATCH, group, *pair) for pair in pairs), ItemRange.joined)
        ]

    assert ends(GROUP, (0, 4), (5, 5), (7, 8), (8, 9)) == [(0, 5), (7, 8), (8, 9)]
    assert ends(small, (3, 4), (5, 6)) == [(3, 4), (5, 6)]
    assert ends(batch_id, (3, 4), (5, 6)) == [(3, 4), (5, 6)]
    assert list(joined((), ItemRange.joined)) == []


def test_arguments_are_checked_before_a_line_is_read():
    lines = iter([f"{BATCH}:{GROUP}:1"])

    with pytest.raises(Exception, match="'nope' is no item"):
        item_ranges(["-", "nope"], lines)
    assert len(list(lines)) == 1
