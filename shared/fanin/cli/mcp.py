"""``fanin mcp``: the verbs as tools of the Model Context Protocol, over standard input and output.

A call of a tool is a run of its verb with ``--json``, in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanin.cli.terminal.exits import Refused
from fanin.cli.terminal.output import AS_TOOL
from fanin.cli.tools import VerbTool, tool_error, tools_of
from fanin.cli.verbs import Profile, Region, Stage, Url, VerbCommand
from fanin.errors import InvalidRequest

if TYPE_CHECKING:
    from anyio.abc import ByteReceiveStream
    from mcp.server import Server
    from mcp_types import CallToolResult

OUTPUT_MAX = 256 * 1024
"""Bytes of an answer: what a program reads at once. Lists and ranges go on behind the last one."""
NEEDS = "fanin mcp needs {}, of the extra mcp; name all your extras in one install, as 'fanin[local,mcp]'"
Writes = Annotated[bool, typer.Option("--allow-writes", help="Offer the verbs that change something, too.")]


def mcp(
    url: Url = None,
    stage: Stage = None,
    profile: Profile = None,
    region: Region = None,
    allow_writes: Writes = False,
) -> None:
    """Serve the verbs that read as tools of the Model Context Protocol, on standard input and output."""
    try:
        import anyio  # noqa: PLC0415  # of an extra
        import mcp as _sdk  # noqa: PLC0415, F401
    except ModuleNotFoundError as missing:
        raise Refused(NEEDS.format(missing.name)) from None
    where = {"--url": url, "--stage": stage, "--profile": profile, "--region": region}
    server = server_of(allow_writes, [f"{name}={value}" for name, value in where.items() if value])
    anyio.run(_serve, server)


def server_of(writes: bool, where: Sequence[str]) -> Server[Any]:
    """Return the server of the tools. *where*: options of each run, which say where the API is."""
    from mcp.server import Server  # noqa: PLC0415  # of an extra, and takes a second
    from mcp_types import ListToolsResult, Tool, ToolAnnotations  # noqa: PLC0415  # see above

    tools = _tools(writes)

    async def listed(_context: Any, _parameters: Any) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                Tool(
                    name=tool.name,
                    description=tool.about,
                    input_schema=tool.schema,
                    annotations=ToolAnnotations(read_only_hint=not tool.writes),
                )
                for tool in tools.values()
            ]
        )

    async def called(_context: Any, parameters: Any) -> CallToolResult:
        return await _run(tools, where, parameters.name, parameters.arguments or {})

    return Server("fanin", version=metadata.version("fanin"), on_list_tools=listed, on_call_tool=called)


def _tools(writes: bool) -> Mapping[str, VerbTool]:
    from fanin.cli.app import app  # noqa: PLC0415  # it loads the module of each verb

    return tools_of(app.registered_commands, writes=writes)


async def _run(
    tools: Mapping[str, VerbTool], where: Sequence[str], name: str, given: Mapping[str, Any]
) -> CallToolResult:
    """Run a verb, and return what it printed; an error where it printed an error alone."""
    tool = tools.get(name)
    if tool is None:
        return _result(f"there is no tool {name!r}: {', '.join(tools)}", is_error=True)
    try:
        arguments = tool.arguments(given)
    except InvalidRequest as refused:
        return _result(str(refused), is_error=True)
    code, out, error = await _output([name, *where, "--json", *arguments])
    return _result(out + tool_error(error), is_error=code != 0 and not out)


async def _output(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Return the exit code and the texts of a run, which ends with the call; at most OUTPUT_MAX bytes."""
    import anyio  # noqa: PLC0415  # of the same extra

    command = [sys.executable, "-m", "fanin.cli.main", *arguments]
    with TemporaryFile() as errors:
        environment = {**os.environ, AS_TOOL: "1"}
        run = anyio.open_process(command, stdin=subprocess.DEVNULL, stderr=errors, env=environment)
        async with await run as process:
            out = await _read(process.stdout, OUTPUT_MAX) if process.stdout is not None else b""
            if len(out) > OUTPUT_MAX:
                process.kill()
                return 0, _cut(out), f"cut after {OUTPUT_MAX} bytes: ask for fewer\n"
            code = await process.wait()
        errors.seek(0)
        return code, out.decode(errors="replace"), errors.read(OUTPUT_MAX).decode(errors="replace")


async def _read(stream: ByteReceiveStream, most: int) -> bytes:
    """Return what comes from *stream*, until there is more than *most*."""
    found = b""
    async for part in stream:
        found += part
        if len(found) > most:
            break
    return found


def _cut(out: bytes) -> str:
    """Return the whole lines of an output."""
    return out[:OUTPUT_MAX].rpartition(b"\n")[0].decode(errors="replace") + "\n"


def _result(text: str, *, is_error: bool) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent  # noqa: PLC0415  # of the same extra

    return CallToolResult(content=[TextContent(text=text)], is_error=is_error)


async def _serve(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server  # noqa: PLC0415  # of the same extra

    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def add_to(app: typer.Typer) -> None:
    """Make it a command of *app*."""
    app.command(cls=VerbCommand)(mcp)
