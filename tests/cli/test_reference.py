"""docs/cli.md: its verbs are those of the command, and its exit codes those of the code."""

from __future__ import annotations

import re

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from fanin.cli.app import app
from fanin.cli.terminal.exits import ExitCode
from fanin.cli.terminal.output import clean
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
    assert re.findall(r"^- `(-[^`]+)`: *\.?$", PAGE, re.MULTILINE) == []
    assert len(re.findall(r"^- `(-[^`]+)`: .+", PAGE, re.MULTILINE)) > 40


def test_a_wrong_state_is_named_without_the_name_of_an_exception(fanin):
    done = fanin("list", "--state", "open")

    assert done.code == 2
    assert "'open' is not one of 'OPEN'" in done.err
    assert "Value error" not in done.err


@pytest.mark.parametrize("group", [(), ("local",)])
def test_the_summary_of_each_command_is_whole_on_80_columns(group):
    shown = CliRunner().invoke(app, [*group, "--help"], env={"COLUMNS": "80"}, terminal_width=80).output

    assert [line for line in shown.splitlines() if line.endswith("...") and "[ARGS]" not in line] == []


@pytest.mark.parametrize("path", [("publish",), ("local", "work"), ("local", "up")])
def test_the_help_names_arguments_as_the_page_does(path):
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"}).output

    usage = shown.partition("\n")[0].partition("[OPTIONS]")[2].split()
    assert [argument for argument in usage if argument != argument.upper()] == []
    assert "{" not in shown.partition("\n")[0]
    assert "<int" not in shown
