"""The examples of docs/testing.md, and the README's consumer with its test, as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text()
README = (ROOT / "README.md").read_text()
EXAMPLES = dict(re.findall(r"<!-- (\w+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))
(APP,) = [code for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "@fanin.acks" in code]
BARE = """
import socket, sys

def refuse(*_):
    raise AssertionError("a socket was made")

socket.socket = socket.create_connection = refuse
sys.modules.update(dict.fromkeys(["boto3", "botocore", "urllib3", "pydantic", "aws_lambda_powertools"]))
import test_app

test_app.test_a_batch_is_complete_once_its_messages_are_worked()
print(test_app.app.worked)
"""


def test_the_readmes_consumer_is_tested_without_environment_boto3_and_sockets(tmp_path):
    (tmp_path / "app.py").write_text(f"worked = []\nwork_on = worked.append\n{APP}")
    (tmp_path / "test_app.py").write_text(EXAMPLES["consumer"])
    env = {"PYTHONPATH": f"{ROOT / 'shared'}:{tmp_path}"}

    completed = subprocess.run(
        [sys.executable, "-c", BARE], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (completed.stderr, completed.returncode) == ("", 0)
    assert completed.stdout.count(":") == 6  # three item ids


def test_the_example_has_ten_lines():
    assert len([line for line in EXAMPLES["consumer"].splitlines() if line.strip()]) == 10


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "consumer"])
def test_an_example_prints_what_the_page_says(name, capsys):
    exec(EXAMPLES[name], {})  # noqa: S102

    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", EXAMPLES[name])


def test_every_python_block_of_the_page_is_run():
    assert PAGE.count("```python") == len(EXAMPLES)
