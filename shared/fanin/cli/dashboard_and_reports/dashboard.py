"""``fanin dashboard``: the dashboard in a browser on this machine."""

from __future__ import annotations

import errno
import signal
import sys
import threading
import webbrowser
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from fanin.cli.arguments.where import Site
from fanin.cli.terminal.exits import Refused
from fanin.cli.terminal.output import note
from fanin.cli.terminal.stopping import stopped_by_signals
from fanin.cli.verbs import Invocation, Verbs
from fanin.local.event_log import EventLog

if TYPE_CHECKING:
    from fanin.dashboard import Dashboard
    from fanin.local.event_log import EventLog

PORT = 8788
verb = Verbs()

Port = Annotated[
    int | None,
    typer.Option(
        metavar="PORT",
        min=0,
        max=65535,
        help=f"The port on 127.0.0.1; 0: any free one. Default: {PORT}, if free.",
    ),
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")]
AllowWrites = Annotated[
    bool,
    typer.Option("--allow-writes", help="The page may close, cancel and notify."),
]


@verb("dashboard")
def dashboard(
    call: Invocation, port: Port = None, open_: Open = True, allow_writes: AllowWrites = False
) -> None:
    """Show batches, tasks and queues in a browser on this machine.

    It runs until Ctrl-C. The address works once.
    """
    started = _started(call.site, port, allow_writes)
    with stopped_by_signals() as come, closing(started):
        call.output.value({"url": started.address}, started.address)
        sys.stdout.flush()
        note(f"the dashboard of {call.site.url}; stop with Ctrl-C")
        if open_ and sys.stdout.isatty():
            with suppress(webbrowser.Error):
                webbrowser.open(started.address)
        threading.Event().wait()
    if signal.SIGINT in come:
        raise KeyboardInterrupt


def _started(site: Site, port: int | None, allow_writes: bool) -> Dashboard:
    from fanin.dashboard import start, upstream_of  # noqa: PLC0415  # with botocore it takes 0.3 s

    api = upstream_of(site.url, site.bearer(), site.region)
    log = event_log_of(site.url)
    events = log.last if log else None
    name = "local run" if log else site.found if site.found.startswith("--stage") else ""
    for wanted in (PORT, 0) if port is None else (port,):
        try:
            return start(api, name=name, port=wanted, allow_writes=allow_writes, events=events)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    raise Refused(f"port {port} of 127.0.0.1 is in use; give another --port, or none for a free one")


def event_log_of(url: str) -> EventLog | None:
    """Return the events of the local run at *url*; None if the API is no local run of this machine."""
    from fanin.local import run_directories  # noqa: PLC0415  # see _started

    run = run_directories.run_at(url)
    return EventLog(run_directories.directory_of(run.port).path) if run else None
