"""Runs the code blocks of a page in the order of the page, and compares what they print with the page.

| block | what is done |
|---|---|
| python | run with the names of the blocks before it; what ``print(...)  # text`` shows is compared |
| any language, ``title="app.py"`` | written to this file of the page's folder |
| console | each line after ``$ `` is run by one bash of the page; the lines after it are its output |
| sh | run by the same bash, as a whole |
| text, after ``<!-- prints -->`` | compared with what the last Python block printed |

After ``<!-- another terminal -->`` a console block has one command, which runs in a bash of its own until the
page ends; the next block follows when the lines after it are printed. After ``<!-- in that terminal -->`` a
block has lines that it prints later. In what is compared, ``...`` stands for
any text, and a line ``...`` for any lines. A comment ``<!-- not run: why -->`` before a block leaves it out.
Blocks of other languages are not run without a title.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
IN_THAT_TERMINAL = "in that terminal"
PRINTS = "prints"
RUN = ("python", "console", "sh")
_BLOCK = re.compile(r"(?:<!-- ([^\n]*) -->\n)?```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATIENCE_SECONDS = 120
"""How long a command may print nothing: it hangs."""
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ENDED = "--- the command has ended:"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; *section* is the heading above, *note* the comment before it."""

    page: str
    section: str
    line: int
    language: str
    title: str | None
    note: str
    code: str

    @property
    def is_run(self) -> bool:
        looks_so = self.language in RUN or self.title is not None or self.note in (IN_THAT_TERMINAL, PRINTS)
        return looks_so and not self.note.startswith("not run:")

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text()
    return [_block(page, text, found) for found in _BLOCK.finditer(text)]


def _block(page: Path, text: str, found: re.Match[str]) -> Block:
    line = text.count("\n", 0, found.start(2)) + 1
    title = re.search(r'title="([^"]+)"', found[3])
    name = str(page.relative_to(ROOT))
    section = re.findall(r"^## (.*)$", text[: found.start()], re.MULTILINE)
    return Block(
        name,
        section[-1] if section else "",
        line,
        found[2],
        title[1] if title else None,
        found[1] or "",
        found[4],
    )


class Shell:
    """One bash on a terminal of 100 columns, which keeps its variables and background jobs."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        terminal, ours = pty.openpty()
        mode = termios.tcgetattr(ours)
        mode[1] &= ~termios.OPOST  # lines end as programs write them
        termios.tcsetattr(ours, termios.TCSANOW, mode)
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("4H", 50, 100, 0, 0))
        self._bash = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=ours,
            stderr=ours,
            start_new_session=True,
        )
        os.close(ours)
        self._terminal = terminal

    def run(self, command: str) -> list[str]:
        """Return the lines that *command* printed. A status other than 0 fails."""
        script = self._bash.stdin
        assert script
        script.write(f"{{ {command}\n}} </dev/null\nprintf '\\n{_ENDED} %s\\n' $?\n".encode())
        script.flush()
        printed, _, status = self._until(rf"\n{_ENDED} \d+\n").partition(f"\n{_ENDED} ")
        assert status.split()[0] == "0", f"{command}\n{printed}"
        lines = _CONTROL.sub("", printed).strip("\n").split("\n")
        return [line.rpartition("\r")[2] for line in lines] if lines != [""] else []

    def start(self, command: str, expected: list[str]) -> None:
        """Start *command*, and return once it has printed the *expected* lines."""
        assert self._bash.stdin
        self._bash.stdin.write(f"exec {command}\n".encode())
        self._bash.stdin.flush()
        self.wait_for(expected)

    def wait_for(self, expected: list[str]) -> None:
        """Return once the *expected* lines are printed, after all that was waited for before."""
        self._until(_pattern(expected))

    def _until(self, pattern: str) -> str:
        read = b""
        while not re.search(pattern, read.decode(errors="ignore")):
            ready, _, _ = select.select([self._terminal], [], [], PATIENCE_SECONDS)
            try:
                read += os.read(self._terminal, 65536) if ready else b""
            except OSError:  # bash and all that it started have ended
                ready = []
            assert ready, (
                f"neither a line nor an end\nwanted: {pattern}\nprinted:\n{read.decode(errors='ignore')}"
            )
        return read.decode(errors="ignore")

    def close(self) -> None:
        """End bash and what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.wait()
        os.close(self._terminal)
        assert self._bash.stdin
        self._bash.stdin.close()


@dataclass
class PageRun:
    """Where the blocks of one page run: *folder*, *env*, the *names* of its Python blocks.

    *replaced*: texts of the page, and what stands for them in this run.
    """

    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)

    def __enter__(self) -> PageRun:
        self.terminals: list[Shell] = []
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        base = {**os.environ, "PATH": path, "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}:{self.folder}"}
        self._variables = {**base, "TERM": "dumb", "NO_COLOR": "1", **self.env}
        self.shell = self._terminal()
        return self

    def _terminal(self) -> Shell:
        self.terminals.append(Shell(self.folder, self._variables))
        return self.terminals[-1]

    def __exit__(self, *_: object) -> None:
        for terminal in self.terminals:
            terminal.close()
        for name, module in list(sys.modules.items()):
            if Path(getattr(module, "__file__", None) or "/").parent == self.folder:
                del sys.modules[name]  # another page may have a module of this name

    def page(self, page: Path) -> None:
        for block in blocks_of(page):
            if block.is_run:
                self.block(block)

    def block(self, block: Block) -> None:
        code = self._here(block.code)
        if block.title is not None:
            (self.folder / block.title).write_text(code)
        elif block.language == "python":
            self._python(block, code)
        elif block.note == "another terminal":
            ((command, expected),) = commands_of(code)
            self._terminal().start(command, expected)
        elif block.note == IN_THAT_TERMINAL:
            self.terminals[-1].wait_for(code.splitlines())
        elif block.note == PRINTS:
            assert_shown(code.splitlines(), self.printed, str(block))
        elif block.language == "console":
            for command, expected in commands_of(code):
                assert_shown(expected, self.shell.run(command), f"{block}: {command}")
        else:
            self.shell.run(code)

    def _here(self, text: str) -> str:
        for old, new in self.replaced.items():
            text = text.replace(old, new)
        return text

    def _python(self, block: Block, code: str) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * block.line + code, ROOT / block.page, "exec"), self.names)  # noqa: S102
        self.printed = printed.getvalue().splitlines()
        expected = [
            each for text in re.findall(r"print\(.*\)  # (.*)", code) for each in ("...", text.strip())
        ]
        assert_shown([*expected, "..."] if expected else ["..."], self.printed, str(block))


def commands_of(code: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block, each with the lines that follow it."""
    found: list[tuple[str, list[str]]] = []
    for line in code.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line}", [])
        else:
            found[-1][1].append(line)
    return found


def assert_shown(expected: list[str], printed: list[str], where: str) -> None:
    """Fail unless *printed* are the *expected* lines; ``...`` stands for any text, alone for any lines."""
    text = "".join(f"{line}\n" for line in printed)

    assert re.fullmatch(_pattern(expected), text), (
        f"{where}\nexpected:\n{chr(10).join(expected)}\nprinted:\n{text}"
    )


def _pattern(expected: list[str]) -> str:
    return "".join(
        "(?:.*\n)*?" if line.strip() == "..." else f"{_any_text(line.rstrip())}[ ]*\n" for line in expected
    )


def _any_text(line: str) -> str:
    return ".*".join(map(re.escape, line.split("...")))
