"""Requests over HTTP: signed by the caller, and repeated after a pause; answers are read by their types."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.session import Session
from hypothesis import given
from hypothesis import strategies as st

from fanin import InvalidRequest
from fanin.client.http_bodies.codec import value_of
from fanin.client.transports.http import HttpTransport
from fanin.client.transports.retrying import is_worth_it, pause_seconds, retry_after_seconds
from fanin.client.transports.signing import Signer, region_in
from fanin.tracker import Mode

HOST = "a1b2c3.execute-api.eu-central-1.amazonaws.com"
URL = f"https://{HOST}/v1/acks"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "example", "AWS_SESSION_TOKEN": "token"}


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch, tmp_path):
    """A process without credentials, a region, or a way to find them."""
    for name in (*KEYS, "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))


@pytest.fixture
def credentials(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def signature(headers):
    return re.search("Signature=([0-9a-f]{64})", headers["Authorization"])[1]


@pytest.mark.parametrize(
    ("host", "region"),
    [
        (HOST, "eu-central-1"),
        ("a1b2c3-vpce-0f.execute-api.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("a1b2c3.execute-api.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("api.example.com", None),
        (f"{HOST}.example.com", None),
        ("execute-api.eu-central-1.amazonaws.com", None),
    ],
)
def test_the_region_stands_in_the_apis_own_host_name(host, region):
    assert region_in(host) == region


def test_a_signature_covers_method_url_body_and_key(credentials):
    headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
    signed = Signer(HOST, None)("POST", URL, b"{}", headers)
    again = AWSRequest("POST", URL, headers=headers, data=b"{}")
    again.context["timestamp"] = signed["X-Amz-Date"]
    again.headers["X-Amz-Date"] = signed["X-Amz-Date"]
    again.headers["X-Amz-Security-Token"] = "token"
    signer = SigV4Auth(Credentials("AKIDEXAMPLE", "example", "token"), "execute-api", "eu-central-1")
    expected = signer.signature(signer.string_to_sign(again, signer.canonical_request(again)), again)

    assert signature(signed) == expected
    assert "/eu-central-1/execute-api/aws4_request" in signed["Authorization"]
    assert "content-type;host;idempotency-key;x-amz-date" in signed["Authorization"]
    assert signed["X-Amz-Security-Token"] == "token"
    assert signed["Idempotency-Key"] == "k"


def test_without_credentials_a_request_goes_as_it_is():
    headers = {"Accept": "x"}

    assert Signer("api.example.com", None)("GET", URL, None, headers) == headers


def test_a_host_of_ones_own_takes_the_region_given_or_that_of_the_process(credentials, monkeypatch):
    with pytest.raises(InvalidRequest, match="region"):
        Signer("api.example.com", None)("GET", URL, None, {})
    given = Signer("api.example.com", "eu-west-1")("GET", URL, None, {})
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-2")
    own = Signer("api.example.com", None, Session())("GET", URL, None, {})

    assert "/eu-west-1/" in given["Authorization"]
    assert "/eu-west-1/" in Signer(HOST, "eu-west-1")("GET", URL, None, {})["Authorization"]
    assert "/eu-west-2/" in own["Authorization"]


@pytest.mark.parametrize(
    ("url", "signs"),
    [
        ("http://127.0.0.1:1", False),
        ("http://127.9.9.9", False),
        ("http://[::1]:1", False),
        ("http://localhost:1", False),
        ("http://fanin.localhost", False),
        (f"https://{HOST}", True),
        ("https://localhost.example.com", True),
        ("https://127.0.0.1.example.com", True),
        ("https://10.0.0.1", True),
    ],
)
def test_whatever_is_not_on_this_machine_is_signed(url, signs):
    assert (HttpTransport(url)._sign is not None) == signs


NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0.0),
        ("0", 0.0),
        (" 7 ", 7.0),
        ("-7", 0.0),
        ("1.5", 0.0),
        ("²", 0.0),
        ("soon", 0.0),
        (format_datetime(datetime.fromtimestamp(NOW + 9, UTC), usegmt=True), 9.0),
        (format_datetime(datetime.fromtimestamp(NOW - 9, UTC), usegmt=True), 0.0),
        (datetime.fromtimestamp(NOW + 9, UTC).strftime("%a, %d %b %Y %H:%M:%S"), 9.0),
        ("Mon, 99 Xxx 2026 99:00:00 GMT", 0.0),
        ("9" * 400, float("inf")),
        ("inf", 0.0),
        ("NaN", 0.0),
        ("-inf", 0.0),
        ("1e400", 0.0),
        ("Mon, 01 Jan 2026 00:00:00 +99999999999999999999", 0.0),
        ("Mon, 01 Jan 99999999999999 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0.0),
    ],
)
def test_retry_after_comes_in_seconds_or_as_a_date(header, seconds):
    assert retry_after_seconds(header, NOW) == seconds


DATES = st.from_regex(
    r"(Mon, )?\d{1,3} (Jan|Feb|X) \d{1,25} \d{1,4}:\d{1,4}(:\d{1,20})? ([+-]\d{1,30}|GMT|)", fullmatch=True
)


@given(st.one_of(st.text(), DATES, st.integers().map(str), st.floats().map(str)))
def test_no_header_is_an_error_and_none_asks_for_less_than_nothing(header):
    asked = retry_after_seconds(header, NOW)

    assert asked >= 0
    assert pause_seconds(0, asked, 0.5) >= 0 or not is_worth_it(503, asked)


@dataclass(frozen=True)
class Inner:
    at: datetime


@dataclass(frozen=True)
class Outer:
    batch_id: str
    mode: Mode
    stuck_after: timedelta | None
    parts: tuple[Inner, ...]
    count: int = 3


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DOCUMENT = {"batchId": "b", "mode": "exact", "stuckAfterSeconds": 90, "parts": [{"at": NOON.isoformat()}]}
VALUE = Outer("b", Mode.EXACT, timedelta(seconds=90), (Inner(NOON),))


def test_a_field_is_read_by_its_type():
    assert value_of(Outer, DOCUMENT | {"new": 1}) == VALUE
    assert value_of(Outer, DOCUMENT | {"count": 0}) == Outer(
        "b", Mode.EXACT, timedelta(seconds=90), (Inner(NOON),), 0
    )


@pytest.mark.parametrize(
    "wrong", [{"batchId": None}, {"mode": "rough"}, {"parts": [{}]}, {"parts": 5}, {"parts": [{"at": "x"}]}]
)
def test_a_malformed_object_is_refused(wrong):
    with pytest.raises((KeyError, ValueError, TypeError)):
        value_of(Outer, DOCUMENT | wrong)
