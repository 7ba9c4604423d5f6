"""The API behind the dashboard: it is away or refuses, and no credential is in an answer or a log."""

from __future__ import annotations

import io
import json
import logging
import socket
from contextlib import redirect_stderr, redirect_stdout

import pytest
from botocore.credentials import Credentials
from botocore.session import Session

from fanin.cli.arguments.where import Site
from fanin.cli.terminal.exits import UsageError
from fanin.client.transports.signing import Signer
from fanin.dashboard import Upstream, upstream_of
from fanin.dashboard.upstream import ANSWER_MAX
from fanin.errors import InvalidRequest
from tests.dashboard.asking import Browser

SECRET, SESSION_TOKEN, BEARER = "wJalrXUtnFEMI", "FwoGZXIvYXdzEJr", "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmVk"


def test_an_api_that_is_down_is_a_502(starts):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        upstream = Upstream(f"http://127.0.0.1:{free.getsockname()[1]}")
        browser = Browser(starts(upstream=upstream).address)
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
    signed = Upstream(api.url, Signer("api.example", "eu-west-1", Keys()))
    browser = Browser(starts(upstream=signed).address)
    seen = everything(browser)

    assert all("AWS4-HMAC-SHA256" in headers["authorization"] for _, _, headers in api.log)
    assert api.log[0][2]["x-amz-security-token"] == SESSION_TOKEN
    for secret in (SECRET, SESSION_TOKEN, "AKIAEXAMPLE", "AWS4-HMAC", browser.token):
        assert secret not in seen


def test_a_bearer_token_is_sent_and_not_shown(starts, api, environment):
    environment.setenv("FANIN_TOKEN", BEARER)
    api.instead["/v1/(batches|queues)"] = (403, {"message": "no"})
    upstream = upstream_of(api.url, Site(api.url, "--url").bearer())
    seen = everything(Browser(starts(upstream=upstream).address))

    assert {headers["authorization"] for _, _, headers in api.log} == {f"Bearer {BEARER}"}
    assert BEARER not in seen


def test_credentials_that_cannot_be_had_are_a_502_without_their_reason(starts):
    def sign(*_):
        from botocore.exceptions import CredentialRetrievalError

        raise CredentialRetrievalError(provider="process", error_msg=SECRET)

    browser = Browser(starts(upstream=Upstream("https://api.example", sign)).address)
    browser.open()
    answer = browser.ask("/v1/batches")

    assert (answer.status, json.loads(answer.text)["type"]) == (502, "urn:fanin:dashboard:no-credentials")
    assert SECRET not in answer.text


@pytest.mark.parametrize("token", ["a b", "a\nb", "a\r\nX-Other: 1"])
def test_a_token_with_other_characters_is_refused_and_not_repeated(environment, token):
    environment.setenv("FANIN_TOKEN", token)
    with pytest.raises(UsageError) as refused:
        Site("https://api.example", "--url").bearer()

    assert token not in str(refused.value)


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
