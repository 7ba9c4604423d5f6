"""Runs docs/without_python.md and examples/node; checks its client, its signatures and its consumer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from fanin import Fanin
from fanin.local import LocalRun
from tests import npm
from tests.http.recording import Service, is_signed
from tests.pages import ROOT, Block, PageRun, blocks_of, commands_of

PAGE = ROOT / "docs" / "without_python.md"
WORK = (
    """export async function workOn({ record }) { if (record === "bad") throw new Error("no picture"); }\n"""
)
CONSUME = """
import { handler } from "./worker.mjs";
console.log(JSON.stringify(await handler({ Records: JSON.parse(process.argv[2]) })));
"""
CALL = """
import { call } from "./client.mjs";
const [method, path, body] = JSON.parse(process.argv[2]);
try { console.log(JSON.stringify(await call(method, path, body))); }
catch (error) { console.log(JSON.stringify({ status: error.status, problem: error.problem })); }
"""
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "not/secret+"}
CREDENTIALS = [KEYS, {**KEYS, "AWS_SESSION_TOKEN": "a+token="}]
REGION = {"AWS_REGION": "eu-west-1"}
NEEDS_NPM = ("Signatures in Node", "A consumer in Node", "With TypeScript")
DEAR = ("Signatures in Node", "With TypeScript")


def sections() -> dict[str, list[Block]]:
    """The blocks of the page by the heading that they follow."""
    text = PAGE.read_text().splitlines()
    found: dict[str, list[Block]] = {}
    for block in blocks_of(PAGE):
        heading = next(line for line in reversed(text[: block.line]) if line.startswith("## "))
        found.setdefault(heading.removeprefix("## "), []).append(block)
    return found


@pytest.fixture(scope="module")
def page(run: LocalRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageRun]:
    """A folder with all files of the page, and a shell in it."""
    folder = tmp_path_factory.mktemp("page")
    for path in (ROOT / "docs" / "openapi.json", *(ROOT / "examples" / "node").glob("*.m?s")):
        shutil.copy(path, folder)
    (folder / "work.mjs").write_text(WORK)
    (folder / "consume.mjs").write_text(CONSUME)
    (folder / "call.mjs").write_text(CALL)
    (folder / "npx").write_text(f'#!/bin/sh\nexec node "{npm.launcher("npx")}" "$@"\n')
    (folder / "npx").chmod(0o755)
    with PageRun(folder, {**run.environment, **REGION}) as running:
        running.shell.run(f'export PATH="{folder}:{npm.node().parent}:$PATH" NPM_CONFIG_LOGLEVEL=error')
        running.shell.run('export NO_COLOR=1; jq() { command jq --monochrome-output "$@"; }')
        for block in blocks_of(PAGE):
            if block.title:
                running.block(block)
        yield running


@pytest.fixture
def packages(page: PageRun) -> None:
    """The npm packages, in the folder of the page."""
    linked = page.folder / "node_modules"
    if not linked.exists():
        linked.symlink_to(npm.packages())


@pytest.mark.parametrize(
    "section",
    # These take as long as all other sections together.
    [pytest.param(name, marks=[pytest.mark.proof] if name in DEAR else []) for name in sections()],
)
def test_a_section_of_the_page_runs(section: str, page: PageRun, request: pytest.FixtureRequest) -> None:
    if section == "With curl" and not shutil.which("jq"):
        pytest.skip("the page uses jq: apt-get install jq")
    if section in NEEDS_NPM:
        request.getfixturevalue("packages")
    for block in sections()[section]:
        if block.is_run and not block.title:
            page.block(block)


def node(page: PageRun, script: str, argument: Any, env: dict[str, str]) -> Any:
    """What *script* printed, given *argument* as JSON."""
    command = [str(npm.node()), script, json.dumps(argument)]
    completed = subprocess.run(
        command, check=False, cwd=page.folder, env=env, capture_output=True, text=True, timeout=60
    )
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


def test_the_consumer_of_the_page_acks_what_is_done_and_returns_the_rest(
    run: LocalRun, page: PageRun, packages: None
) -> None:
    with Fanin(run.url).open() as batch:
        items = batch.add(3)
    bodies = [
        {"itemId": items[0], "record": "good"},
        {"itemId": items[1], "record": "bad"},
        {"itemId": f"{items[2][:73]}:9", "record": "good"},
    ]
    records = [{"messageId": f"m{n}", "body": json.dumps(body)} for n, body in enumerate(bodies)]
    env = {**run.environment, **REGION}

    assert node(page, "consume.mjs", records, env) == {
        "batchItemFailures": [{"itemIdentifier": "m1"}, {"itemIdentifier": "m2"}]
    }
    assert (batch.status().acked, batch.status().failed) == (1, 0)


def signed_lines() -> list[str]:
    """The commands of the block with signatures."""
    (block,) = [block for block in sections()["With curl"] if "--aws-sigv4" in block.code]
    return [command for command, _ in commands_of(block.code)]


@pytest.mark.parametrize("credentials", CREDENTIALS, ids=["keys", "token"])
def test_the_signatures_of_curl_are_those_of_botocore(page: PageRun, credentials: dict[str, str]) -> None:
    with Service([(200, {}, {})] * 2) as service:
        env = {**credentials, **REGION, "FANIN_URL": service.url}
        command = ["bash", "-euc", "\n".join(signed_lines())]
        subprocess.run(command, env={**os.environ, **env}, check=True, timeout=60, capture_output=True)

    assert [sent.method for sent in service.seen] == ["GET", "POST"]
    assert [is_signed(sent, credentials) for sent in service.seen] == [True, True]
    wrong = {**credentials, "AWS_SECRET_ACCESS_KEY": "another"}
    assert [is_signed(sent, wrong) for sent in service.seen] == [False, False]


@pytest.mark.parametrize("credentials", CREDENTIALS, ids=["keys", "token"])
def test_the_signatures_of_node_are_those_of_botocore(
    page: PageRun, packages: None, credentials: dict[str, str]
) -> None:
    with Service([(201, {}, {"state": "OPEN"}), (200, {}, {"batches": [{"userKey": "x"}]})]) as service:
        env = {**credentials, **REGION, "FANIN_URL": service.url}
        command = [str(npm.node()), "open.mjs"]
        subprocess.run(command, cwd=page.folder, env=env, check=True, timeout=60, capture_output=True)

    assert [is_signed(sent, credentials) for sent in service.seen] == [True, True]


def test_the_client_of_the_page_repeats_what_may_be_repeated_under_one_key(page: PageRun) -> None:
    busy, problem = (503, {"Retry-After": "0"}, {"message": "busy"}), {"type": "urn:fanin:problem:conflict"}
    for script, expected, sent in (
        ([busy, (502, {}, {}), (429, {}, {}), (201, {}, {"batchId": "b"})], {"batchId": "b"}, 4),
        ([(409, {}, problem)], {"status": 409, "problem": problem}, 1),
        ([busy] * 5, {"status": 503, "problem": {"message": "busy"}}, 5),
    ):
        with Service(list(script)) as service:
            answer = node(page, "call.mjs", ["POST", "/v1/batches", {}], {"FANIN_URL": service.url})
        keys = {request.headers["idempotency-key"] for request in service.seen}

        assert answer == expected
        assert (len(service.seen), len(keys)) == (sent, 1)
