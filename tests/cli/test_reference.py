"""docs/cli.md: its verbs are those of the command, and its exit codes those of the code."""

from __future__ import annotations

import pytest
from typer.main import get_command

from fanin.cli.app import app
from website import cli_reference

PAGE = cli_reference.PAGE.read_text()


def test_the_page_is_that_of_the_commands():
    if get_command(app).commands["add"].params[0].help is None:
        pytest.skip("typer 0.24 and older lose the help of arguments with click 8.5")

    assert cli_reference.page() == PAGE, "run: make cli-reference"


def test_what_several_verbs_have_is_described_above_them():
    above, _, below = PAGE.partition(cli_reference.MARKER)
    several = [
        each
        for _, command in cli_reference.commands()
        for each in command.params
        if each.help in cli_reference.shared_texts()
    ]

    assert {each.opts[-1] for each in several if each.opts[-1] not in above.lower()} == set()
    assert "--idempotency-key" in above
    assert "- `--idempotency-key" not in below


def test_a_wrong_state_is_named_without_the_name_of_an_exception(fanin):
    completed = fanin("list", "--state", "open")

    assert completed.code == 2
    assert "'open' is not one of 'OPEN'" in completed.err
    assert "Value error" not in completed.err
