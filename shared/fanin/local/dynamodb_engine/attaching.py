"""Puts an engine in the place of the emulator's tables, in the process of the emulator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ministack.core.responses import error_response_json
from ministack.services import dynamodb
from ministack.services.cloudformation import provisioners

from fanin.local.dynamodb_engine import amazon, leftovers
from fanin.local.dynamodb_engine.changes import Changes
from fanin.local.dynamodb_engine.dynamodb_option import Address, parse
from fanin.local.dynamodb_engine.engine import Engine, EngineRefusal
from fanin.local.dynamodb_engine.expiry import Expire, Expiry
from fanin.local.dynamodb_engine.forwarding import forwarded
from fanin.local.dynamodb_engine.streams import Records, StreamFeed
from fanin.local.dynamodb_engine.tables import EngineTables
from fanin.local.emulator_process.connection import ACCOUNT, REGION
from fanin.local.errors import LocalRunError

Json = dict[str, Any]
Answer = tuple[Any, ...]


def attach(text: str, directory: Path) -> None:
    """Patch the emulator of this process: items are in the engine that *text* names."""
    given = parse(text)
    if isinstance(given, Address):
        engine = Engine(given.url)
        note = partial(leftovers.note, directory, given.url)
        Attached(engine, EngineTables(engine, note)).apply()
    else:
        engine = amazon.start(given.path, directory)
        Attached(engine, EngineTables(engine, lambda _: None)).apply()


class Attached:
    """The emulator of this process with the items of its *tables* in *engine*."""

    def __init__(self, engine: Engine, tables: EngineTables) -> None:
        self.engine, self.tables = engine, tables
        self.changes = Changes(engine)
        self.feeds: dict[str, StreamFeed] = {}

    def apply(self) -> None:
        """Patch the emulator, and look for what expires."""
        dynamodb.handle_request = forwarded(dynamodb.handle_request, self.changes.send)
        dynamodb._create_table = self._answering(self._created(dynamodb._create_table))
        dynamodb._update_table = self._answering(self._updated(dynamodb._update_table))
        dynamodb._delete_table = self._answering(self._deleted(dynamodb._delete_table))
        handlers = provisioners._RESOURCE_HANDLERS["AWS::DynamoDB::Table"]
        handlers["create"] = self._provisioned(handlers["create"])
        handlers["delete"] = self._removed(handlers["delete"])
        Expiry(self.engine, self.expire_of).start()

    def expire_of(self, name: str) -> Expire:
        """Return what sends the deletion of an expired item of a table, and records it as one."""
        return self.feeds[name].expire if name in self.feeds else self.changes.expire

    def _answering(self, handle: Callable[[Json], Answer]) -> Callable[[Json], Answer]:
        """Return *handle* with the engine's errors as answers."""

        def answering(request: Json) -> Answer:
            try:
                return handle(request)
            except EngineRefusal as error:
                return error_response_json(error.code, error.message, 400)  # type: ignore[no-any-return]
            except LocalRunError as error:
                return error_response_json("InternalServerError", str(error), 500)  # type: ignore[no-any-return]

        return answering

    def _created(self, create: Callable[[Json], Answer]) -> Callable[[Json], Answer]:
        def create_there(request: Json) -> Answer:
            answer = create(request)
            if answer[0] == 200:
                self._create(request["TableName"], request)
            return answer

        return create_there

    def _updated(self, update: Callable[[Json], Answer]) -> Callable[[Json], Answer]:
        def update_there(request: Json) -> Answer:
            answer = update(request)
            if answer[0] == 200:
                self._connect(request["TableName"], self.tables.update(request["TableName"], request))
            return answer

        return update_there

    def _deleted(self, delete: Callable[[Json], Answer]) -> Callable[[Json], Answer]:
        def delete_there(request: Json) -> Answer:
            answer = delete(request)
            if answer[0] == 200:
                self._delete(request["TableName"])
            return answer

        return delete_there

    def _provisioned(self, create: Callable[..., Any]) -> Callable[..., Any]:
        def provision(logical_id: str, properties: Json, stack: str) -> Any:
            name, attributes = create(logical_id, properties, stack)
            self._create(name, properties)
            return name, attributes

        return provision

    def _removed(self, delete: Callable[..., Any]) -> Callable[..., Any]:
        def remove(name: str, properties: Any) -> Any:
            self._delete(name)
            return delete(name, properties)

        return remove

    def _create(self, name: str, properties: Json) -> None:
        try:
            self._connect(name, self.tables.create(name, properties))
        except LocalRunError:
            dynamodb._tables.pop(name, None)
            raise

    def _delete(self, name: str) -> None:
        if name in self.feeds:
            self.feeds.pop(name).stopped.set()
        self.changes.streams.pop(name, None)
        self.tables.delete(name)

    def _connect(self, name: str, described: Json) -> None:
        """Copy the records of the table's stream, if it has one, to the emulator's stream."""
        table = dynamodb._tables.get_scoped(ACCOUNT, REGION, name)
        if name in self.feeds or not (table.get("StreamSpecification") or {}).get("StreamEnabled"):
            return
        records = Records(name, table["LatestStreamArn"])
        if arn := described.get("LatestStreamArn"):
            view = described["StreamSpecification"]["StreamViewType"]
            self.feeds[name] = StreamFeed(self.engine, arn, view, records)
            self.feeds[name].start()
        else:
            keys = tuple(each["AttributeName"] for each in table["KeySchema"])
            self.changes.add(keys, records)
