"""``fanin local``: the deployment on this machine, in the foreground or behind it."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from fanin.errors import FaninError
from fanin.local import LocalRunError, run_directories
from fanin.local.assembly import ROOT
from fanin.local.environment import environment_of
from fanin.local.run_directories import State

PORT = 8787
ALIVE_CHECK_SECONDS = 0.2

app = typer.Typer(help="Run the deployment on this machine, on an emulator of AWS.", no_args_is_help=True)

Port = Annotated[int, typer.Option(min=0, max=65535, help="The API's port on 127.0.0.1; 0 is any free one.")]
Demo = Annotated[bool, typer.Option("--demo", help="Deploy the demo's queue, worker and index too.")]
Archive = Annotated[bool, typer.Option("--archive", help="Keep every change of the tables in files, in S3.")]
PageBits = Annotated[int | None, typer.Option(min=2, max=1024, help="Items on a page of a new batch.")]
Template = Annotated[
    Path | None, typer.Option(exists=True, file_okay=False, help="Deploy this `cdk synth` output instead.")
]
Context = Annotated[
    list[str] | None,
    typer.Option("-c", "--context", metavar="NAME=VALUE", help="A setting of the stack; may be given again."),
]
Detach = Annotated[bool, typer.Option("--detach", help="Return once the API answers; `down` ends it.")]


@app.command()
def up(
    port: Port = PORT,
    demo: Demo = False,
    archive: Archive = False,
    page_bits: PageBits = None,
    template_dir: Template = None,
    context: Context = None,
    detach: Detach = False,
) -> None:
    """Start, deploy, print the API's URL on a line of its own, and stay until Ctrl-C."""
    if detach:
        raise typer.Exit(_behind())
    from fanin.local import LocalRun  # noqa: PLC0415  # boto3 takes 0.3 s that the other commands can save

    with _plain_errors(), _ended_by_signals():
        settings = dict(map(_setting, context or ()))
        run_directories.sweep()
        with LocalRun.start(
            port, demo, page_bits, template_dir, _progress, command=True, archive=archive, context=settings
        ) as run:
            typer.echo(run.url)
            _progress(f"AWS answers at {run.endpoint}; Ctrl-C or `fanin local down` ends it all")
            while True:
                run.check()
                time.sleep(ALIVE_CHECK_SECONDS)
    _progress("stopped")


@app.command()
def down(
    port: Annotated[int | None, typer.Option(help="Only the run on this port, of any checkout.")] = None,
    every: Annotated[bool, typer.Option("--all", help="The runs of every checkout on this machine.")] = False,
) -> None:
    """End the runs that this checkout's `up` started, and remove what crashes left.

    A run belongs to the source tree of the `fanin` that started it, wherever the command was given.
    """
    if every and port is not None:
        raise typer.BadParameter("--all and --port exclude each other; give one of them")
    with _plain_errors():
        states = [state for home in run_directories.homes() if (state := home.read())]
        chosen = [state for state in _asked_for(states, port) if every or port is not None or _is_ours(state)]
        run_directories.end(chosen)
        run_directories.sweep()
    for state in chosen:
        typer.echo(f"ended {state.url}")
    if not chosen:
        typer.echo("nothing to end")
    _name(_asked_for(run_directories.running(), port))


@app.command()
def env(
    port: Annotated[
        int | None,
        typer.Option(help="The run on this port; else the one that `up` started, this checkout's first."),
    ] = None,
) -> None:
    """Print what a process needs to work against the run: eval "$(fanin local env)"."""
    with _plain_errors():
        state = _chosen(port)
        for name, value in environment_of(state.endpoint, state.outputs).items():
            typer.echo(f"export {name}={shlex.quote(value)}")


@app.command(name="list")
def list_() -> None:
    """Print the runs on this machine, one a line: URLs of the API and of AWS, and its checkout."""
    for state in run_directories.running():
        answers = "" if state.outputs else " (starting)"
        checkout = f"  started by {state.checkout}" if state.checkout else ""
        typer.echo(f"{state.url}  AWS at {state.endpoint}{answers}{checkout}")


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise LocalRunError(f"-c takes NAME=VALUE, not {text!r}; docs/settings.md has the names")
    return name, value


def _asked_for(states: Iterable[State], port: int | None) -> list[State]:
    """The run on *port*; without one, each that `up` started."""
    return [state for state in states if (state.command if port is None else state.port == port)]


def _is_ours(state: State) -> bool:
    return state.checkout == str(ROOT)


def _name(left: Sequence[State]) -> None:
    urls = ", ".join(state.url for state in left)
    if urls:
        said = f"left running, started by other checkouts: {urls}; end them with --all, or one with --port"
        typer.echo(said, err=True)


def _chosen(port: int | None) -> State:
    """The one run on *port*, or that `up` started, this checkout's first; LocalRunError if not one."""
    found = _asked_for(run_directories.running(), port)
    chosen = list(filter(_is_ours, found)) or found
    if not chosen:
        where = "" if port is None else f" on port {port}"
        raise LocalRunError(f"there is no local run{where}; start one with: fanin local up")
    if len(chosen) > 1:
        urls = ", ".join(state.url for state in chosen)
        raise LocalRunError(f"there are {len(chosen)} local runs; choose one with --port: {urls}")
    if not chosen[0].outputs:
        raise LocalRunError(f"the local run at {chosen[0].url} is still starting; try again when it answers")
    return chosen[0]


def _behind() -> int:
    """Start the same command without --detach in a session of its own; pass its words on until the URL."""
    command = [sys.executable, "-m", "fanin.cli.main", *(word for word in sys.argv[1:] if word != "--detach")]
    child = subprocess.Popen(  # noqa: S603 - ourselves
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )
    for line in child.stdout or ():
        if line.startswith("http://"):
            typer.echo(line, nl=False)
            return 0
        typer.echo(line, nl=False, err=True)
    return child.wait() or 1


def _progress(text: str) -> None:
    # A run that was detached has nobody to talk to.
    with suppress(OSError):
        typer.echo(text, err=True)


@contextmanager
def _plain_errors() -> Iterator[None]:
    """What we raise on purpose is for the user, without a traceback."""
    try:
        yield
    except FaninError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP alike stop everything, and the exit is a success.

    Ctrl-C is named too: a script's background command starts with it ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    with suppress(KeyboardInterrupt):
        yield


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
