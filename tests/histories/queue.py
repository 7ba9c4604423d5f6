"""Histories of the work queue: adds and acks as callers see them, claims as the store answers them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from fanin.queue import Jobs, LostClaim, NewJob, Queue, Rejected
from fanin.queue.rules.keys import job_key
from fanin.queue.rules.model import GivenBack, Job
from tests.histories.history import UNKNOWN, Recorder, Span
from tests.histories.model import Recorded
from tests.histories.ports import record_port
from tests.histories.queue_spec import ACCEPTED, ACKED, LOST, REJECTED, Key, step
from tests.simulating.network import Request
from tests.simulating.room import Outcome, played
from tests.simulation_queue.loop import SECOND
from tests.simulation_queue.simulation import play_out
from tests.simulation_queue.world import QUEUE, Boom, Interrupt, World


class RecordedWorld(World):
    """Producers and workers on few keys, without reruns and without a limit of failures.

    *asked*: the claims under which the store was asked to end a job.
    """

    def __init__(
        self, recorder: Recorder, random: Random, trace: Callable[[str], None] | None = None
    ) -> None:
        super().__init__(random, trace)
        self.recorder, self.asked = recorder, set[str | None]()
        self.parts, self.keys, self.reruns = random.choice((1, 2)), random.choice((1, 1, 2)), 0.0
        self.max_failures, self.longest = None, 0.5
        record_port(self.network, recorder, self._note)

    def _add(self, queue: Queue) -> None:
        self._judge_add(queue, [self._new_job(queue.key)], "reject")

    def _answered_add(self, queue: Queue, requests: list[NewJob], on_busy: str) -> Sequence[Rejected]:
        (request,) = requests
        key, span = job_key(QUEUE, self.parts, request.key), Span(self.recorder.tick())
        try:
            rejected = super()._answered_add(queue, requests, on_busy)
        except BaseException:
            self._operation(key, "add", request.payload_text, span=span)
            raise
        answer = REJECTED if rejected else ACCEPTED
        self._operation(key, "add", request.payload_text, span=self._ended(span), answer=answer)
        return rejected

    def _work_on(self, jobs: Jobs, job: Job, ended: set[str]) -> None:
        """End each job by a request that is recorded, or raise."""
        self.loop.sleep(int(self.random.random() * self.longest * SECOND))
        if self.random.random() < 0.05:
            self.network.freeze(self.loop.actor.process)
        kind = self.random.choice(("ack", "ack", "ack", "fail", "release", "raise"))
        if kind == "raise":
            raise self.random.choice((Boom, Interrupt))
        ended.add(job.claim or "")
        if kind == "ack":
            self._ack(jobs, job)
        else:
            jobs.release(job, failed=kind == "fail")

    def _ack(self, jobs: Jobs, job: Job) -> None:
        span = Span(self.recorder.tick())
        try:
            super()._ack(jobs, job)
        except LostClaim:
            asked = job.claim in self.asked
            self._operation(job.key, "ack", job.claim, asked, span=self._ended(span), answer=LOST)
            raise
        except BaseException:
            self._operation(job.key, "ack", job.claim, span=span)
            raise
        self._operation(job.key, "ack", job.claim, span=self._ended(span), answer=ACKED)

    def _sweep_at_once(self) -> None:
        """Do nothing: the harness sweeps past the network."""

    def _note(self, request: Request, span: Span, answer: Any) -> None:
        """Record claims, and jobs that are given back by whichever process."""
        if request.name == "claim":
            head, _, claim, _ = request.args
            if answer is not None:
                counts = answer if answer is UNKNOWN else (answer.payload, answer.deliveries, answer.failures)
                self._operation(head.key, "claim", claim, span=span, answer=counts)
        elif request.name == "end":
            self.asked.add(request.args[0].claim)
        elif request.name == "give_back":
            seen: Any = request.args[0]
            how: GivenBack = request.args[1]
            args = (seen.claim, how.failed)
            self._operation(seen.key, "give_back", *args, span=span, answer=answer)

    def _operation(self, key: Any, name: str, *args: Any, span: Span, answer: Any = UNKNOWN) -> None:
        client = self.loop.actor.process.name if self.loop.actor else ""
        self.recorder.note(key, client, name, args, span.began, ended=span.ended, answer=answer)

    def _ended(self, span: Span) -> Span:
        return Span(span.began, self.recorder.tick())


def record(seed: int, lines: list[str] | None = None) -> Recorded:
    """Run a scenario of the simulator, and return the histories of its keys."""
    recorder = Recorder()
    world = RecordedWorld(recorder, Random(seed), lines.append if lines is not None else None)
    violation = played(lambda: play_out(world))
    outcome = Outcome(violation, world.network.requests, world.network.faults, world.events)
    return Recorded(recorder, outcome, step, lambda _: Key())
