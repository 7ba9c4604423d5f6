"""What refuses and fails beside the work: whoever is told, a duty, an error that cannot be put down."""

from __future__ import annotations

import threading

from fanin.errors import Conflict
from fanin.queue import Telling
from fanin.queue.background import Duty, in_threads
from tests.queue.conftest import KEY


def test_an_end_that_cannot_be_told_does_not_keep_others_from_being_told(make, store):
    heard = []

    def tell(telling):
        if telling.item_id == "bad":
            raise Conflict("refused")
        heard.append(telling.item_id)

    queue = make(tell=tell)
    store.untold = {KEY: {n: Telling(n, n, failed=False) for n in ("bad", "good")}}
    queue.sweep()

    assert heard == ["good"]
    assert [telling.item_id for telling in store.tellings(KEY)] == ["bad"]


def test_a_duty_that_fails_goes_on():
    done, enough = [], threading.Event()

    def do():
        done.append(len(done))
        if len(done) < 3:
            raise PermissionError
        enough.set()
        return False

    stop = in_threads([Duty(do, 0.001)])
    enough.wait(60)
    stop()

    assert done == [0, 1, 2]
