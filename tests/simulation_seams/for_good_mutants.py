"""Rules of failures for good, and of acks of an item under work, each left out once."""

from __future__ import annotations

from dataclasses import replace

from fanin.client.consuming import consumer
from fanin.client.consuming.chunk_consumer import Part
from fanin.client.consuming.consumer import Consumer
from fanin.client.consuming.settling import Worked
from fanin.client.consuming.skipping import FailuresForGood
from fanin.client.handing_over import under_work
from fanin.client.handing_over.under_work import UnderWork
from fanin.tracker import Outcome
from tests.simulating.mutants import Mutant

_worked, _work_done = Part.worked, Consumer._work_done


def _succeeds(self, ack):
    self.change(report=replace(ack, outcome=Outcome.SUCCESS, reason=None), handed=False, doubtful=False)


def _fails_a_chunk(self, chunk):
    worked = _worked(self, chunk)
    failed = next((ack for ack in worked.acks if ack.outcome is Outcome.FAILURE), None)
    return worked if failed is None else replace(worked, acks=[replace(chunk.ack, outcome=failed.outcome)])


def _known_without_an_ack(self, record, ack, work):
    return Worked(record) if self.failures.of(ack) else _work_done(self, record, ack, work)


def _returns_its_message(self, record, ack, work):
    worked = _work_done(self, record, ack, work)
    return replace(
        worked, returns=worked.returns or any(ack.outcome is Outcome.FAILURE for ack in worked.acks)
    )


def _leaves_its_owner(self, ack):
    self.change(report=ack)


FOR_GOOD_MUTANTS = (
    Mutant("a failure for good is not retried", (consumer, "failed_for_good", lambda error: None)),
    Mutant("a failure for good is a failure", (UnderWork, "fail_for_good", _succeeds)),
    Mutant("a failure for good has its reason", (consumer, "reason_for_good", lambda failed: "Failed")),
    Mutant("a failure for good is of one item", (Part, "worked", _fails_a_chunk)),
    Mutant("a failure for good is not repeated", (FailuresForGood, "of", lambda self, ack: None)),
    Mutant(
        "a failure for good is acked until it is answered",
        (Consumer, "_work_done", _known_without_an_ack),
        since=1860,
    ),
    Mutant("a failure for good ends a child that is open", (UnderWork, "cancel_unclosed", lambda self: None)),
    Mutant("a failure for good counts beside an owner", (UnderWork, "fail_for_good", _leaves_its_owner)),
    Mutant("an item under work is not acked", (under_work, "_refuse_successes", lambda acks, running: None)),
)
