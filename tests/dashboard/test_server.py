"""The dashboard's server: one browser, its own host, reads, and no credential in an answer or a log."""

from __future__ import annotations

import http.client
import io
import json
import logging
import socket
import threading
from contextlib import redirect_stderr, redirect_stdout

import pytest
from botocore.credentials import Credentials
from botocore.session import Session

from fanin.dashboard import Upstream, upstream_of
from fanin.dashboard.server import CONNECTIONS
from fanin.dashboard.upstream import ANSWER_MAX
from fanin.errors import InvalidRequest

SECRET, SESSION_TOKEN, BEARER = "wJalrXUtnFEMI", "FwoGZXIvYXdzEJr", "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmVk"
BATCH = "00000000-0000-0000-0000-000000000000"
SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Browser:
    """Sends requests as a browser does; *cookie* is what it keeps."""

    def __init__(self, dashboard):
        self.port = dashboard.door.port
        self.token = dashboard.address.partition("=")[2]
        self.cookie = None

    def ask(self, path, method="GET", body=None, **headers):
        sent = {"Host": f"127.0.0.1:{self.port}", **({"Cookie": self.cookie} if self.cookie else {})}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path, body=body, headers=sent)
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
        return answer

    def open(self):
        answer = self.ask(f"/?t={self.token}")
        self.cookie = (answer.headers["Set-Cookie"] or "").partition(";")[0] or self.cookie
        return answer

    def write(self, path, body="{}", **headers):
        own = {"Origin": f"http://127.0.0.1:{self.port}", "X_Fanin_Dashboard": "1"}
        return self.ask(path, "POST", body, **own | headers)


@pytest.fixture
def browser(dashboard):
    browser = Browser(dashboard)
    browser.open()
    return browser


@pytest.fixture
def writer(starts):
    browser = Browser(starts(allow_writes=True))
    browser.open()
    return browser


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


def test_localhost_is_its_own_host(browser):
    assert browser.ask("/facts", Host=f"localhost:{browser.port}").status == 200


def test_a_foreign_host_does_not_use_up_the_token(dashboard):
    browser = Browser(dashboard)
    browser.ask(f"/?t={browser.token}", Host="evil.example")

    assert browser.open().status == 303


PATHS = ["/", "/app.js", "/style.css", "/facts", "/v1/batches", "/events", "/nothing"]


@pytest.mark.parametrize(
    "cookie", [None, "fanin={token}", "fanin-{port}={token}", "fanin-{port}=", "fanin-1=x; ]"]
)
def test_nothing_is_served_without_the_cookie(dashboard, api, cookie):
    browser = Browser(dashboard)
    browser.cookie = cookie and cookie.format(token=browser.token, port=browser.port)

    assert [browser.ask(path).status for path in PATHS] == [401] * len(PATHS)
    assert api.log == []


def test_the_token_opens_once_and_becomes_a_cookie_of_the_port(dashboard):
    browser, other = Browser(dashboard), Browser(dashboard)
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
        threading.Thread(target=lambda: seen.append(Browser(dashboard).open().status)) for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(seen) == [303] + [401] * 11


def test_a_wrong_token_opens_nothing(dashboard):
    browser = Browser(dashboard)

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
    assert "innerHTML" not in "".join(browser.ask(path).text for path in ("/app.js", "/dom.js", "/batch.js"))


def test_the_apis_answers_and_problems_are_passed_on(browser, fanin, api):
    with fanin.open(user_key="a b+c") as batch:
        batch.add(3)
    found = browser.ask("/v1/batches?userKey=a%20b%2Bc&limit=5")
    missing = browser.ask(f"/v1/batches/{BATCH}")
    bad = browser.ask("/v1/batches?limit=0")

    assert [each["batchId"] for each in json.loads(found.text)["batches"]] == [batch.id]
    assert (missing.status, json.loads(missing.text)["type"]) == (404, "urn:fanin:problem:not-found")
    assert (bad.status, bad.headers["Content-Type"]) == (400, "application/problem+json")


