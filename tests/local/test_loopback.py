"""No web page reaches the local run: neither by a rebound name, nor by a request from another site."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from fanin.local import LocalRun, run_directories
from fanin.local.emulator_process.gateway import FOREIGN, MISDIRECTED, is_loopback, refusal
from tests.local import processes

WAIT_SECONDS = 30
LOOPBACK = [
    *("localhost", "LOCALHOST", "localhost.", "api.localhost", "a.b.localhost", "127.0.0.1", "127.9.8.7"),
    "[::1]",
]
OTHERS = [
    "",
    "evil.example",
    "localhost.evil.example",
    "evil-localhost",
    "notlocalhost",
    "127.0.0.1.evil.example",
    "127.1",
    "127.0.0.256",
    "2130706433",
    "0.0.0.0",  # noqa: S104 - refused
    "10.0.0.1",
    "[::]",
    "[::ffff:127.0.0.1]",
    "::1",
    "localhost@evil.example",
    "localhost/evil.example",
    "localhost evil.example",
    "localhost:80:evil.example",
    "localhost:http",
    "localhost\nevil.example",
]
KEY = "dGhlIHNhbXBsZSBub25jZQ=="


@pytest.mark.parametrize("port", ["", ":80", ":8787", ":"])
@pytest.mark.parametrize("name", LOOPBACK)
def test_loopback_names_are_let_in_with_any_port(name, port):
    assert is_loopback(name + port)


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_name_is_refused(name):
    assert not is_loopback(name)


def asked(*headers: tuple[str, str]) -> Any:
    return refusal([(name.encode(), value.encode()) for name, value in headers])


def test_a_request_has_exactly_one_host():
    assert asked() == MISDIRECTED
    assert asked(("host", "localhost"), ("host", "evil.example")) == MISDIRECTED
    assert asked(("host", "localhost")) is None


@pytest.mark.parametrize(
    "origin", ["http://localhost:3000", "http://127.0.0.1:8787", "https://app.localhost", "http://[::1]:80"]
)
def test_a_page_on_loopback_may_ask(origin):
    # To a browser, localhost and 127.0.0.1 are two sites.
    assert asked(("host", "localhost"), ("origin", origin), ("sec-fetch-site", "cross-site")) is None


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "https://localhost.evil.example", "null", "", "file://localhost", "localhost"],
)
def test_a_page_of_another_site_may_not(origin):
    assert asked(("host", "localhost"), ("origin", origin)) == FOREIGN


@pytest.mark.parametrize("site", ["none", "same-origin", "same-site"])
def test_an_address_typed_into_a_browser_is_let_in_and_a_link_elsewhere_is_not(site):
    assert asked(("host", "localhost"), ("sec-fetch-site", site)) is None
    assert asked(("host", "localhost"), ("sec-fetch-site", "cross-site")) == FOREIGN


def answer_of(port: int, *lines: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer on *port* to a request of exactly these lines."""
    with socket.create_connection(("127.0.0.1", port), WAIT_SECONDS) as line:
        line.settimeout(WAIT_SECONDS)
        first, *others = lines if "" in lines else (*lines, "", "")
        line.sendall("\r\n".join([first, "Connection: close", *others]).encode())
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *headers = head.decode().split("\r\n")
    named = (header.split(": ", 1) for header in headers)
    return int(status.split()[1]), {name.lower(): value for name, value in named}, body


def ports(run: LocalRun) -> dict[str, int]:
    return {"api": run.port, "aws": int(run.endpoint.rsplit(":", 1)[1])}


@pytest.fixture(params=["api", "aws"])
def port(run, request) -> int:
    """The API's port, then the emulator's."""
    return ports(run)[request.param]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", ""])
def test_both_ports_refuse_a_host_that_is_not_loopback(port, host):
    status, headers, body = answer_of(port, "GET /v1/batches HTTP/1.1", f"Host: {host.format(port=port)}")
    problem = json.loads(body)

    assert (status, headers["content-type"]) == (421, "application/problem+json")
    assert (problem["type"], problem["status"]) == ("urn:fanin:problem:misdirected-request", 421)


@pytest.mark.parametrize(
    "host", ["localhost:{port}", "api.localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}"]
)
def test_both_ports_answer_loopback_names(run, host):
    for port, path in zip(ports(run).values(), ["/v1/batches", "/_ministack/health"], strict=True):
        assert answer_of(port, f"GET {path} HTTP/1.1", f"Host: {host.format(port=port)}")[0] == 200


def test_a_bucket_that_is_named_by_the_host_is_answered(run):
    # An S3 client whose endpoint is a name asks so; with an address it names buckets in paths.
    s3, bucket, port = run.client("s3"), f"by-host-{uuid4().hex}", ports(run)["aws"]
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="one", Body=b"held")

    status, _, body = answer_of(port, "GET /one HTTP/1.1", f"Host: {bucket}.s3.localhost:{port}")

    assert (status, body) == (200, b"held")


def test_both_ports_refuse_a_page_of_another_site_and_its_preflight(port):
    for method in ("GET", "OPTIONS"):
        status, headers, _ = answer_of(
            port,
            f"{method} /v1/batches HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            "Origin: http://evil.example",
            "Access-Control-Request-Method: POST",
        )

        assert status == 403
        assert not any(name.startswith("access-control-") for name in headers)


@pytest.mark.parametrize(
    ("host", "origin", "problem"),
    [
        ("evil.example", "http://evil.example", "misdirected-request"),
        ("127.0.0.1", "http://evil.example", "foreign-origin"),
    ],
)
def test_a_websocket_of_a_page_is_refused_before_it_opens(port, host, origin, problem):
    lines = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {KEY}")

    with socket.create_connection(("127.0.0.1", port), WAIT_SECONDS) as line:
        line.settimeout(WAIT_SECONDS)
        asked = ["GET /mqtt HTTP/1.1", f"Host: {host}", f"Origin: {origin}", "Connection: Upgrade", *lines]
        line.sendall("\r\n".join([*asked, "", ""]).encode())
        answer = b"".join(iter(lambda: line.recv(65536), b""))

    assert answer.split()[1] in {b"403", b"421"}
    assert f"urn:fanin:problem:{problem}".encode() in answer


def listening(pids: list[int]) -> set[tuple[str, int]]:
    """Address, in hexadecimal as the kernel writes it, and port of each TCP socket on which *pids* listen."""
    held = {link for pid in pids for link in _links(Path(f"/proc/{pid}/fd"))}
    found = set()
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *others = row.split()
            if state == "0A" and f"socket:[{others[5]}]" in held:
                address, port = local.split(":")
                found.add((address, int(port, 16)))
    return found


def _links(folder: Path) -> list[str]:
    found = []
    with suppress(OSError):  # the process has ended
        for link in folder.iterdir():
            with suppress(OSError):  # this file was closed meanwhile; the others are still open
                found.append(str(link.readlink()))
    return found


def test_nothing_of_a_run_listens_but_the_two_ports_that_are_checked(run):
    answer_of(run.port, "GET /v1/batches HTTP/1.1", "Host: localhost")  # a worker is there, too
    of_the_run = processes.naming(run_directories.directory_of(run.port).path)

    assert listening(of_the_run) == {("0100007F", port) for port in ports(run).values()}
