"""Verbs as processes in pipes; and the JSON of each verb, which is that of docs/openapi.json."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from openapi_schema_validator import OAS31Validator, oas31_format_checker

from fanin.cli.terminal.exits import ExitCode
from tests.api.published import published
from tests.cli.conftest import command, variables
from tests.cli.serving import refusal


def fits(document: Mapping[str, Any], schema: str) -> bool:
    """Whether *document* is one of this schema, without other fields."""
    components = published()["components"]
    root = {**components["schemas"][schema], "components": components}
    errors = OAS31Validator(root, format_checker=oas31_format_checker).iter_errors(document)
    return [error.message for error in errors] == []


def test_the_json_of_each_verb_is_that_of_the_api(fanin, process):
    def one(schema, *arguments, stdin=None, run=fanin):
        completed = run(*arguments, "--json", stdin=stdin)
        assert completed.code == ExitCode.SUCCESS, completed.err
        assert all(fits(document, schema) for document in completed.documents), completed.out
        return completed.documents[0]

    key = "a key of some length, which does not fit into forty columns"
    batch = one("OpenedBatch", "open", key, run=process)["batchId"]
    (group,) = one("AddedItems", "add", key, "5")["groups"]
    item = f"{batch}:{group['id']}"
    one("AckedItems", "fail", f"{item}:0", "-m", "because")
    assert one("RangeAnswer", "outstanding", batch) == {"groupId": group["id"], "from": 1, "to": 4}
    one("RangeAnswer", "failures", batch)
    assert one("SampleAnswer", "failures", batch, "--reasons")["reason"] == "because"
    one("ClosedBatch", "close", batch)
    assert one("AckedItems", "ack", "-", stdin=f"{item}:0-4\n", run=process)["completions"]
    assert one("BatchAnswer", "status", batch)["state"] == "COMPLETE"
    assert one("BatchSummary", "list")["userKey"] == key
    one("NotifiedBatch", "notify", batch)
    one("CancelledBatch", "cancel", one("OpenedBatch", "open", "another")["batchId"], "--yes")


def test_items_go_from_one_process_to_another(fanin, served, tmp_path):
    for arguments in (("open", "hello"), ("add", "hello", "10000"), ("close", "hello")):
        fanin(*arguments).ok()
    pipe = f"{' '.join(command('outstanding', 'hello'))} | {' '.join(command('ack', '-'))}"
    completed = subprocess.run(
        ["sh", "-c", pipe], env=variables(served.url, tmp_path), capture_output=True, text=True, check=True
    )

    assert completed.stdout == "accepted\t10000\n"
    assert completed.stderr.splitlines()[1:] == ["complete: hello (succeeded)"]


def test_a_reader_that_stops_ends_the_command_without_a_message(fanin, served, tmp_path):
    fanin("open", "k").ok()
    fanin("add", "k", "20000").ok()
    pipe = f"{' '.join(command('outstanding', 'k', '--ids'))} | head -1"
    completed = subprocess.run(
        ["sh", "-c", pipe], env=variables(served.url, tmp_path), capture_output=True, text=True, check=True
    )

    assert completed.stdout.endswith(":0\n")
    assert completed.stderr == ""


def test_a_run_with_closed_streams_does_its_work(fanin, served, tmp_path):
    fanin("open", "k").ok()
    closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command("close", "k")]

    assert subprocess.run(closed, env=variables(served.url, tmp_path), check=False).returncode == 0
    assert "state\tCOMPLETE" in fanin("status", "k").ok().lines


@pytest.mark.parametrize(("answer", "state"), [("n", "OPEN"), ("y", "CANCELLED")])
def test_cancel_asks_on_a_terminal(fanin, served, tmp_path, answer, state):
    batch = fanin("open", "k").ok().out.strip()
    ours, theirs = pty.openpty()
    env = variables(served.url, tmp_path, TERM="dumb", COLUMNS="200")
    running = subprocess.Popen(command("cancel", "k"), env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = ""
    while "[y/N]" not in shown:
        shown += os.read(ours, 1_000).decode()
    os.write(ours, f"{answer}\n".encode())

    assert running.wait(60) == (ExitCode.SUCCESS if answer == "y" else ExitCode.REFUSED)
    assert f"Cancel k ({batch}), OPEN, 0 items, at {served.url.partition('//')[2]}?" in shown
    assert f"state\t{state}" in fanin("status", "k").ok().lines
    os.close(ours)


# A shell starts background commands, and so perhaps these tests, with SIGINT ignored.
HEEDING = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL);os.execv(sys.argv[1], sys.argv[1:])"
)


def test_ctrl_c_ends_a_command_that_reads_without_a_traceback(served, tmp_path):
    asked = threading.Event()
    ended = threading.Event()
    served.faults.append(lambda: asked.set() or (ended.wait(30) and refusal(503)))
    running = subprocess.Popen(
        [sys.executable, "-c", HEEDING, *command("list")],
        env=variables(served.url, tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    asked.wait(30)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    ended.set()

    assert (running.returncode, out, err) == (ExitCode.INTERRUPTED, "", "interrupted; run it again\n")


LOADING = """
import sys
from fanin.cli import main
class Stops:
    def find_spec(self, *_):
        raise KeyboardInterrupt
sys.meta_path.insert(0, Stops())
sys.argv = ["fanin", "status", "k"]
main.main()
"""


def test_ctrl_c_while_the_command_is_loaded_shows_no_traceback(served, tmp_path):
    completed = subprocess.run(
        [sys.executable, "-c", LOADING],
        env=variables(served.url, tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (completed.returncode, completed.stderr) == (ExitCode.INTERRUPTED, "interrupted; run it again\n")


def test_a_completion_that_cannot_be_installed_is_a_sentence(process):
    known = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # a process may have no shell above it
    completed = process("--install-completion", "bash", HOME="/proc/nowhere", **known)

    assert (completed.code, completed.out) == (ExitCode.REFUSED, "")
    assert completed.err.startswith("/proc/nowhere")
    assert len(completed.err.splitlines()) == 1


def test_a_batch_is_completed_from_the_user_keys_of_live_batches(fanin, process):
    unquoted = ("ca$(id)", "ca;id", "ca *", "ca`id`", "ca'", "ca\u202e")
    for key in ("catalog-7", "catalog-8", "catalog-8", "catalog-9", "mailing", *unquoted):
        fanin("open", key, "--again").ok()
    fanin("cancel", "catalog-9", "--yes").ok()
    proposed = completed(process, "fanin status ca")

    assert (sorted(proposed.lines), proposed.err) == (["catalog-7", "catalog-8"], "")


def test_without_an_answer_in_a_second_there_is_no_completion_and_no_message(process, served):
    ended, gave_up = threading.Event(), []
    served.faults += [lambda: gave_up.append(not ended.wait(20)) or refusal(503)] * 2
    hanging = completed(process, "fanin status ca")
    ended.set()
    nowhere = completed(process, "fanin status ca", FANIN_URL="http://127.0.0.1:9")

    assert [hanging.out.split(), hanging.err, nowhere.out.split(), nowhere.err] == [[], "", [], ""]
    assert True not in gave_up


def completed(process, line, **env):
    place = str(len(line.split()) - 1)
    return process(_FANIN_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=place, **env)
