"""docs/cli.md: its verbs are those of the command, and its exit codes those of the code."""

from __future__ import annotations

import re

import pytest
from typer.main import get_command

from fanin.cli.app import app
from fanin.cli.exits import ExitCode
from fanin.cli.output import clean
from tests.cli.test_verbs import opened
from website import cli_reference

PAGE = cli_reference.PAGE.read_text()


def test_the_page_is_that_of_the_commands():
    if get_command(app).commands["add"].params[0].help is None:
        pytest.skip("typer 0.24 and older lose the help of arguments with click 8.5")

    assert cli_reference.page() == PAGE, "run: make cli-reference"


def test_the_page_has_each_exit_code():
    codes = {int(code) for code in re.findall(r"^\| (\d) \|", PAGE, re.MULTILINE)}

    assert codes == {code for code in ExitCode if code < ExitCode.INTERRUPTED}


def test_the_page_shows_an_output_as_it_is(fanin):
    example = re.search(r"((?:    .+\n)+)", PAGE)[1]
    _, items = opened(fanin, "hello", 10_000)

    assert re.search(r"add hello 10000\n +(\S+)", example)[1].endswith(items[-7:])
    assert fanin("close", "hello").ok().out.strip() in example
    assert clean(example.strip()).endswith("accepted 10,000")


def test_each_option_says_what_it_does():
    assert re.findall(r"^\| `(-[^`]+)` \| *\.? *\|", PAGE, re.MULTILINE) == []
    assert len(re.findall(r"^\| `(-[^`]+)` \| .+ \|", PAGE, re.MULTILINE)) > 40
