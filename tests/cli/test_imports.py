"""The command answers without the packages that the local run alone needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from fanin.cli.app import VERBS, built

ROOT = Path(__file__).resolve().parents[2]
NOT_NEEDED = {"aws_cdk", "boto3", "botocore", "ministack", "moto", "urllib3"}
NOT_OF_STATUS = {
    *("fanin.cli.batches.publish", "fanin.cli.local_run.local", "fanin.client.result_files", "rich"),
    *("fanin.client.task_model", "fanin.client.transports.reports"),
    *("fanin.tracker.reads.walking", "fanin.tracker.rules.acking", "fanin.tracker.service"),
}
"""The classes of each of them take milliseconds to make."""
LISTED = """
import atexit, sys
atexit.register(lambda: print("LOADED", *{name.split(".")[0] for name in sys.modules}))
"""
MISSING = """
import sys
sys.modules.update(dict.fromkeys(%r))
"""
RUN = """
sys.argv = ["fanin", *%r]
from fanin.cli.main import main
main()
"""


def command(
    *arguments: str, before: str = LISTED, tmp: Path | None = None
) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "shared"), "TMPDIR": str(tmp or "")}
    code = before + RUN % (arguments,)
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["local", "--help"], ["local", "list"], ["local", "env"], ["local", "down"]],
)
def test_what_starts_nothing_loads_no_aws_library_and_no_emulator(arguments, tmp_path):
    completed = command(*arguments, tmp=tmp_path)
    loaded = set(completed.stdout.rpartition("LOADED ")[2].split())

    assert "typer" in loaded
    assert not loaded & NOT_NEEDED


def test_without_the_extra_the_command_names_it():
    completed = command("--help", before=MISSING % (["typer"],))

    assert (completed.returncode, completed.stdout) == (1, "")
    assert completed.stderr == "fanin needs typer: pip install 'fanin[cli]'\n"


def test_without_the_emulator_a_local_run_names_all_that_is_missing(tmp_path):
    missing = ["ministack", "aws_cdk", "uv"]

    completed = command("local", "up", "--port", "0", before=MISSING % (missing,), tmp=tmp_path)

    assert completed.returncode == 1
    assert completed.stderr.startswith("the local run needs ministack, aws-cdk-lib, uv; install them by: ")


def test_the_version_needs_nothing_but_the_standard_library(tmp_path):
    completed = command("--version", tmp=tmp_path)
    loaded = set(completed.stdout.rpartition("LOADED ")[2].split())

    assert completed.stdout.startswith("fanin 0.")
    assert not loaded & {*NOT_NEEDED, "typer", "rich", "click"}
    assert len(loaded) < 120, sorted(loaded)


def test_a_verb_is_in_the_table_from_which_its_module_is_loaded():
    commands = get_command(built(VERBS)).commands

    assert list(commands) == [name for names in VERBS.values() for name in names]
    for module, names in VERBS.items():
        assert tuple(get_command(built([module])).commands) == names


def test_a_verb_loads_the_modules_of_its_own_alone(tmp_path):
    asking = LISTED.replace('.split(".")[0]', "") + "import fanin.client.transports.http\n"

    completed = command("status", "--help", before=asking, tmp=tmp_path)
    loaded = set(completed.stdout.rpartition("LOADED ")[2].split())

    assert "fanin.cli.batches.looking" in loaded
    assert not NOT_OF_STATUS & loaded
