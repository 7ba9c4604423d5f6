"""A file is published: every row is sent under its own id, however often the run is stopped."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from fanin import Conflict, Fanin, State
from fanin.client.consuming.chunks import chunk_of
from fanin.client.transports.direct import DirectTransport
from fanin.errors import InvalidRequest
from fanin.pacing import each_in_turn
from fanin.publishing import rows as reading
from fanin.publishing.caps import Caps
from fanin.publishing.message_groups import message_group
from fanin.publishing.publish import Again, AlreadyPublished, PublishRequest, publish
from fanin.publishing.row_sources.files import FileSource
from fanin.publishing.row_sources.source import SourceChanged
from fanin.publishing.sender import Sender
from fanin.publishing.sending import SendFailed
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from tests.publishing.interrupted import Killed, Network, Watched

ROWS = 25
URL = "http://sqs/1/work"
REQUESTS = {"open", "get", "add", "close", "outstanding_of", "send_message_batch"}


class Queue:
    """What SQS was sent; refuses the entries of the first requests as *failures* say."""

    def __init__(self, *failures):
        self.bodies, self.groups, self.failures = [], set(), list(failures)
        self.traces = set()

    def send_message_batch(self, QueueUrl, Entries):  # noqa: N803 - the API's names
        failed = self.failures.pop(0) if self.failures else []
        refused = {each["Id"] for each in failed}
        self.bodies += [each["MessageBody"] for each in Entries if each["Id"] not in refused]
        self.groups |= {each["MessageGroupId"] for each in Entries}
        given = [each.get("MessageAttributes", {}) for each in Entries]
        self.traces |= {each.get("traceparent", {}).get("StringValue") for each in given}
        return {"Failed": failed}

    def rows(self):
        """The rows that were sent of each item id; one id never has two rows."""
        found = {}
        for body in self.bodies:
            chunk = chunk_of({"messageId": "m", "body": body})
            for index in chunk.items.indexes:
                item = chunk.item(index)
                assert found.setdefault(item.id, item.row) == item.row
        return found


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(reading, "PART_ROWS", 10)


def new_transport():
    return DirectTransport(Tracker(MemoryStore(), fresh_for=timedelta(0), pause=lambda _: None), "t")


@pytest.fixture
def transport():
    return new_transport()


@pytest.fixture
def queue():
    return Queue()


@pytest.fixture
def request_(tmp_path):
    path = tmp_path / "catalog.jsonl"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(ROWS)))
    return PublishRequest(FileSource(path), URL, path.stem, chunk=4)


def run(transport, queue, request, network=None, report=lambda sent, rows: None):
    watched = [Watched(target, network or Network(), REQUESTS) for target in (queue, transport)]
    sender = Sender(watched[0], request, sleep=lambda _: None, each=each_in_turn)
    return publish(Fanin(watched[1]), sender, request, report)


@pytest.mark.parametrize("chunk", [None, 4])
def test_each_message_carries_the_trace_of_the_batch_in_a_process_without_spans(
    transport, queue, request_, chunk
):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    failing = Queue([{"Id": "0", "SenderFault": True, "Code": "InvalidMessageContents"}])
    with suppress(SendFailed):
        run(transport, failing, replace(request_, chunk=chunk, options={"traceparent": trace}))
    run(transport, queue, replace(request_, chunk=chunk))  # goes on, without the option

    assert failing.traces | queue.traces == {trace}
    assert queue.traces == {trace}


@pytest.mark.parametrize(("chunk", "messages"), [(None, 25), (4, 8), (1000, 3)])
def test_row_k_is_item_k_and_the_batch_is_closed(transport, queue, request_, chunk, messages):
    seen = []
    batch = run(transport, queue, replace(request_, chunk=chunk), report=lambda *facts: seen.append(facts))
    sent = queue.rows()

    assert sorted(row["n"] for row in sent.values()) == list(range(ROWS))
    assert len(queue.bodies) == messages
    assert seen == sorted(seen)
    assert {(0, 25), (10, 25), (20, 25)} <= {*seen}
    assert seen[-1] == (25, 25)
    assert batch.status().state is State.CLOSED
    assert batch.status().user_key == "catalog"
    positions = [n for items in batch.outstanding() for n in range(len(items))]
    assert len(positions) == ROWS
    Fanin(transport).ack(list(sent))
    assert batch.status().is_complete


def test_a_batch_that_has_enough_while_rows_are_sent_gets_no_other_row(transport, queue, request_):
    limited = replace(request_, options={"min_succeeded": 10})

    def ack(sent, _rows):
        if sent == 10:
            Fanin(transport).ack(list(queue.rows()))

    with pytest.raises(AlreadyPublished, match="enough rows are done"):
        run(transport, queue, limited, report=ack)
    assert len(queue.rows()) == 10


def is_killed(transport, queue, request, fatal=None, after=False) -> bool:
    """Whether a run is killed at a request of a number, which it may not come to."""
    network = Network(fatal, after)
    with suppress(Killed, Conflict):
        run(transport, queue, request, network)
    return network.is_cut


@pytest.mark.parametrize("after", [False, True])
def test_killed_twice_at_any_requests_and_run_again_every_row_is_sent_and_the_batch_completes(
    request_, after
):
    for first, second in pairs_of_requests(request_, after):
        transport, queue = new_transport(), Queue()
        fanin = Fanin(transport)
        is_killed(transport, queue, request_, first, after)
        acked = set(list(queue.rows())[::2])
        fanin.ack(list(acked))  # consumers work meanwhile
        before = len(queue.bodies)
        is_killed(transport, queue, request_, second, after)
        is_killed(transport, queue, request_)
        again = {item for body in queue.bodies[before:] for item in chunk_of({"body": body}).items}
        (summary,) = fanin.batches(user_key="catalog")

        assert sorted(row["n"] for row in queue.rows().values()) == list(range(ROWS))
        assert not again & acked
        assert summary.state is State.CLOSED
        fanin.ack(list(queue.rows()))
        assert fanin.status(summary.batch_id).is_complete


def pairs_of_requests(request, after) -> Iterator[tuple[int, int]]:
    """Each request of a run, with each of the run that follows its death."""
    for first in itertools.count(1):
        for second in itertools.count(1):
            transport, queue = new_transport(), Queue()
            if not is_killed(transport, queue, request, first, after):
                return
            if not is_killed(transport, queue, request, second, after):
                break
            yield first, second


def test_a_closed_batch_is_published_already_unless_it_is_named_what_to_send_again(
    transport, queue, request_
):
    batch = run(transport, queue, request_)
    fanin, ids = Fanin(transport), list(queue.rows())
    fanin.ack(ids[:20]), fanin.fail(ids[20:22])
    queue.bodies.clear()

    with pytest.raises(AlreadyPublished, match=r"CLOSED.*--again outstanding"):
        run(transport, queue, request_)
    assert queue.bodies == []
    assert run(transport, queue, replace(request_, again=Again.OUTSTANDING)).id == batch.id
    assert set(queue.rows()) == set(ids[22:])
    queue.bodies.clear()
    run(transport, queue, replace(request_, again=Again.FAILED))
    assert set(queue.rows()) == set(ids[20:22])
    fanin.ack(ids)
    for again in (None, *Again):
        with pytest.raises(
            AlreadyPublished, match=r"COMPLETE \(succeeded\): all rows of .* are done"
        ) as refusal:
            run(transport, queue, replace(request_, again=again))
        assert (refusal.value.batch_id, "reopen" in str(refusal.value)) == (batch.id, False)


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (lambda batch, ids: batch.cancel("a mistake"), r"is CANCELLED \(cancelled: a mistake\).*unfinished"),
        (
            lambda batch, ids: Fanin(batch._fanin._transport).fail(ids),
            r"is COMPLETE \(completed_with_failures\).*fanin.reopen\('[^,]*'\)",
        ),
    ],
)
def test_a_batch_that_ended_otherwise_is_refused_with_its_result_and_what_to_do(
    transport, queue, request_, end, message
):
    end(run(transport, queue, request_), list(queue.rows()))

    with pytest.raises(Conflict, match=rf"{message}.*another --user-key") as refusal:
        run(transport, queue, request_)
    assert not isinstance(refusal.value, AlreadyPublished)


def test_an_open_batch_of_other_rows_is_reported(transport, queue, request_, caplog):
    Fanin(transport).open("another"), Fanin(transport).open("catalog").close()
    is_killed(transport, queue, request_, 4)
    (first, *_) = Fanin(transport).batches("catalog", "OPEN")
    run(transport, queue, request_)
    assert not caplog.records
    is_killed(transport, queue, replace(request_, queue_url="http://sqs/1/elsewhere"), 4)
    other = next(Fanin(transport).batches("catalog", "OPEN"))
    request_.source.path.write_text("1\n")
    run(transport, queue, request_)

    assert first.batch_id != other.batch_id
    assert [f"batch {other.batch_id} of this user key is still OPEN" in line for line in caplog.messages] == [
        True
    ]


def test_other_rows_another_name_or_another_queue_are_another_batch(transport, queue, request_, tmp_path):
    first = run(transport, queue, request_)
    other = run(transport, queue, replace(request_, user_key="other"))
    elsewhere = run(transport, queue, replace(request_, queue_url="http://sqs/1/elsewhere"))
    request_.source.path.write_text("1\n")
    changed = run(transport, queue, request_)

    assert len({first.id, other.id, elsewhere.id, changed.id}) == 4


def test_a_file_that_changes_while_it_is_read_is_not_closed(transport, queue, request_):
    def change(sent, rows):
        if sent == 10:
            request_.source.path.write_text(request_.source.path.read_text() + "1\n")

    # The part that is read already is in memory; the next ones come from the changed file.
    request_.source.path.write_text("".join(f'"{n:0100000}"\n' for n in range(ROWS)))
    with pytest.raises(SourceChanged):
        run(transport, queue, request_, report=change)
    (summary,) = Fanin(transport).batches()
    assert summary.state is State.OPEN


@pytest.mark.parametrize(
    ("caps", "chunk", "refusal"),
    [
        (Caps(max_items=ROWS - 1), 4, "25 items are more than the 24 of --max-items; nothing was sent"),
        (Caps(max_cost=0.00001), None, r"25 items cost up to \$0.0000\d\d, more than the \$0.000010"),
        (Caps(max_items=ROWS), 4, None),
        (Caps(max_cost=0.00001), 25, None),
    ],
)
def test_a_file_that_passes_a_cap_opens_no_batch_and_a_chunk_costs_what_it_costs(
    transport, queue, request_, caps, chunk, refusal
):
    request = replace(request_, caps=caps, chunk=chunk)
    if refusal is None:
        assert run(transport, queue, request).status().total == ROWS
        return
    with pytest.raises(InvalidRequest, match=refusal):
        run(transport, queue, request)

    assert (list(Fanin(transport).batches()), queue.bodies) == ([], [])


def test_a_file_without_rows_is_a_batch_without_items(transport, queue, request_):
    request_.source.path.write_text("\n")
    batch = run(transport, queue, replace(request_, may_be_empty=True))

    assert (batch.status().total, queue.bodies) == (0, [])


def test_entries_that_sqs_refuses_are_sent_again_or_stop_the_run(transport, request_):
    failed = [{"Id": "1", "Code": "InternalError", "SenderFault": False}]
    queue = Queue(failed, failed)
    run(transport, queue, request_)
    assert len(queue.rows()) == ROWS
    fault = [{"Id": "0", "Code": "InvalidMessageContents", "SenderFault": True}]
    with pytest.raises(SendFailed, match="InvalidMessageContents"):
        run(transport, Queue(fault), replace(request_, user_key="other"))
    assert Fanin(transport).status(next(Fanin(transport).batches(user_key="other")).batch_id).state == "OPEN"


@pytest.mark.parametrize("chunk", [None, 4])
def test_messages_are_in_the_group_of_their_batch_or_in_the_one_that_is_named(transport, request_, chunk):
    of_batch, named = Queue(), Queue()
    batch = run(transport, of_batch, replace(request_, chunk=chunk))
    run(transport, named, replace(request_, chunk=chunk, user_key="other", group="tenant-7"))

    assert of_batch.groups == {batch.id}
    assert named.groups == {"tenant-7"}


@pytest.mark.parametrize(("text", "is_group"), [("a" * 128, True), ("!~", True), ("a b", False), ("", False)])
def test_a_message_group_is_one_that_sqs_takes(text, is_group):
    with nullcontext() if is_group else pytest.raises(InvalidRequest, match="1 to 128"):
        assert message_group(text) == text


def test_a_rate_spaces_the_messages(transport, queue, request_):
    slept, now = [], [0.0]

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    request = replace(request_, chunk=None, rate=5.0)
    sender = Sender(queue, request, sleep=sleep, clock=lambda: now[0])
    publish(Fanin(transport), sender, request, lambda sent, rows: None)

    assert now[0] == pytest.approx((ROWS - 5) / 5.0)
    assert json.loads(queue.bodies[0])["record"] == {"n": 0}
