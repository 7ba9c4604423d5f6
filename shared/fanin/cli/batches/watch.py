"""The verbs that wait for batches: watch, which shows the progress, and wait, which prints nothing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Annotated, TextIO

import typer

from fanin.cli.arguments.api import Answer
from fanin.cli.arguments.options import Batch
from fanin.cli.batches.sqs import sqs_of
from fanin.cli.terminal.bar import Look, line
from fanin.cli.terminal.durations import duration
from fanin.cli.terminal.exits import ExitCode, Refused
from fanin.cli.terminal.output import LINE_SECONDS, clean, clear_line, dumped, note
from fanin.cli.terminal.rate import Rate, seconds_left
from fanin.cli.verbs import Invocation, Verbs
from fanin.client.http_bodies import documents
from fanin.client.http_bodies.codec import Document
from fanin.client.model import Status
from fanin.client.timer import REAL, Timer
from fanin.client.waiting import Pacing, is_ended, looks
from fanin.errors import InvalidRequest
from fanin.local import run_directories
from fanin.local.dead_letter_queues import DeadLetterQueueNotes
from fanin.local.failures import FailureLog, FailureNotes
from fanin.tracker import State
from fanin.tracker.rules.model import ALIVE

verb = Verbs()

SUCCESSES = ("succeeded", "enough")
Timeout = Annotated[
    str | None, typer.Option("--timeout", metavar="TIME", help="Stop after it: 90s, 15m, 2h; exit code 3.")
]
Batches = Annotated[list[str], typer.Argument(metavar="BATCH...", help="Ids of batches, or user keys.")]
Seen = tuple[Document, Look]


@verb("watch")
def watch(call: Invocation, batch: Batch, timeout: Timeout = None) -> None:
    """Show the progress of BATCH until it ends.

    Exits with 0 if it succeeded, or `enough` of it, else with 1. Without a terminal: a line every 10 s.
    Of a live batch of more than 32,768 items, `~` marks an estimate.
    """
    seconds = _seconds(timeout)
    found = progress_of(call, call.names.id_of(batch), seconds, REAL)
    if call.output.on_terminal:
        last = drawn(found, sys.stdout, lambda: shutil.get_terminal_size().columns)
    else:
        last = printed(found, call, REAL.monotonic)
    if last.status.result not in SUCCESSES:
        if last.status.reason:
            note(_failure(last.name, last.status))
        raise typer.Exit(ExitCode.REFUSED)


@verb("wait")
def wait(call: Invocation, batches: Batches, timeout: Timeout = None) -> None:
    """Wait until each BATCH has ended; print nothing.

    Exits with 0 if all succeeded, else with 1, and names the others.
    """
    seconds = _seconds(timeout)
    names = {name: call.names.id_of(name) for name in batches}
    ended = {name: status for name, status in waited(call, names, seconds, REAL)}
    others = [_failure(name, each) for name, each in ended.items() if each.result not in SUCCESSES]
    if others:
        raise Refused(f"{len(others)} of {len(ended)} batches did not succeed: {', '.join(others)}")


def _failure(name: str, status: Status) -> str:
    """Return the name, the result, and the reason if there is one."""
    text = f"{name} ({status.result})"
    return f"{text}: {status.reason}" if status.reason else text


def progress_of(call: Invocation, batch_id: str, timeout: float | None, timer: Timer) -> Iterator[Seen]:
    """Yield what each look at a batch finds, the last one being its end. Raises TimeoutError."""
    rate, show_failures = Rate(), failures_of(call, [batch_id], timer)
    pacing = Pacing(batch_id, timeout, timer)
    for answer in looks(partial(_seen, call, batch_id), pacing):
        status, pacing.asked = answer.value, answer.document.get("retryAfterSeconds")
        show_failures()
        rate.see(timer.monotonic(), status.estimate)
        time_left = seconds_left(status.total, status.estimate, rate.a_second, status.state is State.CLOSED)
        yield answer.document, Look(status, rate.a_second, time_left)
        if is_ended(status):
            return


def _seen(call: Invocation, batch_id: str) -> Answer[Status]:
    """Return a batch as few of its pages show it; as all do, where an older API answers, and at its end."""
    read = partial(call.api.get, f"/v1/batches/{batch_id}", documents.status_of)
    try:
        seen = read(progress="estimate")
    except InvalidRequest:
        return read()
    return read() if is_ended(seen.value) and not seen.value.exact else seen


def waited(
    call: Invocation, names: dict[str, str], timeout: float | None, timer: Timer
) -> Iterator[tuple[str, Status]]:
    """Yield the status of each batch at its end, one after another; the timeout is that of all together."""
    until = None if timeout is None else timer.monotonic() + timeout
    show_failures = failures_of(call, list(names.values()), timer)
    for name, batch_id in names.items():
        remaining = None if until is None else max(0.0, until - timer.monotonic())
        try:
            answer = _ended(call, batch_id, Pacing(batch_id, remaining, timer), show_failures)
        except TimeoutError:
            raise TimeoutError(f"batch {name} has not ended within {timeout:g} s") from None
        if call.output.as_json:
            call.output.value(answer.document, "")
        yield name, answer.value


def _ended(
    call: Invocation, batch_id: str, pacing: Pacing, at_each_look: Callable[[], None]
) -> Answer[Status]:
    """Return the status of a batch at its end. Raises TimeoutError."""
    for state in looks(partial(call.api.transport.poll, batch_id), pacing):
        at_each_look()
        if state not in ALIVE:
            break
    return next(looks(partial(call.api.get, f"/v1/batches/{batch_id}", documents.status_of), pacing))


def failures_of(call: Invocation, batch_ids: Sequence[str], timer: Timer) -> Callable[[], None]:
    """Return what shows, on a local run, the functions that fail since the first of the batches was opened.

    And the dead-letter queues that hold messages, unless all batches have ended.
    """
    run = run_directories.run_at(call.site.url)
    if run is None:
        return lambda: None
    found = [call.api.get(f"/v1/batches/{each}", documents.status_of).value for each in batch_ids]
    log = FailureLog(run_directories.directory_of(run.port).path)
    notes: list[FailureNotes | DeadLetterQueueNotes] = [
        FailureNotes(log, min(each.created_at.timestamp() for each in found))
    ]
    if not all(map(is_ended, found)):
        option = f" --batch {batch_ids[0]}" if len(batch_ids) == 1 else ""
        notes.append(DeadLetterQueueNotes(partial(sqs_of, call.site), option, timer.monotonic))

    def show() -> None:
        for text in chain.from_iterable(each.lines() for each in notes):
            clear_line()
            note(text)

    return show


def drawn(found: Iterator[Seen], terminal: TextIO, width: Callable[[], int]) -> Look:
    """Draw each look over the one before, and return the last."""
    try:
        for _, look in found:
            # One column is left free: a full line would wrap on some terminals.
            terminal.write(f"\r{clean(line(look, width() - 1))}\x1b[K")
            terminal.flush()
    finally:
        terminal.write("\n")
    return look


def printed(found: Iterator[Seen], call: Invocation, now: Callable[[], float]) -> Look:
    """Print a line at each change of state and every 10 seconds, and return the last look."""
    shown, at = "", now()
    for document, look in found:
        if look.state != shown or now() >= at + LINE_SECONDS:
            call.output.line(dumped(document) if call.output.as_json else "\t".join(_cells(look)))
            sys.stdout.flush()
            shown, at = look.state, now()
    return look


def _cells(look: Look) -> Iterator[str]:
    """Yield the cells of a line: name, state or result, done, total, failed, rate, seconds left."""
    yield from (clean(look.name), look.state)
    yield from map(str, (look.status.estimate, look.status.total, look.status.failed))
    yield "" if look.rate is None else f"{look.rate:.2f}"
    yield "" if look.seconds is None else f"{look.seconds:.0f}"


def _seconds(timeout: str | None) -> float | None:
    return None if timeout is None else duration(timeout).total_seconds()
