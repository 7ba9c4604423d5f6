"""`fanin mcp`: the verbs as tools of the Model Context Protocol, run by the protocol's own client."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from fanin.cli import mcp
from fanin.cli.tools import tool_error

if TYPE_CHECKING:  # the protocol's kit takes a second to import, in each process that collects the tests
    from mcp import Client


@pytest.fixture
def in_process(fanin, monkeypatch) -> None:
    """The verbs of tools run in this process, not each in one of its own."""

    async def output(arguments):
        completed = fanin(*arguments)
        return completed.code, completed.out, completed.err

    monkeypatch.setattr(mcp, "_output", output)


@pytest.fixture
def use(fanin, served) -> Callable[..., Any]:
    from mcp import Client

    def run(calls: Callable[[Client], Any], *, writes: bool = False) -> Any:
        async def connected() -> Any:
            async with Client(mcp.server_of(writes, [f"--url={served.url}"])) as client:
                return await calls(client)

        return anyio.run(connected)

    return run


async def call(client: Client, name: str, **given: Any) -> tuple[bool, str]:
    answer = await client.call_tool(name, given)
    return bool(answer.is_error), answer.content[0].text


def test_a_program_reads_what_the_command_line_shows(fanin, use):
    fanin("open", "night").ok(), fanin("add", "night", "3").ok()

    async def calls(client: Client) -> Any:
        return await call(client, "status", batch="night"), await call(client, "list", key="night", limit=1)

    (failed, status), (_, listed) = use(calls)
    assert not failed
    assert json.loads(status)["total"] == 3
    assert json.loads(listed)["userKey"] == "night"


def test_each_tool_says_what_it_takes(use):
    async def calls(client: Client) -> Any:
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = use(calls)
    assert tools["status"].input_schema["required"] == ["batch"]
    assert tools["list"].input_schema["properties"]["condition"]["enum"] == ["live", "problems", "endedBadly"]
    assert tools["wait"].input_schema["properties"]["batches"]["type"] == "array"
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools.values())
    assert tools["list"].input_schema["properties"]["all"]["type"] == "boolean"


def test_the_texts_of_tools_are_for_programs_and_not_for_a_terminal():
    for name, tool in mcp._tools(writes=True).items():
        texts = [tool.about, *(each["description"] for each in tool.schema["properties"].values())]
        assert all(text.endswith(".") for text in texts), (name, texts)
        found = re.findall(r"--\w|terminal|stdin|standard \w+|\bprint|exit code|asks first", " ".join(texts))
        assert found == [], (name, texts)
    assert tool_error("no such option: -x; see fanin status --help\n") == "no such option: -x\n"


def test_a_tool_has_no_lines_of_progress_in_its_answer(monkeypatch, tmp_path):
    verb = "from fanin.cli.terminal import output; output.LINE_SECONDS = 0; output.Progress().show('acked 5')"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{verb}"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))

    assert anyio.run(mcp._output, ["ack"]) == (0, "", "")


@pytest.mark.usefixtures("in_process")
def test_writes_are_offered_by_the_flag_alone(fanin, use):
    fanin("open", "night").ok()

    async def calls(client: Client) -> Any:
        return await call(client, "close", batch="night")

    assert use(calls)[0]
    assert json.loads(fanin("status", "night", "--json").ok().out)["state"] == "OPEN"
    assert not use(calls, writes=True)[0]
    assert json.loads(fanin("status", "night", "--json").ok().out)["state"] != "OPEN"


@pytest.mark.usefixtures("in_process")
def test_an_argument_has_the_name_of_its_option(fanin, use):
    async def calls(client: Client) -> Any:
        return await call(client, "open", user_key="night", expected=3, label=["a:b", "c:d"])

    assert not use(calls, writes=True)[0]
    found = json.loads(fanin("status", "night", "--json").ok().out)
    assert (found["expectedItems"], found["labels"]) == (3, {"a": "b", "c": "d"})


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("status", {"bach": "a"}, "status takes batch, cost, not 'bach'"),
        ("status", {}, "status needs batch"),
        ("children", {"of": "night", "every": True}, "children takes of, done, limit, all, not 'every'"),
        ("status", {"batch": "--help"}, "--help"),
        ("status", {"batch": "nowhere"}, "nowhere"),
        ("sudo", {}, "there is no tool 'sudo'"),
    ],
)
def test_a_call_that_is_wrong_is_an_error_that_says_so(use, name, given, expected):
    async def calls(client: Client) -> Any:
        return await call(client, name, **given)

    failed, text = use(calls)
    assert failed
    assert expected in text


def test_a_long_answer_is_cut_between_lines_and_says_so(fanin, use, monkeypatch):
    monkeypatch.setattr(mcp, "OUTPUT_MAX", 500)
    for key in "abcdef":
        fanin("open", key).ok()

    async def calls(client: Client) -> Any:
        return await call(client, "list")

    failed, text = use(calls)
    *rows, last = text.splitlines()
    assert not failed
    assert last == "cut after 500 bytes: ask for fewer"
    assert all(json.loads(row)["batchId"] for row in rows)


def test_it_serves_on_standard_input_and_output(served):
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    command = ["-m", "fanin.cli.main", "mcp", "--url", served.url]
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}

    async def connected() -> Any:
        async with Client(StdioServerParameters(command=sys.executable, args=command, env=path)) as client:
            return await call(client, "where")

    failed, text = anyio.run(connected)
    assert not failed
    assert json.loads(text)["url"] == served.url
