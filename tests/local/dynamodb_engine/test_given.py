"""What ``--dynamodb`` takes, and what it refuses."""

from __future__ import annotations

import pytest

from fanin.local import LocalRunError
from fanin.local.dynamodb_engine.dynamodb_option import Address, Folder, parse


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://localhost:8000/", "http://localhost:8000"),
        ("https://engine.example", "https://engine.example:443"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_a_url_is_that_of_an_engine(text, url):
    assert parse(text) == Address(url)


def test_a_folder_has_the_jar(tmp_path):
    (tmp_path / "DynamoDBLocal.jar").touch()

    assert parse(str(tmp_path)) == Folder(tmp_path)


def test_a_folder_without_the_jar_is_refused(tmp_path):
    with pytest.raises(LocalRunError, match=rf"no DynamoDBLocal.jar in {tmp_path}; give the folder"):
        parse(str(tmp_path))


@pytest.mark.parametrize("text", ["nowhere", "localhost:8000", ""])
def test_what_is_neither_folder_nor_url_is_refused_with_what_to_give(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = "no DynamoDBLocal.jar" if not text else "neither a folder nor a URL; .*http://HOST:PORT"

    with pytest.raises(LocalRunError, match=expected):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "ftp://127.0.0.1:8000",
        "http://:8000",
        "http://127.0.0.1:port",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:8000/path",
        "http://127.0.0.1:8000?a=b",
        "http://key:secret@127.0.0.1:8000",
    ],
)
def test_a_url_with_less_or_more_than_an_address_is_refused(text):
    with pytest.raises(LocalRunError, match="is no URL"):
        parse(text)


@pytest.mark.parametrize(
    "host",
    ["dynamodb.us-east-1.amazonaws.com", "dynamodb.eu-west-1.api.aws", "DYNAMODB.us-east-1.AMAZONAWS.com."],
)
def test_aws_is_refused(host):
    with pytest.raises(LocalRunError, match="is AWS, and a local run sends nothing there"):
        parse(f"https://{host}")
