"""``fanin results`` where it ends early: how to go on, and what it refuses."""

from __future__ import annotations

import io
from uuid import UUID

import pytest

from fanin.cli.batches import looking
from fanin.cli.terminal.exits import ExitCode
from fanin.cli.terminal.output import Output, Progress
from fanin.client import result_files
from fanin.errors import StoreUnavailable
from fanin.tracker import GroupId

BATCH = str(UUID(int=7))
GROUP = str(GroupId.make(b"salt", BATCH, 0, 100))


class Call:
    """An invocation over results that break off after *many* of them."""

    transport = None

    def __init__(self, many):
        self.api, self.names, self.many = self, self, many
        self.stream = io.StringIO()
        self.output, self.progress = Output(stream=self.stream), Progress(io.StringIO())

    def id_of(self, name):
        return BATCH

    def read(self, transport, batch_id, after, waiting):
        first = 0 if after is None else int(after.rpartition(":")[2]) + 1
        for number in range(first, first + self.many):
            yield f"{batch_id}:{GROUP}:{number}", {"n": number}
        raise StoreUnavailable("S3 answers 503")


@pytest.mark.parametrize(
    ("many", "after", "last"), [(3, None, 2), (2, f"name:{GROUP}:4", 6), (0, f"name:{GROUP}:4", 4)]
)
def test_an_error_says_behind_which_item_to_go_on(monkeypatch, many, after, last):
    call = Call(many)
    monkeypatch.setattr(result_files, "read_results", call.read)
    with pytest.raises(StoreUnavailable, match=f"503; go on with --after {BATCH}:{GROUP}:{last}$"):
        looking.results(call, "name", after)

    assert len(call.stream.getvalue().splitlines()) == many


def test_before_the_first_result_there_is_nothing_to_go_on_with(monkeypatch):
    call = Call(0)
    monkeypatch.setattr(result_files, "read_results", call.read)

    with pytest.raises(StoreUnavailable, match=r"503$"):
        looking.results(call, "name")


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        ("nonsense", "'nonsense' is no item"),
        ("b:0:9-3", "'b:0:9-3' ends before it begins"),
        (f"{BATCH}:{GROUP}:9-3", "ends before it begins"),
        (f"{BATCH}:{GROUP}:0-3", "is a range, and one item is taken here"),
    ],
)
def test_after_takes_one_item(fanin, after, sentence):
    completed = fanin("results", BATCH, "--after", after)

    assert (completed.code, sentence in completed.err) == (ExitCode.USAGE, True)


def test_a_live_batch_and_one_that_keeps_none_are_refused(fanin):
    fanin("open", "plain").ok()
    completed = fanin("results", "plain")

    assert (completed.code, completed.out) == (ExitCode.REFUSED, "")
    assert "keeps no results" in completed.err
