from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanin.local.function_processes import fork_server
from fanin.local.function_processes.forked_process import Forked, adopt_orphans
from fanin.local.function_processes.forking import forking, search_path
from tests.local.processes import state

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="functions are forked on Linux alone")

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "aws_lambda_powertools"
"""One of those that a fork server loads; the tests have one of their own."""
# What a process says of itself, then each line that it receives.
SCRIPT = f"""
import json, locale, os, random, resource, signal, sys, threading, uuid
library = sys.modules.get("{LIBRARY}")
print(json.dumps({{
    "argv": sys.argv, "cwd": os.getcwd(), "env": dict(os.environ), "main": sys.modules["__main__"].__file__,
    "path": sys.path[0], "pid": os.getpid(), "chance": [random.random(), uuid.uuid4().hex], "name": __name__,
    "threads": len(os.listdir("/proc/self/task")), "library": library and library.__file__,
    "fds": sorted(map(int, os.listdir("/proc/self/fd")))[:-1], "group": os.getpgid(0),
    "streams": [[each.encoding, each.errors, each.line_buffering, each.mode]
                for each in (sys.stdin, sys.stdout, sys.stderr)],
    "others": [name for name in sys.modules if name in ("botocore", "fanin")],
    "signals": [str(signal.getsignal(each)) for each in sorted(signal.valid_signals() - {{32, 33}})],
    "blocked": list(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "umask": os.umask(0o22),
    "limits": resource.getrlimit(resource.RLIMIT_NOFILE), "flags": str(sys.flags),
    "locale": locale.setlocale(locale.LC_ALL),
}}), flush=True)
print("an error", file=sys.stderr)
for line in sys.stdin:
    if line == "exit 3\\n":
        sys.exit(3)
    print(line, end="", flush=True)
"""


@pytest.fixture
def site(tmp_path) -> Iterator[Site]:
    """A function's code and library, and the emulator's script; and what starts processes of it."""
    yield Site(tmp_path)
    adopt_orphans(False)


class Site:
    def __init__(self, folder: Path) -> None:
        self.code, self.script = folder / "code", folder / "run" / "_worker.py"
        for each in (self.code / LIBRARY, self.script.parent):
            each.mkdir(parents=True)
        self.library("")
        self.script.write_text(SCRIPT)
        self.environment = {"PATH": os.environ["PATH"], "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8", "A": "1"}
        self.replaced = forking()

    def library(self, source: str) -> None:
        (self.code / LIBRARY / "__init__.py").write_text(source)

    def start(self, popen=None, **environment: str):
        return (popen or self.replaced.Popen)(
            [sys.executable, str(self.script)],
            cwd=str(self.code),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**self.environment, **environment},
        )


def answer_of(process) -> dict[str, object]:
    return json.loads(process.stdout.readline())


def ended(process) -> int:
    process.stdin.close()
    return process.wait(60)


def is_forked(process) -> bool:
    forked = answer_of(process)["library"] is not None
    ended(process)
    return forked


def test_a_forked_process_finds_what_a_new_interpreter_finds(site):
    forked, new = site.start(B="2"), site.start(subprocess.Popen, B="2")
    own, usual = answer_of(forked), answer_of(new)
    same = ("argv", "cwd", "env", "main", "path", "name", "threads", "fds", "group")
    same += ("streams", "signals", "blocked", "umask", "limits", "flags", "locale")

    assert {name: own[name] for name in same} == {name: usual[name] for name in same}
    assert (own["library"], usual["library"]) == (str(site.code / LIBRARY / "__init__.py"), None)
    assert own["pid"] == forked.pid
    assert own["others"] == []  # this function has no more libraries
    assert [ended(each) for each in (forked, new)] == [0, 0]
    assert forked.stderr.read() == new.stderr.read() == "an error\n"


def test_two_processes_share_no_chance_and_no_variable(site):
    one, other = site.start(B="2"), site.start(C="3")
    first, second = answer_of(one), answer_of(other)

    assert not set(first["chance"]) & set(second["chance"])
    assert second["env"] == {**site.environment, "C": "3"}
    assert {ended(one), ended(other)} == {0}


def test_a_process_answers_ends_and_is_ended_as_a_child_does(site):
    talking, exiting, killed = (site.start() for _ in range(3))

    for each in (talking, exiting, killed):
        answer_of(each)
    talking.stdin.write("hello\n")
    exiting.stdin.write("exit 3\n")
    killed.terminate()

    assert talking.stdout.readline() == "hello\n"
    assert talking.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        talking.wait(0)
    talking.kill()
    assert [each.wait(60) for each in (talking, exiting, killed)] == [-signal.SIGKILL, 3, -signal.SIGTERM]
    killed.terminate()  # an ended one ignores it


