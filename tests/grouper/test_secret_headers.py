"""What a secret of headers may hold, and from which length on a value is hidden."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import NoCredentialsError

from fanin.grouper import Answer, Outcome, Verdict
from fanin.grouper.calls.http import HttpDownstream
from fanin.grouper.calls.secrets import SecretUnreadable, headers_of, without_secrets
from tests.grouper.test_credentials import CALL, headers_from


def test_a_function_without_credentials_of_its_own_calls_later():
    secret = headers_from(NoCredentialsError())
    answer = HttpDownstream("http://127.0.0.1:1/", secret=secret).call(CALL)

    reason = "the secret of the headers cannot be read: NoCredentialsError"
    assert answer == Answer(Outcome(Verdict.RETRY, reason))


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, json.dumps({"X": "a", "Y": 1}), json.dumps({"Y z": "b", "X": "a"})],
    ids=["deep", "value", "name"],
)
def test_a_secret_with_anything_but_headers_is_refused(text):
    with pytest.raises(SecretUnreadable, match="must be a JSON object of header names"):
        headers_of({"SecretString": text})


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("1234567", "of 1234567"),
        ("12345678", "of ***"),
        ("Basic 1234567", "of 1234567"),
        ("Basic 12345678", "of ***"),
    ],
)
def test_a_value_of_eight_characters_is_hidden(value, shown):
    assert without_secrets(f"of {value.split()[-1]}", {"Authorization": value}) == shown
