"""The tables of a run in the engine: made with those of the emulator, and deleted with them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fanin.local.dynamodb_engine.engine import Engine, EngineRefusal
from fanin.local.errors import LocalRunError

CREATED = (
    "KeySchema",
    "AttributeDefinitions",
    "LocalSecondaryIndexes",
    "BillingMode",
    "ProvisionedThroughput",
)
"""What of a table is the engine's; tags, encryption, backups and expiry are the emulator's alone."""
UPDATED = (
    "AttributeDefinitions",
    "BillingMode",
    "GlobalSecondaryIndexUpdates",
    "ProvisionedThroughput",
)
INDEX = ("IndexName", "KeySchema", "Projection", "ProvisionedThroughput")
ACTIVE_SECONDS = 30.0
POLL_SECONDS = 0.05
Json = dict[str, Any]


class EngineTables:
    """Creates and deletes tables in *engine*. *note* is called with the names of all that this run made."""

    def __init__(self, engine: Engine, note: Callable[[Sequence[str]], object]) -> None:
        self.engine, self.note = engine, note
        self.names: list[str] = []

    def create(self, name: str, properties: Mapping[str, Any]) -> Json:
        """Create the table *name* and return its description when it is active. Raises LocalRunError.

        *properties*: of ``CreateTable``, or of the resource of CloudFormation.
        """
        try:
            self.engine.ask("CreateTable", request_of(name, properties))
        except EngineRefusal as error:
            if error.code == "ResourceInUseException":
                raise EngineRefusal(error.code, table_exists(name, self.engine.url)) from None
            raise
        self.names.append(name)
        self.note(self.names)
        return self._active(name)

    def update(self, name: str, given: Mapping[str, Any]) -> Json:
        """Update the table as *given*, an ``UpdateTable``, and return its description."""
        request = {key: given[key] for key in (*UPDATED, "StreamSpecification") if key in given}
        if request.keys() - {"AttributeDefinitions"}:
            self.engine.ask("UpdateTable", {**request, "TableName": name})
        return self._active(name)

    def delete(self, name: str) -> None:
        """Delete the table *name*, if this run made it."""
        if name in self.names:
            self.engine.ask("DeleteTable", {"TableName": name})
            self.names.remove(name)
            self.note(self.names)

    def _active(self, name: str) -> Json:
        deadline = time.monotonic() + ACTIVE_SECONDS
        while time.monotonic() < deadline:
            found: Json = self.engine.ask("DescribeTable", {"TableName": name})["Table"]
            indexes = found.get("GlobalSecondaryIndexes") or ()
            states = [found["TableStatus"], *(each.get("IndexStatus", "ACTIVE") for each in indexes)]
            if set(states) == {"ACTIVE"}:
                return found
            time.sleep(POLL_SECONDS)
        raise LocalRunError(
            f"{self.engine.url} did not make the table {name} active in {ACTIVE_SECONDS:.0f} s"
        )


def request_of(name: str, properties: Mapping[str, Any]) -> Json:
    """Return the ``CreateTable`` for *properties*, which may be those of CloudFormation."""
    request = {key: properties[key] for key in CREATED if properties.get(key)}
    if indexes := properties.get("GlobalSecondaryIndexes"):
        kept = [{key: index[key] for key in INDEX if key in index} for index in indexes]
        request["GlobalSecondaryIndexes"] = kept
    if stream := properties.get("StreamSpecification"):
        request["StreamSpecification"] = {"StreamEnabled": True, **stream}
    return {"TableName": name, **request}


def table_exists(name: str, url: str) -> str:
    """Return the text for a table that exists before the run makes it."""
    return (
        f"{url} has a table {name} already, of another run or stack: end that run, or delete its tables"
        f" (aws dynamodb delete-table --endpoint-url {url} --table-name {name}), or name another engine, or"
        " start with -c stage=NAME"
    )