def test_a_function_with_another_value_of_what_a_library_read_gets_a_new_interpreter(site):
    site.library("import os\nos.environ.get('READ')\n'ASKED' in os.environ\n")

    assert is_forked(site.start(OTHER="1"))
    assert is_forked(site.start(OTHER="2"))
    assert not is_forked(site.start(READ="1"))
    assert not is_forked(site.start(ASKED="1"))
    assert not is_forked(site.start(PYTHONSAFEPATH="1"))


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos._exit(1)\n",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n",
        "import time\ntime.sleep(99)\n",
    ],
)
def test_a_fork_server_that_forks_nothing_is_ended_and_leaves_no_zombie(site, source, monkeypatch):
    monkeypatch.setattr("fanin.local.function_processes.forking.START_SECONDS", 3.0)
    site.library(source)

    assert not is_forked(site.start())
    (server,) = site.replaced.Popen.__self__._servers.values()
    assert server._process.returncode is not None


def test_a_process_that_is_dropped_while_it_ends_is_waited_for_at_the_next_start(site):
    process = site.start()
    pid = answer_of(process)["pid"]
    process.kill()
    while state(pid) != "Z":
        time.sleep(0.001)
    process.poll = lambda: None  # as if it were slower to end than the emulator waits
    del process

    ended(site.start())

    assert not Path(f"/proc/{pid}").exists()


def test_a_killed_fork_server_is_replaced(site):
    assert is_forked(site.start())
    (server,) = site.replaced.Popen.__self__._servers.values()
    server._process.kill()
    server._process.wait()

    assert is_forked(site.start())
    assert server._process.poll() is not None


def test_the_processes_of_a_fork_server_outlive_it_and_it_ends_with_its_parent(site):
    process = site.start()
    answer_of(process)
    (server,) = site.replaced.Popen.__self__._servers.values()
    server._requests.close()

    assert server._process.wait(60) == 0
    process.stdin.write("still here\n")
    assert process.stdout.readline() == "still here\n"
    assert ended(process) == 0


def test_where_forking_is_switched_off_or_unsafe_the_module_stays(monkeypatch):
    def refused() -> None:
        raise OSError("prctl")

    monkeypatch.setenv("FANIN_LOCAL_FORK", "off")
    assert forking() is subprocess
    monkeypatch.delenv("FANIN_LOCAL_FORK")
    monkeypatch.setattr("fanin.local.function_processes.forking.adopt_orphans", refused)
    assert forking() is subprocess
    monkeypatch.setattr(sys, "platform", "darwin")
    assert forking() is subprocess


LOADS = """
import json, os, socket, sys
from importlib.util import spec_from_file_location, module_from_spec
spec = spec_from_file_location("server", sys.argv[1])
server = module_from_spec(spec)
spec.loader.exec_module(server)
opened = []
socket.socket.connect = lambda *_: opened.append(1)
read = server.loaded(server.LIBRARIES)
found = {
    "missing": [name for name in server.LIBRARIES if name not in sys.modules], "read": sorted(read),
    "threads": len(os.listdir("/proc/self/task")), "opened": opened,
}
from fanin.aws import forking
if os.fork() == 0:
    server._forget_the_fork()
    import boto3
    print(json.dumps({
        **found, "session": boto3.DEFAULT_SESSION is not None, "forked": forking.is_forked(),
        "made": [str(each) for each in forking._ALL if each.is_created or each.inherited],
    }))
    sys.exit()
os.wait()
"""


def test_the_libraries_start_no_thread_open_no_connection_and_read_no_variable_of_a_function():
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'shared'}"}
    command = [sys.executable, "-c", LOADS, fork_server.__file__]
    found = json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    assert found["missing"] == []
    assert (found["threads"], found["opened"], found["session"]) == (1, [], False)
    # Else the clients of the function would be those of a forked child.
    assert (found["forked"], found["made"]) == (False, [])
    assert not [name for name in found["read"] if name.startswith(("FANIN_", "AWS_LAMBDA_FUNCTION"))]


def test_the_exit_closes_no_descriptor_of_the_function(site, tmp_path):
    site.script.write_text(
        f"files = [open({str(tmp_path)!r} + f'/out{{each}}', 'w') for each in range(100)]\n"
        "for each in files:\n    each.write('kept')\n"
    )
    process = site.start()

    assert isinstance(process, Forked)
    assert ended(process) == 0
    assert [(tmp_path / f"out{each}").read_text() for each in range(100)] == ["kept"] * 100


def test_layers_come_before_the_code_and_the_last_one_first(tmp_path):
    for name in ("code", "one/python", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "one")

    found = search_path(
        str(tmp_path / "code"), os.pathsep.join(str(tmp_path / each) for each in ("link", "other"))
    )

    assert [str(Path(each).relative_to(tmp_path)) for each in found] == ["other", "one", "one/python", "code"]
