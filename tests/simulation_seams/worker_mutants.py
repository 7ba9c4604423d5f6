"""Rules of a worker outside of Lambda, each left out once."""

from __future__ import annotations

from fanin.client.consuming.consumer import Consumer
from fanin.client.sqs_worker.in_flight import InFlight
from fanin.client.sqs_worker.messages import HIDDEN_MAX_SECONDS
from fanin.client.sqs_worker.visibility import Leases
from tests.simulating.mutants import Mutant

_end_work, _start, _stop, _go_on = (
    InFlight.end_work,
    InFlight.start,
    InFlight.stop,
    InFlight._go_on_in_group,
)
_settle_together = Consumer.settle_together


def _deleted_before_acked(self, messages):
    _end_work(self, messages)
    self.end_settling(messages)


def _extended_never(self, held):
    return []


def _started_whenever(self, now, most=1):
    return _start(self, now - HIDDEN_MAX_SECONDS, most)


def _kept_at_a_stop(self):
    _stop(self)
    return []


def _among_the_others(self, message):
    self.waiting.append(message)


def _received_meanwhile(self):
    free = self.concurrency + self.ahead - len(self.working) - self._waiting()
    return 0 if self.is_stopping else max(0, min(10, free))


def _all_at_once(self, message):
    self._line_up(message)


def _goes_on(self, message, returns):
    _go_on(self, message, returns=False)


def _ended_at_once(self, messages):
    """The next message of a group starts once the work on this one has ended."""
    _end_work(self, messages)
    for message in messages:
        _go_on(self, message, returns=False)


def _returns_nothing(self, ended):
    settled = _settle_together(self, ended)
    return type(settled)(settled.acked, ())


WORKER_MUTANTS = (
    Mutant("a worker acks before it deletes", (InFlight, "end_work", _deleted_before_acked)),
    Mutant("a worker hides messages for as long as it works on them", (Leases, "extend", _extended_never)),
    Mutant("a worker starts no message that it has lost", (InFlight, "start", _started_whenever), since=5700),
    Mutant("a worker that stops returns what waits", (InFlight, "stop", _kept_at_a_stop)),
    Mutant("a worker works on a redelivered message alone", (InFlight, "_line_up", _among_the_others)),
    Mutant(
        "a worker with a redelivered message receives no other one",
        (InFlight, "room", property(_received_meanwhile)),
        since=4300,
    ),
    Mutant("a worker starts the messages of a group one by one", (InFlight, "_admit", _all_at_once)),
    Mutant(
        "the messages of a group return behind one that returns to a worker's queue",
        (InFlight, "_go_on_in_group", _goes_on),
    ),
    Mutant(
        "a worker deletes a message of a group before the next one starts",
        (InFlight, "end_work", _ended_at_once),
    ),
    Mutant("a worker deletes no message that returns", (Consumer, "settle_together", _returns_nothing)),
)
