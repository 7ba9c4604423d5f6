"""Results over HTTP on the local run: written before the acks, read after the end, gone with the batch."""

from __future__ import annotations

import gzip
import json
import subprocess
from uuid import uuid4

import pytest
import urllib3

from fanin import Conflict, Fanin, InvalidRequest, NewJob, NotFound
from tests.cli.conftest import command, variables
from tests.polling import eventually

pytestmark = pytest.mark.side_by_side


@pytest.fixture(scope="session")
def fanin(run):
    return Fanin(run.url)


def acked(run, *entries):
    body = json.dumps({"acks": entries})
    return urllib3.request(
        "POST", f"{run.url}/v1/acks", body=body, headers={"content-type": "application/json"}
    )


def shown(run, batch, query=""):
    return urllib3.request("GET", f"{run.url}/v1/batches/{batch.id}/results{query}").json()


def test_results_are_read_once_the_batch_has_ended(fanin, run):
    with fanin.open("results", results=True) as batch:
        items = batch.add(10)
        answer = acked(run, *({"itemId": item, "result": {"n": n}} for n, item in enumerate(items[:9])))
        assert answer.status == 200
        with pytest.raises(Conflict, match="once it has ended"):
            next(batch.results())
    fanin.fail([items[9]], "no file")

    expected = [(item, {"n": n}) for n, item in enumerate(items[:9])]
    assert list(batch.results()) == expected
    acked(run, {"itemId": items[0], "result": "late"})
    assert list(fanin.results(batch.id)) == expected


def test_two_results_of_one_item_before_the_end_give_one_at_every_read(fanin, run):
    with fanin.open(results=True) as batch:
        items = batch.add(2)
        for result in ("first", "again"):
            acked(run, {"itemId": items[0], "result": result})
        fanin.ack([items[1]])
    reads = [list(batch.results()), [(items[0], shown(run, batch, "?position=0")["item"]["result"])]]
    acked(run, {"itemId": items[0], "result": "late"})
    reads += [list(fanin.results(batch.id))]

    assert reads == [[(items[0], reads[0][0][1])]] * 3
    assert reads[0][0][1] in ("first", "again")


def test_the_answer_has_the_manifest_and_links_of_gzipped_lines(fanin, run):
    with fanin.open(results=True) as batch:
        (item,) = batch.add(1)
        acked(run, {"itemId": item, "result": [1, "ä"]})
    answer = shown(run, batch)

    assert answer["ready"]
    assert answer["manifest"]["parts"] == 1
    (file,) = answer["files"]
    body = urllib3.request("GET", file["url"]).data
    assert json.loads(gzip.decompress(body)) == {"itemId": item, "result": [1, "ä"]}
    one = shown(run, batch, f"?item={item}")
    assert one["item"] == {"itemId": item, "result": [1, "ä"]}
    assert shown(run, batch, "?position=0")["item"] == one["item"]
    assert "item" not in shown(run, batch, "?position=1")
    assert shown(run, batch, f"?position=0&item={item}")["status"] == 400
    (alien,) = fanin.open().add(1)
    alien_group = f"{batch.id}:{alien.partition(':')[2]}"
    assert "item" not in shown(run, batch, f"?item={alien_group}")


@pytest.mark.parametrize(
    "entry", [{"result": 1, "outcome": "failure"}, {"result": "x" * 70_000}], ids=["failure", "long"]
)
def test_a_result_that_cannot_be_kept_is_refused(fanin, run, entry):
    batch = fanin.open(results=True)
    (item,) = batch.add(1)

    assert acked(run, {"itemId": item, **entry}).status == 400
    assert batch.status().acked == 0


def test_a_batch_that_keeps_none_refuses_results(fanin, run):
    batch = fanin.open()
    (item,) = batch.add(1)
    answer = acked(run, {"itemId": item, "result": 1})

    assert answer.status == 400
    assert "keeps no results" in answer.json()["detail"]
    fanin.ack([item])
    batch.close()
    with pytest.raises(InvalidRequest, match="keeps no results"):
        next(batch.results())


def test_the_command_prints_lines_and_goes_on_behind_an_item(fanin, run, tmp_path):
    with fanin.open(name := f"results-{uuid4()}", results=True) as batch:
        items = batch.add(3)
        acked(run, *({"itemId": item, "result": {"ä": n}} for n, item in enumerate(items)))

    def printed(script):
        env = variables(run.url, tmp_path)
        return subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, check=True)

    lines = [f'{{"itemId":"{item}","result":{{"ä":{n}}}}}\n' for n, item in enumerate(items)]
    results = " ".join(command("results", name))
    assert printed(results).stdout == "".join(lines)
    assert printed(f"{results} --after {items[1]}").stdout == lines[2]
    cut_off = printed(f"{results} | head -1")
    assert (cut_off.stdout, cut_off.stderr) == (lines[0], "")


def test_the_ending_event_names_the_manifest(fanin, run, bus):
    name = f"results-{uuid4()}"
    with fanin.open(name, results=True) as batch:
        (item,) = batch.add(1)
        acked(run, {"itemId": item, "result": 7})
    event, *_ = bus.of(batch.id)

    assert event["results"]["parts"] == 1
    assert list(fanin.results(event)) == [(item, 7)]


def test_a_job_and_a_message_of_the_acks_queue_have_the_results_of_their_items(library, run):
    with library.open(results=True) as batch, library.queue(f"results-{uuid4()}") as queue:
        items = list(batch.add(3))
        queue.add_all(NewJob(f"job {n}", item_id=item) for n, item in enumerate(items[:2]))
        with queue.take(2, wait=20) as jobs:
            for job in list(jobs):
                jobs.ack(job, result=job.key)
        message = json.dumps({"itemId": items[2], "result": "message"})
        run.client("sqs").send_message(QueueUrl=run.outputs["AcksQueueUrl"], MessageBody=message)
    batch.wait(60)

    assert list(batch.results()) == list(zip(items, ["job 0", "job 1", "message"], strict=True))


def test_deleted_results_are_gone(fanin, run, bus):
    with fanin.open(results=True) as batch:
        (item,) = batch.add(1)
        acked(run, {"itemId": item, "result": 7})
    file = shown(run, batch)["files"][0]["url"]
    assert eventually(lambda: _deleted(batch))

    assert urllib3.request("GET", file).status == 404
    with pytest.raises(NotFound):
        next(batch.results())


def _deleted(batch):
    try:
        batch.delete()
    except Conflict:
        return False
    return True
