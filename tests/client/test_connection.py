"""How a client connects, and how it finds a batch by the name that its user gave."""

from __future__ import annotations

import pickle
import time

import boto3
import pytest

import fanin as package
from fanin import Conflict, Fanin, InvalidRequest, NotFound
from fanin.client.aio.clients import AsyncFanin
from fanin.testing import FakeFanin

ID = "6f1d9cc3-2f3c-4a1b-9d55-0c7f3d7b1c11"


@pytest.fixture
def fake():
    return FakeFanin()


def test_a_batch_is_found_by_its_user_key_and_by_its_id(fake):
    opened = fake.open("catalog-7")

    assert fake.batch("catalog-7").id == fake.batch(opened.id).id == opened.id
    assert fake.status("catalog-7") == opened.status() == fake.batch("catalog-7").status()


def test_the_newest_of_ended_batches_has_the_key(fake):
    for _ in range(3):
        fake.clock.advance(minutes=1)
        batch = fake.open("nightly")
        batch.cancel()

    assert fake.batch("nightly").id == batch.id


def test_a_key_of_two_live_batches_is_refused_with_both_ids(fake):
    ids = [fake.open("nightly").id for _ in range(2)]

    with pytest.raises(Conflict) as refusal:
        fake.batch("nightly")
    assert all(batch_id in str(refusal.value) for batch_id in ids)


def test_a_name_of_no_batch_is_not_found(fake):
    for call in (fake.batch, fake.status):
        with pytest.raises(NotFound, match="nothing"):
            call("nothing")


def test_a_uuid_is_no_user_key(fake):
    with pytest.raises(InvalidRequest, match="UUID"):
        fake.open(ID)


def test_a_client_names_its_api(monkeypatch):
    monkeypatch.setenv("FANIN_URL", "https://a.example")

    assert repr(Fanin("https://b.example")) == "<Fanin https://b.example>"
    assert repr(Fanin(token="secret")) == "<Fanin https://a.example>"
    assert "secret" not in repr(Fanin("https://b.example", token="secret"))


@pytest.mark.parametrize("token", ["", "a b", "ä", "a\n"])
def test_a_token_that_no_header_has_is_refused(token):
    with pytest.raises(InvalidRequest, match="token"):
        Fanin("https://a.example", token=token)


def test_a_token_is_not_sent_where_others_read_it():
    with pytest.raises(InvalidRequest, match="https"):
        Fanin("http://a.example", token="secret")


@pytest.mark.parametrize(
    "given", [{"timeout": -1}, {"timeout": "1"}, {"attempts": 0}, {"attempts": True}, {"region": 5}], ids=str
)
def test_a_connection_out_of_form_is_refused(given):
    with pytest.raises(InvalidRequest, match=next(iter(given))):
        Fanin("https://a.example", **given)


def test_a_call_sends_the_token_of_the_environment(service, monkeypatch):
    monkeypatch.setenv("FANIN_URL", service.url)
    monkeypatch.setenv("FANIN_TOKEN", "t0ken")
    with pytest.raises(NotFound):
        Fanin(attempts=1).status(ID)

    assert service.seen[-1].headers["authorization"] == "Bearer t0ken"


def test_a_call_ends_after_its_timeout_however_many_attempts_it_has():
    client = Fanin("http://127.0.0.1:9", timeout=0.3, attempts=100)
    started = time.monotonic()
    with pytest.raises(package.StoreUnavailable):
        client.status(ID)

    assert time.monotonic() - started < 20


def test_a_pickled_client_connects_anew():
    client = Fanin("http://127.0.0.1:9", attempts=1)
    copy = pickle.loads(pickle.dumps(client))  # noqa: S301  # our own bytes

    assert repr(copy) == repr(client)


def test_a_client_with_a_session_is_not_pickled_and_says_what_to_do():
    client = Fanin("https://a.example", session=boto3.Session(), region="eu-west-1")
    for each in (client, AsyncFanin(client), client.queue("thumbs")):
        with pytest.raises(InvalidRequest, match=r"Fanin\(url, session=\.\.\.\) where it is used"):
            pickle.dumps(each)


def test_an_exception_is_a_reason(fake):
    with fake.open() as batch:
        items = batch.add(1)
        fake.fail(items, ValueError("no file"))

    assert fake.samples(batch.id)[0].reason == "ValueError: no file"


def test_the_client_for_coroutines_takes_a_url_or_the_environment(monkeypatch):
    monkeypatch.setenv("FANIN_URL", "https://a.example")

    assert "a.example" in repr(AsyncFanin("https://a.example").sync)
    assert isinstance(AsyncFanin().sync, Fanin)


def test_the_package_has_its_version():
    assert package.__version__[0].isdigit()