# --- pages of other origins -----------------------------------------------------------------------


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_site_or_port_reads_nothing(browser, api, site):
    assert browser.ask("/v1/batches", Sec_Fetch_Site=site).status == 403
    assert browser.ask("/v1/batches", Origin="http://127.0.0.1:9").status == 403
    assert api.log == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9"},
        {"Origin": ""},
        {"X_Fanin_Dashboard": ""},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_a_write_of_another_page_is_refused(writer, api, headers):
    assert writer.write(f"/v1/batches/{BATCH}/cancel", **headers).status == 403
    assert api.log == []


def test_a_write_without_origin_is_refused(writer, api):
    assert writer.ask(f"/v1/batches/{BATCH}/cancel", "POST", "{}", X_Fanin_Dashboard="1").status == 403
    assert api.log == []


def test_a_write_without_the_cookie_is_refused(writer, api):
    writer.cookie = None

    assert writer.write(f"/v1/batches/{BATCH}/cancel").status == 401
    assert api.log == []


def test_writes_are_close_cancel_and_notify_alone(writer, fanin, api):
    batch = fanin.open()
    paths = [
        "/v1/batches",
        f"/v1/batches/{batch.id}/items",
        f"/v1/batches/{batch.id}/end",
        "/v1/acks",
        "/facts",
    ]

    assert [writer.write(path).status for path in paths] == [404] * 5
    assert writer.write(f"/v1/batches/{batch.id}/cancel", '{"reason": "a test"}').status == 200
    assert fanin.get(batch.id).state == "CANCELLED"
    assert writer.write(f"/v1/batches/{batch.id}/notify", "").status == 202


def test_a_write_has_the_pages_idempotency_key(writer, fanin, api):
    batch = fanin.open()
    writer.write(f"/v1/batches/{batch.id}/cancel", Idempotency_Key="once", Cookie=writer.cookie, X_Other="1")

    ((_, _, headers),) = api.log
    assert headers["idempotency-key"] == "once"
    assert not {"cookie", "x-other", "origin", "x-fanin-dashboard"} & headers.keys()


# --- bounds ---------------------------------------------------------------------------------------


def test_a_large_body_is_refused(writer, api):
    assert writer.write(f"/v1/batches/{BATCH}/cancel", "x" * 5000).status == 413
    assert writer.write(f"/v1/batches/{BATCH}/cancel", "", Content_Length="9" * 30).status == 411
    assert api.log == []


def test_a_body_without_length_is_refused(writer):
    assert (
        writer.write(f"/v1/batches/{BATCH}/cancel", iter([b"x"]), Transfer_Encoding="chunked").status == 411
    )


def test_connections_that_send_nothing_leave_room_for_a_browser(dashboard, monkeypatch):
    browser = Browser(dashboard)
    browser.open()
    idle = [socket.create_connection(("127.0.0.1", browser.port)) for _ in range(CONNECTIONS - 4)]

    assert browser.ask("/facts").status == 200
    for each in idle:
        each.close()


def test_a_connection_that_sends_nothing_is_closed(dashboard, monkeypatch):
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


# --- the API is away, or refuses ------------------------------------------------------------------


def test_an_api_that_is_down_is_a_502(starts):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        browser = Browser(starts(upstream=Upstream(f"http://127.0.0.1:{free.getsockname()[1]}")))
        browser.open()
        answer = browser.ask("/v1/batches")

    assert (answer.status, answer.headers["Content-Type"]) == (502, "application/problem+json")
    assert json.loads(answer.text)["type"] == "urn:fanin:dashboard:no-answer"


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (403, {"message": f"Forbidden, x-amz-security-token:{SESSION_TOKEN}"}, (403, "forbidden")),
        (401, {"message": "Unauthorized"}, (401, "credentials")),
        (404, {"message": "Not Found"}, (404, "no-route")),
        (429, {"message": "Too Many Requests"}, (429, "throttled")),
        (500, {"message": "Internal Server Error"}, (502, "no-answer")),
        (302, {"message": "elsewhere"}, (502, "no-answer")),
    ],
)
def test_an_answer_of_the_gateway_is_replaced(browser, api, status, body, expected):
    api.instead["/v1/batches"] = (status, body)
    answer = browser.ask("/v1/batches")

    assert (answer.status, json.loads(answer.text)["type"].rpartition(":")[2]) == expected
    assert SESSION_TOKEN not in answer.text


