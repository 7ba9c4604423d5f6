"""The archive's part of the stack: streams, their reader, and the bucket."""

from __future__ import annotations

import json
import re

import pytest
from moto.events.models import EventPattern
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from fanin.aws.dynamodb.rows import text
from fanin.change_archive import KINDS
from fanin.grouper.dynamodb.items import task_key
from fanin.grouper.rules.model import TaskKey
from fanin.queue.dynamodb import items as job_items
from fanin.queue.rules.keys import PartKey, QueueKey
from fanin.tracker.dynamodb import items
from tests.infra.options import CONFIGURED
from tests.infra.synthesis import handler_of, synthesised
from tests.infra.test_checks import ARCHIVE

TABLES = {
    "batches": "TablesBatches",
    "pages": "TablesPages",
    "jobs": "JobsTable",
    "tasks": "GrouperTablesTasks",
    "bundles": "GrouperTablesBundles",
}


@pytest.fixture(scope="module")
def archive():
    return synthesised(**ARCHIVE)


@pytest.fixture(scope="module")
def function(archive):
    (found,) = (
        each["Properties"]
        for each in archive.of_type("AWS::Lambda::Function").values()
        if handler_of(each) == "archive_changes"
    )
    return found


@pytest.fixture(scope="module")
def mappings(archive):
    """The event source mapping of each stream, by what the table holds."""
    found = {}
    for each in archive.of_type("AWS::Lambda::EventSourceMapping").values():
        table, attribute = each["Properties"]["EventSourceArn"]["Fn::GetAtt"]
        if attribute == "StreamArn":
            (kind,) = (kind for kind, name in TABLES.items() if table.startswith(name))
            found[kind] = each["Properties"]
    return found


def streamed(assembly):
    """The tables that have a stream."""
    tables = assembly.of_type("AWS::DynamoDB::Table").items()
    return {name for name, table in tables if "StreamSpecification" in table["Properties"]}


def test_the_archive_reads_the_streams_of_the_tables_that_have_a_history(archive, mappings):
    tables = archive.of_type("AWS::DynamoDB::Table")
    specified = [tables[name]["Properties"]["StreamSpecification"] for name in streamed(archive)]

    assert mappings.keys() == TABLES.keys() == set(KINDS)
    assert len(streamed(archive)) == len(TABLES)
    assert specified == [{"StreamViewType": "NEW_AND_OLD_IMAGES"}] * len(TABLES)


@pytest.mark.parametrize(("settings", "days"), [(ARCHIVE, 90), (CONFIGURED, 7)])
def test_files_go_after_their_time(settings, days):
    bucket = synthesised(**settings).named("AWS::S3::Bucket", "Archive")
    (rule,) = bucket["Properties"]["LifecycleConfiguration"]["Rules"]

    assert (rule["ExpirationInDays"], rule["Status"]) == (days, "Enabled")


def test_without_the_grouper_the_other_tables_are_archived():
    alone = synthesised(archive=True, grouper=False)

    assert len(streamed(alone)) == 3


def passes(mapping, keys):
    """Whether the change of an item with these *keys* reaches the function."""
    filters = mapping.get("FilterCriteria", {}).get("Filters", [])
    patterns = [EventPattern.load(each["Pattern"]) for each in filters]
    return not patterns or any(each.matches_event({"dynamodb": {"Keys": keys}}) for each in patterns)


QUEUE = QueueKey("t", "q")


@pytest.mark.parametrize("sk", ["batch", "event", "notice#1", "group#1", "sample#001", "add#key"])
def test_all_rows_of_a_batch_are_archived(mappings, sk):
    assert passes(mappings["batches"], {"pk": text("t#b"), "sk": text(sk)})


def test_idempotency_keys_are_not(mappings):
    assert not passes(mappings["batches"], {"pk": text("t#key#x"), "sk": text(items.KEY_ROW)})


def test_a_task_token_is_not_archived(mappings):
    assert not passes(mappings["batches"], {"pk": text("t#b"), "sk": text(items.TOKEN_ROW)})


def test_jobs_and_the_dead_are_archived_and_the_heartbeats_of_workers_are_not(mappings):
    part = PartKey(QUEUE, 0)
    rows = {"job": job_items.part_pk(part), "dead": job_items.dead_pk(part)}
    others = (job_items.session_pk(QUEUE), job_items.outbox_pk(part), job_items.config_row(QUEUE)["pk"])

    assert all(passes(mappings["jobs"], {"pk": pk, "sk": text("x")}) for pk in rows.values())
    assert not any(passes(mappings["jobs"], {"pk": pk, "sk": text("x")}) for pk in others)


def test_every_task_is_archived(mappings):
    assert passes(mappings["tasks"], task_key(TaskKey("t", "a")))


def test_the_archive_is_the_one_last_looked_at(archive, snapshot: SnapshotAssertion):
    parts = {name: each for name, each in archive.template["Resources"].items() if "Archive" in name}
    masked = json.loads(re.sub(r"[0-9a-f]{64}", "<asset>", json.dumps(parts)))

    assert masked == snapshot.use_extension(JSONSnapshotExtension)
