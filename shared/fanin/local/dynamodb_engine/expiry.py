"""Deletes what expired from the engine: engines do not all, or not in tables with an index.

The emulator keeps which attribute of a table is the time to live (``UpdateTimeToLive``). As DynamoDB does, an
item is deleted if the attribute is a number of seconds since 1970, not more than five years in the past:
Developer Guide, "Using time to live (TTL) in DynamoDB".
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ministack.services import dynamodb

from fanin.local.dynamodb_engine.engine import Engine, EngineRefusal
from fanin.local.errors import LocalRunError

logger = logging.getLogger("fanin.local")

LOOK_SECONDS = 30.0
FIVE_YEARS = 5 * 365 * 24 * 3600
Json = dict[str, Any]
Expire = Callable[[Mapping[str, Any]], object]


class Expiry:
    """Looks for expired items in *engine*. *expire_of* returns what sends a table's ``DeleteItem``."""

    def __init__(self, engine: Engine, expire_of: Callable[[str], Expire]) -> None:
        self.engine, self.expire_of = engine, expire_of

    def start(self) -> None:
        """Look in a thread, as long as this process runs."""
        threading.Thread(target=self._follow, daemon=True, name="expiry").start()

    def look(self, now: float) -> None:
        """Delete what expired by *now*, in seconds since 1970, from all tables that have a time to live."""
        for (account, region, name), setting in list(dynamodb._ttl_settings.all_items()):
            table = dynamodb._tables.get_scoped(account, region, name)
            if table is not None and setting.get("TimeToLiveStatus") == "ENABLED":
                self._delete(name, _keys(table), setting["AttributeName"], now)

    def _follow(self) -> None:
        while True:
            time.sleep(LOOK_SECONDS)
            try:
                self.look(time.time())
            except LocalRunError as error:
                logger.warning("expired items were not deleted: %s", error)

    def _delete(self, name: str, keys: tuple[str, ...], attribute: str, now: float) -> None:
        condition = _condition(attribute, now)
        for item in self._expired_items(name, condition):
            key = {each: item[each] for each in keys}
            try:
                self.expire_of(name)(_deletion(name, key, condition))
            except EngineRefusal as error:
                # Its time to live was moved meanwhile.
                if error.code != "ConditionalCheckFailedException":
                    raise

    def _expired_items(self, name: str, condition: Json) -> Iterator[Json]:
        request = {"TableName": name, "FilterExpression": condition["ConditionExpression"], **condition}
        del request["ConditionExpression"]
        page: Json = {"LastEvaluatedKey": None}
        while "LastEvaluatedKey" in page:
            last = {"ExclusiveStartKey": page["LastEvaluatedKey"]} if page["LastEvaluatedKey"] else {}
            page = self.engine.ask("Scan", {**request, **last})
            yield from page["Items"]


def _keys(table: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(each["AttributeName"] for each in table["KeySchema"])


def _condition(attribute: str, now: float) -> Json:
    return {
        "ConditionExpression": "attribute_type(#ttl, :number) AND #ttl BETWEEN :oldest AND :now",
        "ExpressionAttributeNames": {"#ttl": attribute},
        "ExpressionAttributeValues": {
            ":number": {"S": "N"},
            ":oldest": {"N": str(int(now) - FIVE_YEARS)},
            ":now": {"N": str(int(now))},
        },
    }


def _deletion(name: str, key: Json, condition: Json) -> Json:
    return {"TableName": name, "Key": key, "ReturnValues": "ALL_OLD", **condition}
