"""The dashboard's server: its own host, one browser, reads of known paths, bounded requests."""

from __future__ import annotations

import socket
import threading

import pytest

from fanin.dashboard.server import CONNECTIONS
from tests.dashboard.asking import BATCH, Browser

SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1",
    "127.0.0.1:1",
    "localhost.evil.example:{port}",
    "",
]


@pytest.mark.parametrize("path", ["/", "/v1/batches", "/app.js", "/?t={token}"])
def test_a_foreign_host_is_misdirected(browser, path):
    asked = path.format(token=browser.token)
    statuses = [browser.ask(asked, Host=host.format(port=browser.port)).status for host in HOSTS]

    assert statuses == [421] * len(HOSTS)


def test_two_hosts_are_misdirected(browser):
    with socket.create_connection(("127.0.0.1", browser.port), timeout=10) as raw:
        own = f"127.0.0.1:{browser.port}"
        raw.sendall(f"GET / HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\n\r\n".encode())

        assert b" 421 " in raw.recv(100)


PATHS = ["/", "/app.js", "/style.css", "/facts", "/v1/batches", "/events", "/nothing"]


@pytest.mark.parametrize(
    "cookie", [None, "fanin={token}", "fanin-{port}={token}", "fanin-{port}=", "fanin-1=x; ]"]
)
def test_nothing_is_served_without_the_cookie(dashboard, api, cookie):
    browser = Browser(dashboard.address)
    browser.cookie = cookie and cookie.format(token=browser.token, port=browser.port)

    assert [browser.ask(path).status for path in PATHS] == [401] * len(PATHS)
    assert api.log == []


@pytest.mark.parametrize(
    "other", ['theme={"a":"b"}', "path=1", "version=2; $Port=1", "a b", 'x="', "\xfc=1", ""]
)
def test_cookies_of_other_ports_do_not_hide_its_own(browser, other):
    """A browser sends the cookies of all ports of 127.0.0.1, in whatever form their programs set them."""
    both = [f"{other}; {browser.cookie}", f"{browser.cookie}; {other}"]

    assert [browser.ask("/facts", Cookie=cookie).status for cookie in both] == [200, 200]


def test_the_token_opens_once_and_becomes_a_cookie_of_the_port(dashboard):
    browser, other = Browser(dashboard.address), Browser(dashboard.address)
    opened = browser.open()

    assert (opened.status, opened.headers["Location"], opened.text) == (303, "/", "")
    assert opened.headers["Set-Cookie"].startswith(f"fanin-{browser.port}=")
    assert opened.headers["Set-Cookie"].endswith("; HttpOnly; SameSite=Strict; Path=/")
    assert browser.token not in opened.headers["Set-Cookie"]
    assert browser.ask("/").status == 200
    assert other.open().status == 401
    assert browser.open().status == 303  # its own history


def test_the_token_opens_once_under_concurrent_requests(dashboard):
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.append(Browser(dashboard.address).open().status))
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(seen) == [303] + [401] * 11


def test_a_wrong_token_opens_nothing(dashboard):
    browser = Browser(dashboard.address)

    assert [browser.ask(f"/?t={each}").status for each in ("", "x", "%C3%A9", browser.token + "x")] == [
        401
    ] * 4
    assert browser.open().status == 303


def test_a_read_only_dashboard_has_no_other_method_than_get(browser, api):
    methods = ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"]
    statuses = [browser.ask(f"/v1/batches/{BATCH}/cancel", method, "{}").status for method in methods]

    assert statuses == [405] * len(methods)
    assert api.log == []


def test_other_paths_are_not_found(browser, api):
    for path in (
        "/nothing",
        "/index.html",
        "/../server.py",
        "/%2e%2e/server.py",
        "//etc/passwd",
        "/v1",
        "/v1/acks",
        f"/v1/batches/{BATCH}/items",
        f"/v1/batches/{BATCH}/map/..",
        "/v1/batches/..",
        "/v1/queues/..",
        "/v1/batches/%2e%2e",
        "/v2/batches",
        f"/v1/batches?userKey={'x' * 5000}",
    ):
        answer = browser.ask(path)

        assert (path, answer.status) == (path, 404)
        assert answer.headers["Content-Type"] == "application/problem+json"
    assert api.log == []


@pytest.mark.parametrize("target", ["http://[x/", "http://evil.example/facts", "/facts#x", "*", "facts"])
def test_what_is_no_path_of_its_own_is_not_found(browser, target):
    """A target with a host is that of a proxy; its host would count in place of the header Host."""
    head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{browser.port}\r\nCookie: {browser.cookie}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", browser.port), timeout=10) as raw:
        raw.sendall(head.encode())

        assert b" 404 " in raw.recv(100)


def test_every_answer_has_the_strict_headers(browser):
    for path in ("/", "/app.js", "/facts", "/nothing", "/v1/batches"):
        answer = browser.ask(path)
        policy = dict(
            part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";")
        )

        assert SECURITY.items() <= dict(answer.headers).items()
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["connect-src"] == policy["style-src"] == "'self'"
        assert policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
        assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize(
    "bytes_", [b"x\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n"]
)
def test_a_malformed_request_has_the_strict_headers(dashboard, bytes_):
    with socket.create_connection(("127.0.0.1", dashboard.door.port), timeout=10) as raw:
        raw.sendall(bytes_)
        answer = raw.makefile("rb").read()

    assert b"urn:fanin:dashboard:malformed" in answer
    assert b"<html" not in answer.lower()


def test_the_page_is_of_its_own_files_alone(browser):
    page = browser.ask("/").text

    assert "http" not in page
    assert "style=" not in page
    assert '<script type="module" src="/app.js"></script>' in page
    assert "innerHTML" not in "".join(
        browser.ask(path).text for path in ("/app.js", "/elements/dom.js", "/views/batch.js")
    )


def test_a_large_body_is_refused(writer, api):
    assert writer.write(f"/v1/batches/{BATCH}/cancel", "x" * 5000).status == 413
    assert writer.write(f"/v1/batches/{BATCH}/cancel", "", Content_Length="9" * 30).status == 411
    assert api.log == []


def test_connections_that_send_nothing_leave_room_for_a_browser(dashboard, monkeypatch):
    browser = Browser(dashboard.address)
    browser.open()
    idle = [socket.create_connection(("127.0.0.1", browser.port)) for _ in range(CONNECTIONS - 4)]

    assert browser.ask("/facts").status == 200
    for each in idle:
        each.close()


def test_a_connection_that_sends_nothing_is_closed(dashboard, monkeypatch):
    assert 1 <= dashboard.RequestHandlerClass.timeout <= 30
    monkeypatch.setattr(dashboard.RequestHandlerClass, "timeout", 0.1)
    with socket.create_connection(("127.0.0.1", dashboard.door.port), timeout=10) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHo")

        assert raw.recv(1) == b""


def test_polls_are_answered_at_the_same_time(browser, api):
    """Each waits until all are there, so none is answered unless they are served side by side."""
    together, seen = threading.Barrier(8, timeout=10), []
    api.instead["/v1/batches"] = (200, lambda _: {"batches": []})
    send = api.answer
    api.answer = lambda *given: (together.wait(), send(*given))[1]
    threads = [
        threading.Thread(target=lambda: seen.append(browser.ask("/v1/batches").status)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == [200] * 8


def test_localhost_is_its_own_host(browser):
    assert browser.ask("/facts", Host=f"localhost:{browser.port}").status == 200
