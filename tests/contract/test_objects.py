"""The contract of the objects of results, in memory and in a bucket."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from fanin.aws import clients
from fanin.errors import InvalidRequest, NotFound, StoreUnavailable
from fanin.item_results.memory import MemoryObjects
from fanin.item_results.s3 import BucketObjects


@pytest.fixture(params=["memory", "s3"])
def objects(request):
    if request.param == "memory":
        yield MemoryObjects(page=2)
        return
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="results")
        yield BucketObjects(client, "results")


def test_an_object_is_read_as_it_was_put(objects):
    objects.put("a/1", b"one")

    assert objects.get("a/1") == b"one"
    assert objects.get("a/2") is None


def test_the_first_put_of_a_name_stays(objects):
    assert objects.put_first("a/1", b"one")
    assert not objects.put_first("a/1", b"two")
    assert objects.get("a/1") == b"one"


def test_a_folder_is_listed_in_order_with_sizes(objects):
    for name in ("a/3", "b/1", "a/1", "a/2", "ab"):
        objects.put(name, name.encode() * 2)

    listed = [each for some in objects.names("a/") for each in some]
    assert [(each.name, each.size) for each in listed] == [("a/1", 6), ("a/2", 6), ("a/3", 6)]


def test_a_folder_is_removed_and_no_other(objects):
    for name in ("a/1", "a/2", "a/3", "b/1"):
        objects.put(name, b"")

    assert objects.remove("a/")
    assert objects.remove("a/")
    assert [each.name for some in objects.names("") for each in some] == ["b/1"]


def test_of_a_bucket_that_is_gone_nothing_is_left_to_remove():
    with mock_aws():
        assert BucketObjects(boto3.client("s3", region_name="us-east-1"), "gone").remove("a/")


def test_a_bucket_that_takes_no_result_refuses_it_as_the_request_that_brings_it_is_refused():
    """The acks of other batches in the request are sent again without it."""
    with mock_aws(), pytest.raises(InvalidRequest, match="bucket gone takes no results") as refusal:
        BucketObjects(boto3.client("s3", region_name="us-east-1"), "gone").put("a/1", b"")
    assert refusal.value.field == "result"


def test_reads_of_a_removed_bucket_are_not_found_with_a_sentence():
    with mock_aws():
        objects = BucketObjects(boto3.client("s3", region_name="us-east-1"), "gone")
        for read in (lambda: objects.get("a/1"), lambda: next(objects.names("a/"))):
            with pytest.raises(NotFound, match="there is no bucket gone, so the results that were in it are"):
                read()


def test_a_link_of_a_bucket_expires_and_is_signed_as_new_buckets_ask_for():
    with mock_aws():
        link = BucketObjects(clients.s3(), "results").link("a/1", timedelta(minutes=15))

    assert "X-Amz-Algorithm=AWS4-HMAC-SHA256" in link
    assert "X-Amz-Expires=900" in link


@pytest.mark.parametrize("code", ["SlowDown", "InternalError", "RequestTimeout"])
def test_a_request_that_s3_does_not_carry_out_may_be_repeated(code):
    def refused(**_):
        raise ClientError({"Error": {"Code": code, "Message": code}}, "PutObject")

    with pytest.raises(StoreUnavailable):
        BucketObjects(SimpleNamespace(put_object=refused), "results").put_first("a/1", b"one")
