"""``fanin local``: runs the deployment on this machine, in the foreground or in the background."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanin.cli.arguments.options import PortOfRun
from fanin.cli.terminal.stopping import stopped_by_signals
from fanin.cli.verbs import VerbCommand
from fanin.errors import FaninError
from fanin.local import LocalRunError, run_directories
from fanin.local.deployment_source import ORIGIN
from fanin.local.dynamodb_engine.dynamodb_option import SETTING
from fanin.local.environment import environment_of
from fanin.local.run_directories import State, chosen

if TYPE_CHECKING:
    from fanin.local import LocalRun

PORT = 8787
ALIVE_CHECK_SECONDS = 0.2

app = typer.Typer(help="Run the deployment on this machine, on an emulator of AWS.", no_args_is_help=True)

Port = Annotated[
    int,
    typer.Option(metavar="PORT", min=0, max=65535, help="The API's port on 127.0.0.1; 0: any free one."),
]
Archive = Annotated[bool, typer.Option("--archive", help="Store every change of the tables as files in S3.")]
PageBits = Annotated[
    int | None, typer.Option(metavar="N", min=2, max=1024, help="Items on a page of a new batch.")
]
Template = Annotated[
    Path | None,
    typer.Option(
        metavar="DIRECTORY", exists=True, file_okay=False, help="Deploy this `cdk synth` output instead."
    ),
]
Context = Annotated[
    list[str] | None,
    typer.Option("-c", "--context", metavar="NAME=VALUE", help="A setting of the stack; repeatable."),
]
Dashboard = Annotated[bool, typer.Option("--dashboard", help="Serve the dashboard too; print its address.")]
DynamoDB = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE",
        envvar=SETTING,
        help="The URL of a DynamoDB engine, or the folder of DynamoDB Local.",
    ),
]
Detach = Annotated[bool, typer.Option("--detach", help="Return once the API answers; `down` ends it.")]


@app.command()
def up(
    port: Port = PORT,
    archive: Archive = False,
    page_bits: PageBits = None,
    template_dir: Template = None,
    context: Context = None,
    dashboard: Dashboard = False,
    dynamodb: DynamoDB = None,
    detach: Detach = False,
) -> None:
    """Start and deploy, print the API's URL, and run until Ctrl-C."""
    if detach:
        raise typer.Exit(_in_background())
    from fanin.local import LocalRun  # noqa: PLC0415  # boto3 takes 0.3 s, and other commands do not need it

    with exit_with_message(), stopped_by_signals():
        settings = dict(map(setting_of, context or ()))
        run_directories.sweep()
        start = partial(LocalRun.start, archive=archive, context=settings, dynamodb=dynamodb)
        with start(port, page_bits, template_dir, _progress, command=True) as run:
            if dashboard:
                _serve_dashboard(run)
            typer.echo(run.url)
            _progress(f"AWS answers at {run.endpoint}; stop with Ctrl-C or `fanin local down`")
            _wait_and_show_failures(run)
    _progress("stopped; `fanin local up` starts an empty run")


def _wait_and_show_failures(run: LocalRun) -> None:
    """Wait until a signal, and show what fails meanwhile. Raises LocalRunError if the emulator exits."""
    from fanin.local.failures import FailureNotes  # noqa: PLC0415  # see up

    notes = FailureNotes(run.failures)
    while True:
        run.check()
        for line in notes.lines():
            _progress(line)
        time.sleep(ALIVE_CHECK_SECONDS)


def _serve_dashboard(run: LocalRun) -> None:
    """Serve the dashboard of *run* in a thread, which ends with this process."""
    from fanin.dashboard import Upstream, start  # noqa: PLC0415  # other runs do not need it

    served = start(Upstream(run.url), name="local run", events=run.event_log.last)
    _progress(f"the dashboard, for one browser: {served.address}")


@app.command()
def down(
    port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Only the run on this port, of any checkout.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="The runs of every checkout on this machine.")] = False,
) -> None:
    """Stop the runs that this checkout's `up` started, and remove the files of crashed ones."""
    if every and port is not None:
        raise typer.BadParameter("--all and --port exclude each other; give one of them")
    with exit_with_message():
        states = [state for directory in run_directories.directories() if (state := directory.read())]
        ending = [state for state in _matching(states, port) if every or port is not None or _is_ours(state)]
        run_directories.end(ending)
        run_directories.sweep()
        if port is not None and not ending:
            raise LocalRunError(f"there is no local run on port {port}; fanin local list prints the runs")
    for state in ending:
        typer.echo(f"ended {state.url}")
    if not ending:
        typer.echo("nothing to end")
    _print_others(_matching(run_directories.running(), port))


@app.command()
def env(port: PortOfRun = None) -> None:
    """Print the environment variables of a run: eval "$(fanin local env)"."""
    with exit_with_message():
        state = chosen(port)
        for name, value in environment_of(state.url, state.endpoint, state.outputs).items():
            typer.echo(f"export {name}={shlex.quote(value)}")


@app.command(name="list")
def list_() -> None:
    """Print the runs on this machine: the URLs of the API and of AWS, the engine, and the checkout."""
    for state in run_directories.running():
        answers = "" if state.outputs else " (starting)"
        checkout = f"  started by {state.checkout}" if state.checkout else ""
        tables = f"  tables in {state.dynamodb}" if state.dynamodb else ""
        typer.echo(f"{state.url}  AWS at {state.endpoint}{answers}{tables}{checkout}")


def add_to(root: typer.Typer) -> None:
    """Make them commands of *root*."""
    from fanin.cli.local_run import local_inspection, local_work  # noqa: PLC0415  # they take options from here

    for command in (local_work.work, local_inspection.logs, local_inspection.bus):
        app.command(cls=VerbCommand)(command)
    root.add_typer(app, name="local")


def setting_of(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise typer.BadParameter(f"-c takes NAME=VALUE, not {text!r}; docs/settings.md lists the names")
    return name, value


def _matching(states: Iterable[State], port: int | None) -> list[State]:
    """Return the run on *port*; without a port, all runs that `up` started."""
    return [state for state in states if (state.command if port is None else state.port == port)]


def _is_ours(state: State) -> bool:
    return state.checkout == str(ORIGIN.folder)


def _print_others(others: Sequence[State]) -> None:
    urls = ", ".join(state.url for state in others)
    if urls:
        text = f"left running, started by other checkouts: {urls}; end them with --all, or one with --port"
        typer.echo(text, err=True)


def _in_background() -> int:
    """Start the same command without --detach in a new session; copy its output until the URL appears."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--detach"]
    command = [sys.executable, "-m", "fanin.cli.main", *arguments]
    child = subprocess.Popen(  # noqa: S603 - ourselves
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )
    try:
        return _copied_until_url(child)
    except BaseException:  # Ctrl-C, which the new session does not receive
        child.terminate()
        child.wait()
        raise


def _copied_until_url(child: subprocess.Popen[str]) -> int:
    """Copy the output of *child* until the URL appears; return the exit code."""
    for line in child.stdout or ():
        if line.startswith("http://"):
            typer.echo(line, nl=False)
            return 0
        typer.echo(line, nl=False, err=True)
    return child.wait() or 1


def _progress(text: str) -> None:
    # A detached run has no open standard error.
    with suppress(OSError):
        typer.echo(text, err=True)


@contextmanager
def exit_with_message() -> Iterator[None]:
    """Exit with 1 and the message of a FaninError, without a traceback."""
    try:
        yield
    except FaninError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