def test_an_answer_without_end_is_a_502(browser, api):
    api.instead["/v1/batches"] = (200, {"message": "x" * (ANSWER_MAX + 1)})

    assert browser.ask("/v1/batches").status == 502


# --- credentials ----------------------------------------------------------------------------------


class Keys(Session):
    """A session with credentials of a test."""

    def get_credentials(self):
        return Credentials("AKIAEXAMPLE", SECRET, SESSION_TOKEN)


def everything(browser):
    """All that a browser can get, and all that is printed and logged meanwhile."""
    printed, logged = io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(logged)
    root = logging.getLogger("fanin")
    level = root.level
    root.addHandler(handler), root.setLevel(logging.DEBUG)
    try:
        with redirect_stderr(printed), redirect_stdout(printed):
            answers = [browser.open()]
            answers += [
                browser.ask(path) for path in ("/", "/app.js", "/facts", "/v1/batches", "/v1/queues", "/x")
            ]
    finally:
        root.removeHandler(handler), root.setLevel(level)
    return "".join(f"{each.headers}{each.text}" for each in answers) + printed.getvalue() + logged.getvalue()


@pytest.mark.parametrize("status", [200, 403, 500])
def test_no_credential_is_in_an_answer_or_a_log(starts, api, status):
    api.instead["/v1/(batches|queues)"] = (status, {"message": "no"})
    signed = Upstream(api.url, upstream_of("https://api.example", region="eu-west-1", session=Keys())._sign)
    browser = Browser(starts(upstream=signed))
    seen = everything(browser)

    assert all("AWS4-HMAC-SHA256" in headers["authorization"] for _, _, headers in api.log)
    assert api.log[0][2]["x-amz-security-token"] == SESSION_TOKEN
    for secret in (SECRET, SESSION_TOKEN, "AKIAEXAMPLE", "AWS4-HMAC", browser.token):
        assert secret not in seen


def test_a_bearer_token_is_sent_and_not_shown(starts, api):
    api.instead["/v1/(batches|queues)"] = (403, {"message": "no"})
    seen = everything(Browser(starts(upstream=upstream_of(api.url, token=BEARER))))

    assert {headers["authorization"] for _, _, headers in api.log} == {f"Bearer {BEARER}"}
    assert BEARER not in seen


def test_credentials_that_cannot_be_had_are_a_502_without_their_reason(starts):
    def sign(*_):
        from botocore.exceptions import CredentialRetrievalError

        raise CredentialRetrievalError(provider="process", error_msg=SECRET)

    browser = Browser(starts(upstream=Upstream("https://api.example", sign)))
    browser.open()
    answer = browser.ask("/v1/batches")

    assert (answer.status, json.loads(answer.text)["type"]) == (502, "urn:fanin:dashboard:no-credentials")
    assert SECRET not in answer.text


@pytest.mark.parametrize("token", ["", "a b", "a\nb", "a\r\nX-Other: 1"])
def test_a_token_with_other_characters_is_refused_and_not_repeated(token):
    with pytest.raises(InvalidRequest) as refused:
        upstream_of("https://api.example", token=token)

    assert not token or token not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "api.example",
        "ftp://api.example",
        "https://user:pass@api.example",
        "https://api.example/?x=1",
        "https://a b",
    ],
)
def test_a_malformed_url_is_refused(url):
    with pytest.raises(InvalidRequest):
        upstream_of(url)


def test_it_listens_on_loopback_alone(dashboard):
    assert dashboard.server_address[0] == "127.0.0.1"
