"""What belongs to one process, and what a forked child finds of it."""

from __future__ import annotations

import os
import threading

import boto3
import pytest

from fanin.aws import clients
from fanin.aws.forking import PerProcess, cache_per_process
from tests.forks import forked, status_of


def test_it_is_made_once_a_process_however_many_threads_ask():
    created = []
    own = PerProcess(lambda: created.append(os.getpid()) or object())
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(own())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(created) == 1
    assert len(set(seen)) == 1


def test_a_child_makes_its_own_though_a_thread_of_its_parent_was_making_it():
    begun, go_on = threading.Event(), threading.Event()

    def make():
        begun.set()
        go_on.wait(60)
        return os.getpid()

    own = PerProcess(make)
    thread = threading.Thread(target=own)
    thread.start()
    begun.wait(60)

    def work():
        go_on.set()
        assert own() == os.getpid()

    child = forked(work)
    go_on.set()
    thread.join()

    assert status_of(child) == 0
    assert own() == os.getpid()


def test_a_cache_is_empty_in_a_child():
    pid = cache_per_process(lambda number: (number, os.getpid()))
    assert pid(1) is pid(1)

    def work():
        assert pid(1) == (1, os.getpid())

    assert status_of(forked(work)) == 0


@pytest.fixture
def default_session(monkeypatch):
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", boto3.Session("key", "secret", "token", "eu-west-3"))
    clients.sqs.cache_clear()
    yield
    clients.sqs.cache_clear()


def test_a_child_calls_aws_as_the_default_session_was_set_up(default_session):
    held = clients.sqs()
    assert held.meta.region_name == "eu-west-3"
    parents = held._own()

    def work():
        credentials = held._own()._request_signer._credentials
        assert held._own() is not parents
        assert credentials is not parents._request_signer._credentials
        assert held.meta.region_name == "eu-west-3"
        assert (credentials.access_key, credentials.token) == ("key", "token")

    assert status_of(forked(work)) == 0
