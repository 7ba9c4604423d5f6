"""dynalite, a DynamoDB of npm's (Apache-2.0) whose own tests were run against DynamoDB: a third free engine.

It is pinned in ``package-lock.json`` here, and not installed with anything else. A case that
needs a transaction is skipped, and the item of a failed condition is read after it: dynalite has neither.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from fanin_cdk.packaging.node import packaged_node

FOLDER = Path(__file__).parent
PROGRAM = FOLDER / "node_modules" / "dynalite" / "cli.js"
INSTALL = "npm ci --ignore-scripts --no-audit --no-fund --prefix tests/contract/dynalite"
LOOPBACK = "127.0.0.1"
START_SECONDS = 30.0
WHEN_FAILED = "ReturnValuesOnConditionCheckFailure"


def is_installed() -> bool:
    """Return whether dynalite can be started."""
    return PROGRAM.is_file() and packaged_node() is not None


@contextmanager
def started() -> Iterator[str]:
    """Yield the URL of a dynalite of its own, in memory. Fails with the line that installs it."""
    if not is_installed():
        raise pytest.UsageError(f"dynalite is not installed: {INSTALL}")
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        port = free.getsockname()[1]
    at_once = [part for table in ("create", "update", "delete") for part in (f"--{table}TableMs", "0")]
    command = [str(packaged_node()), str(PROGRAM), "--host", LOOPBACK, "--port", str(port), *at_once]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            _wait_for(port, process)
            yield f"http://{LOOPBACK}:{port}"
        finally:
            process.kill()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as sock:
            if sock.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(0.05)
    raise pytest.UsageError(f"dynalite did not start: {' '.join(process.args)}")  # type: ignore[arg-type]


def completed(client: Any) -> Any:
    """Return *client* with what dynalite lacks: a test with a transaction is skipped."""
    send: Callable[[str, dict[str, Any]], Any] = client._make_api_call

    def sent(operation: str, request: dict[str, Any]) -> Any:
        if operation.startswith("Transact") or operation.endswith("Statement"):
            pytest.skip("dynalite has no transactions, and no statements of PartiQL")
        try:
            return send(operation, request)
        except ClientError as error:
            if (
                request.get(WHEN_FAILED)
                and error.response["Error"]["Code"] == "ConditionalCheckFailedException"
            ):
                error.response.update(_stored(send, request))  # type: ignore[typeddict-item]
            raise

    client._make_api_call = sent
    return client


def _stored(send: Callable[[str, dict[str, Any]], Any], request: dict[str, Any]) -> dict[str, Any]:
    """Return the item that *request* found, as DynamoDB does; nothing has written since in these tests."""
    key = request.get("Key")
    if key is None:
        schema = send("DescribeTable", {"TableName": request["TableName"]})["Table"]["KeySchema"]
        key = {each["AttributeName"]: request["Item"][each["AttributeName"]] for each in schema}
    answer = send("GetItem", {"TableName": request["TableName"], "Key": key, "ConsistentRead": True})
    return {"Item": answer["Item"]} if "Item" in answer else {}
