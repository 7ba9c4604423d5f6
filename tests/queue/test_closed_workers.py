"""A closed queue has no duties left in its process."""

from __future__ import annotations


def test_a_closed_queue_sends_no_request_any_more(queue, store, duties):
    with queue.take(wait=0):
        pass
    queue.close()
    store.requests.clear()
    duties.pass_seconds(9)

    assert store.requests == []
