"""Runs the demo from its start to its report, stage by stage."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.catalog import watching
from examples.catalog.checks import expectation, verdict
from examples.catalog.checks.completions import Arrival
from examples.catalog.checks.expectation import Expectation
from examples.catalog.errors import DemoError
from examples.catalog.options import Options
from examples.catalog.output import report
from examples.catalog.output.live import View
from examples.catalog.output.progress import Counters
from examples.catalog.output.report import Report, Sent, Times
from examples.catalog.system import running
from examples.catalog.system.batch_api import BatchApi
from examples.catalog.system.bundles import Bundled, RateLimited
from examples.catalog.system.deployed import Deployed, Row
from examples.catalog.system.job import SparkJob
from examples.catalog.system.listening import Listener
from examples.catalog.watching import Watch
from fanin import Fanin
from fanin.client.model import Status
from fanin.client.transports.http import HttpTransport
from fanin.local import LocalRun
from pipeline.shared_by_jobs.check import java_command, require_java

EVENT_SECONDS = 60.0
LISTEN_SECONDS = 5.0
SEND_RATE = 700
"""Messages a second; the two cores are shared with the workers, and faster messages would only queue."""
PACKAGES = ("pyspark", "ministack", "matplotlib", "rich")


@dataclass(frozen=True, slots=True)
class Finish:
    """The state after the batch is complete and its events were received."""

    watch: Watch
    arrival: Arrival
    rows: list[Row]
    counters: Counters
    bundled: Bundled
    queued: int
    differences: list[str]
    event_redeliveries: int

    @property
    def began(self) -> float:
        """Return when the first message was sent, in seconds since 1970."""
        return min((row.sent_at / 1000 for row in self.rows), default=self.watch.opened_at)

    @property
    def sent(self) -> Sent:
        """Return all that the job sent."""
        return self.watch.sent or Sent(0, 0, 0)

    @property
    def times(self) -> Times:
        """Return the times by one clock: of sending by the messages, of acks by the event."""
        last = max((row.sent_at / 1000 for row in self.rows), default=self.began)
        return Times(
            latencies=[(row.processed_at - row.sent_at) / 1000 for row in self.rows],
            sending=last - self.began,
            total=self.arrival.completed_at.timestamp() - self.began,
            event_delay=self.arrival.delay,
        )


def play(options: Options, view: View) -> Report:
    """Run the demo, write its report and picture, and end all of its processes."""
    check_prerequisites(find_spec)
    view.step(f"Java: {java_command(os.environ)}; reading {options.dataset.name}")
    expected = promised(options, view)
    options.out.mkdir(parents=True, exist_ok=True)
    view.step("starting Spark")
    # Spark starts and writes the manifest while the emulator deploys.
    with (
        TemporaryDirectory(prefix="fanin-demo-") as scratch,
        SparkJob(options.out / "spark.log", *(prepared := manifest_of(options, scratch))) as job,
        running.started(progress=view.step) as run,
        BatchApi(RateLimited(lose_every=options.lose_every)) as batch_api,
    ):
        given = [*prepared, *arguments(options, run)]
        finish = _fan_out(options, expected, job, given, run, Deployed(run, batch_api), view)
        outcome = _report(options, finish)
        _write(options, outcome, finish)
        view.show(["", *report.lines(outcome), "", *report.verdict(outcome), ""])
        view.step(f"wrote {options.out}/report.json and {options.out}/acks.png; taking the local run down")
    view.step("done")
    return outcome


def promised(options: Options, view: View) -> Expectation:
    """Return the expectation of the dataset; show it if there are fewer items than asked for.

    Raises DemoError if there are none.
    """
    expected = expectation.read(options.dataset, options.items, options.bundled, options.queued)
    if not expected.items:
        raise DemoError(f"{options.dataset} holds no package: name another with --dataset")
    if options.items is not None and expected.items < options.items:
        view.say(
            f"--items {options.items:,} is more than there are: all {expected.items:,} packages are taken"
        )
    return expected


def check_prerequisites(is_there: Callable[[str], object]) -> None:
    """Raise DemoError, or exit, with what is missing and how to install it."""
    require_java()
    missing = [name for name in PACKAGES if not is_there(name)]
    if missing:
        raise DemoError(f"missing: {', '.join(missing)}; install with: make setup")


def _fan_out(
    options: Options,
    expected: Expectation,
    job: SparkJob,
    given: Sequence[str],
    run: LocalRun,
    deployed: Deployed,
    view: View,
) -> Finish:
    if options.chaos:
        deployed.fail_on_purpose(options.fail_percent, options.seed)
    if options.bundled:
        deployed.bundle(options.bundled)
    if options.queued:
        deployed.queue(options.queued)
        _unsigned(run.url).queue("demo").ensure()
    view.step(f"deployed: {run.url}")
    with Listener(deployed.sqs, run.outputs["DemoEventsQueueUrl"]) as listener:
        job.run(given)
        view.step("Spark opens a batch")
        watch = watching.opened(job, expected, run.check)
        view.step(f"batch {watch.batch_id}: {watch.total:,} items, closed; sending")
        status = watching.follow(watch, job, _unsigned(run.url), deployed, view)
        return _finish(expected, watch, status, deployed, listener, view)


def manifest_of(options: Options, scratch: str) -> list[str]:
    """Return those arguments of pipeline.jobs.fan_out that the manifest depends on."""
    limit = [] if options.items is None else ["--limit", str(options.items)]
    return ["--dataset", str(options.dataset), *limit, "--manifest", str(Path(scratch) / "manifest")]


def arguments(options: Options, run: LocalRun) -> list[str]:
    """Return the other arguments of pipeline.jobs.fan_out for this demo."""
    return [
        *("--user-key", "demo", "--json"),
        *("--rate", str(SEND_RATE)),
        *("--api-url", run.url, "--queue-url", run.outputs["DemoQueueUrl"]),
        *("--endpoint-url", run.endpoint, "--region", "us-east-1"),
        *("--chaos-duplicates", str(options.duplicate_percent), "--seed", str(options.seed)),
    ]


def _finish(
    expected: Expectation, watch: Watch, status: Status, deployed: Deployed, listener: Listener, view: View
) -> Finish:
    arrival = listener.wait(watch.batch_id, EVENT_SECONDS)
    _show(arrival, view)
    view.step(
        f"listening for a second event, {LISTEN_SECONDS:.0f} s; "
        "checking the index, the jobs and the batch API's book against the dataset"
    )
    rows, bundled, queued = deployed.rows(), Bundled.of(deployed.calls()), deployed.jobs_done()
    listener.go_on(LISTEN_SECONDS - (time.time() - arrival.at.timestamp()))
    details = [each.detail for each in listener.book.of(watch.batch_id)]
    indexed = [row.key for row in rows]
    result = verdict.Result(
        status, indexed, details, deployed.dead_letter_messages(), bundled.successes, queued
    )
    return Finish(
        watch=watch,
        arrival=arrival,
        rows=rows,
        # The workers count after they ack, so the last sample may be older than the last count.
        counters=deployed.counters(watch.batch_id),
        bundled=bundled,
        queued=queued,
        differences=verdict.differences(expected, result),
        event_redeliveries=listener.book.redeliveries(watch.batch_id),
    )


def _show(arrival: Arrival, view: View) -> None:
    view.step(f"the last ack completed the batch at {_clock(arrival.completed_at)}")
    view.step(
        f"the event came at {_clock(arrival.at)}, {arrival.delay:.3f} s later: {arrival.detail['eventId']}, "
        f"{arrival.detail['result']}, total {arrival.detail['total']:,}"
    )


def _report(options: Options, finish: Finish) -> Report:
    return Report(
        dataset=options.dataset.name,
        chaos=options.chaos,
        seed=options.seed,
        sent=finish.sent,
        counters=finish.counters,
        bundled=finish.bundled,
        queued=finish.queued,
        times=finish.times,
        event_redeliveries=finish.event_redeliveries,
        differences=finish.differences,
    )


def _write(options: Options, outcome: Report, finish: Finish) -> None:
    (options.out / "report.json").write_text(json.dumps(outcome.facts(), indent=2) + "\n")
    began = finish.began
    chaos = f"chaos with seed {outcome.seed}" if outcome.chaos else "no chaos"
    from examples.catalog.output import picture  # noqa: PLC0415  # matplotlib, at the end of a run alone

    story = picture.Story(
        title=f"{outcome.sent.items:,} packages, {outcome.messages:,} messages, one completion ({chaos})",
        total=outcome.sent.items,
        sent=[row.sent_at / 1000 - began for row in finish.rows],
        samples=[
            replace(sample, at=sample.at + finish.watch.opened_at - began) for sample in finish.watch.samples
        ],
        completed=finish.arrival.completed_at.timestamp() - began,
        event=finish.arrival.at.timestamp() - began,
    )
    picture.draw(story, options.out / "acks.png")


def _unsigned(url: str) -> Fanin:
    """Return a client without the user's credentials, which the local run does not need."""
    return Fanin(HttpTransport(url, sign=lambda _method, _url, _body, headers: headers))


def _clock(at: datetime) -> str:
    return at.astimezone().strftime("%H:%M:%S.%f")[:-3]
